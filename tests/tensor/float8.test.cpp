// SPDX-License-Identifier: BSL-1.0
// Tensors of float8 and products of 8-bit matrices on the processor, against plain double loops.
#include <kiln/float8.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

using namespace kiln;

TEST_CASE("float8 tensors: values go there and back, through views and from half types") {
  const Tensor<float> x{{1, -2.2f, 500}, {0.3f, 1e-9f, 464}};
  const auto e4m3 = to_float8<float8_e4m3fn>(x);
  CHECK(e4m3.sizes() == dims{2, 3});
  CHECK(equal(e4m3.value(), Tensor<float>{{1, -2.25f, 448}, {0.3125f, 0, 448}}));
  CHECK(equal(e4m3.t().value(), Tensor<float>(e4m3.value().t())));
  CHECK(std::isnan(to_float8<float8_e4m3fn>(x, float8_range::overflow).value()(0, 2)));
  const auto e5m2 = to_float8<float8_e5m2>(cast<bfloat16>(x.t()));
  CHECK(equal(e5m2.value(), Tensor<float>{{1, 0.3125f}, {-2, 0}, {512, 448}}));
  CHECK(to_float8<float8_e5m2>(x.slice(0, 0, 0)).value().sizes() == dims{0, 3});
  const Tensor<float> w = Tensor<float>{3}.requires_grad();
  CHECK_FALSE(to_float8<float8_e4m3fn>(w * 2.0f).value().needs_grad());
}

TEST_CASE("scaled_matmul is the scaled product of the values, rounded once") {
  const Tensor<float> x{{1, 2, 3}, {-4, 5, 6}}, w{{0.5f, -1, 2}, {3, 0.25f, -1.5f}};
  const auto a = to_float8<float8_e4m3fn>(x);
  const auto b = to_float8<float8_e5m2>(w);  // 3 significant bits hold them
  const Tensor<float> scale_a{2}, scale_b{0.125f};
  const auto y = scaled_matmul(a, b.t(), scale_a, scale_b);
  CHECK(equal(y, Tensor<float>{{0.25f * 4.5f, 0.25f * -1}, {0.25f * 5, 0.25f * -19.75f}}));
  CHECK(equal(scaled_matmul<bfloat16>(a, b.t(), Tensor<float>{1.001f}, scale_b),
              Tensor<bfloat16>(cast<bfloat16>(Tensor<float>(matmul(x, w.t()) * (1.001f * 0.125f))))));
  CHECK_THROWS_WITH_AS(scaled_matmul(a, b, scale_a, scale_b), doctest::Contains("as many columns"), shape_error);
  CHECK_THROWS_WITH_AS(scaled_matmul(a, b.t(), scale_a, Tensor<float>{1, 2}), doctest::Contains("has one scale"),
                       shape_error);
}

TEST_CASE("int_matmul sums in int32") {
  const Tensor<std::int8_t> a = full<std::int8_t>({2, 300}, 127), b = full<std::int8_t>({300, 3}, -128);
  const Tensor<std::int32_t> y = int_matmul(a, b);
  CHECK(y.sizes() == dims{2, 3});
  CHECK(y(1, 2) == 300 * 127 * -128);
  CHECK_THROWS_WITH_AS(int_matmul(a, a), doctest::Contains("int_matmul: shapes [2, 300] and [2, 300]"), shape_error);
}
