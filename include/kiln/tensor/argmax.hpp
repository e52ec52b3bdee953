// SPDX-License-Identifier: BSL-1.0
// argmax and argmin: where the largest and smallest elements are.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <type_traits>

#include <kiln/device/cpu/drivers.hpp>
#include <kiln/expr/reductions.hpp>
#include <kiln/tensor/creation.hpp>
#include <kiln/tensor/views.hpp>

namespace kiln {

namespace detail {

// As an expression, on devices whose elements the program cannot read: the first of the positions that hold the best
// element. One kernel, since both reductions go along one axis.
template <bool Largest, Leaf X>
auto best_positions_of(const X& values) {
  const std::int64_t n = values.sizes()[1];
  const auto position = arange(std::int64_t{0}, n, 1, values.device());
  const auto at_best = [&](const auto& best) {
    // A nan is better than all else, and makes the best one a nan too, which equals nothing.
    if constexpr (is_floating(dtype_of<typename X::value_type>))
      return min(where(logical_or(values == best, values != values), position, n), 1);
    else
      return min(where(values == best, position, n), 1);
  };
  using result = Tensor<std::int64_t, typename X::device_type>;
  if constexpr (Largest)
    return result(at_best(max(values, 1, true)));
  else
    return result(at_best(min(values, 1, true)));
}

template <bool Largest, Expression X>
Tensor<std::int64_t, typename X::device_type> best_positions(const X& x, const axes& over, bool keepdim,
                                                             const char* where) {
  using T = typename X::value_type;
  if constexpr (any_transformed<X>) {
    static_assert(
        never<X>,
        "kiln: argmax and argmin have no meaning within vmap and jvp yet: call them with an axis on the whole "
        "batch, outside");
    return {};
  } else if constexpr (std::same_as<T, bool>) {
    return best_positions<Largest>(cast<std::uint8_t>(x), over, keepdim, where);
  } else {
    const no_grad quiet;
    auto values = as_tensor(x);
    const dims sizes = values.sizes();
    const std::uint32_t mask = over.mask(sizes.rank(), where);
    const std::uint32_t every = (1u << sizes.rank()) - 1;
    if (mask != every && !std::has_single_bit(mask))
      throw value_error(message(where, ": several axes of shape ", sizes, ": give one axis, or none for all elements"));
    if (mask != every)
      values = values.permute([&] {
        // The axis goes last, so that what is compared lies in a row.
        dims order;
        const int axis = std::countr_zero(mask);
        for (int i = 0; i < sizes.rank(); ++i)
          if (i != axis) order.push_back(i);
        order.push_back(axis);
        return order;
      }());
    if (!values.contiguous_layout()) values = values.clone();
    const std::int64_t n = mask == every ? values.numel() : values.sizes().back();
    if (n == 0)
      throw value_error(message(where, ": shape ", sizes, " has no elements to choose from along ",
                                mask == every ? "its axes" : "this axis", ": check for an empty tensor first"));
    const dims kept = reduced_sizes(sizes, mask, keepdim);
    if constexpr (!executor<typename X::device_type>::on_host) {
      const auto rows = values.reshape({mask == every ? 1 : count(kept), n});
      return best_positions_of<Largest>(rows).reshape(kept);
    } else {
      auto result = empty<std::int64_t, typename X::device_type>(kept);
      std::int64_t* to = result.data();
      const T* from = values.data();
      cpu::parallel_for(result.numel(), std::max<std::int64_t>(32768 / n, 1),
                        [=](std::int64_t begin, std::int64_t end) {
                          for (std::int64_t i = begin; i < end; ++i)
                            to[i] = cpu::drivers::best_index<Largest>(from + i * n, n);
                        });
      return result;
    }
  }
}

#ifdef KILN_COMPILED  // in src/models.cpp
extern template Tensor<std::int64_t> best_positions<true>(const Tensor<float>&, const axes&, bool, const char*);
#endif

}  // namespace detail

/// Where the largest element is: along one axis, or, if none is named, in the row-major order of all. Of equal elements
/// the first; a nan counts as largest. Throws value_error if there is none or for several axes, index_error.
template <Expression X>
Tensor<std::int64_t, typename X::device_type> argmax(const X& x, axes over = {}, bool keepdim = false) {
  return detail::best_positions<true>(x, over, keepdim, "argmax");
}
/// Where the smallest element is, by the same rules; a nan counts as smallest.
template <Expression X>
Tensor<std::int64_t, typename X::device_type> argmin(const X& x, axes over = {}, bool keepdim = false) {
  return detail::best_positions<false>(x, over, keepdim, "argmin");
}

template <class X>
auto common_methods<X>::argmax() const {
  return kiln::argmax(self());
}
template <class X>
auto common_methods<X>::argmax(const axes& over, bool keepdim) const {
  return kiln::argmax(self(), over, keepdim);
}
template <class X>
auto common_methods<X>::argmin() const {
  return kiln::argmin(self());
}
template <class X>
auto common_methods<X>::argmin(const axes& over, bool keepdim) const {
  return kiln::argmin(self(), over, keepdim);
}

}  // namespace kiln
