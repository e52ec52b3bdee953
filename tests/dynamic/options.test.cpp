// SPDX-License-Identifier: BSL-1.0
// Options by name: kinds, what is missing, what nobody knows.
#include <doctest/doctest.h>

#include <kiln/dynamic/options.hpp>
#include <string>
#include <support/said.hpp>

using namespace kiln::dynamic;
using test::said;

TEST_CASE("options keep their order, and a name comes once") {
  options o{{"b", 1}, {"a", 2.5}, {"b", true}};
  CHECK(o.size() == 2);
  CHECK(o.begin()->first == "b");
  option_reader r("Layer", o);
  CHECK(r.get<bool>("b", false));
  CHECK(r.get<double>("a", 0) == 2.5);
  CHECK(r.get<double>("c", 7) == 7);
  CHECK(!r.has("d"));
  r.finish();
}

TEST_CASE("kinds") {
  const options o{{"n", 3}, {"zero", 0}, {"text", "x"}, {"list", std::vector<std::int64_t>{2, 3}}, {"real", 0.5f}};
  option_reader r("Layer", o);
  CHECK(r.get<double>("n", 0) == 3);
  CHECK(!r.get<bool>("zero", true));
  CHECK(r.get<std::string>("text", "") == "x");
  CHECK(r.get<kiln::pair2d>("list", 1) == kiln::pair2d(2, 3));
  CHECK(r.get<kiln::pair2d>("n", 1) == kiln::pair2d(3));
  CHECK(r.get<kiln::dims>("list", {}) == kiln::dims{2, 3});
  CHECK(r.get<double>("real", 0) == 0.5);
  CHECK(said<kiln::value_error>([&] { r.get<std::int64_t>("real", 0); }) ==
        "Layer: the option \"real\" takes a whole number");
  CHECK(said<kiln::value_error>([&] { r.get<bool>("n", false); }).find("true or false") != std::string::npos);
  CHECK(said<kiln::value_error>([&] { r.get<std::string>("n", ""); }).find("takes a text") != std::string::npos);
  CHECK(said<kiln::value_error>([&] { r.get<kiln::pair2d>("text", 1); }).find("a whole number or two") !=
        std::string::npos);
  CHECK(said<kiln::value_error>([&] { r.need<double>("missing"); }).find("needs the option \"missing\"") !=
        std::string::npos);
}

TEST_CASE("what nobody asked for is an error") {
  const options o{{"lr", 1}, {"learning_rate", 2}};
  option_reader r("SGD", o);
  r.get<double>("lr", 0);
  CHECK(said<kiln::value_error>([&] { r.finish(); }) == "SGD: there is no option \"learning_rate\"; it has lr");
  CHECK(r.type() == kiln::dtype::float32);
  const options wide{{"dtype", "float64"}}, wrong{{"dtype", "int8"}};
  CHECK(option_reader("L", wide).type() == kiln::dtype::float64);
  CHECK_THROWS_AS(option_reader("L", wrong).type(), kiln::value_error);
}
