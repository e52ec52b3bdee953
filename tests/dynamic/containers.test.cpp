// SPDX-License-Identifier: BSL-1.0
// Containers with parts whose weights are set by hand; what becomes of them when parts change.
#include <doctest/doctest.h>

#include <ctime>

#include <dynamic/values.hpp>
#include <kiln/dynamic/containers.hpp>
#include <kiln/dynamic/modules.hpp>

using namespace kiln::dynamic;
using namespace test;

namespace {
/// x -> weight x + bias, of one number.
kiln::dynamic::module line(double weight, double bias) {
  const auto m = make_module("Linear", {{"in_features", 1}, {"out_features", 1}});
  const kiln::no_grad quiet;
  for (auto& [name, p] : m.named_parameters()) tensor(p).fill_(name == "weight" ? weight : bias);
  return m;
}
tensor one(double x) {
  return made({1, 1}, {x});
}
std::vector<double> all(const tensors& results) {
  std::vector<double> numbers;
  for (const tensor& t : results)
    for (double x : values(t)) numbers.push_back(x);
  return numbers;
}
}  // namespace

TEST_CASE("containers run their parts by their rules") {
  const auto a = line(2, 1), b = line(-3, 0.5), relu = make_module("ReLU");
  CHECK(near(all(make_container("SeqNest", {{"a", a}, {"b", b}}).run({one(4)})), {-26.5}));
  CHECK(near(all(make_container("Fork", {{"a", a}, {"b", b}}).run({one(4)})), {9, -11.5}));
  CHECK(near(values(make_container("Residual", {{"a", a}})(one(4))), {13}));
  CHECK(near(values(make_container("Residual", {{"a", a}, {"b", b}})(one(4))), {-2.5}));
  CHECK(near(values(make_container("Residual", {{"a", a}, {"b", b}, {"r", relu}})(one(4))), {0}));
  const auto join = make_container("SeqJoin", {{"a", a}, {"b", b}, {"j", joining_layer("Mul")}});
  CHECK(near(values(join(one(4))), {9 * -11.5}));
  CHECK(near(all(join.run({one(4), one(1)})), {9 * -2.5}));
  CHECK(near(all(make_container("SeqJoin", {{"a", a}, {"b", b}, {"j", joining_layer("Cat", 0)}}).run({one(4)})),
             {9, -11.5}));
  CHECK(near(all(joining_layer("Add").run({one(1), one(2), one(4)})), {7}));
  CHECK(near(all(joining_layer("Matmul").run({made({1, 2}, {1, 2}), made({2, 1}, {3, 4})})), {11}));
  const auto transform = make_container("Transform", {{"train", a}, {"eval", b}});
  CHECK(near(values(transform(one(4))), {9}));
  transform.train(false);
  CHECK(near(values(transform(one(4))), {-11.5}));
  CHECK(near(values(make_container("Transform", {{"t", a}, {"e", b}, {"then", b}})(one(4))), {-26.5}));
  // A fork into a chain that joins: several results go from part to part.
  CHECK(near(
      values(sequential({{"f", make_container("Fork", {{"a", a}, {"b", b}})}, {"j", joining_layer("Add")}})(one(4))),
      {-2.5}));
}

TEST_CASE("gradients go through both branches of a residual") {
  const auto a = line(2, 1);
  const auto net = make_container("Residual", {{"a", a}});
  tensor x = one(3);
  x.requires_grad_();
  reduce("sum", net(x)).backward();
  CHECK(near(values(x.grad()), {3}));
  CHECK(near(values(a.parameters()[0].grad()), {3}));
}

