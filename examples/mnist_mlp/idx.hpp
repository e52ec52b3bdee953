// SPDX-License-Identifier: BSL-1.0
// Reads one IDX file, the format of the MNIST files: two zero bytes, a byte for the element type, a byte for the rank,
// one big-endian 32-bit size per axis, then the elements. Plain and gzip-compressed files are read alike. Nothing in a
// file is believed before it is checked: every defect is a kiln::io_error that says what was found and what to do.
#pragma once

#include <kiln/core/error.hpp>

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

namespace mnist {

/// The sizes of an IDX file's axes and its bytes, last axis fastest.
struct idx_array {
  std::vector<std::size_t> shape;
  std::vector<std::uint8_t> bytes;
};

/// A file opened through zlib, which passes plain files through unchanged.
class gz_file {
 public:
  explicit gz_file(const std::filesystem::path& path) : path_(path) {
    if (!std::filesystem::exists(path))
      throw kiln::io_error(kiln::message("read_idx: there is no file ", path, "; check the path"));
    if (std::filesystem::is_directory(path))
      throw kiln::io_error(kiln::message("read_idx: ", path, " is a directory, not an IDX file; name a file in it"));
    errno = 0;
    file_ = gzopen(path.c_str(), "rb");
    if (file_ == nullptr)
      throw kiln::io_error(
          kiln::message("read_idx: cannot open ", path, ": ", std::strerror(errno), "; check that you may read it"));
  }
  gz_file(const gz_file&) = delete;
  gz_file& operator=(const gz_file&) = delete;
  ~gz_file() { gzclose(file_); }

  /// Reads up to `count` bytes (below 2^31) to `to`; returns fewer only at the end of the file. Throws kiln::io_error
  /// where the compressed stream is damaged or cut off.
  std::size_t read(std::uint8_t* to, std::size_t count) {
    errno = 0;
    const int got = gzread(file_, to, static_cast<unsigned>(count));
    int code = Z_OK;
    const char* text = gzerror(file_, &code);
    // A stream that was cut off first hands out what it has and reports the cut beside it.
    if (got < 0 || (code != Z_OK && code != Z_STREAM_END))
      throw kiln::io_error(kiln::message("read_idx: ", path_,
                                         " is damaged or cut off: ", code == Z_ERRNO ? std::strerror(errno) : text,
                                         "; `gzip -t` tests it; fetch it again"));
    return static_cast<std::size_t>(got);
  }

 private:
  std::filesystem::path path_;
  gzFile file_ = nullptr;
};

/// The name of an IDX element type; "an unknown type" for a byte that the format does not define.
inline const char* idx_type_name(std::uint8_t type) {
  switch (type) {
    case 0x08:
      return "unsigned bytes";
    case 0x09:
      return "signed bytes";
    case 0x0B:
      return "16-bit integers";
    case 0x0C:
      return "32-bit integers";
    case 0x0D:
      return "32-bit floats";
    case 0x0E:
      return "64-bit floats";
    default:
      return "an unknown type";
  }
}

/// Reads the IDX file at `path`, which must hold unsigned bytes and have `rank` axes. Throws kiln::io_error if the file
/// is missing, cut off, damaged, of another type or rank, too large for memory, or longer than its header says.
inline idx_array read_idx(const std::filesystem::path& path, std::size_t rank) {
  gz_file file(path);
  const auto fail = [&path](const auto&... parts) {
    throw kiln::io_error(kiln::message("read_idx: ", path, parts...));
  };

  std::array<std::uint8_t, 4> magic{};
  if (const std::size_t got = file.read(magic.data(), magic.size()); got < magic.size())
    fail(" ends after ", got, " of the 4 bytes an IDX file starts with; fetch it again");
  if (magic[0] != 0 || magic[1] != 0)
    fail(" is no IDX file: it starts with the bytes ", int{magic[0]}, " ", int{magic[1]},
         " where IDX has 0 0; give a plain or gzip-compressed IDX file");
  if (magic[2] != 0x08)
    fail(" holds ", idx_type_name(magic[2]), " (type ", int{magic[2]},
         "), expected unsigned bytes (type 8); convert it to bytes");
  if (magic[3] != rank)
    fail(" has rank ", int{magic[3]}, ", expected ", rank, "; images have rank 3, labels rank 1: swapped files?");

  idx_array array;
  std::size_t total = 1;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    std::array<std::uint8_t, 4> raw{};
    if (const std::size_t got = file.read(raw.data(), raw.size()); got < raw.size())
      fail(" ends inside its header, in the size of axis ", axis, "; fetch it again");
    std::size_t size = 0;
    for (const std::uint8_t byte : raw) size = (size << 8) | byte;
    array.shape.push_back(size);
    // The bound is that of ptrdiff_t, which std::vector and every pointer difference have too.
    if (size != 0 && total > static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max()) / size)
      fail(" has sizes whose product overflows at axis ", axis, " (", total, " x ", size,
           "); the header is damaged, fetch the file again");
    total *= size;
  }

  // Grows with what really arrives, so a damaged header cannot ask for terabytes.
  constexpr std::size_t block = std::size_t{1} << 20;
  while (array.bytes.size() < total) {
    const std::size_t before = array.bytes.size(), want = std::min(block, total - before);
    array.bytes.resize(before + want);
    const std::size_t got = file.read(array.bytes.data() + before, want);
    if (got < want)
      fail(" ends after ", before + got, " of the ", total, " bytes that its header announces; fetch it again");
  }
  // Reading past the end also makes zlib compare the checksum behind the compressed data.
  std::uint8_t extra = 0;
  if (file.read(&extra, 1) != 0)
    fail(" goes on after the ", total, " bytes that its header announces; the header is damaged, fetch the file again");
  return array;
}

}  // namespace mnist
