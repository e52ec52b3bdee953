// SPDX-License-Identifier: BSL-1.0
// How elements lie relative to a first one, and what views do to that: transposing, slicing, expanding ... are plain
// functions from layout to layout. Nothing here touches elements.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include <kiln/core/dims.hpp>

namespace kiln::detail {

struct layout {
  dims sizes, strides;
  std::int64_t offset = 0;  ///< of the first element, in elements
};

/// Two axes change places. Throws index_error.
constexpr layout transposed(layout l, std::int64_t a, std::int64_t b, const char* where = "transpose") {
  const int i = normalize_axis(a, l.sizes.rank(), where), j = normalize_axis(b, l.sizes.rank(), where);
  if (l.sizes.rank() == 0) return l;
  std::swap(l.sizes[i], l.sizes[j]);
  std::swap(l.strides[i], l.strides[j]);
  return l;
}

/// Axis i of the result is axis order[i]. Throws shape_error unless every axis is named once, index_error.
constexpr layout permuted(const layout& l, const dims& order) {
  const int rank = l.sizes.rank();
  layout result{order, order, l.offset};
  std::uint32_t seen = 0;
  for (int i = 0; i < order.rank() && order.rank() == rank; ++i) {
    const int from = normalize_axis(order[i], rank, "permute");
    seen |= 1u << from;
    result.sizes[i] = l.sizes[from];
    result.strides[i] = l.strides[from];
  }
  if (order.rank() != rank || seen != (1u << rank) - 1)
    throw shape_error(message("permute: the order ", order, " does not name each axis of shape ", l.sizes,
                              " once: give a permutation of 0 to ", rank - 1));
  return result;
}

/// Axis `from` moves to place `to`, the others keep their order. Throws index_error.
constexpr layout moved(layout l, std::int64_t from, std::int64_t to) {
  const int i = normalize_axis(from, l.sizes.rank(), "movedim"), j = normalize_axis(to, l.sizes.rank(), "movedim");
  if (l.sizes.rank() == 0) return l;
  const std::int64_t size = l.sizes[i], stride = l.strides[i];
  l.sizes.erase(i);
  l.strides.erase(i);
  l.sizes.insert(j, size);
  l.strides.insert(j, stride);
  return l;
}

/// Without the axes of size 1.
constexpr layout squeezed(const layout& l) {
  layout result{{}, {}, l.offset};
  for (int i = 0; i < l.sizes.rank(); ++i)
    if (l.sizes[i] != 1) {
      result.sizes.push_back(l.sizes[i]);
      result.strides.push_back(l.strides[i]);
    }
  return result;
}

/// Without this axis, if its size is 1. Throws index_error.
constexpr layout squeezed(layout l, std::int64_t axis) {
  const int i = normalize_axis(axis, l.sizes.rank(), "squeeze");
  if (l.sizes.rank() == 0 || l.sizes[i] != 1) return l;
  l.sizes.erase(i);
  l.strides.erase(i);
  return l;
}

/// With an axis of size 1 in this place of the result. Throws index_error, shape_error for too many axes.
constexpr layout unsqueezed(layout l, std::int64_t axis, const char* where = "unsqueeze") {
  const int i = normalize_axis(axis, l.sizes.rank() + 1, where);
  if (l.sizes.rank() == max_rank)
    throw shape_error(message(where, ": shape ", l.sizes, " has ", max_rank,
                              " axes, as many as a tensor can have: reshape to fewer first"));
  l.strides.insert(i, i < l.sizes.rank() ? wrapping_product(l.sizes[i], l.strides[i]) : 1);
  l.sizes.insert(i, 1);
  return l;
}

/// Axes of size 1 repeated to the sizes given, new axes in front; -1 keeps a size. Throws shape_error.
constexpr layout expanded(const layout& l, const dims& sizes, const char* where = "expand") {
  const int extra = sizes.rank() - l.sizes.rank();
  layout result{sizes, dims::filled(sizes.rank(), 0), l.offset};
  bool fits = extra >= 0;
  for (int i = 0; i < sizes.rank() && fits; ++i) {
    const bool old = i >= extra;
    if (sizes[i] == -1 && old)
      result.sizes[i] = l.sizes[i - extra];
    else if (sizes[i] < 0)
      fits = false;
    if (!old) continue;
    if (result.sizes[i] == l.sizes[i - extra])
      result.strides[i] = l.strides[i - extra];
    else
      fits &= l.sizes[i - extra] == 1;
  }
  if (!fits)
    throw shape_error(
        message(where, ": shape ", l.sizes, " does not expand to ", sizes,
                ": aligned at the right, each size must stay as it is (or be -1) unless it was 1; new axes "
                "come in front"));
  count(result.sizes);
  return result;
}

/// Elements begin, begin + step, ... before end of an axis, as Python's slices: negative ends count from the back,
/// what lies outside is left out. Throws index_error for the axis, value_error for a step below 1.
constexpr layout sliced(layout l, std::int64_t axis, std::int64_t begin, std::int64_t end, std::int64_t step) {
  if (step < 1) throw value_error(message("slice: a step of ", step, ": it must be 1 or more"));
  if (l.sizes.rank() == 0) throw index_error("slice: a 0-d tensor has no axis to slice: unsqueeze it first");
  const int i = normalize_axis(axis, l.sizes.rank(), "slice");
  const std::int64_t n = l.sizes[i];
  auto clamped = [n](std::int64_t at) { return std::clamp<std::int64_t>(at < 0 ? at + n : at, 0, n); };
  const std::int64_t first = clamped(begin), last = clamped(end);
  const std::int64_t size = last > first ? (last - first - 1) / step + 1 : 0;
  l.sizes[i] = size;
  // Of an empty slice nothing is read; its offset must not point behind the memory.
  if (!holds_nothing(l.sizes)) l.offset += first * l.strides[i];
  if (size > 1) l.strides[i] = wrapping_product(l.strides[i], step);
  return l;
}

/// `length` elements of an axis from `begin` on. Throws index_error unless all of them exist.
constexpr layout narrowed(layout l, std::int64_t axis, std::int64_t begin, std::int64_t length) {
  if (l.sizes.rank() == 0) throw index_error("narrow: a 0-d tensor has no axis to narrow: unsqueeze it first");
  const int i = normalize_axis(axis, l.sizes.rank(), "narrow");
  const std::int64_t n = l.sizes[i], first = begin < 0 ? begin + n : begin;
  if (first < 0 || length < 0 || first > n || length > n - first)
    throw index_error(message("narrow: ", length, " elements from ", begin, " on do not lie within axis ", i,
                              " of shape ", l.sizes,
                              ": use a smaller length, or slice, which leaves out what is outside"));
  l.sizes[i] = length;
  if (!holds_nothing(l.sizes)) l.offset += first * l.strides[i];
  return l;
}

/// One element of an axis; the axis is dropped. Throws index_error.
constexpr layout selected(layout l, std::int64_t axis, std::int64_t index) {
  if (l.sizes.rank() == 0) throw index_error("select: a 0-d tensor has no axis to select from: use item()");
  const int i = normalize_axis(axis, l.sizes.rank(), "select");
  const std::int64_t n = l.sizes[i];
  if (index < -n || index >= n)
    throw index_error(
        message("select: index ", index, " is outside [", -n, ", ", n - 1, "] of axis ", i, " of shape ", l.sizes));
  if (!holds_nothing(l.sizes)) l.offset += (index < 0 ? index + n : index) * l.strides[i];
  l.sizes.erase(i);
  l.strides.erase(i);
  return l;
}

/// The axes of a mask backwards: from the last element, in strides below 0.
constexpr layout flipped(layout l, std::uint32_t mask) {
  if (holds_nothing(l.sizes)) return l;  // there is no last element
  for (int i = 0; i < l.sizes.rank(); ++i) {
    if (!(mask >> i & 1) || l.sizes[i] == 1) continue;
    l.offset += (l.sizes[i] - 1) * l.strides[i];
    l.strides[i] = -l.strides[i];
  }
  return l;
}

/// The sizes asked for, with the one that is -1 worked out. Throws shape_error if the number of elements differs.
constexpr dims resolved_sizes(const dims& from, const dims& wanted, const char* where) {
  const std::int64_t total = count(from);
  dims sizes = wanted;
  int open = -1;
  bool legal = true;
  for (int i = 0; i < sizes.rank(); ++i) {
    if (sizes[i] >= 0) continue;
    legal &= sizes[i] == -1 && open < 0;
    open = i;
  }
  if (legal && open >= 0) {
    sizes[open] = 1;
    const std::int64_t rest = count(sizes);
    // 0 elements in rows of 0 could be any number of rows.
    legal = rest > 0 && total % rest == 0;
    if (legal) sizes[open] = total / rest;
  }
  if (!legal || count(sizes) != total)
    throw shape_error(
        message(where, ": shape ", from, " has ", total, " elements, which do not fill ", wanted,
                ": the product of the sizes must stay the same; one of them may be -1 and is worked out"));
  return sizes;
}

/// The same elements in the same order with other sizes (as many of them), if some strides can say that.
constexpr std::optional<layout> reshaped(const layout& l, const dims& sizes) {
  layout result{sizes, contiguous_strides(sizes), l.offset};
  if (count(sizes) == 0) return result;
  // Old axes that follow each other without a gap act as one; new axes have to fill one such group after another.
  int to = sizes.rank() - 1;
  for (int i = l.sizes.rank() - 1; i >= 0;) {
    std::int64_t group = l.sizes[i], step = l.strides[i];
    if (group == 1) {
      --i;
      continue;
    }
    for (--i; i >= 0 && (l.sizes[i] == 1 || l.strides[i] == step * group); --i) group *= l.sizes[i];
    while (group > 1) {
      const std::int64_t size = sizes[to];
      if (group % size != 0) return std::nullopt;
      result.strides[to--] = step;
      step *= size;
      group /= size;
    }
  }
  return result;
}

/// a * b elements. Throws shape_error if that does not fit: beside an axis of size 0, others may have any size.
constexpr std::int64_t product_of(std::int64_t a, std::int64_t b, const dims& sizes) {
  std::int64_t out = 0;
  if (__builtin_mul_overflow(a, b, &out))
    throw shape_error(message("flatten: axes of shape ", sizes,
                              " have more elements together than 63 bits can count: "
                              "flatten fewer of them"));
  return out;
}

/// Axes begin to end (both included) as one: the sizes. Throws index_error, value_error if they are the wrong way
/// round.
constexpr dims flattened_sizes(const dims& sizes, std::int64_t begin, std::int64_t end) {
  const int first = normalize_axis(begin, sizes.rank(), "flatten"), last = normalize_axis(end, sizes.rank(), "flatten");
  if (sizes.rank() == 0) return {1};
  if (first > last)
    throw value_error(message("flatten: axis ", begin, " comes after axis ", end, " of shape ", sizes, ": swap them"));
  dims result;
  std::int64_t joined =
      std::find(sizes.begin() + first, sizes.begin() + last + 1, 0) != sizes.begin() + last + 1 ? 0 : 1;
  for (int i = 0; i < sizes.rank(); ++i) {
    if (i < first || i > last)
      result.push_back(sizes[i]);
    else
      joined = joined == 0 ? 0 : product_of(joined, sizes[i], sizes);
    if (i == last) result.push_back(joined);
  }
  return result;
}

}  // namespace kiln::detail
