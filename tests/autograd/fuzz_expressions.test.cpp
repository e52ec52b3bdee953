// SPDX-License-Identifier: BSL-1.0
// Drawn expressions in which a tensor occurs up to five times: values, gradients and second derivatives of float
// tensors of several sizes against tests/support/plain_program.hpp. KILN_FUZZ_BITS names a file for the bits of all
// results, which tests/compiled/modes.cmake compares between the ways of building.
#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <utility>
#include <vector>

#include <kiln/kiln.hpp>
#include <kiln/transform/gradient.hpp>
#include <kiln/transform/jacobian.hpp>
#include <kiln/transform/vmap.hpp>
#include <support/plain_program.hpp>

using namespace kiln;
using test::second_order;

namespace {

// A draw of step `step` of the expression with number `seed`.
constexpr std::uint64_t drawn(std::uint64_t seed, int step) {
  std::uint64_t x = seed * 0x9e3779b97f4a7c15u + static_cast<std::uint64_t>(step) * 0xbf58476d1ce4e5b9u + 1;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// Takes x `Left` more times, and y now and then. Tensors and numbers with derivatives are written in the same words.
template <std::uint64_t Seed, int Left, class V, class X>
auto drawn_from(const V& v, const X& x, const X& y) {
  if constexpr (Left == 0) {
    return v;
  } else {
    constexpr std::uint64_t d = drawn(Seed, Left);
    const auto next = [&] {
      if constexpr (d % 6 == 0)
        return v + x;
      else if constexpr (d % 6 == 1)
        return sin(v) + x;
      else if constexpr (d % 6 == 2)
        return tanh(v * x);
      else if constexpr (d % 6 == 3)
        return x - v;
      else if constexpr (d % 6 == 4)
        return v * x + y;
      else
        return sin(v + x);
    }();
    return drawn_from<Seed, Left - 1>(next, x, y);
  }
}
template <std::uint64_t Seed, class X>
auto expression(const X& x, const X& y) {
  return drawn_from<Seed, static_cast<int>(Seed % 5)>(x, x, y);
}

double element(std::int64_t i, double phase) {
  return std::sin(1.7 * static_cast<double>(i) + phase);
}
Tensor<float> filled(const dims& sizes, double phase) {
  auto t = empty<float>(sizes);
  for (std::int64_t i = 0; i < t.numel(); ++i) t.data()[i] = static_cast<float>(element(i, phase));
  return t;
}

std::uint64_t hash = 14695981039346656037u;
// What all bits come to, and the largest difference from what they should be.
template <class Want>
double difference(const Tensor<float>& got, Want want) {
  double most = 0;
  for (std::int64_t i = 0; i < got.numel(); ++i) {
    const float x = got.data()[i];
    hash = (hash ^ std::bit_cast<std::uint32_t>(x)) * 1099511628211u;
    const double right = want(i);
    most = std::max(most, std::abs(static_cast<double>(x) - right) / (1 + std::abs(right)));
  }
  return most;
}

constexpr double tolerance = 2e-4;

// f(x, y) of as many elements, y of the last axis alone: the derivatives in x along 1, in y along v.
template <std::uint64_t Seed>
void check_sizes() {
  for (const dims& sizes : {dims{3}, dims{16}, dims{40}, dims{1000}, dims{3, 16}, dims{4, 40}}) {
    CAPTURE(Seed);
    CAPTURE(message(sizes));
    const std::int64_t n = sizes[sizes.rank() - 1];
    Tensor<float> x = filled(sizes, 0.3), y = filled({n}, 1.1);
    const auto at = [&](std::int64_t i, bool of_y) {
      const second_order a{static_cast<double>(x.data()[i]), of_y ? 0.0 : 1.0, 1, 0},
          b{static_cast<double>(y.data()[i % n]), of_y ? 1.0 : 0.0, 0, 0};
      return expression<Seed>(a, b);
    };
    x.requires_grad(), y.requires_grad();
    const Tensor<float> value = expression<Seed>(x.detach(), y.detach());
    CHECK(difference(value, [&](std::int64_t i) { return at(i, false).value; }) < tolerance);
    Tensor<float> loss = sum(expression<Seed>(x, y));
    backward(loss);
    CHECK(difference(x.grad(), [&](std::int64_t i) { return at(i, false).s; }) < tolerance);
    if (y.has_grad())
      CHECK(difference(y.grad(), [&](std::int64_t i) {
              double total = 0;
              for (std::int64_t k = i; k < x.numel(); k += n) total += at(k, true).s;
              return total;
            }) < tolerance);
    // Once more, added to what is there.
    backward(Tensor<float>(sum(expression<Seed>(x, y))));
    CHECK(difference(x.grad(), [&](std::int64_t i) { return 2 * at(i, false).s; }) < tolerance);
  }
}
template <std::uint64_t... Seeds>
void check_seeds(std::integer_sequence<std::uint64_t, Seeds...>) {
  (check_sizes<Seeds>(), ...);
}

// Gradients by grad(f), of each row by vmap, and the second derivative along ones by hvp.
template <std::uint64_t Seed>
void check_transforms() {
  const auto f = [](const auto& x) { return sum(expression<Seed>(x, x)); };
  for (const std::int64_t n : {3, 16, 40, 1000}) {
    CAPTURE(Seed);
    CAPTURE(n);
    const Tensor<float> x = filled({n}, 0.3), rows = filled({3, n}, 0.9), along = ones<float>({n});
    const auto at = [](const Tensor<float>& t, std::int64_t i) {
      const second_order a{static_cast<double>(t.data()[i]), 1, 1, 0};
      return expression<Seed>(a, a);
    };
    CHECK(difference(grad(f)(x), [&](std::int64_t i) { return at(x, i).s; }) < tolerance);
    CHECK(difference(vmap(grad(f))(rows), [&](std::int64_t i) { return at(rows, i).s; }) < tolerance);
    CHECK(difference(hvp(f, x, along), [&](std::int64_t i) { return at(x, i).st; }) < 5 * tolerance);
  }
}

}  // namespace

TEST_CASE("fuzz_expressions: a tensor that occurs one to five times, at sizes around those of vectors and blocks") {
  check_seeds(std::make_integer_sequence<std::uint64_t, 10>{});
  check_transforms<2>();
  check_transforms<9>();
  if (const char* const path = std::getenv("KILN_FUZZ_BITS")) std::ofstream(path) << hash << "\n";
}
TEST_CASE("fuzz_expressions: two in each other's place, sums of them and the powers of one, closed forms") {
  for (const std::int64_t n : {3, 16, 40, 1000}) {
    Tensor<float> x = filled({n}, 0.3);
    x.requires_grad();
    backward(Tensor<float>(sum(square(x + x + x))));
    CHECK(difference(x.grad(), [&](std::int64_t i) { return 18 * static_cast<double>(x.data()[i]); }) < tolerance);
    Tensor<float> a = filled({n}, 0.3), b = filled({n}, 0.7);
    assign(std::tie(a, b), b, a);
    CHECK(difference(a, [](std::int64_t i) { return static_cast<float>(element(i, 0.7)); }) == 0);
    CHECK(difference(b, [](std::int64_t i) { return static_cast<float>(element(i, 0.3)); }) == 0);
  }
}
