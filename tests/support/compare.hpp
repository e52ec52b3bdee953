// SPDX-License-Identifier: BSL-1.0
// A tensor against the oracle, and gradients against central differences. Both return what is wrong, or an empty text.
#pragma once

#include <array>
#include <cmath>
#include <sstream>
#include <string>

#include <kiln/autograd/backward.hpp>
#include <support/naive.hpp>

namespace test {

inline bool same_or_close(double got, double want, double relative, double absolute) {
  if (std::isnan(want) || std::isnan(got)) return std::isnan(want) && std::isnan(got);
  if (std::isinf(want) || std::isinf(got)) return want == got;
  return std::abs(got - want) <= absolute + relative * std::abs(want);
}

inline std::string difference(const naive& got, const naive& want, double relative, double absolute) {
  if (got.shape != want.shape) return kiln::message("shape ", dims_of(got.shape), ", expected ", dims_of(want.shape));
  for (std::size_t i = 0; i < want.values.size(); ++i)
    if (!same_or_close(got.values[i], want.values[i], relative, absolute)) {
      std::ostringstream text;
      text.precision(17);
      text << "element " << i << " of " << dims_of(want.shape) << ": " << got.values[i] << ", expected "
           << want.values[i];
      return text.str();
    }
  return {};
}
template <class T>
std::string difference(const kiln::Tensor<T>& got, const naive& want, double relative = 0, double absolute = 0) {
  return difference(naive::of(got), want, relative, absolute);
}

/// The sum of f(inputs...) with fixed uneven weights, as a number: what gradients are taken of.
inline double weight(std::size_t i) {
  return 0.3 + 0.7 * std::sin(1.0 + 2.0 * static_cast<double>(i));
}

/// Gradients of `f` for each input (which must be double) against central differences of its values.
template <class F, class... In>
std::string gradient_difference(F f, const In&... inputs) {
  auto value = [&] {
    const kiln::no_grad quiet;
    const kiln::Tensor<double> y(f(inputs...));
    const naive n = naive::of(y);
    double sum = 0;
    for (std::size_t i = 0; i < n.values.size(); ++i) sum += weight(i) * n.values[i];
    return sum;
  };
  (kiln::Tensor<double>(inputs).requires_grad(), ...);
  (kiln::Tensor<double>(inputs).zero_grad(), ...);
  {
    const kiln::Tensor<double> y(f(inputs...));
    kiln::Tensor<double> g(kiln::new_tensor(kiln::dtype::float64, y.sizes()));
    for (std::size_t i = 0; i < static_cast<std::size_t>(g.numel()); ++i) g.data()[i] = weight(i);
    kiln::backward(y, g);
  }
  std::string wrong;
  int number = 0;
  auto one = [&](const kiln::Tensor<double>& x) {
    ++number;
    if (!wrong.empty()) return;
    if (!x.has_grad()) {
      wrong = kiln::message("input ", number, " got no gradient");
      return;
    }
    naive want(sizes_of(x.sizes()));
    std::size_t k = 0;
    for_each_index(want.shape, [&](const lengths& at) {
      std::int64_t offset = 0;
      for (std::size_t i = 0; i < at.size(); ++i) offset += at[i] * x.strides()[static_cast<int>(i)];
      double& place = x.data()[offset];
      const double before = place, h = 1e-5 * std::max(1.0, std::abs(before));
      place = before + h;
      const double up = value();
      place = before - h;
      const double down = value();
      place = before;
      want.values[k++] = (up - down) / (2 * h);
    });
    const std::string d = difference(x.grad(), want, 2e-6, 2e-7);
    if (!d.empty()) wrong = kiln::message("gradient of input ", number, ": ", d);
  };
  (one(inputs), ...);
  return wrong;
}

}  // namespace test
