// SPDX-License-Identifier: BSL-1.0
// What stands before the elements in a .safetensors file: the length of a JSON object, and in that each tensor's name,
// type, shape and place. Nothing in it is believed before it is checked: places neither overlap nor leave gaps nor lead
// out of the file, and the JSON is as deep as it must be and no deeper.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <kiln/core/dims.hpp>
#include <kiln/core/dtype.hpp>
#include <kiln/core/error.hpp>

namespace kiln::io {

/// Texts by name that a file has beside its tensors.
using text_map = std::map<std::string, std::string>;

/// One tensor in a .safetensors file.
struct safetensors_entry {
  std::string name;
  dtype type = dtype::float32;
  dims shape;
  std::uint64_t begin = 0, end = 0;  ///< of its bytes, from data_offset on
};
/// What a .safetensors file holds.
struct safetensors_header {
  std::vector<safetensors_entry> entries;  ///< in the order of their bytes
  text_map metadata;
  std::uint64_t data_offset = 0;
};

/// Longer headers are read by nobody: the format's own limit.
inline constexpr std::uint64_t most_safetensors_header = 100'000'000;

/// The length of the JSON in a .safetensors file of `file_size` bytes, of which these are the first 8. Throws io_error
/// if there can't be so much.
std::uint64_t safetensors_header_length(std::string_view first, std::uint64_t file_size, const std::string& place);

/// Reads the JSON of a .safetensors file of `file_size` bytes. `place` is what errors begin with: the reader and the
/// file. Throws io_error for what is not as the format says.
safetensors_header read_safetensors_header(std::string_view json, std::uint64_t file_size, const std::string& place);

/// The first bytes of a .safetensors file with these tensors, up to their elements: places are set here, one behind the
/// other. The JSON is padded so that elements begin at a multiple of 8 bytes, as the format's own library does.
std::string safetensors_header_of(std::vector<safetensors_entry>& entries, const text_map& metadata);

}  // namespace kiln::io

#ifndef KILN_COMPILED
#include <kiln/io/safetensors_header_impl.hpp>
#endif
