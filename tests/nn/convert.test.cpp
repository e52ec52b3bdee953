// SPDX-License-Identifier: BSL-1.0
// clone and to: what is copied, what is shared, and which type comes out.
#include <kiln/nn/convert.hpp>

#include <doctest/doctest.h>

#include <memory>
#include <optional>
#include <vector>

#include <kiln/nn/module.hpp>
#include <kiln/tensor/creation.hpp>

using namespace kiln;

namespace {
template <class T, class D>
struct Scale {
  std::int64_t n = 0;
  Tensor<T, D> weight = ones<T, D>({n}).requires_grad();
  nn::buffer<Tensor<T, D>> mean = zeros<T, D>({n});
  nn::buffer<Tensor<std::int64_t, D>> steps = zeros<std::int64_t, D>({});
  nn::training_flag training{};
};
template <class T = float, class D = Cpu>
struct Net {
  Scale<T, D> first{2}, second{3};
  std::vector<Scale<T, D>> many;
  std::optional<Scale<T, D>> maybe;
  std::unique_ptr<Scale<T, D>> owned = std::make_unique<Scale<T, D>>();
  int setting = 7;
};
template <class T, int N>
struct Sized {
  Scale<T, Cpu> part{N};
};
class Private {
 public:
  explicit Private(double start) : x_(full<double>({2}, start)) {}
  Private() = default;
  static auto members(auto& self) { return std::tuple{nn::named("x", self.x_)}; }
  const Tensor<double>& x() const { return x_; }

 private:
  Tensor<double> x_;
};
}  // namespace

TEST_CASE("clone: tensors of its own, settings and flags as they were") {
  Net<> net;
  net.many.push_back({4});
  net.maybe = Scale<float, Cpu>{5};
  net.setting = 8;
  net.second.training.on = false;
  net.second.weight.requires_grad(false);
  const Net<> copy = nn::clone(net);
  net.first.weight.fill_(3);
  net.first.mean->fill_(3);
  CHECK(copy.first.weight(0) == 1);
  CHECK((*copy.first.mean)(0) == 0);
  CHECK(copy.many.at(0).weight.sizes() == dims{4});
  CHECK(copy.maybe->weight.sizes() == dims{5});
  CHECK(copy.owned->weight.sizes() == dims{0});
  CHECK(copy.setting == 8);
  CHECK_FALSE(copy.second.training.on);
  CHECK(copy.first.weight.needs_grad());
  CHECK_FALSE(copy.second.weight.needs_grad());
  CHECK(nn::clone(Private(2)).x()(1) == 2);
}

TEST_CASE("clone: a tensor that stands in two places still does") {
  Net<> net;
  net.second.weight = net.first.weight;
  const Net<> copy = nn::clone(net);
  CHECK(copy.second.weight.data() == copy.first.weight.data());
  CHECK(copy.first.weight.data() != net.first.weight.data());
}

TEST_CASE("to: another element type, in all that holds tensors; integers stay") {
  Net<> net;
  net.many.push_back({4});
  net.first.weight.fill_(0.5f);
  const auto wide = nn::to<double>(net);
  static_assert(std::is_same_v<decltype(wide), const Net<double, Cpu>>);
  CHECK(wide.first.weight(1) == 0.5);
  CHECK(wide.first.weight.needs_grad());
  CHECK(wide.many.at(0).weight.sizes() == dims{4});
  static_assert(std::is_same_v<decltype(wide.first.steps), nn::buffer<Tensor<std::int64_t>>>);
  const auto narrow = nn::to<float>(Sized<double, 3>());
  static_assert(std::is_same_v<decltype(narrow), const Sized<float, 3>>);
  CHECK(narrow.part.weight.sizes() == dims{3});
}

TEST_CASE("to: what need not change is shared") {
  Net<> net;
  const auto same = nn::to<Cpu>(net);
  CHECK(same.first.weight.data() == net.first.weight.data());
}
