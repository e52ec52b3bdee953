// SPDX-License-Identifier: BSL-1.0
// An IDX file as a tensor of its own element type. Needs zlib.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <filesystem>

#include <kiln/data/idx_file.hpp>
#include <kiln/tensor/creation.hpp>

namespace kiln::data {

namespace detail {

/// The byte of an element type in IDX; 0 for one that it has not.
template <Element T>
inline constexpr std::uint8_t idx_type = 0;
template <>
inline constexpr std::uint8_t idx_type<std::uint8_t> = 0x08;
template <>
inline constexpr std::uint8_t idx_type<std::int8_t> = 0x09;
template <>
inline constexpr std::uint8_t idx_type<std::int16_t> = 0x0B;
template <>
inline constexpr std::uint8_t idx_type<std::int32_t> = 0x0C;
template <>
inline constexpr std::uint8_t idx_type<float> = 0x0D;
template <>
inline constexpr std::uint8_t idx_type<double> = 0x0E;

}  // namespace detail

/// The IDX file at `path` as a tensor of T, which must be the file's element type: bytes of either sign, int16, int32,
/// float or double. Throws as read_idx, and shape_error for more axes than a tensor has.
template <Element T>
Tensor<T> read_idx_tensor(const std::filesystem::path& path, std::size_t rank = any_rank,
                          std::size_t most_bytes = most_idx_bytes) {
  static_assert(
      detail::idx_type<T> != 0,
      "kiln: an IDX file holds uint8, int8, int16, int32, float or double: read it as one of these and cast it");
  const idx_array array = read_idx(path, rank, most_bytes, detail::idx_type<T>);
  dims sizes;
  for (const std::size_t size : array.shape) sizes.push_back(static_cast<std::int64_t>(size));
  auto result = empty<T>(sizes);
  auto* const bytes = reinterpret_cast<std::uint8_t*>(result.data());
  for (std::size_t at = 0; at < array.bytes.size(); at += sizeof(T))
    for (std::size_t i = 0; i < sizeof(T); ++i)
      bytes[at + i] = array.bytes[std::endian::native == std::endian::little ? at + sizeof(T) - 1 - i : at + i];
  return result;
}

}  // namespace kiln::data
