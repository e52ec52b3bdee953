// SPDX-License-Identifier: BSL-1.0
// The compiler behind the cache: a printed kernel, with the embedded skeletons as its only headers, through NVRTC to
// machine code of one architecture. No driver and no GPU is needed.
#pragma once

#include <algorithm>
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
/// on the CPU; nothing else is approximate. `--minimal`, which spares declarations that no kernel needs, came
/// with 12.4.
std::vector<const char*> compile_options(const nvrtc_functions& nvrtc);

/// A printed kernel as a request to this compiler.
compile_request request_for(const source& printed, int architecture, const nvrtc_functions& nvrtc);

namespace detail {

std::vector<int> architectures_of(const nvrtc_functions& nvrtc);

// 0 if NVRTC makes machine code for an architecture, or none that would run there; else the highest one that it knows
// and that is older.
int older_architecture(const nvrtc_functions& nvrtc, int architecture);

std::string text_from(const nvrtc_functions& nvrtc, nvrtc_program program,
                      nvrtc_result (*size)(nvrtc_program, std::size_t*), nvrtc_result (*read)(nvrtc_program, char*),
                      const char* what);

/// Runs NVRTC over a text; `target` is sm_ for machine code, compute_ for PTX. `more` options come behind
/// `compile_options`.
compile_result compile_text(const nvrtc_functions& nvrtc, const compile_request& request, const char* target,
                            const std::vector<const char*>& more = {});

}  // namespace detail

/// NVRTC as the compiler of a cache. For an architecture that is newer than NVRTC it makes PTX of the newest that it
/// knows, from which the driver makes machine code. Throws device_error for one that it no longer knows.
compile_function compile_with(const nvrtc_functions& nvrtc);

}  // namespace kiln::cuda

#ifndef KILN_COMPILED
#include <kiln/device/cuda/compile/compile_impl.hpp>
#endif
