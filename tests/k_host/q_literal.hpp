// SPDX-License-Identifier: BSL-1.0
// Numeric literals of q: words such as 1, -2.5e, 0N, 0x01ff, 0101b, 2020.01.31, and the vectors that several make.
#pragma once

#include "q_value.hpp"

#include <string>
#include <vector>

namespace k_host {

/// The atom or vector that words, as `1 2 3e`, stand for. Throws q_error for what is none.
value literal_of(const std::vector<std::string>& words);

}  // namespace k_host
