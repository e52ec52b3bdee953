// SPDX-License-Identifier: BSL-1.0
// Elements several times: repeat and tile all of them in turn, repeat_interleave each by itself. An axis that repeats
// is a new one of stride 0 beside the old; a copy makes the two one, and its gradient is the sum over the new one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include <kiln/tensor/creation.hpp>
#include <kiln/tensor/indexing.hpp>
#include <kiln/tensor/views.hpp>

namespace kiln {

namespace detail {

/// How often something is repeated. Throws value_error for a negative number.
inline std::int64_t repetitions(std::int64_t times, const char* where) {
  if (times < 0) throw value_error(message(where, ": ", times, " times: use 0 or more"));
  return times;
}

/// Each size so many times. Throws shape_error for more elements than memory can hold.
inline dims repeated_sizes(const dims& sizes, const dims& counts, const char* where) {
  dims result = counts;
  bool fits = true;
  std::int64_t total = 1;
  for (int i = 0; i < sizes.rank(); ++i) {
    fits &= !__builtin_mul_overflow(sizes[i], repetitions(counts[i], where), &result[i]);
    fits &= holds_nothing(sizes) || holds_nothing(counts) || !__builtin_mul_overflow(total, result[i], &total);
  }
  if (!fits || total > (std::int64_t{1} << 59))
    throw shape_error(message(where, ": shape ", sizes, ", ", counts,
                              " times, has more elements than memory can hold: repeat it less often"));
  return result;
}

/// One axis repeated, all of it in turn or each element by itself, in a copy. Of a tensor that holds something.
template <Leaf X>
X repeated_along(const X& x, int axis, std::int64_t times, bool each) {
  dims sizes = x.sizes();
  std::int64_t before = 1, after = 1;
  for (int i = 0; i < axis; ++i) before *= sizes[i];
  for (int i = axis + 1; i < sizes.rank(); ++i) after *= sizes[i];
  const std::int64_t n = sizes[axis];
  sizes[axis] = n * times;
  const X apart = reshape(x, each ? dims{before, n, 1, after} : dims{before, 1, n, after});
  return reshape(expand(apart, each ? dims{before, n, times, after} : dims{before, times, n, after}).clone(), sizes);
}

/// A tensor of these sizes, which hold nothing, in the history of x.
template <Leaf X>
X nothing_of(const X& x, const dims& sizes) {
  return reshape(slice(flatten(x), 0, 0, 0), sizes).clone();
}

/// All of x so many times along each axis; it has at most as many axes as there are counts.
template <Expression X>
auto repeated(const X& x, dims counts, const char* where) {
  auto values = as_tensor(x);
  const int rank = counts.rank();
  dims from = values.sizes();
  while (from.rank() < rank) from.insert(0, 1);
  const dims to = repeated_sizes(from, counts, where);
  if (holds_nothing(to)) return nothing_of(values, to);
  values = reshape(values, from);
  const auto apart = [&](int i) { return from[i] > 1 && counts[i] > 1; };
  // One copy, with a new axis beside each that repeats. Where those are too many, the last ones repeat before.
  int axes = rank;
  for (int i = 0; i < rank; ++i) axes += apart(i);
  for (int i = rank - 1; axes > max_rank; --i) {
    if (!apart(i)) continue;
    values = repeated_along(values, i, counts[i], false);
    from[i] = to[i], counts[i] = 1;
    --axes;
  }
  dims split, wide;
  for (int i = 0; i < rank; ++i) {
    if (apart(i)) split.push_back(1), wide.push_back(counts[i]);
    split.push_back(from[i]);
    wide.push_back(from[i] > 1 ? from[i] : counts[i]);
  }
  return reshape(expand(reshape(values, split), wide).clone(), to);
}

}  // namespace detail

/// All of x so many times along each axis: torch.Tensor.repeat. `repeat(x, {2, 3})` of shape [4, 5] has shape [8, 15];
/// more counts than axes make new axes in front. A copy. (numpy.repeat is repeat_interleave.) Throws shape_error for
/// fewer counts than axes, value_error for a negative one.
template <Expression X>
auto repeat(const X& x, const dims& counts) {
  const dims sizes = shape_of(x);
  if (counts.rank() < sizes.rank())
    throw shape_error(message("repeat: ", counts.rank(), " counts for a tensor of shape ", sizes,
                              ": give one per axis, or use tile, where those of the first axes may be left out"));
  return detail::repeated(x, counts, "repeat");
}
/// Counts may stand without braces; so for tile.
template <Expression X, detail::SizeLike... Counts>
  requires(sizeof...(Counts) > 0)
auto repeat(const X& x, Counts... counts) {
  return repeat(x, dims{counts...});
}
/// As repeat, but fewer counts than axes are those of the last ones: numpy.tile. Throws value_error for a negative one.
template <Expression X>
auto tile(const X& x, dims counts) {
  const dims sizes = shape_of(x);
  while (counts.rank() < sizes.rank()) counts.insert(0, 1);
  return detail::repeated(x, counts, "tile");
}
template <Expression X, detail::SizeLike... Counts>
  requires(sizeof...(Counts) > 0)
auto tile(const X& x, Counts... counts) {
  return tile(x, dims{counts...});
}

/// Each element, or slice along an axis, so many times in a row: torch.repeat_interleave, numpy.repeat.
/// `repeat_interleave(x, 2, 0)` has each row twice. A copy. Throws value_error for a negative number, index_error.
template <Expression X, detail::SizeLike Times>
auto repeat_interleave(const X& x, Times times, std::int64_t axis) {
  auto values = detail::as_tensor(x);
  const int along = normalize_axis(axis, values.dim(), "repeat_interleave");
  if (values.dim() == 0) values = reshape(values, dims{1});
  dims counts = dims::filled(values.dim(), 1);
  counts[along] = detail::whole_number(times).value;
  const dims sizes = detail::repeated_sizes(values.sizes(), counts, "repeat_interleave");
  if (holds_nothing(sizes)) return detail::nothing_of(values, sizes);
  return detail::repeated_along(values, along, counts[along], true);
}
/// The same of all elements in row-major order, as a 1-D tensor.
template <Expression X, detail::SizeLike Times>
auto repeat_interleave(const X& x, Times times) {
  return repeat_interleave(flatten(x), times, 0);
}
/// Each slice along an axis as often as its place in a 1-D tensor says: `repeat_interleave(x, Tensor<int>{2, 0, 1},
/// 0)`. Throws shape_error unless there is a number for each slice, value_error for a negative one, index_error.
template <Expression X, Expression Times>
auto repeat_interleave(const X& x, const Times& times, std::int64_t axis) {
  static_assert(!detail::any_transformed<X, Times>,
                "kiln: repeat_interleave by a tensor has no meaning within vmap and jvp, where members would have "
                "different sizes: give one number");
  detail::check_index_type<typename Times::value_type>();
  const auto values = detail::as_tensor(x);
  const int along = normalize_axis(axis, values.dim(), "repeat_interleave");
  const Tensor<std::int64_t> each =
      Tensor<std::int64_t, typename Times::device_type>(cast<std::int64_t>(times)).to(Cpu{});
  if (values.dim() == 0 || each.dim() != 1 || each.numel() != values.sizes()[along])
    throw shape_error(message("repeat_interleave: numbers of shape ", each.sizes(), " for axis ", axis, " of shape ",
                              values.sizes(), ": give one for each of its slices"));
  std::int64_t total = 0;
  for (std::int64_t i = 0; i < each.numel(); ++i)
    if (__builtin_add_overflow(total, detail::repetitions(each(i), "repeat_interleave"), &total))
      throw shape_error("repeat_interleave: more slices than memory can hold: use smaller numbers");
  const auto place = empty<std::int64_t>({total});
  std::int64_t* to = place.data();
  for (std::int64_t i = 0; i < each.numel(); ++i) to = std::fill_n(to, each(i), i);
  return detail::as_tensor(index_select(values, along, place.to(values.device())));
}

// ---- as members ----------------------------------------------------------------------------------------------------

template <class X>
auto common_methods<X>::repeat(const dims& counts) const {
  return kiln::repeat(self(), counts);
}
template <class X>
template <detail::SizeLike... Counts>
  requires(sizeof...(Counts) > 0)
auto common_methods<X>::repeat(Counts... counts) const {
  return kiln::repeat(self(), dims{counts...});
}
template <class X>
template <class Times, class... Axis>
auto common_methods<X>::repeat_interleave(const Times& times, Axis... axis) const {
  return kiln::repeat_interleave(self(), times, axis...);
}

}  // namespace kiln
