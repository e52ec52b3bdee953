// SPDX-License-Identifier: BSL-1.0
// Modules from descriptions, with weights set by hand; their names, buffers, training.
#include <doctest/doctest.h>

#include <dynamic/values.hpp>
#include <kiln/dynamic/creation.hpp>
#include <kiln/dynamic/layers.hpp>
#include <kiln/dynamic/modules.hpp>
#include <set>

using namespace kiln::dynamic;
using namespace test;
using kiln::dtype;

namespace {
using list = std::vector<std::int64_t>;
tensor parameter(const kiln::dynamic::module& m, std::string_view name) {
  for (const auto& [path, each] : m.named_parameters())
    if (path == name) return each;
  FAIL("no parameter " << name);
  return {};
}
void set(const kiln::dynamic::module& m, std::string_view name, const std::vector<double>& to) {
  const kiln::no_grad quiet;
  tensor p = parameter(m, name);
  p.assign_(made(p.sizes(), to, p.type()));
}
}  // namespace

TEST_CASE("a sequence of layers") {
  const auto first = make_module("Linear", {{"in_features", 2}, {"out_features", 2}});
  const auto net = sequential(
      {first, make_module("ReLU"), make_module("Linear", {{"in_features", 2}, {"out_features", 1}, {"bias", false}})});
  CHECK(net.type() == "Sequential");
  CHECK(first.settings() == "in_features=2, out_features=2, bias=True");
  std::vector<std::string> names;
  for (const auto& [name, p] : net.named_parameters()) {
    names.push_back(name);
    CHECK(p.requires_grad());
  }
  CHECK(names == std::vector<std::string>{"0.weight", "0.bias", "2.weight"});
  CHECK(net.children().size() == 3);
  CHECK(net.children()[1].second.type() == "ReLU");
  set(net, "0.weight", {1, 0, 0, -1});
  set(net, "0.bias", {0.5, 0});
  set(net, "2.weight", {2, 3});
  const tensor y = net(made({1, 2}, {1, -4}));
  CHECK(near(values(y), {2 * 1.5 + 3 * 4}));
  reduce("sum", y).backward();
  CHECK(near(values(parameter(net, "2.weight").grad()), {1.5, 4}));
  CHECK(near(values(parameter(net, "0.weight").grad()), {2, -8, 3, -12}));
  net.zero_grad();
  CHECK(!parameter(net, "2.weight").grad().defined());
  CHECK_THROWS_AS(net(made({1, 3}, {1, 2, 3})), kiln::shape_error);
  CHECK_THROWS_AS(net(made({1, 2}, {1, 2}, dtype::float64)), kiln::dtype_error);
  CHECK_THROWS_AS(sequential({{"a", first}, {"a", first}}), kiln::value_error);
  CHECK_THROWS_AS(sequential({{"a.b", first}}), kiln::value_error);
  CHECK_THROWS_AS(kiln::dynamic::module().forward(made({1}, {1})), kiln::value_error);
}

TEST_CASE("functions of elements stay pending") {
  const tensor x = made({2}, {-1, 2});
  const auto net = sequential({make_module("LeakyReLU", {{"negative_slope", 0.5}}), make_module("Tanh")});
  reset_statistics();
  const tensor y = net(x);
  CHECK(y.is_lazy());
  CHECK(near(values(y), {std::tanh(-.5), std::tanh(2.)}));
  CHECK(statistics().evaluations == 1);
  for (const auto& layer : graph::element_layers())
    CHECK_MESSAGE(values(make_module(layer.layer)(x)).size() == 2, layer.layer);
  CHECK(near(values(make_module("GELU", {{"approximate", "tanh"}})(made({1}, {0}))), {0}));
  CHECK(near(values(make_module("Softmax", {{"dim", 0}})(made({2}, {1, 1}))), {.5, .5}));
  CHECK(near(values(make_module("LogSoftmax")(made({2}, {1, 1}))), {-std::log(2.), -std::log(2.)}));
  CHECK(make_module("Flatten")(made({2, 1, 2}, {1, 2, 3, 4})).sizes() == kiln::dims{2, 2});
  CHECK(make_module("Identity")(x).state() == x.state());
}

