// SPDX-License-Identifier: BSL-1.0
// The types that go into and come out of ops: PyTorch's promotion, in types and in values.
#include <kiln/ops/op.hpp>

#include "battery.hpp"

#include <kiln/expr/reductions.hpp>

using namespace battery;

namespace {
template <class T>
using of = Tensor<T>;
template <class E>
using value = typename E::value_type;
template <class Expected, class E>
constexpr bool gives(const E&) {
  return std::is_same_v<value<E>, Expected>;
}
}  // namespace

TEST_CASE("promotion: tensors meet in PyTorch's common type") {
  const of<bool> b{true, false};
  const of<std::uint8_t> u{200, 100};
  const of<std::int8_t> i{-100, 100};
  const of<std::int32_t> k{7, -7};
  const of<half> h{half(1.5f), half(2.5f)};
  const of<bfloat16> f16{bfloat16(1.5f), bfloat16(2.5f)};
  const of<float> f{0.5f, 2.0f};
  const of<double> d{0.1, 0.2};
  CHECK(gives<std::int16_t>(u + i));
  CHECK(gives<std::int32_t>(k * i));
  CHECK(gives<float>(k + f));
  CHECK(gives<double>(f + d));
  CHECK(gives<float>(h + f16));
  CHECK(gives<half>(k + h));
  CHECK(gives<half>(h + h));
  CHECK(gives<std::uint8_t>(b + u));
  CHECK(gives<bool>(b + b));
  CHECK(gives<float>(k / k));
  CHECK(gives<half>(h / h));
  CHECK(gives<float>(exp(b)));
  CHECK(gives<bool>(k < d));
  CHECK(evaluated(u + i)(0) == 100);
  CHECK(evaluated(u + i)(1) == 200);
  CHECK(evaluated(f + d)(1) == 2.2);
  CHECK(evaluated(k / u)(0) == 7.0f / 200);
}

TEST_CASE("promotion: a number changes the type only if its category is higher") {
  const of<std::int32_t> k{3, 5};
  const of<float> f{0.5f, 2.0f};
  const of<bool> b{true, false};
  const of<half> h{half(1.5f), half(2.5f)};
  CHECK(gives<float>(0.5 * k));
  CHECK(gives<float>(2 * f));
  CHECK(gives<float>(f * 0.1));
  CHECK(gives<std::int64_t>(b + 1));
  CHECK(gives<float>(b + 1.0));
  CHECK(gives<std::uint8_t>(of<std::uint8_t>{1} + 1000L));
  CHECK(gives<half>(h * 2.0));
  CHECK(gives<std::int32_t>(k + true));
  CHECK(evaluated(0.5 * k)(1) == 2.5f);
  CHECK(evaluated(b + 1)(0) == 2);
  CHECK(evaluated(f * 0.1)(1) == 2.0f * 0.1f);
  CHECK(evaluated(k + true)(0) == 4);
  CHECK(evaluated(1 - f)(0) == 0.5f);
}

TEST_CASE("promotion: reductions of integers give int64, means float32") {
  const of<std::uint8_t> u{200, 100, 50};
  CHECK(gives<std::int64_t>(sum(u)));
  CHECK(gives<std::int64_t>(prod(of<bool>{true, true})));
  CHECK(gives<float>(mean(u)));
  CHECK(gives<std::uint8_t>(max(u)));
  CHECK(gives<bool>(any(u)));
  CHECK(gives<std::int64_t>(count_nonzero(u)));
  CHECK(evaluated(sum(u)).item() == 350);
}

TEST_CASE_TEMPLATE("half types: computed in float, rounded once at the end", H, half, bfloat16) {
  std::vector<H> a, b, c;
  for (int i = 0; i < 1000; ++i) {
    a.push_back(H(std::sin(static_cast<float>(i)) * 3));
    b.push_back(H(std::cos(static_cast<float>(3 * i))));
    c.push_back(H(static_cast<float>(i % 17) * 0.013f));
  }
  auto in_float = [](H x) { return static_cast<float>(x); };
  const Tensor<H> x = tensor_of(a), y = tensor_of(b), z = tensor_of(c);
  const Tensor<H> product = x * y + z, root = sqrt(abs(x)) - 0.1, quotient = x / (y + 2), hyperbolic = tanh(x * y);
  const Tensor<H> chosen = where(x > y, x, z), activated = gelu(x);
  int wrong = 0, far = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const float p = in_float(a[i]), q = in_float(b[i]), r = in_float(c[i]);
    // The compiler may fuse p * q + r: its one rounding less is not ours to forbid.
    wrong += product.data()[i].bits != H(p * q + r).bits && product.data()[i].bits != H(std::fma(p, q, r)).bits;
    wrong += root.data()[i].bits != H(std::sqrt(std::abs(p)) - 0.1f).bits;
    wrong += quotient.data()[i].bits != H(p / (q + 2)).bits;
    wrong += chosen.data()[i].bits != (p > q ? a[i] : c[i]).bits;
    // Within float's own error of the exact value: the neighbour at most.
    far += std::abs(hyperbolic.data()[i].bits - H(std::tanh(static_cast<double>(p * q))).bits) > 1;
    far += std::abs(activated.data()[i].bits - H(0.5 * p * (1 + std::erf(p / std::sqrt(2.0)))).bits) > 1;
  }
  CHECK(wrong == 0);
  CHECK(far == 0);
}

TEST_CASE_TEMPLATE("half types: gradients are computed in float and rounded once", H, half, bfloat16) {
  Tensor<H> x{H(0.3f), H(-1.2f), H(2.5f)};
  x.requires_grad();
  const Tensor<H> y = tanh(x) * x;
  backward(y, Tensor<H>{H(1.0f), H(1.0f), H(1.0f)});
  for (int i = 0; i < 3; ++i) {
    const double v = static_cast<float>(x(i)), t = std::tanh(v);
    CHECK(static_cast<float>(x.grad()(i)) == doctest::Approx(t + v * (1 - t * t)).epsilon(0.01));
  }
}
