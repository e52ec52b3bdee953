// SPDX-License-Identifier: BSL-1.0
// Modules: their parameters, buffers, modules, names, and what train, freeze and zero_grad do to them.
#include <kiln/nn/module.hpp>

#include <doctest/doctest.h>

#include <array>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include <kiln/autograd/backward.hpp>
#include <kiln/expr/reductions.hpp>
#include <kiln/tensor/creation.hpp>

using namespace kiln;

namespace {

template <class D = Cpu>
struct Affine {
  std::int64_t in = 0, out = 0;
  Tensor<float, D> weight = ones<float>({out, in}).requires_grad(), bias = zeros<float>({out}).requires_grad();
  auto operator()(const auto& x) const { return x; }
};
struct Norm {
  Tensor<float> weight = ones<float>({3});
  nn::buffer<Tensor<float>> running_mean = zeros<float>({3});
  nn::buffer<Tensor<std::int64_t>> batches = zeros<std::int64_t>({});
  nn::training_flag training;
};
struct Activation {
  auto operator()(const auto& x) const { return x; }
};
struct Settings {
  int a = 1;
  double b = 2;
};
template <class D = Cpu>
struct Everything {
  Affine<D> fc1{4, 3}, fc2{3, 2};
  Activation act;
  Settings settings;
  std::string label = "x";
  std::function<int()> function;
  std::array<Affine<D>, 2> pair{Affine<D>{1, 1}, Affine<D>{1, 2}};
  std::vector<Affine<D>> deep;
  std::optional<Norm> norm, no_norm;
  std::tuple<Norm, int> both;
  std::vector<Tensor<float>> loose;
  std::vector<int> sizes{1, 2};
  Tensor<float> absent;
};
class Hidden {
 public:
  explicit Hidden(int n) : scale_(ones<float>({n})) {}
  static auto members(auto& self) { return std::tuple{nn::named("scale", self.scale_)}; }

 private:
  Tensor<float> scale_;
};
struct Outer {
  Hidden inner{2};
};

std::string names(const auto& pairs) {
  std::string all;
  for (const auto& [name, tensor] : pairs) (all += name) += ' ';
  return all;
}

}  // namespace

TEST_CASE("module: parameters are found by their names, in order, wherever they stand") {
  Everything<> net;
  net.norm.emplace();
  net.deep.push_back({2, 2});
  net.loose.push_back(ones<float>({5}));
  CHECK(names(nn::named_parameters(net)) ==
        "fc1.weight fc1.bias fc2.weight fc2.bias pair.0.weight pair.0.bias pair.1.weight pair.1.bias deep.0.weight "
        "deep.0.bias norm.weight both.0.weight loose.0 ");
  CHECK(names(nn::named_buffers(net)) == "norm.running_mean both.0.running_mean ");
  CHECK(names(nn::named_buffers<Tensor<std::int64_t>>(net)) == "norm.batches both.0.batches ");
  CHECK(nn::buffers(net).size() == 2);
  CHECK(nn::parameter_count(net) == 12 + 3 + 6 + 2 + 1 + 1 + 2 + 2 + 4 + 2 + 3 + 3 + 5);
  CHECK(names(nn::named_parameters(Outer{})) == "inner.scale ");
}

TEST_CASE("module: what comes back is the module's own tensors") {
  const Affine<> fc{2, 2};
  const auto all = nn::parameters(fc);
  static_assert(std::is_same_v<decltype(all), const std::vector<Tensor<float>>>);
  REQUIRE(all.size() == 2);
  Tensor<float> weight = all[0];
  weight.fill_(7);
  CHECK(fc.weight(1, 1) == 7);
  backward(sum(fc.weight));
  CHECK(all[0].has_grad());
  CHECK(nn::gradients(fc).size() == 1);
  nn::zero_grad(fc);
  CHECK_FALSE(fc.weight.has_grad());
}

TEST_CASE("module: a tensor that stands in two places comes once") {
  struct Tied {
    Affine<> a{2, 2}, b{2, 2};
  } net;
  net.b.weight = net.a.weight;
  CHECK(names(nn::named_parameters(net)) == "a.weight a.bias b.bias ");
}

TEST_CASE("module: modules within, with their classes") {
  Everything<> net;
  net.norm.emplace();
  std::string all;
  for (const auto& m : nn::modules(net)) all += m.name + ":" + m.type + " ";
  CHECK(all == ":Everything fc1:Affine fc2:Affine act:Activation pair.0:Affine pair.1:Affine norm:Norm both.0:Norm ");
  CHECK(nn::modules(net)[2].object == &net.fc2);
}

TEST_CASE("module: training and evaluation reach every flag") {
  Everything<> net;
  net.norm.emplace();
  CHECK(net.norm->training.on);
  nn::eval(net);
  CHECK_FALSE(net.norm->training.on);
  CHECK_FALSE(std::get<0>(net.both).training.on);
  CHECK(nn::train(net).norm->training.on);
}

TEST_CASE("module: frozen parameters get no gradient until they are asked for again") {
  Affine<> fc{2, 2};
  nn::freeze(fc);
  CHECK_FALSE(fc.weight.needs_grad());
  nn::freeze(fc, false);
  CHECK(fc.weight.needs_grad());
}

TEST_CASE("module: parameters of two types are refused with their names") {
  struct Mixed {
    Tensor<float> a = ones<float>({1});
    Tensor<double> b = ones<double>({1});
  };
  CHECK_THROWS_WITH_AS(
      nn::parameters(Mixed{}),
      "parameters: b is a tensor of float64, the first parameter one of float32: all of a module's must "
      "be of one type: nn::to<T>(module) makes them so, or ask the parts of the module one by one",
      dtype_error);
}
