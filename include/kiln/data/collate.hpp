// SPDX-License-Identifier: BSL-1.0
// Samples put together to a batch, as torch.utils.data.default_collate does: tensors are stacked, numbers become a
// tensor, texts a vector, and tuples a tuple of such.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <kiln/tensor/creation.hpp>
#include <kiln/tensor/join.hpp>

namespace kiln::data {

namespace detail {

template <class X>
inline constexpr bool is_tuple = false;
template <class... X>
inline constexpr bool is_tuple<std::tuple<X...>> = true;
template <class A, class B>
inline constexpr bool is_tuple<std::pair<A, B>> = true;

/// The element type of a tensor of numbers S: S itself, or int64 for other integers of 64 bits.
template <class S>
using number_element =
    std::conditional_t<Element<S>, S, std::conditional_t<std::is_integral_v<S>, std::int64_t, double>>;

// Compilers name the class that holds the sentence with its argument.
template <class X>
struct can_be_collated {
  static constexpr bool checked = true;
  static_assert(Expression<X> || Number<X> || is_tuple<X> || std::is_same_v<X, std::string>,
                "kiln: samples of this type can't be put together to a batch: let get() give a tensor, a number, a "
                "std::string or a tuple of them, or give the DataLoader a function of its own: "
                "DataLoader(dataset, options, [](const std::vector<Sample>& samples) { return batch; })");
};

/// Stacks contiguous or other tensors of the host without the threads that compute, which have other things to do.
template <Element T>
Tensor<T> stacked(const std::vector<Tensor<T>>& parts) {
  const dims first = parts.front().sizes();
  dims sizes{static_cast<std::int64_t>(parts.size())};
  for (const std::int64_t n : first) sizes.push_back(n);
  auto result = empty<T>(sizes);
  const std::size_t each = static_cast<std::size_t>(count(first));
  T* to = result.data();
  for (std::size_t i = 0; i < parts.size(); ++i, to += each) {
    if (parts[i].sizes() != first)
      throw shape_error(message("DataLoader: samples of shapes ", first, " and ", parts[i].sizes(),
                                " make no batch: bring them to one shape by a transform, or give a function that puts "
                                "them together"));
    const Tensor<T> part = parts[i].is_contiguous() ? parts[i] : parts[i].clone();
    if (each != 0) std::memcpy(static_cast<void*>(to), part.data(), each * sizeof(T));
  }
  return result;
}

}  // namespace detail

/// The batch of one or more samples: tensors of one shape are stacked along a new first axis, numbers become a 1-D
/// tensor, texts a vector, tuples and pairs a tuple. Throws shape_error for tensors of several shapes, value_error for
/// no samples.
template <class X>
auto default_collate(const std::vector<X>& samples) {
  static_assert(detail::can_be_collated<X>::checked);
  if (samples.empty()) throw value_error("default_collate: there are no samples: a batch has one at least");
  if constexpr (detail::is_tuple<X>) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      const auto column = [&]<std::size_t At>(std::integral_constant<std::size_t, At>) {
        std::vector<std::tuple_element_t<At, X>> all;
        all.reserve(samples.size());
        for (const X& each : samples) all.push_back(std::get<At>(each));
        return default_collate(all);
      };
      return std::tuple(column(std::integral_constant<std::size_t, I>{})...);
    }
    (std::make_index_sequence<std::tuple_size_v<X>>{});
  } else if constexpr (Number<X>) {
    using T = detail::number_element<X>;
    auto result = empty<T>({static_cast<std::int64_t>(samples.size())});
    T* to = result.data();
    for (const X each : samples) *to++ = static_cast<T>(each);
    return result;
  } else if constexpr (!Expression<X>) {
    return samples;
  } else if constexpr (Leaf<X> && std::is_same_v<typename X::device_type, Cpu>) {
    return detail::stacked(samples);
  } else {
    return stack(samples);
  }
}

}  // namespace kiln::data
