// SPDX-License-Identifier: BSL-1.0
// Tapes: `program` grows, at compile time or at run time, and shares equal instructions as they are pushed (common
// subexpressions cost nothing). `tape<N, R>` is the finished, fixed form that a constexpr variable can hold.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include <kiln/core/error.hpp>
#include <kiln/tape/instruction.hpp>

namespace kiln {

namespace detail {
/// An array for the time of one pass, given back however the pass ends. (std::vector is no constant expression for all
/// of our compilers.)
template <class T>
class scratch {
 public:
  constexpr explicit scratch(int size) : at_(new T[static_cast<std::size_t>(size) + 1]) {}
  scratch(const scratch&) = delete;
  scratch& operator=(const scratch&) = delete;
  constexpr ~scratch() { delete[] at_; }
  constexpr T* data() { return at_; }
  /// Makes room for `size` elements and keeps the first `kept`.
  constexpr void widen(int kept, int size) {
    T* const wider = new T[static_cast<std::size_t>(size) + 1];
    for (int i = 0; i < kept; ++i) wider[i] = at_[i];
    delete[] at_;
    at_ = wider;
  }

 private:
  T* at_;
};
}  // namespace detail

/// A growing tape. Usable in constant expressions (all memory is given back before they end).
class program {
 public:
  static constexpr int few = 8;  ///< instructions of what a rule writes, mostly
  /// Room for `capacity` instructions, a power of two, before it has to grow.
  constexpr explicit program(int capacity = 32) { allocate(capacity); }
  constexpr program(const program& other) {
    allocate(other.capacity_);
    size_ = other.size_;
    for (int i = 0; i < size_; ++i) std::construct_at(code_ + i, other.code_[i]);
    for (int i = 0; i < 2 * capacity_; ++i) table_[i] = other.table_[i];
    result_count = other.result_count;
    for (int r = 0; r < result_count; ++r) results[r] = other.results[r];
  }
  program& operator=(const program&) = delete;
  constexpr ~program() { release(); }

  /// The position of `next` on the tape; appended only if no equal instruction is there.
  constexpr int push(const instruction& next) {
    if (size_ == capacity_) grow();
    unsigned at = hash(next) & mask_;
    for (; table_[at] > 0; at = (at + 1) & mask_)
      if (code_[table_[at] - 1] == next) return table_[at] - 1;
    std::construct_at(code_ + size_, next);
    table_[at] = static_cast<std::int16_t>(++size_);
    return size_ - 1;
  }

  constexpr int size() const { return size_; }
  constexpr const instruction& operator[](int i) const { return code_[i]; }

  static constexpr int max_results = 192;  ///< the 64 of a kernel, and what its gradients need besides
  std::int16_t results[max_results] = {};  ///< the values that the program delivers; -1: none (a zero gradient)
  int result_count = 0;

  constexpr void add_result(int value) {
    if (result_count == max_results)
      throw value_error("an expression has more than 192 outputs: evaluate a part of it into a Tensor first");
    results[result_count++] = static_cast<std::int16_t>(value);
  }

 private:
  static constexpr unsigned hash(const instruction& x) {
    std::uint64_t h = static_cast<std::uint64_t>(x.code) * 0x9e3779b97f4a7c15u;
    h ^= static_cast<std::uint64_t>(static_cast<std::uint16_t>(x.a)) * 0x85ebca6bu;
    h ^= static_cast<std::uint64_t>(static_cast<std::uint16_t>(x.b)) * 0xc2b2ae3d27d4eb4fu;
    h ^= (static_cast<std::uint64_t>(static_cast<std::uint16_t>(x.c)) << 20) ^
         (static_cast<std::uint64_t>(static_cast<std::uint16_t>(x.slot)) << 40) ^ x.literal;
    return static_cast<unsigned>((h * 0x9e3779b97f4a7c15u) >> 40);
  }
  constexpr void allocate(int capacity) {
    std::int16_t* const table = new std::int16_t[static_cast<std::size_t>(2 * capacity)]();
    try {
      code_ = std::allocator<instruction>().allocate(static_cast<std::size_t>(capacity));
    } catch (...) {
      delete[] table;
      throw;
    }
    table_ = table;
    capacity_ = capacity;
    mask_ = static_cast<unsigned>(2 * capacity - 1);
  }
  constexpr void release() {
    std::allocator<instruction>().deallocate(code_, static_cast<std::size_t>(capacity_));
    delete[] table_;
  }
  constexpr void grow() {
    if (capacity_ >= 16384)
      throw value_error("an expression has more than 16384 instructions: evaluate a part of it into a Tensor first");
    instruction* const old_code = code_;
    const std::int16_t* const old_table = table_;
    allocate(2 * capacity_);
    for (int i = 0; i < size_; ++i) {
      std::construct_at(code_ + i, old_code[i]);
      unsigned at = hash(code_[i]) & mask_;
      while (table_[at] > 0) at = (at + 1) & mask_;
      table_[at] = static_cast<std::int16_t>(i + 1);
    }
    std::allocator<instruction>().deallocate(old_code, static_cast<std::size_t>(size_));
    delete[] old_table;
  }

