// SPDX-License-Identifier: BSL-1.0
// The compiler behind the cache: a printed kernel, with the embedded skeletons as its only headers, through NVRTC to
// machine code of one architecture. No driver and no GPU is needed.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include <kiln/core/error.hpp>
#include <kiln/core/version.hpp>
#include <kiln/device/cuda/compile/cache.hpp>
#include <kiln/device/cuda/compile/nvrtc.hpp>
#include <kiln/device/cuda/plan/source.hpp>
#include <kiln/device/cuda/print/skeletons.hpp>

namespace kiln::cuda {

/// What is asked of NVRTC for every kernel, besides the architecture. Multiplications and additions are contracted, as
/// on the CPU; nothing else is approximate.
inline constexpr std::array compile_options{"-std=c++20", "--minimal"};

/// A printed kernel as a request to this compiler.
compile_request request_for(const source& printed, int architecture, const nvrtc_functions& nvrtc);

namespace detail {

std::vector<int> architectures_of(const nvrtc_functions& nvrtc);

std::string text_from(const nvrtc_functions& nvrtc, nvrtc_program program,
                      nvrtc_result (*size)(nvrtc_program, std::size_t*), nvrtc_result (*read)(nvrtc_program, char*),
                      const char* what);

/// Runs NVRTC over a text; `target` is sm_ for machine code, compute_ for PTX.
compile_result compile_text(const nvrtc_functions& nvrtc, const compile_request& request, const char* target);

}  // namespace detail

/// NVRTC as the compiler of a cache. Throws device_error for an architecture that it does not know.
compile_function compile_with(const nvrtc_functions& nvrtc);

}  // namespace kiln::cuda

#ifndef KILN_COMPILED
#include <kiln/device/cuda/compile/compile_impl.hpp>
#endif
