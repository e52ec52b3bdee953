// SPDX-License-Identifier: BSL-1.0
// The device EigenCpu: the processor that runs the program, with the kernels of expressions made by Eigen. Its memory
// is that of the device Cpu.
#pragma once

namespace kiln {

/// The processor that runs the program, by way of Eigen: each expression is one fused Eigen array expression. Tensors
/// share their memory with those of Cpu: `x.to<EigenCpu>()` and back copies nothing.
struct EigenCpu {
  static constexpr const char* name = "eigen";
  friend constexpr bool operator==(EigenCpu, EigenCpu) = default;
};

}  // namespace kiln
