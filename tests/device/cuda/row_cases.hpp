// SPDX-License-Identifier: BSL-1.0
// Row programs with their memory, and the check of what a kernel left there: reductions, softmax and its like, norms
// with weights, their gradients, over rows of all lengths.
#pragma once

#include <kiln/tape/expand.hpp>
#include <kiln/tape/gradient.hpp>

#include "device/cuda/naive_tape.hpp"
#include "tape/sheet.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <deque>
#include <string>
#include <vector>

namespace rows_test {

using namespace kiln;
using emulated::memory;
using oracles::real;

/// Writes an expression over x0 (the rows) and maybe x1, x2 (weights along the row); `length` is that of a row.
using writer = symbol (*)(sheet&, symbol x, std::int64_t length);

struct formula {
  const char* name;
  int leaves;
  writer write;
  bool whole = false;  ///< for integers
};

inline const std::vector<formula>& formulas() {
  static const std::vector<formula> all{
      {"sum", 1, [](sheet&, symbol x, std::int64_t) { return row_sum(x); }},
      {"prod", 1, [](sheet&, symbol x, std::int64_t) { return apply<prod_op>(0.98 + 0.01 * x); }},
      {"max", 1, [](sheet&, symbol x, std::int64_t) { return row_max(x); }},
      {"min", 1, [](sheet&, symbol x, std::int64_t) { return apply<min_op>(x); }},
      {"softmax", 1, [](sheet&, symbol x, std::int64_t) { return apply<softmax_op>(x); }},
      {"log_softmax", 1, [](sheet&, symbol x, std::int64_t) { return apply<log_softmax_op>(x); }},
      {"logsumexp", 1, [](sheet&, symbol x, std::int64_t) { return apply<logsumexp_op>(x); }},
      {"variance", 1,
       [](sheet&, symbol x, std::int64_t n) {
         const symbol elements = constant_like(x, static_cast<double>(n));
         return apply<squared_deviation_op>(x, elements) / elements;
       }},
      {"standard deviation", 1,
       [](sheet&, symbol x, std::int64_t n) {
         const symbol elements = constant_like(x, static_cast<double>(n));
         return apply<standard_deviation_op>(x, elements, elements);
       }},
      {"rms_norm", 1,
       [](sheet&, symbol x, std::int64_t n) {
         return apply<rms_norm_op>(x, constant_like(x, static_cast<double>(n)), constant_like(x, 1e-5));
       }},
      {"weighted layer_norm", 3,
       [](sheet& s, symbol x, std::int64_t n) {
         const symbol y = apply<layer_norm_op>(x, constant_like(x, static_cast<double>(n)), constant_like(x, 1e-5));
         return y * s.leaf(1, x.type()) + s.leaf(2, x.type());
       }},
  };
  return all;
}

struct row_case {
  std::string name;
  program tape;
  std::deque<memory> leaves, results;
  cuda::task written, what;
  cuda::plan how;
  cuda::source printed;

  /// The value, or the gradient, of a formula over `rows` rows of `length`; padding is free memory after each row.
  row_case(const formula& f, dtype type, bool gradient, std::int64_t rows, std::int64_t length,
           std::int64_t padding = 0) {
    name = message(f.name, gradient ? " gradient of " : " of ", kiln::name(type), " ", rows, " x ", length);
    sheet s;
    const symbol x = s.leaf(0, type);
    const symbol y = f.write(s, compute_type(type) == type ? x : cast(x, dtype::float32), length);
    s.result(y);
    const bool reduction_rooted = level_at(s.p, y.id) == level::row;
    program kept, flat;
    if (gradient) {
      expand(s.p, kept, op_rules_table, true);
      kiln::gradient(kept, flat, op_rules_table, f.leaves, compute_type(type));
    } else {
      expand(s.p, kept, op_rules_table, false);
      keep_needed(kept, flat);
    }
    for (int i = 0; i < flat.size(); ++i) tape.push(flat[i]);
    for (int r = 0; r < flat.result_count; ++r) tape.add_result(flat.results[r]);
    written = cuda::task_for(view_of(tape), {rows, length});
    written.reduced_axes = 0b10;
    written.reduction_rooted = reduction_rooted && !gradient;
    const std::int64_t pitch = length + padding;
    for (std::size_t k = 0; k < written.leaves.size(); ++k) {
      auto& leaf = written.leaves[k];
      const bool weight = k == 1 || k == 2;
      const bool per_row = leaf.used && is_per_row(static_cast<int>(k));
      leaf.strides = f.leaves == 3 && weight ? dims{0, 1} : per_row ? dims{1, 0} : dims{pitch, 1};
      memory& m = leaves.emplace_back(leaf.type, reserved(leaf.strides));
      for (std::size_t i = 0; i < m.size(); ++i)
        m.set(i,
              static_cast<double>((i * 7919 + k * 31) % 1009) / (f.name == std::string("prod") ? 2000.0 : 250.0) - 2);
      leaf.data = m.data();
    }
    if (gradient && !written.leaves.empty() && written.leaves.back().used) set_value(f, type, rows, length, pitch);
    for (std::size_t r = 0; r < written.results.size(); ++r) {
      auto& out = written.results[r];
      out.type = gradient ? type : type;
      if (written.reduction_rooted)
        out.strides = {1, 0};
      else
        out.strides = gradient && r > 0 ? dims{0, 1} : dims{pitch, 1};
      memory& m = results.emplace_back(out.type, reserved(out.strides));
      for (std::size_t i = 0; i < m.size(); ++i) m.set(i, 0.5);
      out.add = gradient && r == 0 && length % 2 == 1;
      if (tape.results[r] >= 0) out.data = m.data();
    }
  }
  row_case(const row_case&) = delete;
  row_case& operator=(const row_case&) = delete;

