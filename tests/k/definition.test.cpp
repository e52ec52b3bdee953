// SPDX-License-Identifier: BSL-1.0
#include <kiln/k/definition.hpp>

#include "k/support.hpp"

using namespace k_test;

namespace {
std::string text(const k::definition& d) {
  std::string out = d.type;
  if (!d.name.empty()) out += ":" + d.name;
  for (const owned& x : d.positional) out += " " + std::to_string(x.get()->long_integer);
  for (const k::option& o : d.named) out += " " + o.name + "=" + std::to_string(o.value.get()->byte);
  for (const k::definition& child : d.children) out += " [" + text(child) + "]";
  return out;
}
std::string read(const owned& x) {
  return text(k::read_definition(x.get()));
}
owned linear(int in, int out) {
  return list(symbol("linear"), number(in), number(out));
}
}  // namespace

TEST_CASE("a layer is a symbol, or a list that starts with one") {
  const no_leak watch;
  CHECK(read(symbol("relu")) == "relu");
  CHECK(read(list(linear(64, 10))) == "linear 64 10");
  CHECK(read(linear(64, 10)) == "linear 64 10");
  CHECK(read(list(list(symbol("linear"), symbol("fc"), number(64), number(10), list(symbol("bias"), flag(false))))) ==
        "linear:fc 64 10 bias=0");
}

TEST_CASE("a tree has its parent first") {
  const no_leak watch;
  CHECK(read(list(symbol("sequential"), list(linear(128, 10)), symbol("relu"))) == "sequential [linear 128 10] [relu]");
  CHECK(read(list(symbol("sequential"), list(linear(2, 100)), symbols({"relu"}), list(linear(100, 3)))) ==
        "sequential [linear 2 100] [relu] [linear 100 3]");
  CHECK(read(symbols({"sequential", "relu", "tanh"})) == "sequential [relu] [tanh]");
  CHECK(read(list(symbol("sequential"), list(symbol("sequential"), list(linear(1, 2))), symbol("relu"))) ==
        "sequential [sequential [linear 1 2]] [relu]");
}

TEST_CASE("a list of depths and modules") {
  const no_leak watch;
  CHECK(read(list(list(number(0), symbol("sequential")), list(number(1), linear(64, 10)),
                  list(number(1), symbol("relu")))) == "sequential [linear 64 10] [relu]");
  CHECK(read(list(list(number(0), symbol("sequential")), list(number(1), symbol("residual")),
                  list(number(2), symbol("relu")), list(number(1), symbol("tanh")))) ==
        "sequential [residual [relu]] [tanh]");
  const owned gap = list(list(number(0), symbol("sequential")), list(number(3), symbol("relu")));
  CHECK_THROWS_WITH(read(gap), "depth 3 follows a smaller one by more than 1");
  const owned two = list(list(number(0), symbol("relu")), list(number(0), symbol("relu")));
  CHECK_THROWS_WITH(read(two), "the first module has depth 0 and all others more, given 0");
}

TEST_CASE("a table with columns") {
  const no_leak watch;
  const owned table(k::xT(k::make_dictionary(
      std::vector<std::string>{"depth", "module", "name", "options"},
      list(longs({0, 1}), symbols({"sequential", "linear"}), symbols({"", "fc"}),
           list(empty_list(), owned(k::make_dictionary(std::vector<std::string>{"bias"}, booleans("1").release()))))
          .release())));
  CHECK(read(table) == "sequential [linear:fc bias=1]");
}

TEST_CASE("options by position get their names") {
  const no_leak watch;
  const k::definition layer =
      k::read_definition(list(list(symbol("linear"), number(64), number(10), list(symbol("bias"), flag(false)))).get());
  const auto all = k::options_by_name(layer);
  REQUIRE(all.size() == 3);
  CHECK(all[1].name == "out");
  CHECK(all[2].name == "bias");
  const k::definition more =
      k::read_definition(list(list(symbol("linear"), number(1), number(2), flag(true), number(3))).get());
  CHECK_THROWS_AS(k::options_by_name(more), kiln::value_error);
  const k::definition twice =
      k::read_definition(list(list(symbol("linear"), number(1), list(symbol("in"), number(3)))).get());
  CHECK_THROWS_WITH(k::options_by_name(twice), "linear: option `in is given twice");
}

TEST_CASE("what is no definition is refused") {
  const no_leak watch;
  CHECK_THROWS_AS(read(number(5)), kiln::value_error);
  CHECK_THROWS_AS(read(empty_list()), kiln::value_error);
  CHECK_THROWS_AS(read(list(number(5), symbol("relu"))), kiln::value_error);
}
