// SPDX-License-Identifier: BSL-1.0
// Sizes and strides of a tensor: a short inline list of integers, and the arithmetic of shapes (broadcasting, axes,
// element counts). Nothing here allocates.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <ostream>
#include <string>
#include <type_traits>

#include <kiln/core/error.hpp>

namespace kiln {

/// The highest number of axes a tensor can have.
inline constexpr int max_rank = 8;

namespace detail {

/// A number where a size belongs, whole or not: for functions that take sizes one by one.
template <class I>
concept SizeLike = std::is_arithmetic_v<I>;

/// Not possible: sizes, axes and numbers of elements with a fraction, or true and false.
template <class S>
constexpr std::int64_t not_whole() {
  static_assert(never<S>,
                "kiln: sizes, axes and numbers of elements are whole numbers: write zeros({2, 3}), and for a computed "
                "one static_cast<int>(x)");
  return 0;
}

/// A size, stride or axis of any integer type.
struct whole_number {
  std::int64_t value;
  /// Throws shape_error for a number that int64 does not hold.
  template <std::integral I>
    requires(!std::same_as<I, bool>)
  constexpr whole_number(I number) : value(static_cast<std::int64_t>(number)) {
    if constexpr (std::is_unsigned_v<I> && sizeof(I) == sizeof(value))
      if (value < 0)
        throw shape_error(
            message("the size ", number, " is larger than any tensor: is it a negative number as unsigned?"));
  }
  template <SizeLike I>
    requires(!std::integral<I> || std::same_as<I, bool>)
  constexpr whole_number(I) : value(not_whole<I>()) {}
};

/// A vector, array or span of integers, or of what is refused by a sentence.
template <class R>
concept WholeNumbers = requires(const R& r) {
  requires SizeLike<std::remove_cvref_t<decltype(*std::data(r))>>;
  { std::size(r) } -> std::integral;
};

}  // namespace detail

/// A list of at most `max_rank` integers: the sizes of a tensor, its strides, or a list of axes. Integers of all types
/// will do, and so will vectors, arrays and spans of them: `zeros({rows, 3})`, `zeros(std::vector{2, 3})`.
class dims {
 public:
  constexpr dims() = default;
  /// Throws shape_error for more than max_rank entries.
  constexpr dims(std::initializer_list<detail::whole_number> values);
  template <detail::WholeNumbers R>
  constexpr dims(const R& values) {
    assign(std::data(values), std::size(values));
  }
  /// Throws as the constructor, and then changes nothing. In place: to copy a list that was written just before, all of
  /// it at once, waits for those writes.
  constexpr dims& operator=(std::initializer_list<detail::whole_number> values);
  /// Becomes the other, entry by entry: for a list that was written just before. (Two ways out of the loop, or g++
  /// copies all at once after all.)
  constexpr void set(const dims& other) {
    rank_ = other.rank_;
    for (std::size_t i = 0; i < values_.size(); ++i) {
      if (static_cast<int>(i) == other.rank_) break;
      values_[i] = other.values_[i];
    }
  }
  /// Becomes the row-major strides of these sizes, in elements. Where a size is 0 and others are huge, no stride
  /// exceeds 63 bits.
  constexpr void set_contiguous(const dims& sizes) {
    rank_ = sizes.rank_;
    std::int64_t step = 1;
    for (int i = rank_ - 1; i >= 0; --i) {
      (*this)[i] = step;
      if (std::int64_t next = 0; !__builtin_mul_overflow(step, std::max<std::int64_t>(sizes[i], 1), &next)) step = next;
    }
  }
  /// `rank` entries of `value`.
  static constexpr dims filled(int rank, std::int64_t value) {
    dims result;
    check_rank(static_cast<std::size_t>(rank));
    result.rank_ = rank;
    for (int i = 0; i < rank; ++i) result[i] = value;
    return result;
  }

  constexpr int rank() const { return rank_; }
  constexpr bool empty() const { return rank_ == 0; }
  constexpr std::int64_t& operator[](int i) { return values_[static_cast<std::size_t>(i)]; }
  constexpr std::int64_t operator[](int i) const { return values_[static_cast<std::size_t>(i)]; }
  constexpr const std::int64_t* begin() const { return values_.data(); }
  constexpr const std::int64_t* end() const { return values_.data() + rank_; }
  constexpr std::int64_t back() const { return values_[static_cast<std::size_t>(rank_ - 1)]; }

  constexpr void push_back(std::int64_t value) {
    check_rank(static_cast<std::size_t>(rank_) + 1);
    values_[static_cast<std::size_t>(rank_++)] = value;
  }
  constexpr void insert(int at, std::int64_t value) {
    push_back(value);
    for (int i = rank_ - 1; i > at; --i) std::swap((*this)[i], (*this)[i - 1]);
  }
  constexpr void erase(int at) {
    for (int i = at; i + 1 < rank_; ++i) (*this)[i] = (*this)[i + 1];
    --rank_;
  }

  friend constexpr bool operator==(const dims& a, const dims& b) {
    if (a.rank_ != b.rank_) return false;
    for (int i = 0; i < a.rank_; ++i)
      if (a[i] != b[i]) return false;
    return true;
  }
  friend std::ostream& operator<<(std::ostream& out, const dims& d) {
    out << '[';
    for (int i = 0; i < d.rank_; ++i) out << (i ? ", " : "") << d[i];
    return out << ']';
  }

