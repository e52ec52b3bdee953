// SPDX-License-Identifier: BSL-1.0
// Where gradients go: made once, then added to, and every change noticed.
#include <kiln/tensor/gradient_target.hpp>

#include <doctest/doctest.h>

using namespace kiln;

TEST_CASE("gradient target: made at first, added to after, zeroed only for what can but add") {
  const ref<gradient_record> record = new_record(dtype::float32, {3});
  const ref<tensor_state> near = new_tensor(dtype::float32, {1});
  const detail::device_functions& device = detail::functions_of<Cpu>;
  detail::gradient_target first(*record, device, *near->memory);
  CHECK(!first.add);
  CHECK(first.tensor.get() == record->gradient.get());
  CHECK(first.tensor->sizes == dims{3});
  float* const at = static_cast<float*>(first.tensor->data);
  at[0] = at[1] = at[2] = 7;
  const tensor_state& zeroed = first.added(device);
  CHECK(first.add);
  CHECK((at[0] == 0 && at[2] == 0 && zeroed.data == at));
  at[1] = 5;
  const std::uint32_t before = record->gradient->memory->version;
  detail::gradient_target again(*record, device, *near->memory);
  CHECK(again.add);
  CHECK(record->gradient->memory->version == before + 1);
  again.added(device);
  CHECK(at[1] == 5);
}
