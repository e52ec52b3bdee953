// SPDX-License-Identifier: BSL-1.0
// Draws handwriting-like digits, so that the programs need no download. A seed gives the same digits everywhere; a byte
// may differ by one where sin and cos do.
#pragma once

#include "digit_set.hpp"

#include <cstddef>
#include <cstdint>

namespace mnist {

/// Draws `train` digits to learn from and `test` others to be judged on. The same seed gives the same digits.
digit_data draw_digits(std::uint64_t seed, std::size_t train = 8000, std::size_t test = 2000);

}  // namespace mnist
