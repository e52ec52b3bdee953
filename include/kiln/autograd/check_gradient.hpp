// SPDX-License-Identifier: BSL-1.0
// check_gradient(f, inputs...): compares the gradients of backward() with finite differences, element by element.
// For tests of one's own ops and models.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>

#include <kiln/autograd/backward.hpp>

namespace kiln {

/// How check_gradient compares: |backward - differences| <= atol + rtol * |differences|.
struct gradient_check_options {
  double eps = 1e-4;   ///< step to either side, times max(1, |x|)
  double rtol = 1e-6;  ///< relative tolerance
  double atol = 1e-8;  ///< absolute tolerance
};

/// What check_gradient found: true if all elements agree; else the first that does not.
struct gradient_check {
  bool agrees = true;
  int input = -1;             ///< number of the input, from 0
  std::int64_t element = -1;  ///< number of the element in it, in row-major order
  double backward = 0;        ///< its gradient as backward() has it
  double differences = 0;     ///< its gradient by finite differences
  std::string text;           ///< the same as a sentence; empty if all is well
  explicit operator bool() const { return agrees; }
};

namespace detail {

/// Weights that turn any result into one number. No two are equal, so that errors do not cancel.
inline double gradient_check_weight(std::int64_t i) {
  const double spread = static_cast<double>(i) * 0.61803398874989485;
  return (i % 2 == 0 ? 1 : -1) * (0.5 + (spread - std::floor(spread)));
}

template <class Call>
gradient_check check_all_gradients(const Call& call, Tensor<double>* inputs, int count,
                                   const gradient_check_options& how) {
  // The elements are changed through a handle without history: only the comparison with backward() is recorded.
  auto weighted_sum = [&] {
    const no_grad quiet;
    const Tensor<double> y = Tensor<double>(call()).clone();
    long double total = 0;
    for (std::int64_t i = 0; i < y.numel(); ++i)
      total += static_cast<long double>(gradient_check_weight(i)) * y.data()[i];
    return total;
  };
  auto slope = [&](double& x, double step) {
    const double at = x;
    x = at + step;
    const double above = x;
    const long double high = weighted_sum();
    x = at - step;
    const double below = x;
    const long double low = weighted_sum();
    x = at;
    return (high - low) / (static_cast<long double>(above) - below);
  };
  for (int k = 0; k < count; ++k) {
    inputs[k] = inputs[k].detach().clone();
    inputs[k].requires_grad();
  }
  {
    const Tensor<double> y(call());
    Tensor<double> weights(new_tensor(dtype::float64, y.sizes()));
    for (std::int64_t i = 0; i < y.numel(); ++i) weights.data()[i] = gradient_check_weight(i);
    if (y.needs_grad()) kiln::backward(y, weights);
  }
  for (int k = 0; k < count; ++k) {
    for (std::int64_t i = 0; i < inputs[k].numel(); ++i) {
      double& x = inputs[k].data()[i];
      const double step = how.eps * std::max(1.0, std::abs(x));
      // Two central differences; their combination has an error of the fourth power of the step (Richardson).
      const double differences = static_cast<double>((4 * slope(x, step / 2) - slope(x, step)) / 3);
      const double got = inputs[k].has_grad() ? inputs[k].grad().data()[i] : 0;
      if (std::abs(got - differences) <= how.atol + how.rtol * std::abs(differences)) continue;
      return {false,
              k,
              i,
              got,
              differences,
              message("check_gradient: input ", k, " of shape ", inputs[k].sizes(), ", element ", i, " (value ", x,
                      "): backward() gives ", got, ", finite differences ", differences, "; tolerance ", how.atol,
                      " + ", how.rtol, " * |differences|")};
    }
  }
  return {};
}

}  // namespace detail

/// Compares the gradients that backward() gives for f(inputs...) with central finite differences, for every element of
/// every input. `f` takes as many tensors as are given and returns a tensor or expression of double, of any shape (its
/// elements are summed with fixed weights). An input that f does not depend on must have gradient 0. The inputs
/// themselves are not changed. Near a kink of f the two may differ by right.
///
///     const auto check = check_gradient([](auto a, auto b) { return tanh(a) * b; }, a, b);
///     if (!check) std::cerr << check.text;
template <class F, std::same_as<Tensor<double>>... Inputs>
[[nodiscard]] gradient_check check_gradient(F f, const gradient_check_options& how, const Inputs&... inputs) {
  std::array<Tensor<double>, sizeof...(Inputs)> own{inputs...};
  auto call = [&] { return std::apply([&](const auto&... x) { return f(x...); }, own); };
  using result = decltype(call());
  static_assert(
      std::same_as<typename result::value_type, double>,
      "kiln: check_gradient needs a function that returns double: float is too coarse for finite differences");
  return detail::check_all_gradients(call, own.data(), static_cast<int>(sizeof...(Inputs)), how);
}
/// The same with the usual tolerances.
template <class F, std::same_as<Tensor<double>>... Inputs>
[[nodiscard]] gradient_check check_gradient(F f, const Inputs&... inputs) {
  return check_gradient(std::move(f), gradient_check_options{}, inputs...);
}

}  // namespace kiln
