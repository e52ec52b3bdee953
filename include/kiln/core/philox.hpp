// SPDX-License-Identifier: BSL-1.0
// Random bits that are a function of (seed, counter) and of nothing else: Philox4x32-10 (Salmon, Moraes, Dror, Shaw:
// "Parallel random numbers: as easy as 1, 2, 3", 2011). A generator only hands out ranges of counters, so draws are the
// same on every number of threads and on every device.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <kiln/core/lock.hpp>
#include <kiln/core/version.hpp>

namespace kiln {

using philox_counter = std::array<std::uint32_t, 4>;
using philox_key = std::array<std::uint32_t, 2>;

namespace detail {
// The constants of the paper: two multipliers, and what the key grows by each round.
inline constexpr std::array<std::uint32_t, 2> philox_multipliers{0xd2511f53u, 0xcd9e8d57u};
inline constexpr philox_key philox_weyl{0x9e3779b9u, 0xbb67ae85u};
}  // namespace detail

/// The 128 random bits that belong to a counter: ten rounds of Philox4x32.
constexpr philox_counter philox4x32(philox_counter c, philox_key key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{detail::philox_multipliers[0]} * c[0],
                        b = std::uint64_t{detail::philox_multipliers[1]} * c[2];
    c = {static_cast<std::uint32_t>(b >> 32) ^ c[1] ^ key[0], static_cast<std::uint32_t>(b),
         static_cast<std::uint32_t>(a >> 32) ^ c[3] ^ key[1], static_cast<std::uint32_t>(a)};
    key[0] += detail::philox_weyl[0];
    key[1] += detail::philox_weyl[1];
  }
  return c;
}

/// Blocks of 128 bits from number `first` on, under one seed. Word w of block b is
/// philox4x32({low b, high b, 0, 0}, {low seed, high seed})[w].
struct random_stream {
  std::uint64_t seed = 0, first = 0;

  constexpr philox_key key() const {
    return {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)};
  }
  constexpr philox_counter block(std::uint64_t i) const {
    const std::uint64_t b = first + i;
    return philox4x32({static_cast<std::uint32_t>(b), static_cast<std::uint32_t>(b >> 32), 0, 0}, key());
  }
  /// 64 bits: number i of the stream.
  constexpr std::uint64_t bits(std::uint64_t i) const {
    const philox_counter b = block(i / 2);
    const std::size_t at = 2 * (i % 2);
    return b[at] | std::uint64_t{b[at + 1]} << 32;
  }
};

/// Places in a stream seen as addresses, for programs that treat them as those of elements: place 0 has this one. No
/// memory lies there.
inline constexpr std::uint64_t random_places = std::uint64_t{1} << 61;
/// As the first block of a stream: nothing is drawn, all numbers are 0.
inline constexpr std::uint64_t no_block = ~std::uint64_t{0};

/// Words of the stream that one number of T takes.
template <class T>
inline constexpr int words_of = sizeof(T) == 8 ? 2 : 1;

/// The integer floor(bits * range / 2^64): uniform below `range` but for parts in 2^64 / range.
constexpr std::uint64_t scaled_to(std::uint64_t bits, std::uint64_t range) {
  __extension__ using wide = unsigned __int128;
  return static_cast<std::uint64_t>(static_cast<wide>(bits) * range >> 64);
}

class generator;

namespace detail {

/// Between a thread and its generators for a while: notes what is drawn, or hands it out again.
class draw_source {
 public:
  virtual random_stream take(generator& from, std::uint64_t blocks) = 0;

 protected:
  ~draw_source() = default;
  /// What the generator gives where nothing is between.
  static random_stream next_of(generator& from, std::uint64_t blocks);
};
inline constinit thread_local draw_source* thread_draws = nullptr;

}  // namespace detail

/// Gives each that asks its own part of one sequence. May be used by several threads; which of them comes first is then
/// up to them.
class generator {
 public:
  constexpr explicit generator(std::uint64_t seed = 0) : seed_(seed) {}
  generator(const generator&) = delete;
  generator& operator=(const generator&) = delete;

  /// Starts the sequence of this seed from the beginning.
  void manual_seed(std::uint64_t seed) {
    const detail::locked hold(lock_);
    seed_ = seed;
    next_ = 0;
  }
  /// The block that comes next.
  std::uint64_t position() {
    const detail::locked hold(lock_);
    return next_;
  }
  /// Its seed, and the block that comes next: what set_state() takes.
  random_stream state() {
    const detail::locked hold(lock_);
    return {seed_, next_};
  }
  /// Goes on from a place that state() gave.
  void set_state(const random_stream& from) {
    const detail::locked hold(lock_);
    seed_ = from.seed;
    next_ = from.first;
  }
  /// Goes on with this block of the present seed's sequence.
  void seek(std::uint64_t block) {
    const detail::locked hold(lock_);
    next_ = block;
  }
  /// The next `blocks` blocks of the sequence, which nobody else gets.
  random_stream take(std::uint64_t blocks) {
    if (detail::thread_draws) [[unlikely]]
      return detail::thread_draws->take(*this, blocks);
    return take_next(blocks);
  }

 private:
  friend class detail::draw_source;
  random_stream take_next(std::uint64_t blocks) {
    const detail::locked hold(lock_);
    const random_stream part{seed_, next_};
    next_ += blocks;
    return part;
  }
  detail::short_lock lock_;
  std::uint64_t seed_, next_ = 0;
};

namespace detail {
inline random_stream draw_source::next_of(generator& from, std::uint64_t blocks) {
  return from.take_next(blocks);
}
inline constinit generator shared_generator;
}  // namespace detail

/// The generator that is used where none is named. It starts with seed 0, so that a program draws the same every time.
inline generator& default_generator() {
  return detail::shared_generator;
}

/// Starts the sequence of this seed in the default generator.
inline void manual_seed(std::uint64_t seed) {
  default_generator().manual_seed(seed);
}

}  // namespace kiln
