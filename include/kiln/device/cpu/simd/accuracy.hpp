// SPDX-License-Identifier: BSL-1.0
// How exact the functions of lanes are: the largest error in units of the last place (half a unit is correct rounding)
// that the tests allow, with FMA or without, at every width. The tests read their limits here.
#pragma once

#include <stdexcept>
#include <string_view>

#include <kiln/device/cpu/processor/isa.hpp>

namespace kiln::cpu::inline KILN_VERSION_ISA {

/// The largest error of a function, in units of the last place, for float and for double.
struct accuracy {
  std::string_view name;
  double single_ulps, double_ulps;
};

/// Special values (NaN, infinities, zeros with their signs, overflow) are those of the C library.
/// lgamma and digamma are relative to max(1, |value|) near their zeros.
inline constexpr accuracy accuracies[] = {
    {"sqrt", 0.5, 0.5},  {"reciprocal", 0.5, 0.5}, {"rsqrt", 1.5, 1.5}, {"exp", 1.1, 1.1},    {"exp2", 1.1, 1.1},
    {"expm1", 2.0, 2.0}, {"sigmoid", 2.6, 2.6},    {"log", 1.0, 1.0},   {"log2", 1.1, 1.1},   {"log10", 1.1, 1.1},
    {"log1p", 1.8, 1.8}, {"sin", 2.0, 2.0},        {"cos", 2.0, 2.0},   {"tan", 3.5, 3.6},    {"asin", 1.8, 1.8},
    {"acos", 1.5, 1.5},  {"atan", 2.2, 2.2},       {"atan2", 2.7, 2.7}, {"sinh", 2.5, 2.5},   {"cosh", 2.6, 2.6},
    {"tanh", 2.7, 2.7},  {"asinh", 2.2, 2.2},      {"acosh", 2.2, 2.2}, {"atanh", 2.3, 2.3},  {"erf", 2.5, 4.0},
    {"erfc", 4.0, 4.5},  {"pow", 0.6, 1.1},        {"hypot", 0.6, 2.6}, {"lgamma", 0.6, 6.0}, {"digamma", 0.6, 8.0},
    {"fmod", 0.0, 0.0},  {"remainder", 0.5, 0.5},  {"gaussian", 1.7, 1.3}, {"ndtr", 5.6, 4.8},
};

/// The entry called `name`; std::out_of_range if there is none.
constexpr accuracy accuracy_of(std::string_view name) {
  for (const accuracy& entry : accuracies) {
    if (entry.name == name) return entry;
  }
  throw std::out_of_range("accuracy_of: no function of this name; the names are listed in accuracy.hpp");
}

}  // namespace kiln::cpu::inline KILN_VERSION_ISA
