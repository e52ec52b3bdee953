// SPDX-License-Identifier: BSL-1.0
// Reductions and row programs over drawn axes and layouts, with their gradients, on any device: against plain loops
// over doubles.
#pragma once

#include "support/device_operands.hpp"

namespace device_test {

using row = std::vector<double>;

inline double mean_of(const row& x) {
  return std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(x.size());
}
inline double log_sum_exp(const row& x) {
  const double most = *std::max_element(x.begin(), x.end());
  double sum = 0;
  for (const double v : x) sum += std::exp(v - most);
  return most + std::log(sum);
}
inline double mean_square(const row& x, double from) {
  double sum = 0;
  for (const double v : x) sum += (v - from) * (v - from);
  return sum / static_cast<double>(x.size());
}
template <class F>
row mapped(row x, F f) {
  for (double& v : x) v = f(v);
  return x;
}

/// `on_row` gives a row's results from its values: one number, or one for each element.
template <class Device, class T, class OnTensors>
void check_rows(const char* name, std::uint64_t seed, std::int64_t most, const OnTensors& on_tensors,
                row (*on_row)(const row&)) {
  drawing draw(seed);
  dims domain = drawn_domain(draw, 3, most);
  const std::int64_t axis = draw.below(domain.rank());
  const bool gradients = draw.below(2) == 0 && domain[static_cast<int>(axis)] <= 40;
  if (!gradients && draw.once_in(3)) domain[static_cast<int>(axis)] += most > 10'000 ? 3000 : 300;
  const operand<T, Device> x = drawn_operand<Device, T>(draw, domain, -2, 2, gradients, draw.below(2) == 0);
  const std::int64_t n = domain[static_cast<int>(axis)];
  const Tensor<T, Device> got = on_tensors(x.view.expand(domain), axis);
  const std::vector<double> values = to_host(got), weights = [&] {
    std::vector<double> w(values.size());
    for (double& v : w) v = number(rounded<T>(draw.between(-1, 1)));
    return w;
  }();
  // Rows are walked through by their first element; a result's place follows from its own strides.
  const bool whole = got.numel() == count(domain);
  std::vector<double> wanted(values.size()), slopes(x.values.size());
  dims rows = domain;
  rows[static_cast<int>(axis)] = 1;
  each_index(rows, [&](dims index) {
    const auto place = [&](std::int64_t i) {
      std::int64_t at = 0;
      for (int d = 0; d < domain.rank(); ++d) {
        const std::int64_t size = d == axis && !whole ? 1 : domain[d];
        at = at * size + (d == axis ? (whole ? i : 0) : index[d]);
      }
      return static_cast<std::size_t>(at);
    };
    row here;
    for (std::int64_t i = 0; i < n; ++i) {
      index[static_cast<int>(axis)] = i;
      here.push_back(x.at(index));
    }
    const row out = on_row(here);
    for (std::size_t i = 0; i < out.size(); ++i) wanted[place(static_cast<std::int64_t>(i))] = out[i];
    if (!gradients) return;
    for (std::int64_t k = 0; k < n; ++k) {
      row up = here, down = here;
      const double h = 1e-6;
      up[static_cast<std::size_t>(k)] += h, down[static_cast<std::size_t>(k)] -= h;
      const row above = on_row(up), below = on_row(down);
      index[static_cast<int>(axis)] = k;
      for (std::size_t i = 0; i < out.size(); ++i)
        slopes[x.place(index)] += weights[place(static_cast<std::int64_t>(i))] * (above[i] - below[i]) / (2 * h);
    }
  });
  INFO(std::string(name), " in ", kiln::name(dtype_of<T>), ", seed ", seed, ", sizes ", message(domain), ", axis ",
       axis, ", strides ", message(x.strides));
  CHECK(distance(values, wanted) <= tolerance<T>());
  if (!gradients) return;
  backward(sum(on_tensors(x.view.expand(domain), axis) * to_device<Device, T>(weights, got.sizes())));
  CHECK(distance(to_host(x.base.grad()), slopes) <= std::max(3 * tolerance<T>(), 1e-7));
}

/// Row programs, each handed to `check` with a seed of its own.
template <class Check>
void each_row_program(Check check) {
  check(
      seed<1>{}, "softmax", [](const auto& x, std::int64_t axis) { return softmax(x, axis); },
      [](const row& x) {
        const double total = log_sum_exp(x);
        return mapped(x, [&](double v) { return std::exp(v - total); });
      });
  check(
      seed<2>{}, "layer_norm", [](const auto& x, std::int64_t axis) { return layer_norm(x, axis, 1e-2); },
      [](const row& x) {
        const double m = mean_of(x), by = 1 / std::sqrt(mean_square(x, m) + 1e-2);
        return mapped(x, [&](double v) { return (v - m) * by; });
      });
  check(
      seed<3>{}, "rms_norm", [](const auto& x, std::int64_t axis) { return rms_norm(x, axis, 1e-2); },
      [](const row& x) {
        const double by = 1 / std::sqrt(mean_square(x, 0) + 1e-2);
        return mapped(x, [&](double v) { return v * by; });
      });
  check(
      seed<5>{}, "log_softmax", [](const auto& x, std::int64_t axis) { return log_softmax(x, axis); },
      [](const row& x) {
        const double total = log_sum_exp(x);
        return mapped(x, [&](double v) { return v - total; });
      });
  check(
      seed<6>{}, "x * tanh(mean(x)) - max(x)",
      [](const auto& x, std::int64_t axis) { return x * tanh(mean(x, axis, true)) - max(x, axis, true); },
      [](const row& x) {
        const double m = std::tanh(mean_of(x)), most = *std::max_element(x.begin(), x.end());
        return mapped(x, [&](double v) { return v * m - most; });
      });
}
/// Reductions, likewise.
template <class Check>
void each_reduction(Check check) {
  check(
      seed<7>{}, "sum", [](const auto& x, std::int64_t axis) { return sum(x, axis); },
      [](const row& x) { return row{mean_of(x) * static_cast<double>(x.size())}; });
  check(
      seed<8>{}, "mean(x * x)", [](const auto& x, std::int64_t axis) { return mean(x * x, axis); },
      [](const row& x) { return row{mean_square(x, 0)}; });
  check(
      seed<9>{}, "logsumexp", [](const auto& x, std::int64_t axis) { return logsumexp(x, axis); },
      [](const row& x) { return row{log_sum_exp(x)}; });
  check(
      seed<12>{}, "max", [](const auto& x, std::int64_t axis) { return max(x, axis); },
      [](const row& x) { return row{*std::max_element(x.begin(), x.end())}; });
}
/// Sums over some axes and over all.
template <class Device>
void check_several_axes(std::uint64_t seed) {
  drawing draw(seed + 77);
  const dims domain{1 + draw.below(9), 1 + draw.below(30), 1 + draw.below(7), 1 + draw.below(40)};
  const operand<float, Device> x = drawn_operand<Device, float>(draw, domain, -2, 2, false, seed % 2 == 0);
  const auto whole = x.view.expand(domain);
  std::vector<double> outer(static_cast<std::size_t>(domain[1] * domain[3])),
      inner(static_cast<std::size_t>(domain[0] * domain[2]));
  double all = 0;
  each_index(domain, [&](const dims& i) {
    const double v = x.at(i);
    all += v;
    outer[static_cast<std::size_t>(i[1] * domain[3] + i[3])] += v;
    inner[static_cast<std::size_t>(i[0] * domain[2] + i[2])] += v;
  });
  INFO("seed ", seed, ", sizes ", message(domain), ", strides ", message(x.strides));
  CHECK(distance(to_host(Tensor<float, Device>(sum(whole, {0, 2}))), outer) <= 2e-5);
  CHECK(distance(to_host(Tensor<float, Device>(sum(whole, {1, 3}))), inner) <= 2e-5);
  CHECK(std::abs(static_cast<double>(Tensor<float, Device>(sum(whole)).item()) - all) <= 1e-3);
}

}  // namespace device_test