TEST_CASE("float64 where asked for") {
  const auto m = make_module("Linear", {{"in_features", 1}, {"out_features", 1}, {"dtype", "float64"}});
  CHECK(parameter(m, "weight").type() == dtype::float64);
  CHECK(m(made({1, 1}, {1}, dtype::float64)).type() == dtype::float64);
}

TEST_CASE("training") {
  const auto net = sequential(
      {make_module("Dropout", {{"p", 0.5}}), make_module("BatchNorm1d", {{"num_features", 1}, {"eps", 0.0}})});
  CHECK(net.training());
  std::vector<std::string> names;
  for (const auto& [name, b] : net.named_buffers()) names.push_back(name);
  CHECK(names == std::vector<std::string>{"1.running_mean", "1.running_var", "1.num_batches_tracked"});
  const auto norm = net.children()[1].second;
  CHECK(near(values(norm(made({2, 1}, {1, 3}))), {-1, 1}));
  CHECK(near(values(norm.named_buffers()[0].second), {.2}));
  CHECK(norm.named_buffers()[2].second.item_int64() == 1);
  net.train(false);
  CHECK(!norm.training());
  CHECK(near(values(net(made({1, 1}, {1.2}))), {1 / std::sqrt(.9 + .1 * 2)}));
}

TEST_CASE("images, tables, rows, times") {
  const auto conv =
      make_module("Conv2d", {{"in_channels", 1}, {"out_channels", 1}, {"kernel_size", list{1, 2}}, {"bias", false}});
  set(conv, "weight", {1, 10});
  CHECK(near(values(conv(made({1, 1, 1, 3}, {1, 2, 3}))), {21, 32}));
  CHECK(near(values(make_module("MaxPool2d", {{"kernel_size", 2}})(made({1, 1, 2, 2}, {1, 2, 3, 4}))), {4}));
  CHECK(near(values(make_module("AvgPool2d", {{"kernel_size", 2}})(made({1, 1, 2, 2}, {1, 2, 3, 4}))), {2.5}));
  CHECK(near(values(make_module("AdaptiveAvgPool2d", {{"output_size", 1}})(made({1, 1, 1, 2}, {1, 2}))), {1.5}));
  const auto norm = make_module("LayerNorm", {{"normalized_shape", 2}, {"eps", 0}});
  CHECK(near(values(norm(made({1, 2}, {1, 3}))), {-1, 1}));
  const auto table = make_module("Embedding", {{"num_embeddings", 2}, {"embedding_dim", 2}});
  set(table, "weight", {1, 2, 3, 4});
  CHECK(values(table(made({2}, {1, 0}, dtype::int64))) == std::vector<double>{3, 4, 1, 2});
  CHECK_THROWS_AS(table(made({1}, {0})), kiln::dtype_error);
  const auto gru = make_module("GRU", {{"input_size", 1}, {"hidden_size", 1}, {"bias", false}});
  set(gru, "weight_ih_l0", {0, 0, 1});
  set(gru, "weight_hh_l0", {0, 0, 0});
  // Gates of 1/2: h = (tanh(x) + h) / 2.
  CHECK(near(values(gru(made({2, 1, 1}, {1, 2}))), {std::tanh(1.) / 2, std::tanh(2.) / 2 + std::tanh(1.) / 4}));
  const auto lstm = make_module("LSTM", {{"input_size", 1}, {"hidden_size", 2}, {"num_layers", 2}});
  CHECK(lstm(made({3, 1, 1}, {1, 2, 3})).sizes() == kiln::dims{3, 1, 2});
  CHECK(lstm.named_parameters().size() == 8);
}

TEST_CASE("refusals") {
  CHECK(holds(said<kiln::value_error>([] { make_module("Linnear"); }), "there is no \"Linnear\""));
  CHECK(holds(said<kiln::value_error>([] { make_module("Linear", {{"in_features", 1}}); }), "\"out_features\""));
  CHECK(holds(said<kiln::value_error>([] { make_module("ReLU", {{"inplace", true}}); }), "\"inplace\"; it has none"));
  CHECK(holds(said<kiln::value_error>([] { make_module("Dropout", {{"p", 2}}); }), "probability"));
  CHECK_THROWS_AS(make_module("GELU", {{"approximate", "sin"}}), kiln::value_error);
}
