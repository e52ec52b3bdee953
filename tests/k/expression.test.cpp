// SPDX-License-Identifier: BSL-1.0
#include <kiln/k/expression.hpp>

#include "k/support.hpp"

#include <cmath>

namespace {

using strings = std::vector<std::string>;

kiln::dynamic::tensor number_tensor(double value) {
  return kiln::dynamic::scalar(value, kiln::dtype::float64);
}
/// The value of a formula for operands in order of first appearance.
double value(std::string_view text, const std::vector<double>& operands = {}) {
  std::vector<kiln::dynamic::tensor> given;
  for (double each : operands) given.push_back(number_tensor(each));
  return k::expression(text)(given).item();
}
std::string error_of(std::string_view text) {
  try {
    const k::expression read(text);
    return "none";
  } catch (const kiln::value_error& e) {
    return e.what();
  }
}

}  // namespace

TEST_CASE("formulas are read from right to left, functions take all on their right") {
  CHECK(value("2*3+4") == 14);
  CHECK(value("(2*3)+4") == 10);
  CHECK(value("10-2-3") == 11);
  CHECK(value("x%y%z", {8, 4, 2}) == 4);
  CHECK(value("Sqrt 9+16") == 5);
  CHECK(value("Sqrt[9.]+16") == 19);
  CHECK(value("Sqrt(9.)+16") == 5);  // as in q, where a parenthesis is no call
  CHECK(value("Neg Abs x", {-3}) == -3);
  CHECK(value(" ( ( 7 ) ) ") == 7);
  CHECK(value("x-y", {5, 3}) == 2);
  CHECK(value("x -1", {5}) == 4);
  CHECK(value("x*-1", {5}) == -5);
  CHECK(value("(x*y)+Exp z", {2, 3, 1}) == doctest::Approx(6 + std::exp(1.0)));
  CHECK(value("x*tanh x*sigmoid x", {0.5}) == doctest::Approx(0.5 * std::tanh(0.5 / (1 + std::exp(-0.5)))));
}

TEST_CASE("operators and functions of two arguments") {
  CHECK(value("x&y", {2, 3}) == 2);
  CHECK(value("x|y", {2, 3}) == 3);
  CHECK(value("x<y", {2, 3}) == 1);
  CHECK(value("x>y", {2, 3}) == 0);
  CHECK(value("x<=y", {2, 2}) == 1);
  CHECK(value("x>=y", {2, 3}) == 0);
  CHECK(value("x<>y", {2, 3}) == 1);
  CHECK(value("x=y", {2, 2}) == 1);
  CHECK(value("pow[x;2]+1", {3}) == 10);
  CHECK(value("atan2[ y ; x ]", {1, 2}) == doctest::Approx(std::atan2(1.0, 2.0)));
  CHECK(value("sub[maximum[x;y];add[1;2]]", {5, 9}) == 6);
  CHECK(value("leakyrelu x", {-2}) == doctest::Approx(-0.02));
  CHECK(value("leakyrelu[x;.5]", {-2}) == -1);
  CHECK(value("hardtanh[x;-3;3]", {-9}) == -3);
  CHECK(value("hardtanh[x]", {-9}) == -1);
}

TEST_CASE("names are operands in order of first appearance; numbers have their types") {
  CHECK(k::expression("b+a*b+.q.c_1").names() == strings{"b", "a", ".q.c_1"});
  CHECK(k::expression("1+2").names().empty());
  const auto type = [](std::string_view text) { return k::expression(text)({}).type(); };
  CHECK(type("12+0") == kiln::dtype::int64);
  CHECK(type("12j+0") == kiln::dtype::int64);
  CHECK(type("1f+0f") == kiln::dtype::float64);
  CHECK(type("1e+2e") == kiln::dtype::float32);
  CHECK(value("1.5e3+.25") == 1500.25);
  CHECK(value("2.") == 2);
  CHECK(value("9223372036854775807") == 9223372036854775807.0);
}

TEST_CASE("what is no formula is refused by its position") {
  CHECK(error_of("") == "position 0 of \"\": a name, number or parenthesis is missing");
  CHECK(error_of("x + ") == "position 4 of \"x + \": a name, number or parenthesis is missing");
  CHECK(error_of("x+*y") == "position 2 of \"x+*y\": a name, number or parenthesis is missing before `*`");
  CHECK(error_of("a*(x+y") == "position 2 of \"a*(x+y\": this parenthesis is not closed");
  CHECK(error_of("x)") == "position 1 of \"x)\": unexpected `)`");
  CHECK(error_of("2 3").starts_with("position 2 of "));
  CHECK(error_of("(x;y)").find("maximum[x;y]") != std::string::npos);
  CHECK(error_of("foo[x]") == "position 0 of \"foo[x]\": foo is no pointwise function, and no operator follows it");
  CHECK(error_of("1+Exp") == "position 5 of \"1+Exp\": a name, number or parenthesis is missing");
  CHECK(error_of("Exp[x;y]") == "position 0 of \"Exp[x;y]\": Exp takes 1 argument in its brackets");
  CHECK(error_of("pow[x]") == "position 0 of \"pow[x]\": pow takes 2 arguments in its brackets");
  CHECK(error_of("pow x").find("write pow[x;y]") != std::string::npos);
  CHECK(error_of("hardtanh[x;1;2;3]").find("takes 1 to 3 arguments") != std::string::npos);
  CHECK(error_of("-x").find("use Neg") != std::string::npos);
  CHECK(error_of("9223372036854775808").find("a long out of range") != std::string::npos);
  CHECK(error_of("1e999").find("out of range") != std::string::npos);
  CHECK(error_of("1.5j").find("no long") != std::string::npos);
  CHECK(error_of("0N+x").starts_with("position 0 of "));
  CHECK(error_of("x+\xc3\xa4").starts_with("position 2 of "));
  CHECK(error_of(std::string(100000, '(')).find("more than 500") != std::string::npos);
  std::string chain = "x";
  for (int i = 0; i < 400; ++i) chain += "+x";
  CHECK(value(chain, {2}) == 802);
  for (int i = 0; i < 400; ++i) chain += "+x";
  CHECK(error_of(chain).find("more than 500") != std::string::npos);
  CHECK(error_of(chain).size() < 300);
}

TEST_CASE("a formula is read once, and not too many are kept") {
  const auto first = k::expression_of("x+1");
  CHECK(k::expression_of("x+1") == first);
  for (int i = 0; i < 300; ++i) k::expression_of("x+" + std::to_string(i + 2));
  const auto again = k::expression_of("x+1");
  CHECK(again != first);
  CHECK((*first)(std::vector{number_tensor(2)}).item() == 3);  // who holds one keeps it
  CHECK_THROWS_AS(k::expression_of("x+"), kiln::value_error);
}
