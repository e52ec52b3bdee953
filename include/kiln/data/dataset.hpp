// SPDX-License-Identifier: BSL-1.0
// What a set of samples is: anything with size() and get(i), no base class. A sample is a tensor, a number, a text, or
// a tuple or pair of them. What only gives one sample after the other, without numbers, is an IterableDataset.
#pragma once

#include <concepts>
#include <cstdint>
#include <iterator>
#include <span>
#include <type_traits>
#include <utility>

#include <kiln/core/error.hpp>
#include <kiln/core/philox.hpp>

namespace kiln::data {

namespace detail {
template <class D>
concept Sized = requires(const D& d) {
  { d.size() } -> std::convertible_to<std::int64_t>;
};
template <class D>
concept Gets = requires(const D& d, std::int64_t i) {
  d.get(i);
};
template <class D>
concept GetsRandom = requires(const D& d, std::int64_t i, generator& random) {
  d.get(i, random);
};
}  // namespace detail

/// A set whose samples have numbers: `size()` says how many there are, `get(i)` gives one, or `get(i, random)` if it
/// draws on the way. Several threads call get() at once.
template <class D>
concept Dataset = detail::Sized<D> &&(detail::Gets<D> || detail::GetsRandom<D>);

/// Samples one after the other, `begin()` to `end()`: a stream of records, of which it is not known how many there are.
template <class D>
concept IterableDataset = !Dataset<D> && requires(D & d) {
  *d.begin();
  d.begin() != d.end();
};

/// A set that gives a batch at once faster than sample by sample, as `get_batch(indices)`: the samples already put
/// together.
template <class D>
concept BatchDataset = Dataset<D> && !detail::GetsRandom<D> && requires(const D& d, std::span<const std::int64_t> at) {
  d.get_batch(at);
};

namespace detail {

/// Sample i; `random` is for those that draw.
template <Dataset D>
auto sample_of(const D& d, std::int64_t i, generator& random) {
  if constexpr (GetsRandom<D>)
    return d.get(i, random);
  else
    return d.get(i);
}

template <class D>
struct sample_type {
  using type = std::remove_cvref_t<decltype(*std::declval<D&>().begin())>;
};
template <Dataset D>
struct sample_type<D> {
  using type = std::remove_cvref_t<decltype(sample_of(std::declval<const D&>(), 0, std::declval<generator&>()))>;
};

/// Throws index_error for a number that a set does not have.
inline void check_sample(const char* where, std::int64_t i, std::int64_t size) {
  if (i >= 0 && i < size) return;
  throw index_error(message(where, ": there is no sample ", i, ": there are ", size, ", from 0 on"));
}

/// The seed of something that is drawn for itself: a place under a seed, for a purpose.
inline std::uint64_t derived_seed(std::uint64_t seed, std::uint64_t place, std::uint32_t purpose) {
  const philox_counter drawn =
      philox4x32({static_cast<std::uint32_t>(place), static_cast<std::uint32_t>(place >> 32), purpose, 0x64617461u},
                 {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)});
  return drawn[0] | std::uint64_t{drawn[1]} << 32;
}
// What is drawn: orders of samples, what transforms want, splits.
inline constexpr std::uint32_t draws_order = 1, draws_sample = 2, draws_split = 3;

}  // namespace detail

/// What a set gives: of an IterableDataset what its iterators point to.
template <class D>
using sample_t = typename detail::sample_type<D>::type;

}  // namespace kiln::data
