// SPDX-License-Identifier: BSL-1.0
// ZIP archives, as far as .npz files need them: entries stored or deflated, also beyond 4 GiB. Nothing in a file is
// believed before it is checked: entries don't overlap, and inflate to no more than a file of that size can. Needs
// zlib.
#pragma once

#include <zlib.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <kiln/core/error.hpp>
#include <kiln/io/atomic_file.hpp>
#include <kiln/io/input_file.hpp>

namespace kiln::io {

/// An entry of an archive.
struct zip_entry {
  std::string name;
  bool deflated = false;
  std::uint32_t crc = 0;
  std::uint64_t packed = 0, size = 0;  ///< its bytes in the file, and those that they become
  std::uint64_t header = 0;            ///< where its own header is
  std::uint64_t data = 0;              ///< where its bytes are
};

namespace detail {

inline std::uint64_t little_endian(std::string_view bytes, std::size_t at, std::size_t width) {
  std::uint64_t value = 0;
  for (std::size_t i = width; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
  return value;
}
inline void put_little_endian(std::string& bytes, std::uint64_t value, int width) {
  for (int i = 0; i < width; ++i) bytes += static_cast<char>(value >> (8 * i) & 0xff);
}

}  // namespace detail

/// The entries of a ZIP archive, in the order of their bytes. Throws io_error for what is none, or damaged.
inline std::vector<zip_entry> zip_entries(const input_file& file) {
  const auto fail = [&](const auto&... parts) { throw io_error(message(file.reader(), ": ", file.path(), parts...)); };
  using detail::little_endian;
  // The end of an archive is found from behind: a comment of up to 65535 bytes may follow it.
  const std::uint64_t tail_size = std::min<std::uint64_t>(file.size(), 65535 + 22 + 20);
  std::string tail(static_cast<std::size_t>(tail_size), '\0');
  file.read(file.size() - tail_size, tail.data(), tail_size);
  const std::size_t end = tail.rfind("PK\5\6");
  if (end == tail.npos || tail.size() - end < 22)
    fail(" is no .npz file: it has no end of a ZIP archive, and may be cut off; give one that numpy.savez wrote");
  std::uint64_t count = little_endian(tail, end + 10, 2), length = little_endian(tail, end + 12, 4),
                begin = little_endian(tail, end + 16, 4);
  std::uint64_t end_at = file.size() - tail_size + end;
  if (count == 0xffff || length == 0xffffffff || begin == 0xffffffff) {  // the numbers stand in a longer end before it
    if (end < 20 || tail.compare(end - 20, 4, "PK\6\7") != 0) fail(" lacks the end of a ZIP64 archive; it is damaged");
    const std::uint64_t at = little_endian(tail, end - 20 + 8, 8);
    if (at > end_at || end_at - at < 56) fail(" has the end of its ZIP64 archive outside of it; it is damaged");
    std::string wide(56, '\0');
    file.read(at, wide.data(), wide.size());
    if (!wide.starts_with("PK\6\6")) fail(" lacks the end of a ZIP64 archive; it is damaged");
    count = little_endian(wide, 32, 8), length = little_endian(wide, 40, 8), begin = little_endian(wide, 48, 8);
    end_at = at;
  }
  if (begin > end_at || length > end_at - begin || count > length / 46 || length > (std::uint64_t{1} << 30))
    fail(" announces ", count, " entries in ", length, " bytes that it has not; it is damaged");
  std::string directory(static_cast<std::size_t>(length), '\0');
  file.read(begin, directory.data(), length);
  std::vector<zip_entry> entries;
  std::size_t at = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    if (directory.size() - at < 46 || directory.compare(at, 4, "PK\1\2") != 0)
      fail(" has a damaged directory of entries");
    zip_entry e;
    const std::uint64_t flags = little_endian(directory, at + 8, 2), method = little_endian(directory, at + 10, 2);
    e.crc = static_cast<std::uint32_t>(little_endian(directory, at + 16, 4));
    e.packed = little_endian(directory, at + 20, 4), e.size = little_endian(directory, at + 24, 4);
    e.header = little_endian(directory, at + 42, 4);
    const std::size_t name = static_cast<std::size_t>(little_endian(directory, at + 28, 2)),
                      extra = static_cast<std::size_t>(little_endian(directory, at + 30, 2)),
                      comment = static_cast<std::size_t>(little_endian(directory, at + 32, 2));
    if (directory.size() - at - 46 < name + extra + comment) fail(" has a damaged directory of entries");
    e.name = directory.substr(at + 46, name);
    for (std::size_t x = at + 46 + name; x + 4 <= at + 46 + name + extra;) {
      const std::size_t id = static_cast<std::size_t>(little_endian(directory, x, 2)),
                        size = static_cast<std::size_t>(little_endian(directory, x + 2, 2));
      x += 4;
      if (size > at + 46 + name + extra - x) fail(" has a damaged directory of entries");
      std::size_t from = x;
      if (id == 1)  // those of the numbers that did not fit 32 bits
        for (std::uint64_t* number : {&e.size, &e.packed, &e.header})
          if (*number == 0xffffffff && from + 8 <= x + size) *number = little_endian(directory, from, 8), from += 8;
      x += size;
    }
    at += 46 + name + extra + comment;
    if (flags & 1) fail(" has the entry '", e.name, "' encrypted, which can't be read");
    if (method != 0 && method != 8)
      fail(" has the entry '", e.name, "' packed by method ", method, "; store or deflate it");
    e.deflated = method == 8;
    if (!e.deflated && e.packed != e.size)
      fail(" says that '", e.name, "' has ", e.size, " bytes, and ", e.packed, " too");
    // A bit of deflate stands for 129 bytes at most.
    if (e.deflated && e.size / 1032 > e.packed)
      fail(" announces ", e.size, " bytes in '", e.name, "', which ", e.packed,
           " packed ones cannot hold; it is damaged");
    std::string local(30, '\0');
    if (e.header > begin || begin - e.header < 30) fail(" places '", e.name, "' outside of it; it is damaged");
    file.read(e.header, local.data(), local.size());
    if (!local.starts_with("PK\3\4"))
      fail(" has no entry where its directory says that '", e.name, "' is; it is damaged");
    e.data = e.header + 30 + little_endian(local, 26, 2) + little_endian(local, 28, 2);
    if (e.data > begin || e.packed > begin - e.data) fail(" places '", e.name, "' outside of it; it is damaged");
    entries.push_back(std::move(e));
  }
  std::sort(entries.begin(), entries.end(), [](const zip_entry& a, const zip_entry& b) { return a.header < b.header; });
  for (std::size_t i = 1; i < entries.size(); ++i)
    if (entries[i].header < entries[i - 1].data + entries[i - 1].packed)
      fail(" has entries '", entries[i - 1].name, "' and '", entries[i].name, "' in one place; it is damaged");
  return entries;
}

/// Reads the bytes of an entry from the beginning on, and checks them at the end.
class zip_reader {
 public:
  zip_reader(const input_file& file, const zip_entry& entry) : file_(file), entry_(entry), at_(entry.data) {
    if (entry.deflated && ::inflateInit2(&stream_, -15) != Z_OK)
      throw memory_error(message(file.reader(), ": there is no memory to inflate an entry"));
  }
  zip_reader(const zip_reader&) = delete;
  zip_reader& operator=(const zip_reader&) = delete;
  ~zip_reader() {
    if (entry_.deflated) ::inflateEnd(&stream_);
  }
  /// The next n bytes. Throws io_error where there are less, or damaged ones.
  void read(void* to, std::uint64_t n) {
    char* out = static_cast<char*>(to);
    if (n > entry_.size - done_) fail("ends before its last byte");
    while (n > 0) {
      const auto part = static_cast<unsigned>(std::min<std::uint64_t>(n, 1u << 20));
      entry_.deflated ? inflate(out, part) : file_.read(at_ + done_, out, part);
      crc_ = static_cast<std::uint32_t>(::crc32(crc_, reinterpret_cast<const Bytef*>(out), part));
      out += part, n -= part, done_ += part;
    }
    if (done_ == entry_.size && crc_ != entry_.crc) fail("is damaged: its checksum differs");
  }

