// SPDX-License-Identifier: BSL-1.0
// Calls by name: every op, types, shapes, numbers, and what is said of wrong ones.
#include <doctest/doctest.h>

#include <dynamic/values.hpp>
#include <limits>
#include <string>
#include <vector>

#include <kiln/dynamic/op_facts.hpp>

using namespace kiln::dynamic;
using namespace test;
using kiln::dtype;

namespace {
tensor two(std::string_view op, const tensor& a, const tensor& b) {
  return call(op, {a, b});
}
}  // namespace

TEST_CASE("every pointwise op of the list goes by its name") {
  int called = 0;
  for (const auto& f : graph::facts::table<kiln::all_ops>::all) {
    if (!graph::is_pointwise(f)) {
      CHECK(arity_of(f.rules->name) == 0);
      continue;
    }
    INFO(f.rules->name);
    CHECK(arity_of(f.rules->name) == f.rules->arity);
    for (int t = 0; t < kiln::dtype_count; ++t) {
      const auto type = static_cast<dtype>(t);
      INFO(kiln::name(type));
      std::vector<tensor> operands;
      for (int i = 0; i < f.rules->arity; ++i)
        operands.push_back(i > 0 && f.rest_are_numbers ? (type == dtype::boolean ? scalar(true) : scalar(1))
                                                       : made({2}, {1, 1}, type));
      if (!f.rules->accepts(type)) {
        CHECK_THROWS_AS(call(f.rules->name, operands), kiln::dtype_error);
        continue;
      }
      const tensor y = call(f.rules->name, operands);
      const dtype expected = f.rules->result(f.rules->common(type));
      CHECK(y.type() == expected);
      CHECK(values(y).size() == 2);
      // And its gradient, if it has one.
      if (!kiln::is_floating(expected) || !kiln::is_floating(type)) continue;
      (f.rest_are_numbers ? operands.front() : operands.back()).requires_grad_();
      reduce("sum", call(f.rules->name, operands)).backward();
    }
    ++called;
  }
  CHECK(called > 70);
}

TEST_CASE("values") {
  const tensor x = made({3}, {-1, 0.5, 2});
  CHECK(near(values(call("exp", {x})), {std::exp(-1.), std::exp(.5), std::exp(2.)}));
  CHECK(near(values(call("relu", {x})), {0, 0.5, 2}));
  CHECK(near(values(call("gelu", {x})),
             {-.5 * std::erfc(std::sqrt(.5)), .25 * std::erfc(-.5 * std::sqrt(.5)), std::erfc(-2 * std::sqrt(.5))}));
  CHECK(near(values(two("leaky_relu", x, scalar(0.1))), {-.1, .5, 2}));
  CHECK(near(values(call("clamp", {x, scalar(0), scalar(1.0)})), {0, .5, 1}));
  CHECK(near(values(call("where", {two("lt", x, scalar(0)), scalar(7), x})), {7, .5, 2}));
  CHECK(near(values(two("pow", scalar(2), x)), {.5, std::sqrt(2.), 4}));
}

TEST_CASE("types: of tensors the wider, of numbers only a higher category") {
  const tensor i8 = made({1}, {1}, dtype::int8), u8 = made({1}, {200}, dtype::uint8),
               i64 = made({1}, {3}, dtype::int64), half = made({1}, {1}, dtype::float16),
               bf = made({1}, {1}, dtype::bfloat16), f32 = made({1}, {1}), f64 = made({1}, {1}, dtype::float64),
               truth = made({1}, {1}, dtype::boolean);
  CHECK(two("add", i8, u8).type() == dtype::int16);
  CHECK(values(two("add", i8, u8)) == std::vector<double>{201});
  CHECK(two("add", half, bf).type() == dtype::float32);
  CHECK(two("add", i64, half).type() == dtype::float16);
  CHECK(two("add", f32, f64).type() == dtype::float64);
  CHECK(two("add", i8, scalar(1)).type() == dtype::int8);
  CHECK(two("add", i8, scalar(0.5)).type() == dtype::float32);
  CHECK(two("add", truth, scalar(2)).type() == dtype::int64);
  CHECK(two("add", half, scalar(0.5, dtype::float64)).type() == dtype::float16);
  CHECK(two("div", i64, i64).type() == dtype::float32);
  CHECK(call("exp", {i8}).type() == dtype::float32);
  CHECK(two("lt", i8, f64).type() == dtype::boolean);
  CHECK(two("logical_and", f32, i8).type() == dtype::boolean);
  CHECK(call("where", {f32, i8, i64}).type() == dtype::int64);
  CHECK(reduce("sum", i8).type() == dtype::int64);
  CHECK(reduce("mean", i8).type() == dtype::float32);
  CHECK(reduce("any", f32).type() == dtype::boolean);
  CHECK(two("add", scalar(1), scalar(2)).item_int64() == 3);
  CHECK(two("mul", scalar(2), scalar(0.5)).item() == 1);
  CHECK(two("mul", scalar(0.5), scalar(3)).type() == dtype::float32);
}

