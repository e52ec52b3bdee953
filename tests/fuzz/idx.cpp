// SPDX-License-Identifier: BSL-1.0
// Any bytes as an IDX file of any rank: an array of the announced shape, or io_error.
#include <kiln/data/idx_file.hpp>
#include "memory_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzz::memory_file file(data, size);
  for (const std::size_t rank : {std::size_t{1}, std::size_t{3}}) {
    try {
      const kiln::data::idx_array array = kiln::data::read_idx(file.path(), rank, std::size_t{1} << 24);
      std::size_t elements = 1;
      for (const std::size_t length : array.shape) elements *= length;
      fuzz::promise(array.shape.size() == rank && array.bytes.size() == elements);
    } catch (const kiln::io_error&) {
    }
  }
  return 0;
}
