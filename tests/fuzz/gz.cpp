// SPDX-License-Identifier: BSL-1.0
// A compressed IDX file, whole or damaged: two bytes say where it is cut off, two where a bit is turned, and the rest
// is what was compressed. A whole one reads as what went in; a damaged one is that, or io_error.
#include <kiln/data/idx_file.hpp>
#include "memory_file.hpp"

#include <optional>

namespace {

std::optional<kiln::data::idx_array> read(const std::filesystem::path& path) {
  try {
    return kiln::data::read_idx(path, 1, std::size_t{1} << 24);
  } catch (const kiln::io_error&) {
    return std::nullopt;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 5) return 0;
  const std::size_t cut = data[0] | std::size_t{data[1]} << 8, turned = data[2] | std::size_t{data[3]} << 8;
  const std::uint8_t* const body = data + 4;
  const std::size_t length = size - 4;
  const fuzz::memory_file plain(body, length);
  const auto wanted = read(plain.path());

  std::vector<std::uint8_t> packed(compressBound(length) + 64);
  z_stream stream{};
  fuzz::promise(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  stream.next_in = const_cast<std::uint8_t*>(body);
  stream.avail_in = static_cast<unsigned>(length);
  stream.next_out = packed.data();
  stream.avail_out = static_cast<unsigned>(packed.size());
  fuzz::promise(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);

  const bool whole = cut == 0 && turned == 0;
  if (cut != 0) packed.resize(packed.size() - cut % packed.size());
  if (turned != 0) packed[turned % packed.size()] ^= 1;
  const fuzz::memory_file file(packed.data(), packed.size());
  const auto got = read(file.path());
  if (whole) fuzz::promise(got.has_value() == wanted.has_value());
  // Bits that turn in the first ten bytes may make it a plain file, of which nothing is known.
  if (got && wanted && (turned == 0 || turned % packed.size() >= 10))
    fuzz::promise(got->shape == wanted->shape && got->bytes == wanted->bytes);
  return 0;
}
