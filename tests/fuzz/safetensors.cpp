// SPDX-License-Identifier: BSL-1.0
// Any bytes as a .safetensors file: tensors that fill it, the same read and mapped, and again once they are written; or
// io_error.
#include <kiln/io/safetensors.hpp>

#include "memory_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzz::memory_file file(data, size);
  try {
    const kiln::io::tensor_map read = kiln::io::read_safetensors(file.path());
    const kiln::io::tensor_map mapped = kiln::io::map_safetensors(file.path());
    std::vector<kiln::io::safetensors_entry> entries;
    std::size_t bytes = 0;
    for (const auto& [name, values] : read) {
      bytes += values.bytes();
      const kiln::io::array& other = mapped.at(name);
      fuzz::promise(other.dtype() == values.dtype() && other.sizes() == values.sizes());
      if (values.bytes() > 0) fuzz::promise(std::memcmp(values.data(), other.data(), values.bytes()) == 0);
      entries.push_back({name, values.dtype(), values.sizes(), 0, 0});
    }
    fuzz::promise(bytes < size && mapped.size() == read.size());
    const std::string header = kiln::io::safetensors_header_of(entries, {});
    const auto again = kiln::io::read_safetensors_header(header.substr(8), header.size() + bytes, "written");
    fuzz::promise(again.entries.size() == read.size());
    for (const auto& e : again.entries) fuzz::promise(read.at(e.name).sizes() == e.shape);
  } catch (const kiln::io_error&) {
  }
  return 0;
}
