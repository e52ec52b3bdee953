// SPDX-License-Identifier: BSL-1.0
// Printed tapes against texts written by hand.
#include <kiln/ops/all.hpp>
#include <kiln/tape/infix.hpp>

#include <doctest/doctest.h>

#include <limits>

using namespace kiln;

namespace {

// A tape under construction with three float leaves x0 x1 x2, a number n0, and an int32 leaf x3.
struct sheet {
  program p;
  symbol a = leaf(0), b = leaf(1), c = leaf(2);
  symbol n{&p, p.push({.code = opcode::scalar, .type = dtype::float32, .slot = 0})};
  symbol k = leaf(3, dtype::int32);

  symbol leaf(int slot, dtype type = dtype::float32) {
    return {&p, p.push({.code = opcode::leaf, .type = type, .slot = static_cast<std::int16_t>(slot)})};
  }
  tape_view view() { return {&p[0], p.size(), p.results, p.result_count}; }
  std::string text(symbol result, const tape_names& names = {}) {
    p.result_count = 0;
    p.add_result(result.id);
    return infix(view(), op_rules_table, names);
  }
};

}  // namespace

TEST_CASE("infix: operators and functions look as they were written") {
  sheet s;
  CHECK(s.text(relu(s.a * s.b + s.c)) == "relu(x0 * x1 + x2)");
  CHECK(s.text(where(s.a <= 0, 0, s.a)) == "where(x0 <= 0, 0, x0)");
  CHECK(s.text(pow(s.a, s.n)) == "pow(x0, n0)");
  CHECK(s.text(s.a) == "x0");
  CHECK(s.text(cast(s.k, dtype::float32) / s.a) == "float32(x3) / x0");
}

TEST_CASE("infix: parentheses stand where the tree needs them and nowhere else") {
  sheet s;
  CHECK(s.text((s.a + s.b) * s.c) == "(x0 + x1) * x2");
  CHECK(s.text(s.a + s.b * s.c) == "x0 + x1 * x2");
  CHECK(s.text(s.a - s.b - s.c) == "x0 - x1 - x2");
  CHECK(s.text(s.a - (s.b - s.c)) == "x0 - (x1 - x2)");
  CHECK(s.text(s.a + (s.b + s.c)) == "x0 + (x1 + x2)");
  CHECK(s.text(s.a / (s.b * s.c)) == "x0 / (x1 * x2)");
  CHECK(s.text(-(s.a + s.b)) == "-(x0 + x1)");
  CHECK(s.text(-s.a * s.b) == "-x0 * x1");
  CHECK(s.text(-(s.a * s.b)) == "-(x0 * x1)");
  CHECK(s.text(-(-s.a)) == "-(-x0)");
  CHECK(s.text(!(s.a == s.b)) == "!(x0 == x1)");
  CHECK(s.text(~(s.k << s.k) & s.k) == "~(x3 << x3) & x3");
  CHECK(s.text((s.k | s.k) ^ s.k) == "(x3 | x3) ^ x3");
  CHECK(s.text(tanh(s.a + s.b)) == "tanh(x0 + x1)");
}

TEST_CASE("infix: numbers are as short as reads back the same") {
  sheet s;
  CHECK(s.text(s.a * 0.1) == "x0 * 0.1");
  CHECK(s.text(s.a * 3) == "x0 * 3");
  CHECK(s.text(s.a - -1.5) == "x0 - -1.5");
  CHECK(s.text(s.a + std::numeric_limits<double>::infinity()) == "x0 + inf");
  CHECK(s.text(s.a * 0.70710678118654752440) == "x0 * 0.70710677");
  CHECK(s.text(cast(s.a, dtype::float64) * 0.1) == "float64(x0) * 0.1");
  CHECK(s.text(s.k + 7) == "x3 + 7");
  CHECK(number_text(1, dtype::boolean) == "true");
  CHECK(number_text(1e300, dtype::float32) == "inf");
}

TEST_CASE("infix: leaves and numbers take the names given") {
  sheet s;
  CHECK(s.text(s.a * s.b + s.n, {{"w", "x"}, {"0.5"}}) == "w * x + 0.5");
  CHECK(s.text(s.a * s.c, {{"", "x"}, {}}) == "x0 * x2");
}

TEST_CASE("infix: what is used twice gets a line of its own when one line is not enough") {
  sheet s;
  const symbol d = s.a - s.b;
  CHECK(s.text(d * d) == "(x0 - x1) * (x0 - x1)");
  symbol y = d;
  for (int i = 0; i < 5; ++i) y = tanh(y) * y;
  CHECK(s.text(y) ==
        "t0 = x0 - x1\n"
        "t1 = tanh(t0) * t0\n"
        "t2 = tanh(t1) * t1\n"
        "t3 = tanh(t2) * t2\n"
        "t4 = tanh(t3) * t3\n"
        "tanh(t4) * t4");
  // Doubling a hundred times would be a text of 2^100 characters.
  for (int i = 0; i < 100; ++i) y = y + y;
  CHECK(s.text(y).size() < 4000);
}

TEST_CASE("infix: what no result needs is not printed; several results have a line each") {
  sheet s;
  const symbol unused = exp(s.a);
  (void)unused;
  s.p.add_result((s.a * s.b).id);
  s.p.add_result(-1);
  s.p.add_result(s.a.id);
  CHECK(infix(s.view(), op_rules_table) == "y0 = x0 * x1\ny1 = none\ny2 = x0");
}

TEST_CASE("infix: an op that the table lacks is named as such") {
  sheet s;
  const int at = s.p.push({.code = opcode_of("never_heard_of"), .type = dtype::float32, .a = 0});
  CHECK(s.text({&s.p, at}) == "unknown_op(x0)");
  CHECK(listing(s.view(), op_rules_table).find("unknown_op float32 %0") != std::string::npos);
}

TEST_CASE("listing: every instruction has a line") {
  program p;
  const symbol a{&p, p.push({.code = opcode::leaf, .type = dtype::float32, .slot = 0})};
  const symbol r{&p, p.push({.code = opcode::leaf, .type = dtype::float64, .slot = 1, .literal = 1})};
  const symbol n{&p, p.push({.code = opcode::scalar, .type = dtype::float32, .slot = 0})};
  const symbol above = a > 0.5, product = a * n;
  p.add_result(where(above, product, a).id);
  p.add_result(r.id);
  p.add_result(-1);
  const tape_view t{&p[0], p.size(), p.results, p.result_count};
  CHECK(listing(t, op_rules_table, {{"w"}, {}}) ==
        "%0 = leaf float32 w\n"
        "%1 = leaf float64 x1 per row\n"
        "%2 = number float32 n0\n"
        "%3 = constant float32 0.5\n"
        "%4 = gt bool %0 %3\n"
        "%5 = mul float32 %0 %2\n"
        "%6 = where float32 %4 %5 %0\n"
        "result %6 %1 none\n");
}