 private:
  static constexpr void check_rank(std::size_t rank) {
    if (rank > static_cast<std::size_t>(max_rank)) too_many_axes(rank);
  }
  [[noreturn, gnu::cold, gnu::noinline]] static void too_many_axes(std::size_t rank) {
    throw shape_error(message("a tensor has at most ", max_rank, " axes, got ", rank, ": reshape to fewer"));
  }
  template <class I>
  constexpr void assign(const I* values, std::size_t count) {
    check_rank(count);
    rank_ = static_cast<int>(count);
    for (int i = 0; i < rank_; ++i) (*this)[i] = detail::whole_number(values[i]).value;
  }
  int rank_ = 0;
  std::array<std::int64_t, max_rank> values_{};
};
// Not within the class, where clang++ 14 makes no instance of a template in time for a constant expression.
constexpr dims::dims(std::initializer_list<detail::whole_number> values) {
  assign(values.begin(), values.size());
}
constexpr dims& dims::operator=(std::initializer_list<detail::whole_number> values) {
  assign(values.begin(), values.size());
  return *this;
}

namespace detail {
// Of shapes that are no usual ones.
[[gnu::cold, gnu::noinline]] constexpr std::int64_t count_with_care(const dims& sizes) {
  std::int64_t total = 1;
  bool zero = false, overflow = false;
  for (std::int64_t size : sizes) {
    if (size < 0) throw shape_error(message("sizes ", sizes, " hold a negative number: every size must be 0 or more"));
    zero |= size == 0;
    if (size != 0) overflow |= __builtin_mul_overflow(total, size, &total);
  }
  if (zero) return 0;
  // 2^59 elements of 8 bytes are half the address space; more cannot be meant.
  if (overflow || total > (std::int64_t{1} << 59))
    throw shape_error(message("sizes ", sizes, " have more elements than memory can hold: make them smaller"));
  return total;
}
}  // namespace detail

/// Number of elements. Throws shape_error if a size is negative or the product does not fit 63 bits.
constexpr std::int64_t count(const dims& sizes) {
  std::int64_t total = 1, signs = 0;
  bool unusual = false;
  for (std::int64_t size : sizes) {
    signs |= size;
    unusual |= __builtin_mul_overflow(total, size, &total);
  }
  if (unusual || signs < 0 || total > (std::int64_t{1} << 59)) return detail::count_with_care(sizes);
  return total;
}

namespace detail {
/// a * b, wrapping around: for strides and distances within shapes of which one size is 0, where others may be huge and
/// nothing is ever read.
constexpr std::int64_t wrapping_product(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}
}  // namespace detail

/// Whether one of the sizes is 0.
constexpr bool holds_nothing(const dims& sizes) {
  return std::find(sizes.begin(), sizes.end(), 0) != sizes.end();
}

/// Row-major strides: see dims::set_contiguous.
constexpr dims contiguous_strides(const dims& sizes) {
  dims strides;
  strides.set_contiguous(sizes);
  return strides;
}

/// True if the elements lie in memory in row-major order without gaps.
constexpr bool is_contiguous(const dims& sizes, const dims& strides) {
  std::int64_t step = 1;
  for (int i = sizes.rank() - 1; i >= 0; --i) {
    if (sizes[i] != 1 && strides[i] != step) return holds_nothing(sizes);
    step = detail::wrapping_product(step, sizes[i]);
  }
  return true;
}

namespace detail {
[[noreturn, gnu::cold, gnu::noinline]] inline void do_not_broadcast(const dims& a, const dims& b, const char* where) {
  throw shape_error(message(where, ": shapes ", a, " and ", b,
                            " do not broadcast: aligned at the right, two sizes must be equal or one of them 1 "
                            "(use unsqueeze or reshape to line the axes up)"));
}
/// Whether `from`, right-aligned, stretches to these very sizes.
constexpr bool broadcasts_to(const dims& from, const dims& sizes) {
  const int more = sizes.rank() - from.rank();
  if (more < 0) return false;
  for (int i = 0; i < from.rank(); ++i)
    if (from[i] != 1 && from[i] != sizes[i + more]) return false;
  return true;
}
}  // namespace detail

/// Widens `into` so that it also covers `other`, right-aligned; a size of 1 stretches. Throws shape_error naming
/// `where`, both shapes and the rule when an axis disagrees; `into` then keeps its value.
constexpr void broadcast_into(dims& into, const dims& other, const char* where = "broadcast") {
  if (into == other) return;
  if (into.rank() == 0) return into.set(other);
  const int common = std::min(into.rank(), other.rank());
  for (int i = 1; i <= common; ++i) {
    const std::int64_t mine = into[into.rank() - i], theirs = other[other.rank() - i];
    if (mine != theirs && theirs != 1 && mine != 1) detail::do_not_broadcast(into, other, where);
  }
  for (int i = other.rank() - common - 1; i >= 0; --i) into.insert(0, other[i]);
  for (int i = 1; i <= common; ++i)
    if (other[other.rank() - i] != 1) into[into.rank() - i] = other[other.rank() - i];
}

/// `axis` counted from the front. Throws index_error if it is outside [-rank, rank).
constexpr int normalize_axis(std::int64_t axis, int rank, const char* where) {
  const std::int64_t reach = std::max(rank, 1);  // a 0-d tensor accepts 0 and -1, as in PyTorch
  if (axis < -reach || axis >= reach)
    throw index_error(message(where, ": axis ", axis, " is outside [", -reach, ", ", reach - 1, "] of a tensor with ",
                              rank, " axes"));
  return static_cast<int>(axis < 0 ? axis + reach : axis);
}

}  // namespace kiln
