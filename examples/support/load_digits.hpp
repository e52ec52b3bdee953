// SPDX-License-Identifier: BSL-1.0
// The digits of a directory with MNIST's files, in two parts.
#pragma once

#include "digit_set.hpp"

#include <string>

namespace mnist {

/// Reads the digits in `directory`: train-* to learn from and t10k-* to be judged on if both are there; if there is
/// only one of the two, its first four fifths train and the rest tests (8,000 and 2,000 of the 10,000 of t10k-*).
/// Throws kiln::io_error if the directory or the files are missing or damaged.
digit_data load_digits(const std::string& directory);

}  // namespace mnist