  std::size_t reserved(const dims& strides) const {
    return static_cast<std::size_t>(strides[0] * (written.domain[0] - 1) + strides[1] * (written.domain[1] - 1) + 1);
  }
  bool is_per_row(int slot) const {
    for (int i = 0; i < tape.size(); ++i)
      if (tape[i].code == opcode::leaf && tape[i].slot == slot && tape[i].literal == 1) return true;
    return false;
  }
  static level level_at(const program& p, int i) {
    std::vector<level> levels(static_cast<std::size_t>(p.size()));
    for (int k = 0; k <= i; ++k) levels[static_cast<std::size_t>(k)] = level_of(p[k], levels.data(), op_rules_table);
    return levels[static_cast<std::size_t>(i)];
  }
  // The last leaf of a gradient program holds the value of the result.
  void set_value(const formula& f, dtype type, std::int64_t rows, std::int64_t length, std::int64_t pitch) {
    row_case value(f, type, false, rows, length, pitch - length);
    for (std::size_t k = 0; k < value.leaves.size(); ++k)
      for (std::size_t i = 0; i < value.leaves[k].size() && k < leaves.size(); ++i)
        value.leaves[k].set(i, static_cast<double>(leaves[k][i]));
    const naive_tape::table all = naive_tape::values_of(value.written, value.leaves);
    const std::size_t slot = written.leaves.size() - 1;
    if (slot != static_cast<std::size_t>(f.leaves) + 1) return;
    const auto& from = all[static_cast<std::size_t>(value.tape.results[0])];
    for (std::size_t e = 0; e < from.size(); ++e)
      leaves[slot].set(static_cast<std::size_t>(naive_tape::offset_at(written.domain, written.leaves[slot].strides,
                                                                      static_cast<std::int64_t>(e))),
                       static_cast<double>(from[e]));
  }

  std::vector<std::vector<real>> before() {
    std::vector<std::vector<real>> all;
    for (memory& m : results) {
      all.emplace_back();
      for (std::size_t i = 0; i < m.size(); ++i) all.back().push_back(m[i]);
    }
    return all;
  }
  /// Compares what the results hold with the plain loops, relative to the largest value that went into them.
  void check(const std::vector<std::vector<real>>& start, double tolerance) {
    const naive_tape::table values = naive_tape::values_of(written, leaves);
    for (std::size_t r = 0; r < results.size(); ++r) {
      if (!written.results[r].data) continue;
      const std::vector<real> want = naive_tape::result_of(written, values, r, start[r]);
      real scale = 1e-3L, worst = 0;
      std::size_t where = 0;
      for (const real w : want)
        if (std::isfinite(w)) scale = std::max(scale, std::abs(w));
      for (std::size_t i = 0; i < want.size(); ++i) {
        const real got = results[r][i];
        const real e = std::isnan(want[i])   ? (std::isnan(got) ? 0 : 1e9L)
                       : std::isinf(want[i]) ? (got == want[i] ? 0 : 1e9L)
                                             : std::abs(got - want[i]) / scale;
        if (!(e <= worst)) worst = e, where = i;
      }
      CHECK_MESSAGE(worst <= tolerance, name, ", result ", r, " at ", where, ": ", results[r][where], " instead of ",
                    want[where], ", an error of ", worst);
    }
  }
};

/// What an element type may err by, with sums over rows of a few thousand.
inline double tolerance(dtype type) {
  return type == dtype::float64 ? 1e-12 : type == dtype::float32 ? 2e-5 : type == dtype::float16 ? 2e-3 : 1e-2;
}

}  // namespace rows_test