 private:
  void inflate(char* to, unsigned n) {
    stream_.next_out = reinterpret_cast<Bytef*>(to);
    stream_.avail_out = n;
    while (stream_.avail_out > 0) {
      if (stream_.avail_in == 0) {
        const std::uint64_t left = entry_.data + entry_.packed - at_;
        if (left == 0) fail("ends before its last byte");
        in_.resize(static_cast<std::size_t>(std::min<std::uint64_t>(left, 1u << 16)));
        file_.read(at_, in_.data(), in_.size());
        at_ += in_.size();
        stream_.next_in = reinterpret_cast<Bytef*>(in_.data());
        stream_.avail_in = static_cast<unsigned>(in_.size());
      }
      const int code = ::inflate(&stream_, Z_NO_FLUSH);
      if (code == Z_STREAM_END && stream_.avail_out == 0) return;
      if (code != Z_OK) fail(code == Z_STREAM_END ? "ends before its last byte" : "is damaged");
    }
  }
  [[noreturn]] void fail(const char* what) const {
    throw io_error(
        message(file_.reader(), ": ", file_.path(), ": the entry '", entry_.name, "' ", what, "; write it again"));
  }
  const input_file& file_;
  const zip_entry& entry_;
  std::uint64_t at_, done_ = 0;
  std::uint32_t crc_ = 0;
  std::string in_;
  z_stream stream_{};
};

/// Writes an archive, one entry after the other.
class zip_writer {
 public:
  /// `compressed`: deflated rather than stored.
  zip_writer(atomic_file& file, bool compressed) : file_(file), compressed_(compressed) {}

