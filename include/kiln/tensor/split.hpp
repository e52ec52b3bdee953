// SPDX-License-Identifier: BSL-1.0
// One tensor as several: split, chunk and unbind, views of pieces along an axis. What cat and stack put together they
// take apart.
#pragma once

#include <algorithm>
#include <cstdint>
#include <exception>
#include <vector>

#include <kiln/core/error.hpp>
#include <kiln/tensor/views.hpp>

namespace kiln {

namespace detail {

/// Room for so many pieces. Throws memory_error.
template <class Pieces>
void reserve_pieces(Pieces& pieces, std::int64_t count, const char* where) {
  try {
    pieces.reserve(static_cast<std::size_t>(count));
  } catch (const std::exception&) {  // no such memory, or a length that no vector has
    throw memory_error(message(where, ": ", count, " pieces are more than memory can hold: make them fewer"));
  }
}

/// The axis that is taken apart, counted from the front. Throws index_error.
inline int axis_to_split(const dims& sizes, std::int64_t axis, const char* where) {
  const int along = normalize_axis(axis, sizes.rank(), where);
  if (sizes.rank() == 0)
    throw index_error(message(where, ": a 0-d tensor has no axis to take apart: unsqueeze it first"));
  return along;
}

/// Pieces of `size` elements, the last one shorter if it must be.
template <Leaf X>
std::vector<X> split_evenly(const X& whole, std::int64_t size, int axis, const char* where) {
  const std::int64_t n = whole.sizes()[axis];
  std::vector<X> pieces;
  reserve_pieces(pieces, n / size + (n % size != 0), where);
  if (n == 0) pieces.push_back(whole);
  for (std::int64_t at = 0; at < n; at += std::min(size, n - at))
    pieces.push_back(narrow(whole, axis, at, std::min(size, n - at)));
  return pieces;
}

}  // namespace detail

/// Pieces of `size` elements along an axis, the last one shorter if it must be: `split(x, 2)` of five rows has 2, 2 and
/// 1. Views of x, in a vector. Throws value_error for a size below 1, index_error for the axis, memory_error.
template <Expression X>
auto split(const X& x, std::int64_t size, std::int64_t axis = 0) {
  const auto whole = detail::as_tensor(x);
  const int along = detail::axis_to_split(whole.sizes(), axis, "split");
  if (size < 1) throw value_error(message("split: pieces of ", size, " elements: use 1 or more"));
  return detail::split_evenly(whole, size, along, "split");
}
/// Pieces of these sizes: `split(x, {1, 4}, 1)`. Throws shape_error unless they add up to the size of the axis.
template <Expression X>
auto split(const X& x, const std::vector<std::int64_t>& sizes, std::int64_t axis = 0) {
  const auto whole = detail::as_tensor(x);
  const std::int64_t n = whole.sizes()[detail::axis_to_split(whole.sizes(), axis, "split")];
  std::int64_t left = n;
  bool fits = true;
  for (const std::int64_t size : sizes) {
    fits = fits && size >= 0 && size <= left;
    if (fits) left -= size;
  }
  if (!fits || left != 0)
    throw shape_error(message("split: the sizes of ", sizes.size(), " pieces do not add up to ", n,
                              ", the size of axis ", axis, " of shape ", whole.sizes()));
  std::vector<std::remove_const_t<decltype(whole)>> pieces;
  std::int64_t at = 0;
  for (const std::int64_t size : sizes) {
    pieces.push_back(narrow(whole, axis, at, size));
    at += size;
  }
  return pieces;
}
/// At most `count` pieces of one size, the last one shorter if it must be: torch.chunk. `chunk(x, 2)` of five rows has
/// 3 and 2; an empty axis has `count` empty pieces. Throws value_error for a count below 1, index_error for the axis,
/// memory_error.
template <Expression X>
auto chunk(const X& x, std::int64_t count, std::int64_t axis = 0) {
  const auto whole = detail::as_tensor(x);
  const int along = detail::axis_to_split(whole.sizes(), axis, "chunk");
  if (count < 1) throw value_error(message("chunk: ", count, " pieces: use 1 or more"));
  const std::int64_t n = whole.sizes()[along];
  if (n == 0) {
    std::vector<std::remove_const_t<decltype(whole)>> pieces;
    detail::reserve_pieces(pieces, count, "chunk");
    for (std::int64_t i = 0; i < count; ++i) pieces.push_back(narrow(whole, along, 0, 0));
    return pieces;
  }
  return detail::split_evenly(whole, n / count + (n % count != 0), along, "chunk");
}
/// Each position of an axis, which is dropped: torch.unbind. `auto rows = unbind(x)`, with x[i] in rows[i]. Views of x,
/// in a vector. Throws index_error, memory_error.
template <Expression X>
auto unbind(const X& x, std::int64_t axis = 0) {
  const auto whole = detail::as_tensor(x);
  const int along = detail::axis_to_split(whole.sizes(), axis, "unbind");
  const std::int64_t n = whole.sizes()[along];
  std::vector<std::remove_const_t<decltype(whole)>> parts;
  detail::reserve_pieces(parts, n, "unbind");
  for (std::int64_t i = 0; i < n; ++i) parts.push_back(select(whole, along, i));
  return parts;
}

// ---- as members ----------------------------------------------------------------------------------------------------

template <class X>
auto common_methods<X>::unbind(std::int64_t axis) const {
  return kiln::unbind(self(), axis);
}
template <class X>
auto common_methods<X>::split(std::int64_t size, std::int64_t axis) const {
  return kiln::split(self(), size, axis);
}
template <class X>
auto common_methods<X>::split(const std::vector<std::int64_t>& sizes, std::int64_t axis) const {
  return kiln::split(self(), sizes, axis);
}
template <class X>
auto common_methods<X>::chunk(std::int64_t count, std::int64_t axis) const {
  return kiln::chunk(self(), count, axis);
}

}  // namespace kiln
