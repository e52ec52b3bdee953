// SPDX-License-Identifier: BSL-1.0
// Runs a tape over one row of numbers, instruction by instruction, in a type of the standard library: an oracle for the
// passes that shares nothing with the executors. Every op stands here as the C++ standard library has it.
#pragma once

#include <kiln/ops/all.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace in_reals {

template <class R>
using row = std::vector<R>;

/// The n-th derivative of digamma: up by its recurrence to where the asymptotic series has all digits.
template <class R>
R polygamma(R order, R x) {
  const int n = static_cast<int>(order);
  if (!(x > R(-1000))) return std::numeric_limits<R>::quiet_NaN();  // too far to go up, or nowhere
  R factorial = 1, total = 0;
  for (int k = 2; k <= n; ++k) factorial *= R(k);
  const R sign = n % 2 == 1 ? 1 : -1;
  for (; x < 40; x += 1) total += n == 0 ? -1 / x : sign * factorial * std::pow(x, R(-n - 1));
  // Bernoulli numbers B2, B4, ...
  const R bernoulli[] = {R(1) / 6, R(-1) / 30, R(1) / 42, R(-1) / 30, R(5) / 66, R(-691) / 2730, R(7) / 6};
  if (n == 0) {
    total += std::log(x) - 1 / (2 * x);
    for (int k = 1; k <= 7; ++k) total -= bernoulli[k - 1] / (R(2 * k) * std::pow(x, R(2 * k)));
    return total;
  }
  R series = factorial / R(n) * std::pow(x, R(-n)) + factorial / 2 * std::pow(x, R(-n - 1));
  for (int k = 1; k <= 7; ++k) {
    R ratio = 1;  // (2k + n - 1)! / (2k)!
    for (int j = 2 * k + 1; j <= 2 * k + n - 1; ++j) ratio *= R(j);
    if (n == 1) ratio = 1;
    series += bernoulli[k - 1] * ratio * std::pow(x, R(-2 * k - n));
  }
  return total + sign * series;
}

template <class R>
R floor_remainder(R a, R b) {
  const R m = std::fmod(a, b);
  return m != 0 && (m < 0) != (b < 0) ? m + b : m;
}

/// The elementwise ops.
template <class R>
R value_of(std::string_view op, R a, R b, R c) {
  const R s = 1;
  if (op == "add") return a + b;
  if (op == "sub") return a - b;
  if (op == "mul") return a * b;
  if (op == "div") return a / b;
  if (op == "neg") return -a;
  if (op == "cast" || op == "clone" || op == "stop_gradient") return a;
  if (op == "sqrt") return std::sqrt(a);
  if (op == "rsqrt") return 1 / std::sqrt(a);
  if (op == "reciprocal") return 1 / a;
  if (op == "abs") return std::abs(a);
  if (op == "pow") return std::pow(a, b);
  if (op == "hypot") return std::hypot(a, b);
  if (op == "fmod") return std::fmod(a, b);
  if (op == "remainder") return floor_remainder(a, b);
  if (op == "floor") return std::floor(a);
  if (op == "ceil") return std::ceil(a);
  if (op == "round") return std::nearbyint(a);
  if (op == "trunc") return std::trunc(a);
  if (op == "sign") return a > 0 ? s : a < 0 ? -s : a;
  if (op == "exp") return std::exp(a);
  if (op == "exp2") return std::exp2(a);
  if (op == "expm1") return std::expm1(a);
  if (op == "sigmoid") return 1 / (1 + std::exp(-a));
  if (op == "log") return std::log(a);
  if (op == "log2") return std::log2(a);
  if (op == "log10") return std::log10(a);
  if (op == "log1p") return std::log1p(a);
  if (op == "sin") return std::sin(a);
  if (op == "cos") return std::cos(a);
  if (op == "tan") return std::tan(a);
  if (op == "asin") return std::asin(a);
  if (op == "acos") return std::acos(a);
  if (op == "atan") return std::atan(a);
  if (op == "atan2") return std::atan2(a, b);
  if (op == "sinh") return std::sinh(a);
  if (op == "cosh") return std::cosh(a);
  if (op == "tanh") return std::tanh(a);
  if (op == "asinh") return std::asinh(a);
  if (op == "acosh") return std::acosh(a);
  if (op == "atanh") return std::atanh(a);
  if (op == "erf") return std::erf(a);
  if (op == "erfc") return std::erfc(a);
  if (op == "gaussian") return std::exp(-a * a / 2);
  if (op == "ndtr") return std::erfc(-a * std::sqrt(R(0.5L))) / 2;
  if (op == "lgamma") return std::lgamma(a);
  if (op == "digamma") return polygamma(R(0), a);
  if (op == "polygamma") return polygamma(a, b);
  if (op == "eq") return a == b;
  if (op == "ne") return a != b;
  if (op == "lt") return a < b;
  if (op == "le") return a <= b;
  if (op == "gt") return a > b;
  if (op == "ge") return a >= b;
  if (op == "isnan") return std::isnan(a);
  if (op == "isinf") return std::isinf(a);
  if (op == "isfinite") return std::isfinite(a);
  if (op == "logical_and") return a != 0 && b != 0;
  if (op == "logical_or") return a != 0 || b != 0;
  if (op == "logical_xor") return (a != 0) != (b != 0);
  if (op == "logical_not") return a == 0;
  if (op == "where") return a != 0 ? b : c;
  if (op == "minimum") return std::isnan(a) || a < b ? a : b;
  if (op == "maximum") return std::isnan(a) || a > b ? a : b;
  throw std::invalid_argument("in_reals: no meaning for the op " + std::string(op));
}