  /// An entry of two parts, the second of which begins at a multiple of 64 bytes if it is stored.
  void add(const std::string& name, std::string_view head, std::string_view body) {
    if (name.size() > 65535) throw value_error("write_npz: a name of more than 65535 bytes: use a shorter one");
    zip_entry e;
    e.name = name;
    e.size = head.size() + body.size();
    e.crc = checksum(checksum(0, head), body);
    e.deflated = compressed_;
    const std::string packed = compressed_ ? deflated(head, body) : std::string();
    e.packed = compressed_ ? packed.size() : e.size;
    e.header = file_.written();
    std::string extra;
    if (std::max(e.size, e.packed) >= 0xffffffff) {
      extra.append("\1\0\x10\0", 4);
      detail::put_little_endian(extra, e.size, 8);
      detail::put_little_endian(extra, e.packed, 8);
    }
    if (!compressed_) {  // a field that others skip
      const std::uint64_t before = e.header + 30 + name.size() + extra.size() + 4 + head.size();
      const std::uint64_t gap = (64 - before % 64) % 64;
      extra.append("ki", 2);
      detail::put_little_endian(extra, gap, 2);
      extra.append(static_cast<std::size_t>(gap), '\0');
    }
    std::string local("PK\3\4");
    fields(local, e, extra.size());
    file_.write(local + name + extra);
    if (compressed_) {
      file_.write(packed);
    } else {
      file_.write(head);
      file_.write(body);
    }
    entries_.push_back(std::move(e));
  }
  /// Writes the directory: the last thing to do.
  void finish() {
    const std::uint64_t begin = file_.written();
    for (const zip_entry& e : entries_) {
      std::string extra;
      const bool wide = std::max(e.size, e.packed) >= 0xffffffff;
      if (wide || e.header >= 0xffffffff) {
        std::string numbers;
        if (wide) detail::put_little_endian(numbers, e.size, 8), detail::put_little_endian(numbers, e.packed, 8);
        if (e.header >= 0xffffffff) detail::put_little_endian(numbers, e.header, 8);
        detail::put_little_endian(extra, 1, 2);
        detail::put_little_endian(extra, numbers.size(), 2);
        extra += numbers;
      }
      std::string entry("PK\1\2");
      detail::put_little_endian(entry, 45, 2);
      fields(entry, e, extra.size());
      detail::put_little_endian(entry, 0, 2);  // comment
      detail::put_little_endian(entry, 0, 2);  // disk
      detail::put_little_endian(entry, 0, 2);
      detail::put_little_endian(entry, 0, 4);
      detail::put_little_endian(entry, std::min<std::uint64_t>(e.header, 0xffffffff), 4);
      file_.write(entry + e.name + extra);
    }
    const std::uint64_t length = file_.written() - begin, n = entries_.size();
    std::string end;
    if (n >= 0xffff || length >= 0xffffffff || begin >= 0xffffffff) {
      const std::uint64_t at = file_.written();
      end = "PK\6\6";
      detail::put_little_endian(end, 44, 8);
      detail::put_little_endian(end, 45, 2);
      detail::put_little_endian(end, 45, 2);
      detail::put_little_endian(end, 0, 8);
      for (const std::uint64_t number : {n, n, length, begin}) detail::put_little_endian(end, number, 8);
      end += "PK\6\7";
      detail::put_little_endian(end, 0, 4);
      detail::put_little_endian(end, at, 8);
      detail::put_little_endian(end, 1, 4);
    }
    end += "PK\5\6";
    detail::put_little_endian(end, 0, 4);
    for (int i = 0; i < 2; ++i) detail::put_little_endian(end, std::min<std::uint64_t>(n, 0xffff), 2);
    detail::put_little_endian(end, std::min<std::uint64_t>(length, 0xffffffff), 4);
    detail::put_little_endian(end, std::min<std::uint64_t>(begin, 0xffffffff), 4);
    detail::put_little_endian(end, 0, 2);
    file_.write(end);
  }