TEST_CASE("conversions") {
  CHECK(values(made({3}, {1.9, -1.9, 0}).to(dtype::int32)) == std::vector<double>{1, -1, 0});
  CHECK(values(made({3}, {0.1, 0, -2}).to(dtype::boolean)) == std::vector<double>{1, 0, 1});
  CHECK(values(made({1}, {0.1}, dtype::float64).to(dtype::float16).to(dtype::float64))[0] == 0.0999755859375);
  const tensor x = made({1}, {1});
  CHECK(x.to(dtype::float32).use_count() == 2);
}

TEST_CASE("integers beside integers that do not hold them") {
  const tensor u8 = made({2}, {0, 200}, dtype::uint8);
  CHECK(values(two("add", u8, scalar(300))) == std::vector<double>{44, 244});
  CHECK(holds(said<kiln::value_error>([&] { two("eq", u8, scalar(256)).eval(); }), "256 is no value of uint8"));
  CHECK(values(two("maximum", u8, scalar(-5))) == std::vector<double>{0, 200});
  CHECK(values(two("minimum", u8, scalar(1000))) == std::vector<double>{0, 200});
  CHECK_THROWS_AS(two("maximum", u8, scalar(1000)).eval(), kiln::value_error);
  CHECK_THROWS_AS(scalar(std::int64_t{300}, dtype::uint8), kiln::value_error);
  CHECK_THROWS_AS(scalar(0.5, dtype::int32), kiln::dtype_error);
}

TEST_CASE("shapes broadcast, and refusals say which do not") {
  const tensor a = made({2, 1}, {1, 2}), b = made({3}, {10, 20, 30});
  CHECK(two("add", a, b).sizes() == kiln::dims{2, 3});
  CHECK(near(values(two("add", a, b)), {11, 21, 31, 12, 22, 32}));
  const std::string text = said<kiln::shape_error>([&] { two("mul", b, made({2}, {1, 2})); });
  CHECK(holds(text, "mul"));
  CHECK(holds(text, "[3] and [2]"));
}

TEST_CASE("refusals name the op") {
  const tensor x = made({2}, {1, 2}), i = made({2}, {1, 2}, dtype::int64);
  CHECK(holds(said<kiln::value_error>([&] { call("frobnicate", {x}); }), "\"frobnicate\""));
  CHECK(holds(said<kiln::value_error>([&] { call("sum", {x}); }), "reduce()"));
  CHECK(holds(said<kiln::value_error>([&] { call("add", {x}); }), "add: takes 2 operands, got 1 (float32[2])"));
  CHECK(holds(said<kiln::value_error>([&] { call("exp", {x, x, x, x}); }), "exp: takes 1"));
  CHECK(holds(said<kiln::value_error>([&] { call("leaky_relu", {x, x}); }), "operand 2"));
  CHECK(holds(said<kiln::dtype_error>([&] {
                call("bitwise_and", {x, i});
              }),
              "bitwise_and: is not defined for float32"));
  CHECK(holds(said<kiln::value_error>([&] { reduce("average", x); }), "\"average\""));
  CHECK(holds(said<kiln::index_error>([&] { reduce("sum", x, {1}); }), "sum"));
  CHECK(holds(said<kiln::value_error>([&] { reduce("sum", x, {0, -1}); }), "twice"));
  CHECK(holds(said<kiln::value_error>([&] { call("exp", {tensor()}); }), "no value"));
}

TEST_CASE("reductions") {
  const tensor x = made({2, 3}, {1, 2, 3, 4, 5, 9});
  CHECK(near(values(reduce("sum", x)), {24}));
  CHECK(near(values(reduce("prod", x, {1})), {6, 180}));
  CHECK(near(values(reduce("amax", x, {-1})), {3, 9}));
  CHECK(near(values(reduce("min", x, {0})), {1, 2, 3}));
  CHECK(near(values(reduce("var", x, {1})), {1, 7}));
  CHECK(near(values(reduce("std", x, {1}, true)), {1, std::sqrt(7.)}));
  CHECK(near(values(var(x, std::vector<std::int64_t>{1}, false, 0)), {2 / 3., 14 / 3.}));
  CHECK(near(values(reduce("norm", made({2}, {3, 4}))), {5}));
  CHECK(near(values(reduce("logsumexp", made({2}, {1, 1}))), {1 + std::log(2.)}));
  CHECK(near(values(reduce("count_nonzero", made({3}, {0, 2, -1}))), {2}));
  CHECK(near(values(reduce("any", made({2}, {0, 0}))), {0}));
  CHECK(near(values(reduce("all", made({2}, {1, 2}))), {1}));
  CHECK(reduce("sum", x, {0, 1}, true).sizes() == kiln::dims{1, 1});
  const std::int64_t last = -1;
  CHECK(near(values(layer_norm(made({1, 2}, {1, 3}), {&last, 1}, 0)), {-1, 1}));
  CHECK(near(values(rms_norm(made({1, 2}, {3, 3}), {&last, 1}, 0)), {1, 1}));
}
