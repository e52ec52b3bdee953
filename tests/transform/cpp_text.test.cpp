// SPDX-License-Identifier: BSL-1.0
// Ops, numbers and tapes as C++.
#include <kiln/transform/cpp_text.hpp>

#include <doctest/doctest.h>

#include <limits>
#include <string>

using namespace kiln;
using kiln::detail::cpp_language, kiln::detail::cpp_number, kiln::detail::cpp_spelled;

TEST_CASE("cpp_text: functions of the standard library, and what it writes out itself") {
  CHECK(cpp_language::call("exp", {"x"}) == "std::exp(x)");
  CHECK(cpp_language::call("pow", {"a", "b"}) == "std::pow(a, b)");
  CHECK(cpp_language::call("minimum", {"a", "b"}) == "a < b || a != a ? a : b");
  CHECK(cpp_language::call("sigmoid", {"x"}) == "1 / (1 + std::exp(-x))");
  CHECK_THROWS_WITH_AS(cpp_language::call("digamma", {"x"}),
                       "source<Cpp>: the standard library has no digamma: write the function without it, or compute it "
                       "by kiln",
                       value_error);
}

TEST_CASE("cpp_text: every primitive op of numbers is written, but those of whole numbers, addresses and gamma's kin") {
  int written = 0, refused = 0;
  const auto look = [&]<class... Ops>(op_list<Ops...> all) {
    const auto one = [&]<class Op>(std::type_identity<Op>) {
      if constexpr (!Op::composite && !Op::reduces) {
        std::string text;
        try {
          text = cpp_spelled(opcode_of(Op::name), false, {"a", "b", "c"}, all);
        } catch (const value_error&) {
          ++refused;
          return;
        }
        CHECK(text.find('$') == std::string::npos);
        CHECK(text.find('a') != std::string::npos);
        ++written;
      }
    };
    (one(std::type_identity<Ops>{}), ...);
  };
  look(all_ops{});
  CHECK(written > 50);
  CHECK(refused == 6);  // polygamma, digamma, two shifts, two of addresses
  CHECK(cpp_spelled(opcode_of("add"), false, {"a", "b", ""}, all_ops{}) == "a + b");
  CHECK(cpp_spelled(opcode_of("add"), true, {"a", "b", ""}, all_ops{}) == "a | b");
  CHECK_THROWS_AS(cpp_spelled(opcode_of("no such op"), false, {"a", "b", ""}, all_ops{}), value_error);
}

TEST_CASE("cpp_text: numbers read back as themselves") {
  const double inf = std::numeric_limits<double>::infinity();
  CHECK(cpp_number(0.1, dtype::float32) == "0.1f");
  CHECK(cpp_number(0.1, dtype::float64) == "0.1");
  CHECK(cpp_number(3, dtype::float64) == "3.0");
  CHECK(cpp_number(-2, dtype::float32) == "(-2.0f)");
  CHECK(cpp_number(1e300, dtype::float32) == "std::numeric_limits<float>::infinity()");
  CHECK(cpp_number(-inf, dtype::float64) == "(-std::numeric_limits<double>::infinity())");
  CHECK(cpp_number(inf - inf, dtype::float64) == "std::numeric_limits<double>::quiet_NaN()");
  CHECK(cpp_number(1, dtype::boolean) == "true");
  CHECK_THROWS_AS(kiln::detail::cpp_type(dtype::int64), dtype_error);
}
