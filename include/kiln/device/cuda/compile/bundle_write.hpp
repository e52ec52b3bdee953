// SPDX-License-Identifier: BSL-1.0
// Makes bundles: the kernels of bundle_sources.hpp, compiled for some architectures on all cores, in one file. Needs
// NVRTC, and no GPU or driver. `write_bundle_if_asked` is what kiln_bundle calls.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <mutex>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include <kiln/core/error.hpp>
#include <kiln/core/version.hpp>
#include <kiln/device/cuda/compile/bundle.hpp>
#include <kiln/device/cuda/compile/bundle_sources.hpp>
#include <kiln/device/cuda/compile/compile.hpp>

namespace kiln::cuda {

/// Compiles all sources for all architectures, several kernels in one image, on all cores. Gives the bytes of a bundle.
/// Throws device_error with the compiler's words.
std::string compile_bundle(const std::vector<source>& sources, const std::vector<int>& architectures,
                           const nvrtc_functions& compiler);

/// The architectures of a list such as "80,90,100". Throws value_error for anything else.
std::vector<int> architectures_in(std::string_view list);

/// Writes a file whole or not at all. Throws device_error if it cannot be written.
void write_bundle(const std::string& path, std::string_view bytes);

/// If KILN_BUNDLE_WRITE names a file: compiles every registered tape for the architectures in KILN_BUNDLE_ARCHS, writes
/// that file, says what it did in one line and sets `status` to what the program is to end with. Returns whether.
bool write_bundle_if_asked(int& status);

}  // namespace kiln::cuda

#ifndef KILN_COMPILED
#include <kiln/device/cuda/compile/bundle_write_impl.hpp>
#endif
