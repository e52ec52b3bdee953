// SPDX-License-Identifier: BSL-1.0
// NumPy's .npy files: one array, with its type and shape. read_npy reads, map_npy leaves it to the system to read what
// is looked at, write_npy writes.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include <kiln/io/array.hpp>
#include <kiln/io/atomic_file.hpp>
#include <kiln/io/input_file.hpp>
#include <kiln/io/mapped_file.hpp>
#include <kiln/io/npy_header.hpp>

namespace kiln::io {

namespace detail {

inline npy_header npy_header_in(const input_file& file) {
  const std::string place = message(file.reader(), ": ", file.path());
  const std::string few = file.beginning(4096);  // as long as headers are
  try {
    return read_npy_header(few, file.size(), place);
  } catch (const io_error&) {
    if (few.size() == file.size()) throw;
    return read_npy_header(file.beginning(most_npy_header + 12), file.size(), place);
  }
}
/// Elements of a file in this machine's order, row-major.
inline array npy_in_order(array read, const npy_header& header) {
  if (header.big_endian != (std::endian::native == std::endian::big))
    swap_bytes(static_cast<char*>(read.state()->data), read.bytes(), size_of(header.type));
  if (!header.fortran_order || header.shape.rank() < 2) return read;
  dims strides = dims::filled(header.shape.rank(), 1);
  for (int i = 1; i < header.shape.rank(); ++i)
    strides[i] = kiln::detail::wrapping_product(strides[i - 1], header.shape[i - 1]);
  ref<tensor_state> turned = new_tensor(header.type, header.shape);
  copy_strided(static_cast<char*>(turned->data), turned->strides, read.data(), strides, header.shape,
               size_of(header.type));
  return array(std::move(turned));
}
/// Any byte but 0 is true; kiln's bools are 0 and 1.
inline void make_bools(const array& a) {
  if (a.dtype() != dtype::boolean) return;
  auto* const bytes = static_cast<std::uint8_t*>(a.state()->data);
  for (std::size_t i = 0; i < a.bytes(); ++i)
    if (bytes[i] > 1) bytes[i] = 1;  // a page that is not written is not copied
}

}  // namespace detail

/// The array of a .npy file, in any byte order, row-major or Fortran's. Throws io_error for a file that is none,
/// damaged or cut off, or whose elements kiln has not; memory_error.
inline array read_npy(const std::filesystem::path& path) {
  const input_file file("read_npy", path);
  const npy_header header = detail::npy_header_in(file);
  array read(new_tensor(header.type, header.shape));
  file.read(header.data_offset, read.state()->data, read.bytes());
  detail::make_bools(read);
  return detail::npy_in_order(std::move(read), header);
}
/// The same as a tensor of T. Throws dtype_error if its elements are of another type.
template <Element T>
Tensor<T> read_npy(const std::filesystem::path& path) {
  return read_npy(path).as<T>();
}

/// The array of a .npy file, of which the system reads what is looked at: a file of any size is there at once. Writing
/// to it changes nothing in the file. What is big-endian or in Fortran's order, or holds bools, is read as read_npy
/// does. Throws as read_npy.
inline array map_npy(const std::filesystem::path& path) {
  const input_file file("map_npy", path);
  const npy_header header = detail::npy_header_in(file);
  if (header.big_endian || (header.fortran_order && header.shape.rank() > 1) || header.type == dtype::boolean ||
      std::endian::native == std::endian::big)
    return read_npy(path);
  const auto mapped = std::make_shared<mapped_file>(file);
  if (mapped->size() < file.size()) throw io_error(message("map_npy: ", path, " changed while it was opened"));
  return detail::array_in(mapped->data() + header.data_offset, header.type, header.shape, mapped);
}
/// The same as a tensor of T. Throws dtype_error if its elements are of another type.
template <Element T>
Tensor<T> map_npy(const std::filesystem::path& path) {
  return map_npy(path).as<T>();
}

/// Writes a tensor as a .npy file, whole or not at all. Throws dtype_error for bfloat16, which NumPy has not, and
/// io_error where it can't be written; what was there before then stays.
inline void write_npy(const std::filesystem::path& path, const array& values) {
  const std::string header = npy_header_of(values.dtype(), values.sizes());
  const array all = values.contiguous();
  atomic_file file("write_npy", path);
  file.reserve(header.size() + all.bytes());
  file.write(header);
  file.write(all.data(), all.bytes());
  file.commit();
}

}  // namespace kiln::io