/// The results of a tape whose leaf s is `leaves[s]` and whose number k is `numbers[k]`; a tensor of one value per row
/// is a row of equal ones. An address is its own position, and `take` reads at the position that its first operand
/// says.
template <class R>
std::vector<row<R>> run(const kiln::program& p, const std::vector<row<R>>& leaves, const row<R>& numbers = {}) {
  const std::size_t n = leaves.at(0).size();
  std::vector<row<R>> values;
  for (int i = 0; i < p.size(); ++i) {
    const kiln::instruction& now = p[i];
    row<R> v(n, R(0));
    auto operand = [&](int k) -> row<R> { return k < 0 ? row<R>(n, R(0)) : values[static_cast<std::size_t>(k)]; };
    const row<R> a = operand(now.a), b = operand(now.b), c = operand(now.c);
    const kiln::found_rules op = kiln::op_rules_table.find(now.code);
    if (now.code == kiln::opcode::leaf) {
      v = leaves.at(static_cast<std::size_t>(now.slot));
    } else if (now.code == kiln::opcode::scalar) {
      v.assign(n, numbers.at(static_cast<std::size_t>(now.slot)));
    } else if (now.code == kiln::opcode::constant) {
      v.assign(n, static_cast<R>(kiln::number_in(now)));
    } else if (op && op->name == "checked_index") {
      v = a;
    } else if (op && op->name == "take") {
      for (std::size_t k = 0; k < n; ++k) v[k] = b.at(static_cast<std::size_t>(a[k]));
    } else if (op && op->reduces) {
      R total = op->name == "prod" || op->name == "all" ? R(1) : R(0);
      if (op->name == "max") total = *std::max_element(a.begin(), a.end());
      if (op->name == "min") total = *std::min_element(a.begin(), a.end());
      for (const R x : a) {
        if (op->name == "sum") total += x;
        if (op->name == "prod") total *= x;
        if (op->name == "any" && x != 0) total = 1;
        if (op->name == "all" && x == 0) total = 0;
      }
      v.assign(n, total);
    } else if (op) {
      for (std::size_t k = 0; k < n; ++k) v[k] = value_of(op->name, a[k], b[k], c[k]);
    }
    values.push_back(std::move(v));
  }
  std::vector<row<R>> results;
  for (int r = 0; r < p.result_count; ++r)
    results.push_back(p.results[r] < 0 ? row<R>{} : values[static_cast<std::size_t>(p.results[r])]);
  return results;
}

}  // namespace in_reals
