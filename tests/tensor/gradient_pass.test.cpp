// SPDX-License-Identifier: BSL-1.0
// What a pass collects: its own until it is delivered, apart from what another pass collects for the same record.
#include <kiln/tensor/gradient_pass.hpp>

#include <doctest/doctest.h>

#include <thread>
#include <vector>

#include <kiln/autograd/backward.hpp>
#include <kiln/tensor/tensor.hpp>

using namespace kiln;

namespace {
ref<tensor_state> filled(float value) {
  auto t = new_tensor(dtype::float32, {2});
  static_cast<float*>(t->data)[0] = static_cast<float*>(t->data)[1] = value;
  return t;
}
float first(const ref<tensor_state>& t) {
  return static_cast<const float*>(t->data)[0];
}
}  // namespace

TEST_CASE("gradient_pass: what is not delivered leaves no trace") {
  Tensor<float> w(filled(1));
  w.requires_grad();
  gradient_record& record = *w.state()->autograd_metadata;
  {
    detail::gradient_pass pass;
    CHECK(detail::running_pass == &pass);
    detail::arriving_gradient(record) = filled(5);
    CHECK_FALSE(record.gradient);
  }
  CHECK(detail::running_pass == nullptr);
  CHECK_FALSE(record.gradient);
  CHECK_FALSE(record.slot.gradient);
  {
    detail::gradient_pass pass;
    detail::arriving_gradient(record) = filled(5);
    pass.deliver();
  }
  CHECK(first(record.gradient) == 5);
}

TEST_CASE("gradient_pass: a pass within a pass has places of its own, many of them") {
  std::vector<Tensor<float>> leaves;
  for (int i = 0; i < 50; ++i) {
    leaves.emplace_back(filled(0));
    leaves.back().requires_grad();
  }
  const no_grad quiet;  // the passes are not recorded themselves
  detail::gradient_pass outer;
  for (auto& w : leaves) detail::arriving_gradient(*w.state()->autograd_metadata) = filled(1);
  {
    detail::gradient_pass inner;
    for (std::size_t i = 0; i < leaves.size(); ++i) {
      auto& place = detail::arriving_gradient(*leaves[i * 7 % 50].state()->autograd_metadata);
      CHECK_FALSE(place);
      place = filled(2);
    }
    for (auto& w : leaves) CHECK(first(detail::arriving_gradient(*w.state()->autograd_metadata)) == 2);
    inner.deliver();
  }
  for (auto& w : leaves) CHECK(w.grad()(0) == 2);
  outer.deliver();
  for (auto& w : leaves) CHECK(w.grad()(1) == 3);
}

TEST_CASE("gradient_pass: threads that add to one leaf lose nothing") {
  Tensor<float> w(filled(0));
  w.requires_grad();
  std::vector<std::thread> team;
  for (int t = 0; t < 4; ++t)
    team.emplace_back([&w] {
      const no_grad quiet;
      for (int i = 0; i < 500; ++i) detail::add_to_leaf(*w.state()->autograd_metadata, filled(1));
    });
  for (std::thread& t : team) t.join();
  CHECK(w.grad()(1) == 2000);
}
