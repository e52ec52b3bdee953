// SPDX-License-Identifier: BSL-1.0
// Reads one IDX file, the format of the MNIST files: two zero bytes, a byte for the element type, a byte for the rank,
// one big-endian 32-bit size per axis, then the elements, big-endian too. Plain and gzip-compressed files are read
// alike. Nothing in a file is believed before it is checked: every defect is a kiln::io_error that says what was found
// and what to do. Needs zlib.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <limits>
#include <new>
#include <string>
#include <vector>

#include <kiln/core/error.hpp>

namespace kiln::data {

/// The sizes of an IDX file's axes and the bytes of its elements, last axis fastest.
struct idx_array {
  std::vector<std::size_t> shape;
  std::vector<std::uint8_t> bytes;
};

namespace detail {

/// A file opened through zlib, which passes plain files through unchanged.
class gz_file {
 public:
  explicit gz_file(const std::filesystem::path& path) : path_(path) {
    const int number = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);  // waits for nobody
    if (number < 0 && errno == ENOENT) throw io_error(message("read_idx: there is no file ", path, "; check the path"));
    if (number < 0)
      throw io_error(
          message("read_idx: cannot open ", path, ": ", std::strerror(errno), "; check that you may read it"));
    struct stat found {};
    const char* what = nullptr;
    if (fstat(number, &found) != 0 || !(S_ISREG(found.st_mode) || S_ISDIR(found.st_mode)))
      what = " is a pipe or a device, not an IDX file; write what it gives to a file first";
    else if (S_ISDIR(found.st_mode))
      what = " is a directory, not an IDX file; name a file in it";
    else if ((file_ = gzdopen(number, "rb")) == nullptr)
      what = " cannot be read: there is no memory";
    if (what != nullptr) {
      close(number);
      throw io_error(message("read_idx: ", path, what));
    }
    size_ = static_cast<std::uint64_t>(found.st_size);
  }
  gz_file(const gz_file&) = delete;
  gz_file& operator=(const gz_file&) = delete;
  ~gz_file() { gzclose(file_); }

  /// Its bytes on disk.
  std::uint64_t size() const { return size_; }

  /// Reads up to `count` bytes (below 2^31) to `to`; returns fewer only at the end of the file. Throws io_error
  /// where the compressed stream is damaged or cut off.
  std::size_t read(std::uint8_t* to, std::size_t count) {
    errno = 0;
    const int got = gzread(file_, to, static_cast<unsigned>(count));
    int code = Z_OK;
    const char* text = gzerror(file_, &code);
    // A stream that was cut off first hands out what it has and reports the cut beside it.
    if (got < 0 || (code != Z_OK && code != Z_STREAM_END))
      throw io_error(message("read_idx: ", path_, " is damaged or cut off: ",
                             code == Z_ERRNO ? std::strerror(errno) : text, "; `gzip -t` tests it; fetch it again"));
    return static_cast<std::size_t>(got);
  }

 private:
  std::filesystem::path path_;
  gzFile file_ = nullptr;
  std::uint64_t size_ = 0;
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

}  // namespace detail

/// What read_idx reads at most: MNIST's largest relative, EMNIST, has 640 MB of images.
inline constexpr std::size_t most_idx_bytes = std::size_t{1} << 30;

/// Any number of axes, for read_idx.
inline constexpr std::size_t any_rank = ~std::size_t{0};

/// Reads the IDX file at `path`, which must hold elements of `type`, unsigned bytes unless another is named, and have
/// `rank` axes. Their bytes stay in the order of the file. Throws io_error if the file
/// is missing, no plain file, cut off, damaged, of another type or rank, or longer than its header says; and, before it
/// reads them, for more than `most_bytes` elements, more than the file can hold, or than there is memory for.
inline idx_array read_idx(const std::filesystem::path& path, std::size_t rank, std::size_t most_bytes = most_idx_bytes,
                          std::uint8_t type = 0x08) {
  detail::gz_file file(path);
  const auto fail = [&path](const auto&... parts) { throw io_error(message("read_idx: ", path, parts...)); };

  std::array<std::uint8_t, 4> magic{};
  if (const std::size_t got = file.read(magic.data(), magic.size()); got < magic.size())
    fail(" ends after ", got, " of the 4 bytes an IDX file starts with; fetch it again");
  if (magic[0] != 0 || magic[1] != 0)
    fail(" is no IDX file: it starts with the bytes ", int{magic[0]}, " ", int{magic[1]},
         " where IDX has 0 0; give a plain or gzip-compressed IDX file");
  if (magic[2] != type)
    fail(" holds ", detail::idx_type_name(magic[2]), " (type ", int{magic[2]}, "), expected ",
         detail::idx_type_name(type), " (type ", int{type}, "); read it as that, or convert it");
  if (rank == any_rank)
    rank = magic[3];
  else if (magic[3] != rank)
    fail(" has rank ", int{magic[3]}, ", expected ", rank, "; images have rank 3, labels rank 1: swapped files?");

  idx_array array;
  // So many bytes has an element: 1 1 . 2 4 4 8.
  std::size_t total = type < 0x0B ? 1 : type == 0x0B ? 2 : type == 0x0E ? 8 : 4;
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

  if (total > most_bytes)
    fail(" announces ", total, " bytes, more than the ", most_bytes, " that are read; the header is damaged, or the ",
         "file holds something else");
  // A bit of deflate stands for 129 bytes at most.
  if (total / 1032 > file.size())
    fail(" announces ", total, " bytes, which a file of ", file.size(), " bytes cannot hold; it is damaged or cut off");
  // Grows with what really arrives.
  constexpr std::size_t block = std::size_t{1} << 20;
  while (array.bytes.size() < total) {
    const std::size_t before = array.bytes.size(), want = std::min(block, total - before);
    try {
      if (before == array.bytes.capacity()) array.bytes.reserve(std::min(total, 2 * before + block));
      array.bytes.resize(before + want);
    } catch (const std::bad_alloc&) {
      fail(" announces ", total, " bytes, and there is no memory for more than ", before, "; close other programs");
    }
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

}  // namespace kiln::data
