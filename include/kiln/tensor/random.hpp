// SPDX-License-Identifier: BSL-1.0
// Tensors of random numbers: rand, randn, randint, randperm and their *_like forms. Each takes a part of a generator's
// sequence of its own; the same seed gives the same numbers, however many threads fill the tensor.
#pragma once

#include <cstdint>
#include <utility>

#include <kiln/core/philox.hpp>
#include <kiln/device/cpu/drivers.hpp>
#include <kiln/expr/shape.hpp>
#include <kiln/tensor/creation.hpp>

namespace kiln {

/// Fills n contiguous elements of T on a device with draws of a stream.
template <class Device>
struct random_filler {
  static_assert(detail::never<Device>,
                "kiln: this device draws no numbers: draw them on Cpu and move them with .to<Device>()");
};
template <OnHost Device>
struct random_filler<Device> {
  template <Element T>
  static void uniform(const tensor_state& t, const random_stream& from) {
    cpu::drivers::fill_uniform(static_cast<T*>(t.data), count(t.sizes), from);
  }
  template <Element T>
  static void normal(const tensor_state& t, const random_stream& from) {
    cpu::drivers::fill_normal(static_cast<T*>(t.data), count(t.sizes), from);
  }
  template <Element T>
  static void integers(const tensor_state& t, const random_stream& from, std::int64_t low, std::uint64_t range) {
    cpu::drivers::fill_integers(static_cast<T*>(t.data), count(t.sizes), from, low, range);
  }
};

namespace detail {
/// The part of a generator's sequence for n elements that take `words` words of 32 bits each.
inline random_stream take_words(generator& from, std::int64_t n, int words) {
  return from.take((static_cast<std::uint64_t>(n) * static_cast<std::uint64_t>(words) + 3) / 4);
}
}  // namespace detail

/// Uniform numbers in [0, 1), never 1: multiples of 2^-24, of 2^-53 for double, 2^-11 for half, 2^-8 for bfloat16.
/// Throws shape_error for a negative size.
template <Element T = float, class Device = Cpu>
Tensor<T, Device> rand(const dims& sizes, generator& from = default_generator(), Device where = {}) {
  static_assert(is_floating(dtype_of<T>), "kiln: rand makes floating numbers: use randint for integers and bool");
  auto result = empty<T, Device>(sizes, where);
  const random_stream words = detail::take_words(from, result.numel(), words_of<T>);
  random_filler<Device>::template uniform<T>(*result.state(), words);
  return result;
}
template <Element T = float, detail::SizeLike... Sizes>
  requires(sizeof...(Sizes) > 0)
auto rand(Sizes... sizes) {
  return rand<T>(dims{sizes...});
}
/// Numbers of the normal distribution with mean 0 and standard deviation 1. Throws shape_error for a negative size.
template <Element T = float, class Device = Cpu>
Tensor<T, Device> randn(const dims& sizes, generator& from = default_generator(), Device where = {}) {
  static_assert(is_floating(dtype_of<T>), "kiln: randn makes floating numbers: name a floating type");
  auto result = empty<T, Device>(sizes, where);
  const random_stream words = detail::take_words(from, result.numel(), words_of<T>);
  random_filler<Device>::template normal<T>(*result.state(), words);
  return result;
}
template <Element T = float, detail::SizeLike... Sizes>
  requires(sizeof...(Sizes) > 0)
auto randn(Sizes... sizes) {
  return randn<T>(dims{sizes...});
}
/// Whole numbers from low to high - 1, each as likely as the others. Throws value_error for an empty range or one that
/// the type cannot hold, shape_error for a negative size.
template <Element T = std::int64_t, class Device = Cpu>
Tensor<T, Device> randint(std::int64_t low, std::int64_t high, const dims& sizes, generator& from = default_generator(),
                          Device where = {}) {
  if (low >= high)
    throw value_error(
        message("randint: there is no number from ", low, " to below ", high, ": make high larger than low"));
  if constexpr (std::same_as<T, bool>) {
    if (low < 0 || high > 2)
      throw value_error(message("randint: a bool is 0 or 1, not from ", low, " to ", high - 1, ": use 0 and 2"));
  }
  detail::number_as<T>(low, "randint");
  detail::number_as<T>(high - 1, "randint");
  auto result = empty<T, Device>(sizes, where);
  const std::uint64_t range = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
  const random_stream words = detail::take_words(from, result.numel(), 2);
  random_filler<Device>::template integers<T>(*result.state(), words, low, range);
  return result;
}
/// Whole numbers from 0 to high - 1.
template <Element T = std::int64_t, class Device = Cpu>
Tensor<T, Device> randint(std::int64_t high, const dims& sizes, generator& from = default_generator(),
                          Device where = {}) {
  return randint<T, Device>(0, high, sizes, from, where);
}
/// 0 to n - 1 in random order (Fisher and Yates), every order as likely as the others. Throws value_error for n < 0.
template <class Device = Cpu>
Tensor<std::int64_t, Device> randperm(std::int64_t n, generator& from = default_generator(), Device where = {}) {
  if (n < 0) throw value_error(message("randperm: ", n, " numbers: use 0 or more"));
  auto result = arange<std::int64_t>(n);
  const random_stream stream = detail::take_words(from, n, 2);
  std::int64_t* at = result.data();
  for (std::int64_t i = n - 1; i > 0; --i)
    std::swap(at[i], at[scaled_to(stream.bits(static_cast<std::uint64_t>(i)), static_cast<std::uint64_t>(i) + 1)]);
  return result.to(where);
}

/// Shape, element type and device as those of x, which is not evaluated.
template <Expression X>
auto rand_like(const X& x, generator& from = default_generator()) {
  return rand<typename X::value_type, decltype(detail::device_of(x))>(shape_of(x), from, detail::device_of(x));
}
/// Normal numbers in the shape, type and device of x.
template <Expression X>
auto randn_like(const X& x, generator& from = default_generator()) {
  return randn<typename X::value_type, decltype(detail::device_of(x))>(shape_of(x), from, detail::device_of(x));
}
/// Whole numbers from low to high - 1 in the shape, type and device of x.
template <Expression X>
auto randint_like(const X& x, std::int64_t low, std::int64_t high, generator& from = default_generator()) {
  return randint<typename X::value_type, decltype(detail::device_of(x))>(low, high, shape_of(x), from,
                                                                         detail::device_of(x));
}

}  // namespace kiln
