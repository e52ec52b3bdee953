// SPDX-License-Identifier: BSL-1.0
// The definitions of safetensors.hpp.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <kiln/io/atomic_file.hpp>
#include <kiln/io/input_file.hpp>
#include <kiln/io/mapped_file.hpp>
#include <kiln/io/npy.hpp>
#include <kiln/io/safetensors.hpp>

namespace kiln::io {

static_assert(std::endian::native == std::endian::little, "kiln: files of tensors are read on little-endian machines");

namespace detail {

KILN_INLINE safetensors_header safetensors_header_in(const input_file& file) {
  const std::string place = message(file.reader(), ": ", file.path());
  const std::uint64_t length = safetensors_header_length(file.beginning(8), file.size(), place);
  std::string json(static_cast<std::size_t>(length), '\0');
  file.read(8, json.data(), length);
  return read_safetensors_header(json, file.size(), place);
}

}  // namespace detail

KILN_INLINE tensor_map read_safetensors(const std::filesystem::path& path, text_map* metadata) {
  const input_file file("read_safetensors", path);
  safetensors_header header = detail::safetensors_header_in(file);
  tensor_map all;
  for (const safetensors_entry& e : header.entries) {
    array values(new_tensor(e.type, e.shape));
    file.read(header.data_offset + e.begin, values.state()->data, values.bytes());
    detail::make_bools(values);
    all.emplace(e.name, std::move(values));
  }
  if (metadata) *metadata = std::move(header.metadata);
  return all;
}

KILN_INLINE tensor_map map_safetensors(const std::filesystem::path& path, text_map* metadata) {
  const input_file file("map_safetensors", path);
  safetensors_header header = detail::safetensors_header_in(file);
  const auto mapped = std::make_shared<mapped_file>(file);
  tensor_map all;
  for (const safetensors_entry& e : header.entries) {
    array values = detail::array_in(mapped->data() + header.data_offset + e.begin, e.type, e.shape, mapped);
    detail::make_bools(values);
    all.emplace(e.name, std::move(values));
  }
  if (metadata) *metadata = std::move(header.metadata);
  return all;
}

KILN_INLINE void write_safetensors(const std::filesystem::path& path, const tensor_map& tensors,
                                   const text_map& metadata) {
  std::vector<safetensors_entry> entries;
  for (const auto& [name, values] : tensors) entries.push_back({name, values.dtype(), values.sizes(), 0, 0});
  const std::string header = safetensors_header_of(entries, metadata);
  atomic_file file("write_safetensors", path);
  file.reserve(header.size() + (entries.empty() ? 0 : entries.back().end));
  file.write(header);
  for (const safetensors_entry& e : entries) {
    const array all = tensors.at(e.name).contiguous();
    file.write(all.data(), all.bytes());
  }
  file.commit();
}

}  // namespace kiln::io
