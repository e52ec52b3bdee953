// SPDX-License-Identifier: BSL-1.0
// What a compiled kernel is found by: 128 bits of everything that it depends on. Sizes, addresses and the number of the
// device are not among that; the architecture always is.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include <kiln/core/version.hpp>
#include <kiln/device/cuda/print/skeletons.hpp>

namespace kiln::cuda {

/// What a compiler is asked for.
struct compile_request {
  std::string text = {};      ///< CUDA C++ that includes nothing but skeletons
  std::string name = {};      ///< of its kernel, for messages and dumps
  int architecture = 0;       ///< 90 for sm_90
  std::string options = {};   ///< that change what comes out
  std::string compiler = {};  ///< its name and version
  bool own = true;            ///< kiln's own text, so that a mistake in it is kiln's; no part of the key
};

struct cache_key {
  std::uint64_t low = 0, high = 0;
  bool operator==(const cache_key&) const = default;
  auto operator<=>(const cache_key&) const = default;
};

/// Raised when files of earlier versions must not be read any more.
inline constexpr std::uint64_t cache_format = 1;

namespace detail {

/// Two multiply-xorshift hashes side by side, word by word. Not against an adversary: who can write into the cache can
/// as well replace the program.
class hasher {
 public:
  void add(std::uint64_t word) {
    low_ = (low_ ^ word) * 0x9fb21c651e98df25u;
    low_ ^= low_ >> 32;
    high_ = (high_ + word) * 0xd6e8feb86659fd93u;
    high_ ^= high_ >> 29;
  }
  void add(std::string_view text) {
    add(static_cast<std::uint64_t>(text.size()));  // "ab", "c" is not "a", "bc"
    for (; text.size() >= 8; text.remove_prefix(8)) add(word_of(text.substr(0, 8)));
    if (!text.empty()) add(word_of(text));
  }
  cache_key key() const { return {low_ ^ (low_ >> 31), high_ ^ (high_ >> 33)}; }

 private:
  static std::uint64_t word_of(std::string_view bytes) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data(), bytes.size());
    return word;
  }
  std::uint64_t low_ = 0x243f6a8885a308d3u, high_ = 0x13198a2e03707344u;
};

inline const cache_key& key_of_skeletons() {
  static const cache_key key = [] {
    hasher h;
    for (const skeleton& s : skeletons) {
      h.add(s.name);
      h.add(s.text);
    }
    return h.key();
  }();
  return key;
}

}  // namespace detail

/// The key of what comes out of a request.
cache_key key_of(const compile_request& request);

/// 32 hexadecimal digits.
std::string text_of(const cache_key& key);

}  // namespace kiln::cuda

#ifndef KILN_COMPILED
#include <kiln/device/cuda/compile/cache_key_impl.hpp>
#endif
