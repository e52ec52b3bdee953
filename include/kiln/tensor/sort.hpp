// SPDX-License-Identifier: BSL-1.0
// Elements in order along an axis: sort, argsort, topk, kthvalue, median. PyTorch's functions and their rules: equal
// elements keep their order, a nan counts as the largest. The order is found on the host; the values are taken by
// gather, so gradients flow through all of them.
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include <kiln/core/line_job.hpp>
#include <kiln/device/cpu/drivers.hpp>
#include <kiln/tensor/creation.hpp>
#include <kiln/tensor/indexing.hpp>
#include <kiln/tensor/transfer.hpp>
#include <kiln/tensor/views.hpp>

namespace kiln {

/// Elements, and where along the axis they were: `const auto [values, indices] = sort(x);`.
template <Element T, class Device = Cpu>
struct values_and_indices {
  Tensor<T, Device> values;
  Tensor<std::int64_t, Device> indices;
};

namespace detail {

/// Which ranks of each line are asked for: `last` of -1 means all from `first` on.
struct ranks {
  std::int64_t first = 0, last = -1;
  bool descending = false, nan_first = false;
};

/// The job that finds the places of ranks along an axis, but for the memory that they go to.
order_job order_of(const tensor_state& x, int axis, const ranks& wanted);
/// A tensor of these sizes on the host, in which a job leaves its result.
ref<tensor_state> places_of(order_job& job, bool of_number);

template <class Result, class X>
Result ordered_within_transforms() {
  static_assert(
      never<X>,
      "kiln: sort, argsort, topk, kthvalue and median have no meaning within vmap and jvp yet: call them with an axis "
      "on the whole batch, outside");
  return {};
}

template <class X>
constexpr void direction_for_axis() {
  static_assert(never<X>,
                "kiln: true or false is no axis. To sort the other way, name the axis first: sort(x, -1, true)");
}

inline std::int64_t length_along(const dims& sizes, int axis) {
  return sizes.rank() == 0 ? 1 : sizes[axis];
}

/// Where the elements of some ranks are.
template <Element T, class Device>
Tensor<std::int64_t, Device> ordered_places(const Tensor<T, Device>& x, int axis, const ranks& wanted) {
  if constexpr (executor<Device>::on_host) {
    order_job job = order_of(*x.state(), axis, wanted);
    const ref<tensor_state> places = places_of(job, x.dim() == 0);
    cpu::drivers::order_lines<T>(job);
    return Tensor<std::int64_t, Device>(places);
  } else {
    return ordered_places(x.detach().to(Cpu{}), axis, wanted).to(x.device());
  }
}
template <Element T, class Device>
values_and_indices<T, Device> taken_in_order(const Tensor<T, Device>& x, int axis, const ranks& wanted) {
  const auto places = ordered_places(x, axis, wanted);
  return {gather(x, axis, places), places};
}
template <Element T, class Device>
values_and_indices<T, Device> without_axis(const values_and_indices<T, Device>& found, int axis, bool keepdim) {
  if (keepdim || found.values.dim() == 0) return found;
  return {squeeze(found.values, axis), squeeze(found.indices, axis)};
}

}  // namespace detail

/// The elements along an axis from the smallest to the largest, or the other way, and where they were: torch.sort,
/// always stable. Of another device, the order is found on the host. Throws index_error for the axis.
template <Expression X>
auto sort(const X& x, std::int64_t axis = -1, bool descending = false) {
  if constexpr (detail::any_transformed<X>)
    return detail::ordered_within_transforms<values_and_indices<float>, X>();
  else {
    const auto of = detail::as_tensor(x);
    return detail::taken_in_order(of, normalize_axis(axis, of.dim(), "sort"), {.descending = descending});
  }
}
/// The indices by which sort would order the elements.
template <Expression X>
auto argsort(const X& x, std::int64_t axis = -1, bool descending = false) {
  if constexpr (detail::any_transformed<X>)
    return detail::ordered_within_transforms<Tensor<std::int64_t>, X>();
  else {
    const no_grad quiet;
    const auto of = detail::as_tensor(x);
    return detail::ordered_places(of, normalize_axis(axis, of.dim(), "argsort"), {.descending = descending});
  }
}
/// Not possible: says what to write.
template <Expression X, std::same_as<bool> Descending>
auto sort(const X& x, Descending) {
  detail::direction_for_axis<X>();
  return sort(x);
}
template <Expression X, std::same_as<bool> Descending>
auto argsort(const X& x, Descending) {
  detail::direction_for_axis<X>();
  return argsort(x);
}
/// The k largest elements along an axis, the largest first, or the k smallest, and where they are: torch.topk. Of equal
/// ones the first are taken. Throws value_error for a k outside [0, size of the axis], index_error.
template <Expression X>
auto topk(const X& x, std::int64_t k, std::int64_t axis = -1, bool largest = true) {
  if constexpr (detail::any_transformed<X>)
    return detail::ordered_within_transforms<values_and_indices<float>, X>();
  else {
    const auto of = detail::as_tensor(x);
    const int along = normalize_axis(axis, of.dim(), "topk");
    if (const std::int64_t n = detail::length_along(of.sizes(), along); k < 0 || k > n)
      throw value_error(message("topk: k = ", k, " of ", n, " elements along axis ", along, " of shape ", of.sizes(),
                                ": use 0 to ", n, ", or name another axis"));
    return detail::taken_in_order(of, along, {.last = k, .descending = largest});
  }
}
/// The k-th smallest element along an axis, counted from 1, and where it is: torch.kthvalue. Throws value_error for a k
/// outside [1, size of the axis], index_error.
template <Expression X>
auto kthvalue(const X& x, std::int64_t k, std::int64_t axis = -1, bool keepdim = false) {
  if constexpr (detail::any_transformed<X>)
    return detail::ordered_within_transforms<values_and_indices<float>, X>();
  else {
    const auto of = detail::as_tensor(x);
    const int along = normalize_axis(axis, of.dim(), "kthvalue");
    if (const std::int64_t n = detail::length_along(of.sizes(), along); k < 1 || k > n)
      throw value_error(message("kthvalue: k = ", k, " of ", n, " elements along axis ", along, " of shape ",
                                of.sizes(), ": the smallest is k = 1, the largest k = ", n));
    return detail::without_axis(detail::taken_in_order(of, along, {.first = k - 1, .last = k}), along, keepdim);
  }
}
/// The median along an axis, of an even number of elements the lower one, and where it is: torch.median. A nan is the
/// median of its line. Throws value_error for an axis without elements, index_error.
template <Expression X>
auto median(const X& x, std::int64_t axis, bool keepdim = false) {
  if constexpr (detail::any_transformed<X>)
    return detail::ordered_within_transforms<values_and_indices<float>, X>();
  else {
    const auto of = detail::as_tensor(x);
    const int along = normalize_axis(axis, of.dim(), "median");
    const std::int64_t n = detail::length_along(of.sizes(), along);
    if (n == 0)
      throw value_error(
          message("median: shape ", of.sizes(), " has no elements along this axis: check for an empty tensor first"));
    const detail::ranks middle{.first = (n - 1) / 2, .last = (n - 1) / 2 + 1, .nan_first = true};
    return detail::without_axis(detail::taken_in_order(of, along, middle), along, keepdim);
  }
}
/// The median of all elements, as a tensor of one. The gradient goes to the first of those that equal it.
template <Expression X>
auto median(const X& x) {
  if constexpr (detail::any_transformed<X>)
    return detail::ordered_within_transforms<Tensor<float>, X>();
  else
    return median(flatten(x), 0).values;
}

}  // namespace kiln

#ifndef KILN_COMPILED
#include <kiln/tensor/sort_impl.hpp>
#endif
