// SPDX-License-Identifier: BSL-1.0
// Any bytes as a .npz file: arrays of no more bytes than may be, or io_error.
#include <kiln/io/npz.hpp>

#include "memory_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzz::memory_file file(data, size);
  constexpr std::uint64_t most = std::uint64_t{1} << 22;
  for (const bool mapped : {false, true}) {
    try {
      const kiln::io::tensor_map all = mapped ? kiln::io::map_npz(file.path(), {.most_inflated = most})
                                              : kiln::io::read_npz(file.path(), {.most_inflated = most});
      std::uint64_t bytes = 0;
      for (const auto& [name, values] : all) bytes += values.bytes();
      fuzz::promise(bytes <= most + size);
    } catch (const kiln::io_error&) {
    }
  }
  return 0;
}
