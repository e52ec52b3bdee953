// SPDX-License-Identifier: BSL-1.0
// Any bytes as a .npy file: an array of the announced shape, the same read and mapped, or io_error.
#include <kiln/io/npy.hpp>

#include "memory_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzz::memory_file file(data, size);
  try {
    const kiln::io::array read = kiln::io::read_npy(file.path());
    fuzz::promise(read.bytes() < size && kiln::is_contiguous(*read.state()));
    const kiln::io::array mapped = kiln::io::map_npy(file.path());
    fuzz::promise(mapped.dtype() == read.dtype() && mapped.sizes() == read.sizes());
    if (read.bytes() > 0) fuzz::promise(std::memcmp(mapped.data(), read.data(), read.bytes()) == 0);
  } catch (const kiln::io_error&) {
  }
  return 0;
}