  int size_ = 0, capacity_ = 0;
  unsigned mask_ = 0;
  // Instructions are constructed as they are pushed: in constant expressions those that are not cost most.
  instruction* code_ = nullptr;
  // 1 more than a position, 0 where there is none. Open addressing: a linear search made long tapes quadratic to build.
  std::int16_t* table_ = nullptr;
};

/// A finished tape of N instructions with R results.
template <int N, int R>
struct tape {
  std::array<instruction, static_cast<std::size_t>(N)> code{};
  std::array<std::int16_t, static_cast<std::size_t>(R)> results{};

  static constexpr int size() { return N; }
  static constexpr int result_count() { return R; }
  constexpr const instruction& operator[](int i) const { return code[static_cast<std::size_t>(i)]; }
  constexpr int result(int r) const { return results[static_cast<std::size_t>(r)]; }
};

/// A tape seen without its size: what printers and run-time executors take.
struct tape_view {
  const instruction* code = nullptr;
  int size = 0;
  const std::int16_t* results = nullptr;
  int result_count = 0;
  constexpr const instruction& operator[](int i) const { return code[i]; }
};

template <int N, int R>
constexpr tape_view view(const tape<N, R>& t) {
  return {t.code.data(), N, t.results.data(), R};
}

/// 128 bits that name the program: equal tapes have equal keys in every build and with every compiler.
struct tape_key {
  std::uint64_t low = 0, high = 0;
  constexpr bool operator==(const tape_key&) const = default;
};

constexpr tape_key key(const tape_view& t) {
  tape_key k{0xcbf29ce484222325u, 0x84222325cbf29ce4u};
  auto mix = [&](std::uint64_t word) {
    for (int byte = 0; byte < 8; ++byte) k.low = (k.low ^ ((word >> (8 * byte)) & 0xff)) * 0x100000001b3u;
    k.high = (k.high ^ word) * 0x9e3779b97f4a7c15u;
    k.high ^= k.high >> 29;
  };
  for (int i = 0; i < t.size; ++i) {
    const instruction& now = t[i];
    mix((static_cast<std::uint64_t>(now.code) << 8) | static_cast<std::uint64_t>(now.type));
    mix((static_cast<std::uint64_t>(static_cast<std::uint16_t>(now.a)) << 48) |
        (static_cast<std::uint64_t>(static_cast<std::uint16_t>(now.b)) << 32) |
        (static_cast<std::uint64_t>(static_cast<std::uint16_t>(now.c)) << 16) |
        static_cast<std::uint64_t>(static_cast<std::uint16_t>(now.slot)));
    mix(now.literal);
  }
  for (int r = 0; r < t.result_count; ++r) mix(static_cast<std::uint16_t>(t.results[r]));
  return k;
}

/// Only what the results need, in order; leaves keep their slots. The usual last step of a pass.
constexpr void keep_needed(const program& from, program& into) {
  detail::scratch<std::int16_t> places(from.size());
  std::int16_t* const place = places.data();
  for (int i = 0; i < from.size(); ++i) place[i] = -1;
  for (int r = 0; r < from.result_count; ++r)
    if (from.results[r] >= 0) place[from.results[r]] = 0;
  for (int i = from.size() - 1; i >= 0; --i)
    if (place[i] == 0) {
      if (from[i].a >= 0) place[from[i].a] = 0;
      if (from[i].b >= 0) place[from[i].b] = 0;
      if (from[i].c >= 0) place[from[i].c] = 0;
    }
  for (int i = 0; i < from.size(); ++i)
    if (place[i] == 0) {
      instruction now = from[i];
      if (now.a >= 0) now.a = place[now.a];
      if (now.b >= 0) now.b = place[now.b];
      if (now.c >= 0) now.c = place[now.c];
      place[i] = static_cast<std::int16_t>(into.push(now));
    }
  for (int r = 0; r < from.result_count; ++r) into.add_result(from.results[r] < 0 ? -1 : place[from.results[r]]);
}

/// Runs `build(program&)`, which makes N instructions and R results, and keeps those.
template <int N, int R, class Build>
constexpr tape<N, R> tape_of(Build build) {
  tape<N, R> t;
  program p;
  build(p);
  for (int i = 0; i < p.size(); ++i) t.code[static_cast<std::size_t>(i)] = p[i];
  for (int r = 0; r < p.result_count; ++r) t.results[static_cast<std::size_t>(r)] = p.results[r];
  return t;
}

namespace detail {

/// How many instructions and results `Build` makes. A variable, so that clang does not count its steps again as those
/// of a function that asks for it.
template <class Build>
inline constexpr std::array<int, 2> size_made_by = [] {
  program p;
  Build{}(p);
  return std::array<int, 2>{p.size(), p.result_count};
}();

}  // namespace detail

/// Runs `build(program&)` in a constant expression and keeps the result as a tape of exactly its size.
template <class Build>
constexpr auto finished(Build build) {
  constexpr std::array<int, 2> size = detail::size_made_by<Build>;
  return tape_of<size[0], size[1]>(build);
}

}  // namespace kiln
