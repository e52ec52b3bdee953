// SPDX-License-Identifier: BSL-1.0
// The oracle of the tests of whole programs: a task on plain loops in long double, every op by what the C++ library
// says (oracles.hpp), every reduction by a loop over its row.
#pragma once

#include <kiln/device/cuda/plan/task.hpp>
#include <kiln/ops/all.hpp>

#include "device/cuda/emulated.hpp"
#include "device/cuda/oracles.hpp"

#include <deque>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace naive_tape {

using namespace kiln;
using oracles::real;

inline std::int64_t elements(const dims& domain) {
  std::int64_t n = 1;
  for (const std::int64_t size : domain) n *= size;
  return n;
}
inline std::int64_t offset_at(const dims& domain, const dims& strides, std::int64_t index) {
  std::int64_t offset = 0;
  for (int d = domain.rank() - 1; d >= 0; --d) {
    offset += index % domain[d] * strides[d];
    index /= domain[d];
  }
  return offset;
}
/// The number of the row that an element belongs to.
inline std::int64_t row_at(const dims& domain, std::uint32_t reduced, std::int64_t index) {
  std::int64_t row = 0, scale = 1;
  for (int d = domain.rank() - 1; d >= 0; --d) {
    if (!(reduced >> d & 1)) {
      row += index % domain[d] * scale;
      scale *= domain[d];
    }
    index /= domain[d];
  }
  return row;
}

inline real rounded(real value, dtype type) {
  return visit_dtype(type, [&]<class T>(std::type_identity<T>) {
    return static_cast<real>(static_cast<compute_t<T>>(static_cast<T>(static_cast<compute_t<T>>(value))));
  });
}
/// What folds the elements of a row.
inline real (*fold_of(std::string_view op))(real, real) {
  if (op == "sum") return [](real a, real b) { return a + b; };
  if (op == "prod") return [](real a, real b) { return a * b; };
  if (op == "max") return oracles::greatest;
  if (op == "min") return oracles::least;
  if (op == "any") return [](real a, real b) { return real(a != 0 || b != 0); };
  if (op == "all") return [](real a, real b) { return real(a != 0 && b != 0); };
  throw std::invalid_argument("no such reduction: " + std::string(op));
}

/// The values of instruction i for every element of the domain.
using table = std::vector<std::vector<real>>;

inline table values_of(const cuda::task& job, std::deque<emulated::memory>& leaves) {
  const std::size_t n = static_cast<std::size_t>(elements(job.domain));
  table v(static_cast<std::size_t>(job.tape.size), std::vector<real>(n));
  for (int i = 0; i < job.tape.size; ++i) {
    const instruction& now = job.tape[i];
    std::vector<real>& out = v[static_cast<std::size_t>(i)];
    const auto operand = [&](int at, std::size_t e) { return at < 0 ? real(0) : v[static_cast<std::size_t>(at)][e]; };
    const found_rules op = op_rules_table.find(now.code);
    if (op && op->reduces) {
      const auto fold = fold_of(op->name);
      std::vector<real> rows(n);
      std::vector<bool> begun(n);
      for (std::size_t e = 0; e < n; ++e) {
        const auto r = static_cast<std::size_t>(row_at(job.domain, job.reduced_axes, static_cast<std::int64_t>(e)));
        rows[r] = begun[r] ? fold(rows[r], operand(now.a, e)) : operand(now.a, e);
        begun[r] = true;
      }
      for (std::size_t e = 0; e < n; ++e)
        out[e] = rows[static_cast<std::size_t>(row_at(job.domain, job.reduced_axes, static_cast<std::int64_t>(e)))];
      continue;
    }
    const bool casts = op && op->name == "cast";
    const auto value = op && !casts ? oracles::elementwise().at(op->name).value : decltype(oracles::oracle::value)();
    for (std::size_t e = 0; e < n; ++e) {
      if (now.code == opcode::constant)
        out[e] = number_in(now);
      else if (now.code == opcode::scalar)
        out[e] = is_floating(now.type) ? std::bit_cast<double>(job.numbers[now.slot])
                                       : static_cast<double>(static_cast<std::int64_t>(job.numbers[now.slot]));
      else if (now.code == opcode::leaf)
        out[e] = leaves[static_cast<std::size_t>(now.slot)][static_cast<std::size_t>(offset_at(
            job.domain, job.leaves[static_cast<std::size_t>(now.slot)].strides, static_cast<std::int64_t>(e)))];
      else if (casts)
        out[e] = rounded(operand(now.a, e), now.type);
      else
        out[e] = value(operand(now.a, e), operand(now.b, e), operand(now.c, e));
    }
  }
  return v;
}

/// What result r should hold afterwards, where it holds `before` now; places that nobody writes keep it.
inline std::vector<real> result_of(const cuda::task& job, const table& values, std::size_t r,
                                   const std::vector<real>& before) {
  const cuda::result_view& y = job.results[r];
  std::vector<real> out = before;
  std::vector<bool> begun(before.size());
  const auto& from = values[static_cast<std::size_t>(job.tape.results[r])];
  for (std::size_t e = 0; e < from.size(); ++e) {
    const auto at = static_cast<std::size_t>(offset_at(job.domain, y.strides, static_cast<std::int64_t>(e)));
    if (begun[at] && job.reduction_rooted) continue;
    out[at] = begun[at] || y.add ? out[at] + from[e] : from[e];
    begun[at] = true;
  }
  return out;
}

}  // namespace naive_tape