 private:
  // What both headers of an entry have.
  static void fields(std::string& to, const zip_entry& e, std::size_t extra) {
    using detail::put_little_endian;
    const bool wide = std::max(e.size, e.packed) >= 0xffffffff;
    put_little_endian(to, 45, 2);
    put_little_endian(to, 0x800, 2);  // names are UTF-8
    put_little_endian(to, e.deflated ? 8 : 0, 2);
    put_little_endian(to, 0, 2);
    put_little_endian(to, 33, 2);  // the first of January 1980: the same file for the same values
    put_little_endian(to, e.crc, 4);
    put_little_endian(to, wide ? 0xffffffff : e.packed, 4);
    put_little_endian(to, wide ? 0xffffffff : e.size, 4);
    put_little_endian(to, e.name.size(), 2);
    put_little_endian(to, extra, 2);
  }
  static std::uint32_t checksum(std::uint32_t so_far, std::string_view bytes) {
    return static_cast<std::uint32_t>(::crc32_z(so_far, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
  }
  static std::string deflated(std::string_view head, std::string_view body) {
    z_stream stream{};
    if (::deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY) != Z_OK)
      throw memory_error("write_npz: there is no memory to deflate an entry");
    std::string packed, block(std::size_t{1} << 16, '\0');
    for (const std::string_view part : {head, body})
      for (std::size_t at = 0; at < part.size() || (part.data() == body.data() && at == 0);) {
        const std::size_t n = std::min(part.size() - at, std::size_t{1} << 30);
        const bool last = part.data() == body.data() && at + n == part.size();
        stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(part.data() + at));
        stream.avail_in = static_cast<unsigned>(n);
        int code = Z_OK;
        do {
          stream.next_out = reinterpret_cast<Bytef*>(block.data());
          stream.avail_out = static_cast<unsigned>(block.size());
          code = ::deflate(&stream, last ? Z_FINISH : Z_NO_FLUSH);
          packed.append(block, 0, block.size() - stream.avail_out);
        } while (stream.avail_out == 0 || (last && code == Z_OK));
        at += n;
        if (last) break;
      }
    ::deflateEnd(&stream);
    return packed;
  }
  atomic_file& file_;
  bool compressed_;
  std::vector<zip_entry> entries_;
};

}  // namespace kiln::io
