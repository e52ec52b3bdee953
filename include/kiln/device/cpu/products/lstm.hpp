// SPDX-License-Identifier: BSL-1.0
// The steps of a long short-term memory (Hochreiter and Schmidhuber 1997) in time. A step is a product with the state
// and one pass over the gates; backward, the gradient of the weights is one product over all times at the end.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include <kiln/core/lstm_job.hpp>
#include <kiln/device/cpu/maps/staging.hpp>
#include <kiln/device/cpu/processor/isa.hpp>
#include <kiln/device/cpu/products/gemm.hpp>
#include <kiln/device/cpu/simd/all.hpp>
#include <kiln/device/cpu/threads/threads.hpp>

namespace kiln::cpu::inline KILN_VERSION_ISA {

namespace detail {

/// f(index, count) over a row: vectors, and what is left of one. f is to be always_inline: a whole vector's loads and
/// stores are then plain ones.
template <int N, class F>
void over_units(std::int64_t units, F f) {
  std::int64_t j = 0;
  for (; j + N <= units; j += N) f(j, N);
  if (j < units) f(j, static_cast<int>(units - j));
}
/// Rows that are worth a thread.
inline std::int64_t lstm_grain(std::int64_t units) {
  return 1 + 4096 / (4 * units + 1);
}

}  // namespace detail

/// The states at all times into `out` (times, batch, units), zeros where a sequence has ended; it keeps what job names.
template <class T>
void lstm(const lstm_job<T>& job, T* out) {
  constexpr int step = vector_bytes / static_cast<int>(sizeof(T));
  using vector = lanes<T, step>;
  if (job.of_a_time() == 0) return;  // of nothing, there may be any number of times
  const std::int64_t n = job.units, wide = 4 * n;
  // The weights as the products read them, once for all times.
  std::vector<T> turned(static_cast<std::size_t>(wide * n));
  if (job.weight_column == 1)
    transpose_block(turned.data(), wide, job.weight, job.weight_row, n, wide, sizeof(T));
  else
    for (std::int64_t j = 0; j < n; ++j)
      gather(turned.data() + j * wide, job.weight + j * job.weight_column, job.weight_row, wide, sizeof(T));
  for (std::int64_t k = 0; k < job.times; ++k) {
    const std::int64_t t = job.time_of(k);
    T* const gates = job.gates_at(t);
    gemm<T>(job.batch, wide, n, {job.states + job.before(t) * job.of_a_time(), n, 1}, {turned.data(), wide, 1}, gates,
            wide);
    parallel_for(job.batch, detail::lstm_grain(n), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t b = begin; b < end; ++b) {
        const T* const x = job.of_inputs + (t * job.batch + b) * wide;
        T* const g = gates + b * wide;
        const T* const c0 = job.cells + (job.before(t) * job.batch + b) * n;
        const T* const h0 = job.states + (job.before(t) * job.batch + b) * n;
        T* const c1 = job.cells + (job.after(t) * job.batch + b) * n;
        T* const h1 = job.states + (job.after(t) * job.batch + b) * n;
        T* const y = out + (t * job.batch + b) * n;
        if (!job.runs(t, b)) {
          std::copy_n(c0, n, c1), std::copy_n(h0, n, h1);
          std::fill_n(y, n, T(0));
          continue;
        }
        detail::over_units<step>(
            n, [&](std::int64_t j, int count) __attribute__((always_inline)) {
              const auto at = [&](const T* p) { return load_partial<step>(p + j, count); };
              const vector i = sigmoid(at(x) + at(g)), f = sigmoid(at(x + n) + at(g + n)),
                           u = tanh(at(x + 2 * n) + at(g + 2 * n)), o = sigmoid(at(x + 3 * n) + at(g + 3 * n));
              const vector c = f * at(c0) + i * u, h = o * tanh(c);
              const auto to = [&](T* p, const vector& v) { store_partial(p + j, v, count); };
              to(g, i), to(g + n, f), to(g + 2 * n, u), to(g + 3 * n, o);
              to(c1, c), to(h1, h), to(y, h);
            });
      }
    });
  }
}

/// The gradients, of a job that kept what it names.
template <class T>
void lstm_backward(const lstm_job<T>& job, const lstm_gradients<T>& gradients) {
  constexpr int step = vector_bytes / static_cast<int>(sizeof(T));
  using vector = lanes<T, step>;
  if (job.of_a_time() == 0) return;
  const std::int64_t n = job.units, wide = 4 * n;
  const std::size_t numbers = static_cast<std::size_t>(job.of_a_time());
  // Of the state and the cell after the time that is looked at.
  std::vector<T> of_state(numbers), of_cell(numbers);
  if (gradients.state) std::copy_n(gradients.state, numbers, of_state.data());
  if (gradients.cell) std::copy_n(gradients.cell, numbers, of_cell.data());
  for (std::int64_t k = job.times; k-- > 0;) {
    const std::int64_t t = job.time_of(k);
    T* const of_gates = gradients.gates + t * 4 * job.of_a_time();
    parallel_for(job.batch, detail::lstm_grain(n), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t b = begin; b < end; ++b) {
        T* const dg = of_gates + b * wide;
        if (!job.runs(t, b)) {
          std::fill_n(dg, wide, T(0));
          continue;
        }
        T *const dh = of_state.data() + b * n, *const dc = of_cell.data() + b * n;
        const T* const g = job.gates + (t * job.batch + b) * wide;
        const T* const c0 = job.cells + (job.before(t) * job.batch + b) * n;
        const T* const c1 = job.cells + (job.after(t) * job.batch + b) * n;
        const T* const dy = gradients.out ? gradients.out + (t * job.batch + b) * n : nullptr;
        detail::over_units<step>(
            n, [&](std::int64_t j, int count) __attribute__((always_inline)) {
              const auto at = [&](const T* p) { return load_partial<step>(p + j, count); };
              const auto to = [&](T* p, const vector& v) { store_partial(p + j, v, count); };
              const vector one(T(1)), i = at(g), f = at(g + n), u = at(g + 2 * n), o = at(g + 3 * n), s = tanh(at(c1));
              const vector h = dy ? at(dh) + at(dy) : at(dh), c = at(dc) + h * o * (one - s * s);
              to(dg, c * u * (i * (one - i)));
              to(dg + n, c * at(c0) * (f * (one - f)));
              to(dg + 2 * n, c * i * (one - u * u));
              to(dg + 3 * n, h * s * (o * (one - o)));
              to(dc, c * f);
              // What the product below adds to: of a sequence that has ended, the gradient goes on as it is.
              to(dh, vector(T(0)));
            });
      }
    });
    if (k > 0 || gradients.first_state)
      gemm<T>(job.batch, n, wide, {of_gates, wide, 1}, {job.weight, job.weight_row, job.weight_column}, of_state.data(),
              n, true);
  }
  if (gradients.first_state) std::copy(of_state.begin(), of_state.end(), gradients.first_state);
  if (gradients.first_cell) std::copy(of_cell.begin(), of_cell.end(), gradients.first_cell);
  if (gradients.weight)
    gemm<T>(wide, n, job.times * job.batch, {gradients.gates, 1, wide},
            {job.states + job.before(0) * job.of_a_time(), n, 1}, gradients.weight, n, true);
}

}  // namespace kiln::cpu::inline KILN_VERSION_ISA
