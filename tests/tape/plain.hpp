// SPDX-License-Identifier: BSL-1.0
// The oracle of tests of passes: a tape over one row, instruction by instruction, in double, by what the C++ library
// says. Values per row are the same in every element.
#pragma once

#include <kiln/ops/all.hpp>

#include <cmath>
#include <functional>
#include <map>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace plain {

using namespace kiln;
using row = std::vector<double>;

inline double elementwise(std::string_view op, double a, double b, double c) {
  static const std::map<std::string_view, std::function<double(double, double, double)>> all{
      {"add", [](double x, double y, double) { return x + y; }},
      {"sub", [](double x, double y, double) { return x - y; }},
      {"mul", [](double x, double y, double) { return x * y; }},
      {"div", [](double x, double y, double) { return x / y; }},
      {"neg", [](double x, double, double) { return -x; }},
      {"reciprocal", [](double x, double, double) { return 1 / x; }},
      {"sqrt", [](double x, double, double) { return std::sqrt(x); }},
      {"rsqrt", [](double x, double, double) { return 1 / std::sqrt(x); }},
      {"abs", [](double x, double, double) { return std::abs(x); }},
      {"sign", [](double x, double, double) { return (x > 0) - (x < 0); }},
      {"exp", [](double x, double, double) { return std::exp(x); }},
      {"exp2", [](double x, double, double) { return std::exp2(x); }},
      {"log2", [](double x, double, double) { return std::log2(x); }},
      {"round", [](double x, double, double) { return std::nearbyint(x); }},
      {"log", [](double x, double, double) { return std::log(x); }},
      {"sin", [](double x, double, double) { return std::sin(x); }},
      {"cos", [](double x, double, double) { return std::cos(x); }},
      {"tanh", [](double x, double, double) { return std::tanh(x); }},
      {"sigmoid", [](double x, double, double) { return 1 / (1 + std::exp(-x)); }},
      {"pow", [](double x, double y, double) { return std::pow(x, y); }},
      {"eq", [](double x, double y, double) { return x == y; }},
      {"ne", [](double x, double y, double) { return x != y; }},
      {"lt", [](double x, double y, double) { return x < y; }},
      {"le", [](double x, double y, double) { return x <= y; }},
      {"gt", [](double x, double y, double) { return x > y; }},
      {"ge", [](double x, double y, double) { return x >= y; }},
      {"isfinite", [](double x, double, double) { return std::isfinite(x); }},
      {"isinf", [](double x, double, double) { return std::isinf(x); }},
      {"isnan", [](double x, double, double) { return std::isnan(x); }},
      {"expm1", [](double x, double, double) { return std::expm1(x); }},
      {"log1p", [](double x, double, double) { return std::log1p(x); }},
      {"logical_not", [](double x, double, double) { return x == 0; }},
      {"logical_or", [](double x, double y, double) { return x != 0 || y != 0; }},
      {"logical_and", [](double x, double y, double) { return x != 0 && y != 0; }},
      {"where", [](double x, double y, double z) { return x != 0 ? y : z; }},
      {"maximum", [](double x, double y, double) { return std::fmax(x, y); }},
      {"minimum", [](double x, double y, double) { return std::fmin(x, y); }},
      {"cast", [](double x, double, double) { return x; }},
      {"clone", [](double x, double, double) { return x; }},
      {"stop_gradient", [](double x, double, double) { return x; }},
  };
  const auto found = all.find(op);
  if (found == all.end()) throw std::invalid_argument("plain: no such op: " + std::string(op));
  return found->second(a, b, c);
}

/// The results of a tape, its composite ops written out, given what each slot holds; of a result that is none, nothing.
inline std::vector<row> run(const program& p, const std::vector<row>& slots, std::size_t n) {
  std::vector<row> v(static_cast<std::size_t>(p.size()), row(n));
  for (int i = 0; i < p.size(); ++i) {
    const instruction& now = p[i];
    row& out = v[static_cast<std::size_t>(i)];
    const auto operand = [&](int at, std::size_t e) { return at < 0 ? 0.0 : v[static_cast<std::size_t>(at)][e]; };
    const found_rules op = op_rules_table.find(now.code);
    if (op && op->reduces) {
      double total = operand(now.a, 0);
      for (std::size_t e = 1; e < n; ++e) {
        const double x = operand(now.a, e);
        total = op->name == "sum"    ? total + x
                : op->name == "prod" ? total * x
                : op->name == "max"  ? std::fmax(total, x)
                : op->name == "min"  ? std::fmin(total, x)
                                     : throw std::invalid_argument("plain: no such reduction");
      }
      out.assign(n, total);
      continue;
    }
    for (std::size_t e = 0; e < n; ++e)
      out[e] = now.code == opcode::constant ? number_in(now)
               : now.code == opcode::leaf
                   ? slots.at(static_cast<std::size_t>(now.slot)).at(e)
                   : elementwise(op->name, operand(now.a, e), operand(now.b, e), operand(now.c, e));
  }
  std::vector<row> results;
  for (int r = 0; r < p.result_count; ++r)
    results.push_back(p.results[r] < 0 ? row() : v[static_cast<std::size_t>(p.results[r])]);
  return results;
}

}  // namespace plain
