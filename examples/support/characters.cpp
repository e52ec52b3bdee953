// SPDX-License-Identifier: BSL-1.0
// What characters.hpp has for every model alike: the text, its windows, and the loader of their batches.
#include "characters.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>

template class kiln::data::DataLoader<support::windows>;

namespace support {

text_data::text_data(const std::string& file, std::int64_t needed) {
  std::ifstream in(file, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  if (!in) throw kiln::io_error("cannot read " + file + ": name a text file with --data");
  std::array<std::int64_t, 256> number{};
  for (const char c : text) number[static_cast<unsigned char>(c)] = 1;
  for (std::size_t c = 0; c < 256; ++c)
    if (number[c]) {
      number[c] = static_cast<std::int64_t>(alphabet.size());
      alphabet += static_cast<char>(c);
    }
  for (const char c : text) numbers.push_back(number[static_cast<unsigned char>(c)]);
  train = static_cast<std::int64_t>(numbers.size()) * 9 / 10;
  if (static_cast<std::int64_t>(numbers.size()) - train <= needed)
    throw kiln::value_error(kiln::message(file, " has ", numbers.size(), " characters, of which a tenth must be more ",
                                          "than the ", needed, " of a window: name a longer text"));
}

windows text_data::cut(std::int64_t from, std::int64_t to, std::int64_t length) const {
  const std::int64_t n = (to - from - 1) / length;
  auto x = kiln::empty<std::int64_t>({n, length}), y = kiln::empty<std::int64_t>({n, length});
  std::copy_n(numbers.begin() + from, n * length, x.data());
  std::copy_n(numbers.begin() + from + 1, n * length, y.data());
  return windows(x, y);
}

std::int64_t drawn(const Tensor<float>& chances, std::mt19937_64& bits) {
  double left = std::generate_canonical<double, 53>(bits);
  std::int64_t next = 0;
  while (next + 1 < chances.numel() && (left -= static_cast<double>(chances.data()[next])) > 0) ++next;
  return next;
}

}  // namespace support
