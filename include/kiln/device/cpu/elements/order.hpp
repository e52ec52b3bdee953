// SPDX-License-Identifier: BSL-1.0
// Elements in order: of each line along an axis the places of the smallest, the largest, or all. Elements become
// unsigned keys that are in their order, and a key stands in one word with its place: no two words are equal, so every
// way of sorting them is stable, and all element types of a width share the code that does it.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <type_traits>
#include <utility>

#include <kiln/core/dtype.hpp>
#include <kiln/core/line_job.hpp>
#include <kiln/device/cpu/processor/isa.hpp>
#include <kiln/device/cpu/threads/threads.hpp>

namespace kiln::cpu::inline KILN_VERSION_ISA {

namespace detail {

template <std::size_t Bytes>
using key_of_bytes = std::conditional_t<
    Bytes == 1, std::uint8_t,
    std::conditional_t<Bytes == 2, std::uint16_t, std::conditional_t<Bytes == 4, std::uint32_t, std::uint64_t>>>;

/// An unsigned number for each element, in the elements' order: equal ones have the same, 0 and -0 too, and so have all
/// nans, the largest there is.
template <Element T>
constexpr auto order_key(T x) {
  using K = key_of_bytes<sizeof(T)>;
  constexpr K sign = static_cast<K>(K{1} << (8 * sizeof(T) - 1));
  if constexpr (is_floating(dtype_of<T>)) {
    const auto number = static_cast<compute_t<T>>(x);
    if (number != number) return std::numeric_limits<K>::max();
    const K bits = number == 0 ? K{0} : std::bit_cast<K>(x);
    return static_cast<K>(bits & sign ? ~bits : bits | sign);
  } else if constexpr (std::is_signed_v<T>) {
    return static_cast<K>(static_cast<K>(x) ^ sign);
  } else {
    return static_cast<K>(x);
  }
}

/// A key of 32 bits at most above a place below 2^32, and one of any size beside any place.
struct narrow_word {
  std::uint64_t both;
  static narrow_word of(std::uint32_t key, std::int64_t place) {
    return {std::uint64_t{key} << 32 | static_cast<std::uint64_t>(place)};
  }
  std::uint64_t key() const { return both >> 32; }
  std::int64_t place() const { return static_cast<std::int64_t>(both & 0xffffffffu); }
  friend bool operator<(narrow_word a, narrow_word b) { return a.both < b.both; }
};
struct wide_word {
  std::uint64_t whole_key;
  std::int64_t at;
  static wide_word of(std::uint64_t key, std::int64_t place) { return {key, place}; }
  std::uint64_t key() const { return whole_key; }
  std::int64_t place() const { return at; }
  friend bool operator<(const wide_word& a, const wide_word& b) {
    return a.whole_key != b.whole_key ? a.whole_key < b.whole_key : a.at < b.at;
  }
};

/// Words whose places ascend, by their keys' bytes, the lowest first. `words` and `spare` change places with each byte;
/// returned is which one holds the result.
template <class Word>
Word* sort_by_bytes(Word* words, Word* spare, std::int64_t n, int bytes) {
  std::int64_t counts[8][256];
  for (int b = 0; b < bytes; ++b)
    for (std::int64_t& each : counts[b]) each = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    std::uint64_t key = words[i].key();
    for (int b = 0; b < bytes; ++b, key >>= 8) ++counts[b][key & 255];
  }
  for (int b = 0; b < bytes; ++b) {
    std::int64_t* const begin = counts[b];
    const int shift = 8 * b;
    if (begin[words[0].key() >> shift & 255] == n) continue;  // all have the same
    std::int64_t sum = 0;
    for (std::int64_t& each : counts[b]) {
      sum += each;
      each = sum - each;
    }
    for (std::int64_t i = 0; i < n; ++i) spare[begin[words[i].key() >> shift & 255]++] = words[i];
    std::swap(words, spare);
  }
  return words;
}

/// Brings the words of ranks first to last - 1 to their places, and says where these are.
template <class Word>
[[gnu::noinline]] const Word* put_in_order(Word* words, Word* spare, std::int64_t n, std::int64_t first,
                                           std::int64_t last, int bytes) {
  if (last - first < n / 4) {
    if (last < n) std::nth_element(words, words + last, words + n);
    if (first > 0) std::nth_element(words, words + first, words + last);
    std::sort(words + first, words + last);
    return words;
  }
  if (spare) return sort_by_bytes(words, spare, n, bytes);
  std::sort(words, words + n);
  return words;
}
template <class Word, class T>
void order_lines_as(const order_job& job) {
  using K = decltype(order_key(T{}));
  const line_places places(job.sizes, job.axis);
  const std::int64_t n = job.sizes[job.axis], step = job.from_strides[job.axis], to_step = job.to_strides[job.axis];
  const bool by_bytes = n >= 32 * static_cast<std::int64_t>(sizeof(T)) && job.last - job.first >= n / 4;  // as measured
  const K turned = job.descending ? std::numeric_limits<K>::max() : K{0};
  parallel_for(places.lines(), std::max<std::int64_t>(1, 8192 / n), [&](std::int64_t begin, std::int64_t end) {
    const std::unique_ptr<Word[]> words(new Word[static_cast<std::size_t>(by_bytes ? 2 * n : n)]);
    for (std::int64_t line = begin; line < end; ++line) {
      const T* const from = static_cast<const T*>(job.from) + places(line, job.from_strides, job.axis);
      std::int64_t* const to = job.to + places(line, job.to_strides, job.axis);
      if constexpr (is_floating(dtype_of<T>)) {
        if (job.nan_first) {
          std::int64_t i = 0;
          while (i < n && order_key(from[i * step]) != std::numeric_limits<K>::max()) ++i;
          if (i < n) {
            *to = i;
            continue;
          }
        }
      }
      for (std::int64_t i = 0; i < n; ++i)
        words[static_cast<std::size_t>(i)] = Word::of(static_cast<K>(order_key(from[i * step]) ^ turned), i);
      const Word* const in_order = put_in_order(words.get(), by_bytes ? words.get() + n : nullptr, n, job.first,
                                                job.last, static_cast<int>(sizeof(T)));
      for (std::int64_t i = job.first; i < job.last; ++i) to[(i - job.first) * to_step] = in_order[i].place();
    }
  });
}

}  // namespace detail

/// Does a job over elements of type T.
template <Element T>
void order_lines(const order_job& job) {
  if (job.first == job.last || count(job.sizes) == 0) return;
  if constexpr (sizeof(T) <= 4)
    if (job.sizes[job.axis] <= std::int64_t{1} << 32) return detail::order_lines_as<detail::narrow_word, T>(job);
  detail::order_lines_as<detail::wide_word, T>(job);
}

}  // namespace kiln::cpu::inline KILN_VERSION_ISA
