// SPDX-License-Identifier: BSL-1.0
// Texts of CUDA (ops/text.hpp): each function that a rule calls is a device function of the same name in
// kernels/math.cuh.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <kiln/ops/text.hpp>

namespace kiln::cuda {

/// Calls functions by their names.
struct device_language {
  static std::string call(std::string_view name, const std::vector<std::string>& operands) {
    std::string code(name);
    for (std::size_t i = 0; i < operands.size(); ++i) code += (i ? ", " : "(") + operands[i];
    return code + ")";
  }
};

template <class T>
using text = spelled::text<T, device_language>;

}  // namespace kiln::cuda
