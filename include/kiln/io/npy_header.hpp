// SPDX-License-Identifier: BSL-1.0
// What stands before the elements in a .npy file (NumPy Enhancement Proposal 1, versions 1 to 3): magic bytes, a
// length, and a Python dictionary with the element type, the order and the shape. Nothing in it is believed before it
// is checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <kiln/core/dims.hpp>
#include <kiln/core/dtype.hpp>
#include <kiln/core/error.hpp>

namespace kiln::io {

/// What a .npy file says of its elements.
struct npy_header {
  dtype type = dtype::float32;
  bool big_endian = false;     ///< its elements have their highest byte first
  bool fortran_order = false;  ///< the first axis is the fastest
  dims shape;
  std::uint64_t data_offset = 0;  ///< of the first element
};

/// Longer headers are read by nobody.
inline constexpr std::size_t most_npy_header = std::size_t{1} << 20;

namespace detail {

/// Bytes of elements of these sizes; nothing if they are more than a file can have.
std::optional<std::uint64_t> bytes_of(dtype type, const dims& shape);

}  // namespace detail

/// The header of a .npy file of `file_size` bytes that begins with `bytes`; `place` is what errors begin with: the
/// reader and the file. Throws io_error for what is no .npy file, for elements that kiln has not, and for sizes that do
/// not fit the file.
npy_header read_npy_header(std::string_view bytes, std::uint64_t file_size, const std::string& place);

/// The header of a .npy file of row-major elements in this machine's order, padded as NumPy does. Throws dtype_error
/// for bfloat16, which NumPy has not.
std::string npy_header_of(dtype type, const dims& shape);

}  // namespace kiln::io

#ifndef KILN_COMPILED
#include <kiln/io/npy_header_impl.hpp>
#endif
