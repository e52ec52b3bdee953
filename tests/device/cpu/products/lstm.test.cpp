// SPDX-License-Identifier: BSL-1.0
// The steps of an LSTM beside its equations, written out number by number in long double.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include <kiln/device/cpu/products/lstm.hpp>

using namespace kiln;

namespace {

// Numbers in [-1, 1) that no rule repeats.
template <class T>
std::vector<T> numbers(std::int64_t n, std::uint32_t seed) {
  std::vector<T> all(static_cast<std::size_t>(n));
  for (T& x : all) x = static_cast<T>((seed = seed * 1664525u + 1013904223u) >> 8) / static_cast<T>(1 << 23) - 1;
  return all;
}
long double logistic(long double x) {
  return 1 / (1 + std::exp(-x));
}

/// How the weights stand in memory: row after row, transposed, or with gaps in both directions.
enum class layout : std::uint8_t { rows, transposed, gaps };

template <class T>
void check(std::int64_t times, std::int64_t batch, std::int64_t units, bool backwards, bool keeps,
           const std::vector<std::int64_t>& lengths, layout as) {
  const std::int64_t each = batch * units, wide = 4 * units;
  const auto x = numbers<T>(times * batch * wide, 1), w = numbers<T>(3 * wide * units, 2), h0 = numbers<T>(each, 3),
             c0 = numbers<T>(each, 4);
  std::vector<T> gates(static_cast<std::size_t>((keeps ? times : 1) * 4 * each)),
      cells(static_cast<std::size_t>((times + 1) * each)), states(cells.size()),
      out(static_cast<std::size_t>(times * each));
  const std::int64_t weight_row = as == layout::rows ? units : as == layout::transposed ? 1 : 3 * units,
                     weight_column = as == layout::rows ? 1 : as == layout::transposed ? wide : 2;
  lstm_job<T> job{times,
                  batch,
                  units,
                  backwards,
                  x.data(),
                  w.data(),
                  weight_row,
                  weight_column,
                  lengths.empty() ? nullptr : lengths.data(),
                  gates.data(),
                  cells.data(),
                  states.data(),
                  keeps};
  std::copy(h0.begin(), h0.end(), job.states + job.before(job.time_of(0)) * each);
  std::copy(c0.begin(), c0.end(), job.cells + job.before(job.time_of(0)) * each);
  cpu::lstm(job, out.data());
  const double near = std::is_same_v<T, float> ? 2e-6 : 1e-14;
  for (std::int64_t b = 0; b < batch; ++b) {
    std::vector<long double> h(h0.begin() + b * units, h0.begin() + (b + 1) * units),
        c(c0.begin() + b * units, c0.begin() + (b + 1) * units);
    for (std::int64_t k = 0; k < times; ++k) {
      const std::int64_t t = backwards ? times - 1 - k : k;
      const bool runs = lengths.empty() || t < lengths[static_cast<std::size_t>(b)];
      if (runs) {
        std::vector<long double> g(static_cast<std::size_t>(wide));
        for (std::int64_t i = 0; i < wide; ++i) {
          g[static_cast<std::size_t>(i)] = x[static_cast<std::size_t>((t * batch + b) * wide + i)];
          for (std::int64_t j = 0; j < units; ++j)
            g[static_cast<std::size_t>(i)] +=
                static_cast<long double>(w[static_cast<std::size_t>(i * weight_row + j * weight_column)]) *
                h[static_cast<std::size_t>(j)];
        }
        for (std::int64_t j = 0; j < units; ++j) {
          const auto gate = [&](std::int64_t which) { return g[static_cast<std::size_t>(which * units + j)]; };
          long double& cell = c[static_cast<std::size_t>(j)];
          cell = logistic(gate(1)) * cell + logistic(gate(0)) * std::tanh(gate(2));
          h[static_cast<std::size_t>(j)] = logistic(gate(3)) * std::tanh(cell);
        }
      }
      for (std::int64_t j = 0; j < units; ++j) {
        const std::size_t at = static_cast<std::size_t>((t * batch + b) * units + j),
                          after = static_cast<std::size_t>(((backwards ? t : t + 1) * batch + b) * units + j);
        const double state = static_cast<double>(h[static_cast<std::size_t>(j)]);
        CHECK(std::abs(static_cast<double>(out[at]) - (runs ? state : 0)) <= near);
        CHECK(std::abs(static_cast<double>(states[after]) - state) <= near);
        CHECK(std::abs(static_cast<double>(cells[after]) - static_cast<double>(c[static_cast<std::size_t>(j)])) <=
              near);
      }
    }
  }
}

}  // namespace

TEST_CASE_TEMPLATE("lstm: the equations, widths with and without a rest, both directions, sequences that end", T, float,
                   double) {
  for (const bool backwards : {false, true})
    for (const bool keeps : {false, true})
      for (const std::int64_t units : {1, 5, 16, 35}) {
        for (const layout as : {layout::rows, layout::transposed, layout::gaps})
          check<T>(4, 3, units, backwards, keeps, {}, as);
        check<T>(4, 3, units, backwards, keeps, {4, 0, 2}, layout::transposed);
      }
  check<T>(2, 0, 3, false, true, {}, layout::rows);
  check<T>(2, 3, 0, false, true, {}, layout::rows);
}

TEST_CASE("lstm: a nan stays with its row") {
  std::vector<double> x = numbers<double>(2 * 2 * 4, 5), w = numbers<double>(4, 6), gates(8), cells(6), states(6),
                      out(4);
  x[1] = std::numeric_limits<double>::quiet_NaN();
  lstm_job<double> job{2,    2, 1, false, x.data(), w.data(), 1, 1, nullptr, gates.data(), cells.data(), states.data(),
                       false};
  cpu::lstm(job, out.data());
  CHECK(std::isnan(out[0]));
  CHECK(std::isnan(out[2]));
  CHECK(std::isfinite(out[1]));
  CHECK(std::isfinite(out[3]));
}
