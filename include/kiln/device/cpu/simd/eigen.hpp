// SPDX-License-Identifier: BSL-1.0
// The one place of the vector layer that includes Eigen, and that would tell Eigen 3.4 from Eigen 5: it takes over the
// width of the vector registers, so that a program and Eigen inside it agree on what the machine has.
#pragma once

#include <Eigen/Core>

#include <algorithm>

namespace kiln::cpu {

/// Bytes of one vector register: 64 with AVX-512, 32 with AVX, 16 otherwise (also where Eigen does not vectorise).
inline constexpr int vector_bytes = std::max(16, static_cast<int>(sizeof(Eigen::internal::packet_traits<float>::type)));

}  // namespace kiln::cpu
