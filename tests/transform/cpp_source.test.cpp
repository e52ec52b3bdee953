// SPDX-License-Identifier: BSL-1.0
// source<Cpp>: the text is as stored, compiles with the standard library alone, and gives the bits that kiln gives.
#include <cmath>
#include <limits>
#include <tuple>

namespace stored {
#include "cpp_source.golden.txt"
}

#include <kiln/transform/cpp_source.hpp>

#include <kiln/transform/vjp.hpp>

#include <doctest/doctest.h>

#include <bit>
#include <cstdint>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

using namespace kiln;

namespace {

constexpr auto relu3 = [](auto x) { return where(x < 0, 0, where(x < 1, x * x * x / 3, x - 2.0 / 3)); };
constexpr auto steps = [](auto x) {
  return where(isfinite(x), abs(x) * sign(x - 3) + round(x), where(isnan(x), 2, where(isinf(x), -x, 0)));
};
constexpr auto waves = [](auto x, auto y) {
  return sin(x) * exp(0.1 * y) + sigmoid(x - y) * gelu(y) - log1p(maximum(x, minimum(y, 2)));
};
constexpr auto roots = [](auto x, auto y) {
  return remainder(x, y) + rsqrt(abs(x)) / (1 + hypot(x, y)) - reciprocal(y) * pow(abs(x), 1.5) + atan2(y, x);
};
const double given = 0.3;
const auto scaled = [a = given](auto x) { return a * tanh(x); };

std::string all_of_them() {
  return source<Cpp>(relu3, {.name = "relu3"}) + "\n" +
         source<Cpp>(grad(relu3), {.name = "slope", .arguments = {"at"}}) + "\n" +
         source<Cpp, double>(steps, {.name = "steps"}) + "\n" + source<Cpp, double, double>(waves, {.name = "waves"}) +
         "\n" + source<Cpp>(roots, {.name = "roots"}) + "\n" + source<Cpp>(scaled, {.name = "scaled"});
}

template <class T>
std::vector<T> arguments() {
  constexpr T inf = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN();
  std::vector<T> all{T(0),
                     T(-0.0),
                     T(0.5),
                     T(-0.5),
                     T(1),
                     T(-1),
                     T(2.5),
                     T(-3.5),
                     T(8e12),
                     T(-8e12),
                     inf,
                     -inf,
                     nan,
                     std::nextafter(T(1), T(0)),
                     std::numeric_limits<T>::denorm_min(),
                     std::numeric_limits<T>::max(),
                     std::numeric_limits<T>::lowest(),
                     std::numeric_limits<T>::min()};
  std::mt19937 bits(1);
  std::normal_distribution<double> some(0, 2);
  for (int i = 0; i < 200; ++i) all.push_back(static_cast<T>(some(bits)));
  return all;
}

/// g++ makes one instruction of a product and a sum where the processor has one, each time as it sees fit.
#if defined(__FMA__) && defined(__OPTIMIZE__) && !defined(__clang__)
constexpr bool contracted = true;
#else
constexpr bool contracted = false;
#endif

/// Equal bits; of nans, whose sign the processor and the compiler choose differently, that both are.
template <class T>
bool same(T a, T b) {
  using bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  return std::bit_cast<bits>(a) == std::bit_cast<bits>(b) || (a != a && b != b);
}

}  // namespace

TEST_CASE("source<Cpp>: the text is the stored one") {
  std::ifstream file(std::string(KILN_TEST_SOURCE_DIR) + "/tests/transform/cpp_source.golden.txt");
  std::stringstream wanted;
  wanted << file.rdbuf();
  REQUIRE(wanted.str().size() > 100);
  CHECK(all_of_them() == wanted.str());
}

TEST_CASE("source<Cpp>: the stored text gives kiln's bits, values and derivatives" * doctest::skip(contracted)) {
  for (const float x : arguments<float>()) {
    CAPTURE(x);
    CHECK(same(stored::relu3(x), vjp(relu3, x).first));
    CHECK(same(stored::relu3_gradient(x), grad(relu3)(x)));
    CHECK(same(stored::slope(x), grad(relu3)(x)));
    CHECK(same(stored::slope_gradient(x), grad(grad(relu3))(x)));
    CHECK(same(stored::scaled(x), vjp(scaled, x).first));
    CHECK(same(stored::scaled_gradient(x), grad(scaled)(x)));
  }
  for (const double x : arguments<double>()) {
    CAPTURE(x);
    CHECK(same(stored::steps(x), vjp(steps, x).first));
    CHECK(same(stored::steps_gradient(x), grad(steps)(x)));
  }
}

TEST_CASE("source<Cpp>: of several arguments the derivatives are a tuple" * doctest::skip(contracted)) {
  const std::vector<double> all = arguments<double>();
  const std::vector<float> narrow = arguments<float>();
  for (std::size_t i = 0; i < all.size(); ++i)
    for (std::size_t k = 0; k < all.size(); k += 5) {
      CAPTURE(all[i]);
      CAPTURE(all[k]);
      CHECK(same(stored::waves(all[i], all[k]), vjp(waves, all[i], all[k]).first));
      const auto [a, b] = grad<0, 1>(waves)(all[i], all[k]);
      const auto [c, d] = stored::waves_gradient(all[i], all[k]);
      CHECK((same(a, c) && same(b, d)));
      CHECK(same(stored::roots(narrow[i], narrow[k]), vjp(roots, narrow[i], narrow[k]).first));
      const auto [e, f] = grad<0, 1>(roots)(narrow[i], narrow[k]);
      const auto [g, h] = stored::roots_gradient(narrow[i], narrow[k]);
      CHECK((same(e, g) && same(f, h)));
    }
}

TEST_CASE("source<Cpp>: relu3 at the ends, by hand") {
  const float inf = std::numeric_limits<float>::infinity();
  CHECK(stored::relu3(inf) == inf);
  CHECK(stored::relu3(-inf) == 0);
  CHECK(std::isnan(stored::relu3(std::nanf(""))));
  CHECK(stored::relu3_gradient(inf) == 1);
  CHECK(stored::relu3_gradient(-inf) == 0);
  CHECK(stored::relu3_gradient(8e12f) == 1);  // x * x * x is infinite there
}

TEST_CASE("source<Cpp>: names that are none are refused") {
  CHECK_THROWS_WITH_AS(source<Cpp>(relu3, {.name = "3d"}),
                       "source<Cpp>: \"3d\" cannot be a name: use letters, digits and _, and not t0, t1 ..., which "
                       "values on the way are called",
                       value_error);
  CHECK_THROWS_AS(source<Cpp>(relu3, {.arguments = {"t0"}}), value_error);
  CHECK_THROWS_AS(source<Cpp>(relu3, {.name = "a b"}), value_error);
  CHECK_THROWS_WITH_AS(source<Cpp>(relu3, {.arguments = {"a", "b"}}),
                       "source<Cpp>: 2 names for a function of 1 arguments: give one for each, or none", value_error);
}
