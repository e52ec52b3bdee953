// SPDX-License-Identifier: BSL-1.0
// Prints kernels that are not made of a tape: a function template of kernels/*.cuh, for given types.
#pragma once

#include <string>

#include <kiln/core/version.hpp>
#include <kiln/device/cuda/plan/source.hpp>
#include <kiln/device/cuda/print/print.hpp>

namespace kiln::cuda {

/// A kernel that calls one function.
struct fixed_kernel {
  std::string file;        ///< that defines the function, in kernels/
  std::string name;        ///< of the kernel, without "kiln_"; says the types too
  std::string parameters;  ///< as they stand between the parentheses
  std::string call;        ///< of the function
  int threads = 256;       ///< per block
  std::string words = {};  ///< what it does, as the first line of the text; may be empty
  int least_blocks = 0;    ///< that a multiprocessor is to hold: bounds registers; 0 leaves them to the compiler
};

source print_fixed(const fixed_kernel& what);

}  // namespace kiln::cuda

#ifndef KILN_COMPILED
#include <kiln/device/cuda/print/print_fixed_impl.hpp>
#endif
