// SPDX-License-Identifier: BSL-1.0
// NumPy's .npz files: several arrays by name, each a .npy file in a ZIP archive. Needs zlib.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <kiln/io/array.hpp>
#include <kiln/io/npy.hpp>
#include <kiln/io/zip_file.hpp>

namespace kiln::io {

/// How a .npz file is read.
struct npz_read_options {
  std::uint64_t most_inflated = std::uint64_t{1} << 32;  ///< bytes that packed entries may become, all together
};
/// How a .npz file is written.
struct npz_write_options {
  bool compressed = false;  ///< as numpy.savez_compressed does
};

namespace detail {

/// The name of an array: that of its entry without .npy.
inline std::string array_name(const std::string& entry) {
  return entry.ends_with(".npy") ? entry.substr(0, entry.size() - 4) : entry;
}

inline array read_npz_entry(const input_file& file, const zip_entry& e, const std::string& place) {
  zip_reader bytes(file, e);
  std::string head(static_cast<std::size_t>(std::min<std::uint64_t>(e.size, 12)), '\0');
  bytes.read(head.data(), head.size());
  if (head.size() == 12) {  // as much more as the header is long
    const bool first = head[6] == 1;
    const std::uint64_t more = first ? little_endian(head, 8, 2) : std::uint64_t{2} + little_endian(head, 8, 4);
    const std::uint64_t rest = std::min({more < 2 ? 0 : more - 2, e.size - 12, std::uint64_t{most_npy_header}});
    head.resize(static_cast<std::size_t>(12 + rest));
    bytes.read(head.data() + 12, rest);
  }
  const npy_header header = read_npy_header(head, e.size, place);
  array values(new_tensor(header.type, header.shape));
  char* const to = static_cast<char*>(values.state()->data);
  // What was read of the elements already: nothing, or a few bytes of a header shorter than 12 bytes.
  const std::size_t early = head.size() - static_cast<std::size_t>(header.data_offset);
  std::copy(head.end() - static_cast<std::ptrdiff_t>(early), head.end(), to);
  bytes.read(to + early, values.bytes() - early);
  make_bools(values);
  return npy_in_order(std::move(values), header);
}

inline void check_npz(const input_file& file, const std::vector<zip_entry>& entries, const npz_read_options& options) {
  std::uint64_t inflated = 0;
  for (const zip_entry& e : entries)
    if (e.deflated && __builtin_add_overflow(inflated, e.size, &inflated)) inflated = ~std::uint64_t{0};
  if (inflated > options.most_inflated)
    throw io_error(message(file.reader(), ": ", file.path(), " inflates to ", inflated, " bytes, more than the ",
                           options.most_inflated, " that are read; raise .most_inflated if it is meant so"));
}

}  // namespace detail

/// The arrays of a .npz file, stored or compressed. Throws io_error for a file that is none, damaged or cut off, whose
/// elements kiln has not, that holds a name twice, or inflates to more than it may; memory_error.
inline tensor_map read_npz(const std::filesystem::path& path, const npz_read_options& options = {}) {
  const input_file file("read_npz", path);
  const std::vector<zip_entry> entries = zip_entries(file);
  detail::check_npz(file, entries, options);
  tensor_map all;
  for (const zip_entry& e : entries) {
    const std::string name = detail::array_name(e.name);
    const std::string place = message("read_npz: ", path, ": ", name);
    if (!all.emplace(name, detail::read_npz_entry(file, e, place)).second)
      throw io_error(place + " is there twice; write it again");
  }
  return all;
}

/// The same, with what is stored left to the system to read when it is looked at, as map_npy does; what is compressed
/// is read. What NumPy wrote begins anywhere, and is copied when it is opened; what write_npz wrote is not.
inline tensor_map map_npz(const std::filesystem::path& path, const npz_read_options& options = {}) {
  const input_file file("map_npz", path);
  const std::vector<zip_entry> entries = zip_entries(file);
  detail::check_npz(file, entries, options);
  const auto mapped = std::make_shared<mapped_file>(file);
  tensor_map all;
  for (const zip_entry& e : entries) {
    const std::string name = detail::array_name(e.name);
    const std::string place = message("map_npz: ", path, ": ", name);
    array values;
    if (!e.deflated) {
      const std::string_view bytes(mapped->data() + e.data, static_cast<std::size_t>(e.size));
      const npy_header header = read_npy_header(bytes.substr(0, most_npy_header + 12), e.size, place);
      if (!header.big_endian && !(header.fortran_order && header.shape.rank() > 1) && header.type != dtype::boolean)
        values = detail::array_in(mapped->data() + e.data + header.data_offset, header.type, header.shape, mapped);
    }
    if (!values.defined()) values = detail::read_npz_entry(file, e, place);
    if (!all.emplace(name, std::move(values)).second) throw io_error(place + " is there twice; write it again");
  }
  return all;
}

/// Writes arrays by name as a .npz file, whole or not at all. Throws dtype_error for bfloat16, which NumPy has not, and
/// io_error where it can't be written; what was there before then stays.
inline void write_npz(const std::filesystem::path& path, const tensor_map& arrays,
                      const npz_write_options& options = {}) {
  for (const auto& [name, values] : arrays) npy_header_of(values.dtype(), values.sizes());  // before any is written
  atomic_file file("write_npz", path);
  zip_writer archive(file, options.compressed);
  for (const auto& [name, values] : arrays) {
    const array all = values.contiguous();
    archive.add(name + ".npy", npy_header_of(all.dtype(), all.sizes()), {all.data(), all.bytes()});
  }
  archive.finish();
  file.commit();
}

}  // namespace kiln::io
