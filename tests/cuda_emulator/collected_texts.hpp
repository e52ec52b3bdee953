// SPDX-License-Identifier: BSL-1.0
// The CUDA texts that tests run on the emulator, collected for the real NVRTC: tools/cuda_texts.py compiles them.
#pragma once

#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>

#include "host_compiler.hpp"

namespace emulate {

/// Writes a text that the host compiler accepts to the folder that KILN_CUDA_TEXTS names, once for each text. Does
/// nothing without that variable.
inline void collect_text(std::string_view text) {
  const char* const folder = std::getenv("KILN_CUDA_TEXTS");
  if (folder == nullptr || *folder == 0) return;
  const std::string path = std::string(folder) + "/" + std::to_string(std::hash<std::string_view>{}(text)) + ".cu";
  ::mkdir(folder, 0777);  // which may be there
  if (::access(path.c_str(), F_OK) != 0) write_whole_file(path, text);
}

}  // namespace emulate
