// SPDX-License-Identifier: BSL-1.0
// Gathers and random numbers within expressions on any device: the numbers of the host, in every kind of kernel.
// `launches()` is how many kernels ran so far, of which one evaluation takes `one`.
#pragma once

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include <kiln/kiln.hpp>

#include "support/draws.hpp"

namespace device_test {

using namespace kiln;

template <class Device, class F>
void check_values(const Tensor<float, Device>& y, F wanted, double epsilon = 5e-6) {
  const Tensor<float> here = y.template to<Cpu>();
  for (std::int64_t i = 0; i < here.numel(); ++i) {
    const double want = wanted(static_cast<std::uint64_t>(i));
    INFO("element ", i);
    REQUIRE(static_cast<double>(here.data()[i]) == doctest::Approx(want).epsilon(epsilon).scale(1));
  }
}
inline double number_at(std::uint64_t i) {
  return test::normal(7, 0, i);
}

template <class Device>
void check_draws() {
  for (const dims& sizes : {dims{1027}, dims{33, 20}}) {  // with and without vectors that share a block
    manual_seed(7);
    check_values<Device>(normal(zeros<float, Device>(sizes), 1.0), number_at);
  }
  manual_seed(7);
  check_values<Device>(bernoulli(full<float, Device>({1000}, 0.25f)),
                       [](std::uint64_t i) { return test::uniform(7, 0, i) < 0.25 ? 1.0 : 0.0; });
  manual_seed(7);
  check_values<Device>(zeros<float, Device>({6, 40}) + normal(zeros<float, Device>({6, 1}), 1.0),
                       [](std::uint64_t i) { return number_at(i / 40); });
  constexpr std::int64_t rows = 37, columns = 70;
  std::vector<double> by_row(rows), by_column(columns), powers(rows);
  double all = 0;
  for (std::int64_t i = 0; i < rows * columns; ++i) {
    const double z = number_at(static_cast<std::uint64_t>(i));
    by_row[static_cast<std::size_t>(i / columns)] += z;
    by_column[static_cast<std::size_t>(i % columns)] += z;
    powers[static_cast<std::size_t>(i / columns)] += std::exp(z);
    all += z * z;
  }
  const Tensor<float, Device> x = zeros<float, Device>({rows, columns});
  manual_seed(7);
  check_values<Device>(
      sum(normal(x, 1.0), 0), [&](std::uint64_t i) { return by_column[i]; }, 1e-5);
  manual_seed(7);
  check_values<Device>(
      sum(square(normal(x, 1.0))), [&](std::uint64_t) { return all; }, 1e-5);
  manual_seed(7);
  check_values<Device>(
      softmax(normal(x, 1.0), 1), [&](std::uint64_t i) { return std::exp(number_at(i)) / powers[i / columns]; }, 1e-5);
  // Rows over axes that do not join for every operand: the numbers are written out first.
  manual_seed(7);
  const Tensor<float, Device> y =
      sum(normal(zeros<float, Device>({5, 6, 7}), 1.0) + zeros<float, Device>({6, 5, 7}).transpose(0, 1), {0, 2});
  std::vector<double> middle(6);
  for (std::size_t i = 0; i < 210; ++i) middle[i / 7 % 6] += number_at(i);
  check_values<Device>(
      y, [&](std::uint64_t i) { return middle[i]; }, 1e-5);
  manual_seed(7);
  const Tensor<double> wide = Tensor<double, Device>(normal(zeros<double, Device>({63}), 1.0)).to(Cpu{});
  for (std::uint64_t i = 0; i < 63; ++i)
    REQUIRE(wide.data()[i] == doctest::Approx(test::normal_of_double(7, 0, i)).epsilon(1e-13).scale(1));
}

template <class Device, class Launches>
void check_dropout(Launches launches, int one) {
  const Tensor<float, Device> x = Tensor<float, Device>(ones<float, Device>({300})).requires_grad();
  manual_seed(9);
  const auto before = launches();
  const Tensor<float, Device> y = dropout(x, 0.25) * 3;
  CHECK(launches() == before + one);
  backward(sum(y));
  for (const auto& t : {y, x.grad()})
    check_values<Device>(t, [](std::uint64_t i) { return test::uniform(9, 0, i) >= 0.25 ? 4.0 : 0.0; });
  check_values<Device>(dropout(x, 0.25, false), [](std::uint64_t) { return 1.0; });
}

template <class Device, class Launches>
void check_gathers(Launches launches, int one) {
  constexpr std::int64_t words = 50, width = 24, taken = 9;
  const Tensor<float, Device> table =
      Tensor<float, Device>(reshape(arange<float>(words * width), {words, width}).to<Device>() * 0.01).requires_grad();
  const std::vector<std::int64_t> which{3, 0, 49, 3, 7, 7, 21, 48, 1};
  const Tensor<std::int64_t, Device> index = Tensor<std::int64_t>(tensor(which)).to<Device>();
  const auto value = [&](std::uint64_t row, std::uint64_t column) {
    return 0.01 * static_cast<double>(which[row] * width + static_cast<std::int64_t>(column));
  };
  const auto before = launches();
  const Tensor<float, Device> y = tanh(index_select(table, 0, index) * 0.1) + 1;
  CHECK(launches() == before + one);
  check_values<Device>(y, [&](std::uint64_t i) { return std::tanh(0.1 * value(i / width, i % width)) + 1; });
  backward(sum(y));
  std::vector<double> slope(words * width);
  for (std::uint64_t r = 0; r < taken; ++r)
    for (std::uint64_t c = 0; c < width; ++c) {
      const double t = std::tanh(0.1 * value(r, c));
      slope[static_cast<std::size_t>(which[r]) * width + c] += 0.1 * (1 - t * t);
    }
  check_values<Device>(table.grad(), [&](std::uint64_t i) { return slope[i]; });
  // Rows of a table, normalized as they come; a column for each position; another order of axes.
  const Tensor<float, Device> n = layer_norm(index_select(table, 0, index));
  const double deviation = 0.01 * std::sqrt((width * width - 1) / 12.0 + 0.1);  // eps of 1e-5 beside the variance
  check_values<Device>(
      n, [&](std::uint64_t i) { return 0.01 * (static_cast<double>(i % width) - 11.5) / deviation; }, 1e-4);
  const Tensor<float, Device> g = gather(table, 1, Tensor<std::int64_t, Device>{{5}, {0}, {23}}) + 0.5;
  check_values<Device>(g, [](std::uint64_t i) { return 0.5 + 0.01 * std::array<double, 3>{5, 24, 71}[i]; });
  check_values<Device>(index_select(table.t(), 1, index) * 2,
                       [&](std::uint64_t i) { return 2 * value(i % taken, i / taken); });
  check_values<Device>(sum(index_select(table, 0, index), 0), [&](std::uint64_t c) {
    double total = 0;
    for (std::uint64_t r = 0; r < taken; ++r) total += value(r, c);
    return total;
  });
}

}  // namespace device_test
