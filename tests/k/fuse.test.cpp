// SPDX-License-Identifier: BSL-1.0
#include <kiln/k/fuse.hpp>

#include <kiln/k/autograd.hpp>
#include <kiln/k/objects.hpp>
#include <kiln/k/reductions.hpp>
#include <kiln/k/tensors.hpp>

#include "k/support.hpp"

#include <cmath>

using namespace k_test;

namespace {
const library q{k::offer_math,    k::offer_fuse,       k::offer_autograd,
                k::offer_objects, k::offer_reductions, k::offer_tensors};
owned text(std::string_view from) {
  return owned(k::make_text(from));
}
owned dictionary(const std::vector<std::string>& names, owned values) {
  return owned(k::make_dictionary(names, values.release()));
}
}  // namespace

TEST_CASE("a formula alone gives a symbol, which stands for it") {
  const no_leak watch;
  const owned f = q("fuse", text("(x*y)+Exp z"));
  REQUIRE(f.get());
  REQUIRE(f.get()->type == -k::symbol_type);
  const std::vector<double> expected{2 + std::exp(0.0), 6 + std::exp(1.0)};
  const owned arrays = q("fuse", list(copy(f), floats({1, 2}), floats({2, 3}), floats({0, 1})));
  CHECK(arrays.get()->type == k::float_type);
  CHECK(near(arrays, expected));
  CHECK(near(q("fuse", list(text("(x*y)+Exp z"), floats({1, 2}), floats({2, 3}), floats({0, 1}))), expected));
  CHECK(near(q("fuse", list(text("3*x"), longs({1, 2}))), {3, 6}));
  CHECK(q("fuse", list(text("1+2"))).get()->long_integer == 3);
}

TEST_CASE("a handle among the operands gives a handle, whose value is one pass") {
  const no_leak watch;
  const owned x = q("tensor", list(floats({1, 2, 3}), symbol("grad"))), y = q("tensor", floats({4, 5, 6}));
  kiln::dynamic::reset_statistics();
  const owned z = q("fuse", list(text("Log (x*x)+y*tanh x"), copy(x), copy(y)));
  CHECK(kiln::dynamic::statistics().evaluations == 0);
  std::vector<double> values, slopes;
  for (double v : {1.0, 2.0, 3.0}) {
    const double inner = v * v + (v + 3) * std::tanh(v), c = std::cosh(v);
    values.push_back(std::log(inner));
    slopes.push_back((2 * v + (v + 3) / (c * c)) / inner);
  }
  CHECK(near(q("tensor", z), values));
  CHECK(kiln::dynamic::statistics().evaluations == 1);
  const owned s = q("Sum", z);
  CHECK(k::is_null(q("backward", s).get()));
  CHECK(near(q("grad", x), slopes));
  q("free", list(copy(x), copy(y), copy(z), copy(s)));
}

TEST_CASE("where calls are computed at once, a formula still is one pass") {
  const no_leak watch;
  const owned x = q("tensor", floats({1, 2}));
  const bool before = kiln::dynamic::set_lazy(false);
  kiln::dynamic::reset_statistics();
  const owned z = q("fuse", list(text("1+2*x*x"), copy(x)));
  CHECK(kiln::dynamic::statistics().evaluations == 1);
  CHECK_FALSE(kiln::dynamic::lazy());
  CHECK_FALSE(q.error_of("fuse", list(text("x+y"), floats({1, 2}), floats({1, 2, 3}))).empty());
  CHECK_FALSE(kiln::dynamic::set_lazy(before));
  CHECK(near(q("tensor", z), {3, 9}));
  q("free", list(copy(x), copy(z)));
}

TEST_CASE("operands by name, an output, a copy") {
  const no_leak watch;
  const owned by_name = dictionary({"b", "unused", "a"}, list(floats({1, 2}), symbol("x"), number(10.0)));
  CHECK(near(q("fuse", list(text("a-b"), copy(by_name))), {9, 8}));
  CHECK(q.error_of("fuse", list(text("a-c"), copy(by_name))) == "fuse: no operand `c is given");
  const owned table(k::xT(dictionary({"p", "s"}, list(floats({1.5, 2}), longs({2, 3}))).release()));
  CHECK(near(q("fuse", list(text("p*s"), copy(table))), {3, 6}));
  const owned d = q("dict", dictionary({"u", "v"}, list(floats({1, 2}), floats({3, 4}))));
  const owned product = q("fuse", list(text("u*v"), copy(d)));
  CHECK(near(q("tensor", product), {3, 8}));
  CHECK(q.error_of("fuse", list(text("u*w"), copy(d))) == "fuse: no operand `w is given");
  const owned x = q("tensor", floats({1, 2}));
  CHECK(k::is_null(q("fuse", list(text("x*10"), copy(x), copy(x))).get()));
  CHECK(near(q("tensor", x), {10, 20}));
  // A name by itself is a tensor of its own.
  const owned same = q("fuse", list(text("x"), copy(x)));
  q("zeros", x);
  CHECK(near(q("tensor", same), {10, 20}));
  q("free", list(copy(d), copy(product), copy(x), copy(same)));
}

TEST_CASE("what cannot be fused is refused, with the reason") {
  const no_leak watch;
  CHECK(q.error_of("fuse", text("x+")) == "fuse: position 2 of \"x+\": a name, number or parenthesis is missing");
  CHECK(q.error_of("fuse", number(1)) ==
        "fuse: expected a formula as a string or symbol, alone or before its operands, given long scalar");
  CHECK(q.error_of("fuse", empty_list()).starts_with("fuse: expected a formula"));
  CHECK(q.error_of("fuse", symbols({"x", "y"})).starts_with("fuse: expected a formula"));
  CHECK(q.error_of("fuse", list(text("x+y"), number(1.0))) == "fuse: \"x+y\" takes 2 operands: x, y; given 1");
  CHECK(q.error_of("fuse", list(text("x"), number(1.0), number(2.0))) == "fuse: \"x\" takes 1 operand: x; given 2");
  CHECK(q.error_of("fuse", list(text("x"), symbol("a"))) ==
        "fuse: operand x is a symbol scalar, expected a tensor, an array or a number");
  CHECK(q.error_of("fuse", list(text("x"), list(number(4)))).find("stale pointer") != std::string::npos);
  const owned v = q("vector", list(floats({1, 2}), floats({3, 4})));
  CHECK(q.error_of("fuse", list(text("x"), copy(v))) ==
        "fuse: operand x is a vector, expected a tensor, an array or a number");
  q("free", v);
  const owned undefined = q("tensor", null());
  CHECK(q.error_of("fuse", list(text("x"), copy(undefined))).find("without a value") != std::string::npos);
  q("free", undefined);
}