TEST_CASE("a recurrent container gives its states, and takes them again") {
  for (const char* type : {"RNN", "GRU", "LSTM"}) {
    CAPTURE(type);
    const auto cell = make_module(type, {{"input_size", 1}, {"hidden_size", 2}});
    const auto recur = make_container("Recur", {{"cell", cell}});
    const tensor x = made({4, 1, 1}, {1, -2, 3, 0.5});
    const tensors whole = recur.run({x});
    REQUIRE(whole.size() == (std::string_view(type) == "LSTM" ? 3 : 2));
    // In two pieces, with the state between: the same as in one.
    const tensors first = recur.run({made({2, 1, 1}, {1, -2})});
    tensors next{made({2, 1, 1}, {3, 0.5})};
    next.insert(next.end(), first.begin() + 1, first.end());
    const tensors second = recur.run(next);
    std::vector<double> pieces = values(first[0]);
    for (double v : values(second[0])) pieces.push_back(v);
    CHECK(near(pieces, values(whole[0])));
    for (std::size_t i = 1; i < whole.size(); ++i) CHECK(near(values(second[i]), values(whole[i])));
    CHECK(whole[1].requires_grad());
    CHECK(!make_container("Recur", {{"cell", cell}}, true).run({x})[1].requires_grad());
    CHECK(cell.run({x}).size() == 1);
  }
  // tanh(w_ih x + b_ih + w_hh h + b_hh), by hand.
  const auto cell = make_module("RNN", {{"input_size", 1}, {"hidden_size", 1}});
  for (auto& p : cell.parameters()) {
    const kiln::no_grad quiet;
    tensor(p).fill_(0.5);
  }
  const double h1 = std::tanh(0.5 * 1 + 1), h2 = std::tanh(0.5 * 2 + 1 + 0.5 * h1);
  const auto linear = line(10, 0);
  const tensors made_by = make_container("Recur", {{"c", cell}, {"out", linear}}).run({made({2, 1, 1}, {1, 2})});
  CHECK(near(values(made_by[0]), {10 * h1, 10 * h2}));
  CHECK(near(values(made_by[1]), {h2}));
}

TEST_CASE("a container's parts change for all that share it, and never contain itself") {
  const auto a = line(2, 1), b = line(-3, 0.5);
  const auto inner = sequential({{"a", a}});
  const auto outer = sequential({{"inner", inner}});
  inner.set_children({{"a", a}, {"b", b}});
  CHECK(near(values(outer(one(4))), {-26.5}));
  CHECK(outer.named_parameters().size() == 4);
  CHECK(holds(said<kiln::value_error>([&] { inner.set_children({{"x", inner}}); }), "part of itself"));
  CHECK(holds(said<kiln::value_error>([&] { inner.set_children({{"x", outer}}); }), "part of itself"));
  CHECK(near(values(outer(one(4))), {-26.5}));
  CHECK(holds(said<kiln::value_error>([&] { inner.set_children({{"a.b", a}}); }), "without dots"));
  CHECK(holds(said<kiln::value_error>([&] { a.set_children({}); }), "no parts"));
}

TEST_CASE("containers say what they need") {
  const auto a = line(2, 1);
  const auto text = [](auto f) { return said<kiln::error>(f); };
  CHECK(holds(text([&] { make_container("Fork", {{"a", a}})(one(1)); }), "Fork: has 1 parts, needs 2"));
  CHECK(holds(text([&] { make_container("Fork", {{"a", a}, {"b", a}})(one(1)); }), "one result is expected"));
  CHECK(holds(text([&] { a.run({one(1), one(2)}); }), "one input is expected, there are 2"));
  CHECK(holds(text([&] { make_container("Recur", {{"a", a}}).run({one(1)}); }), "one input is expected"));
  const auto wide = make_module("Linear", {{"in_features", 1}, {"out_features", 2}});
  CHECK(holds(text([&] { make_container("Residual", {{"a", wide}})(one(1)); }), "both must be of one shape"));
  CHECK(holds(text([&] { make_container("ModuleList", {{"a", a}})(one(1)); }), "no forward pass"));
  CHECK(holds(text([&] { make_container("Ring", {}); }), "there is no \"Ring\""));
  CHECK(holds(text([&] { joining_layer("Sub"); }), "there is no \"Sub\""));
  CHECK(holds(text([&] { joining_layer("Cat").run({one(1)}); }), "two inputs or more"));
  CHECK(holds(text([&] {
                make_module("RNN", {{"input_size", 1}, {"hidden_size", 1}, {"nonlinearity", "relu"}});
              }),
              "nonlinearity"));
}

TEST_CASE("containers: 50,000 within each other are made and ended, each looked at once") {
  const std::clock_t begin = std::clock();
  kiln::dynamic::module nested = sequential(std::vector<kiln::dynamic::module>{});
  const kiln::dynamic::module innermost = nested;
  for (int i = 0; i < 50'000; ++i) nested = sequential(std::vector{nested});
  CHECK(holds(said<kiln::value_error>([&] { innermost.set_children({{"0", nested}}); }), "part of itself"));
  // As many ways to the innermost as there are atoms in the world.
  kiln::dynamic::module doubled = innermost;
  for (int i = 0; i < 300; ++i) doubled = sequential(std::vector{doubled, doubled});
  CHECK(holds(said<kiln::value_error>([&] { innermost.set_children({{"0", doubled}}); }), "part of itself"));
  nested = doubled;
  CHECK(static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC < 10);
}
