// SPDX-License-Identifier: BSL-1.0
// What tensors ask of the processor: memory, filling, products block by block, and the same as plain data.
#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include <kiln/tensor/executor.hpp>

using namespace kiln;

namespace {
struct unknown_device {};
}  // namespace

TEST_CASE("executor: a device without one is known as such") {
  static_assert(HasExecutor<Cpu>);
  static_assert(!HasExecutor<unknown_device>);
}

TEST_CASE("executor: memory is made, filled, cleared and read through plain pointers too") {
  const auto near = new_tensor(dtype::int32, {1});
  const detail::device_functions& device = detail::functions_of<Cpu>;
  const auto t = device.new_tensor(dtype::int32, {3, 1001}, *near->memory);
  CHECK(t->sizes == dims{3, 1001});
  executor<Cpu>::fill<std::int32_t>(*t, -7);
  CHECK(std::count(static_cast<std::int32_t*>(t->data), static_cast<std::int32_t*>(t->data) + 3003, -7) == 3003);
  CHECK(executor<Cpu>::read<std::int32_t>(*t, 3002) == -7);
  device.set_zero(*t);
  CHECK(std::count(static_cast<std::int32_t*>(t->data), static_cast<std::int32_t*>(t->data) + 3003, 0) == 3003);
}

TEST_CASE("executor: every element of every batch is in one finished block") {
  const auto a = new_tensor(dtype::float32, {2, 1, 40, 3}), b = new_tensor(dtype::float32, {5, 3, 70}),
             out = new_tensor(dtype::float32, {2, 5, 40, 70});
  for (auto* t : {&a, &b}) std::fill_n(static_cast<float*>((*t)->data), count((*t)->sizes), 1.0f);
  cpu::set_num_threads(1);
  std::vector<int> times(2 * 5 * 40 * 70, 0);
  detail::multiply_tensors<float, Cpu>(
      *a, *b, *out,
      {[](void* object, std::int64_t batch, std::int64_t r0, std::int64_t r1, std::int64_t c0, std::int64_t c1) {
         auto& seen = *static_cast<std::vector<int>*>(object);
         for (std::int64_t r = r0; r < r1; ++r)
           for (std::int64_t c = c0; c < c1; ++c) ++seen[static_cast<std::size_t>((batch * 40 + r) * 70 + c)];
       },
       &times});
  CHECK(times == std::vector<int>(times.size(), 1));
  bool right = true;
  for (std::int64_t i = 0; i < count(out->sizes); ++i) right &= static_cast<float*>(out->data)[i] == 3;
  CHECK(right);
}
