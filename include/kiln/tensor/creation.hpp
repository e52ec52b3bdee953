// SPDX-License-Identifier: BSL-1.0
// Tensors from nothing: zeros, ones, full, empty, eye, arange, linspace and their *_like forms; and from memory: tensor
// copies, from_blob looks at memory that somebody else owns.
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <limits>
#include <memory>
#include <type_traits>
#include <utility>

#include <kiln/expr/shape.hpp>
#include <kiln/tensor/transfer.hpp>

namespace kiln {

namespace detail {

/// The element type asked for; if none was (void), that of a number as PyTorch takes it: bool, int64 or float32.
template <class T, class... V>
struct created {
  using type = T;
};
template <class... V>
struct created<void, V...> {
  static constexpr int highest = std::max({category<V>...});
  using type = std::conditional_t<highest == 0, bool, std::conditional_t<highest == 1, std::int64_t, float>>;
};
template <class T, class... V>
using created_t = typename created<T, V...>::type;

/// Not possible: a type is no value.
template <Element T, class D>
Tensor<T> dtype_as_value() {
  static_assert(never<D>,
                "kiln: the element type is part of a tensor's type: write zeros<double>({2, 3}), and for types that "
                "are chosen while the program runs see kiln/dynamic.hpp");
  return {};
}

/// Sets element i to f(i), on several threads where that pays.
template <Element T, class F>
void generate_elements(T* to, std::int64_t n, F f) {
  cpu::parallel_for(n, 32768, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) to[i] = f(i);
  });
}

}  // namespace detail

/// A tensor whose elements are whatever was in memory: `empty<float>({2, 3})`, `empty<float, Cuda>({2, 3})`, on the
/// second GPU `empty<float>({2, 3}, Cuda{1})`. Throws shape_error for a negative size, memory_error, device_error.
template <Element T = float, class Device = Cpu>
Tensor<T, Device> empty(const dims& sizes, Device where = {}) {
  return Tensor<T, Device>(executor<Device>::new_tensor(dtype_of<T>, sizes, where));
}
/// Sizes may stand without braces: `empty(2, 3)`; so for zeros, ones, rand and randn.
template <Element T = float, std::same_as<dtype> D>
Tensor<T> empty(const dims&, D) {
  return detail::dtype_as_value<T, D>();
}
template <Element T = float, detail::SizeLike... Sizes>
  requires(sizeof...(Sizes) > 0)
auto empty(Sizes... sizes) {
  return empty<T>(dims{sizes...});
}
/// Every element is `value`. Without a type given: bool, int64 or float32, by the kind of number. Throws shape_error
/// for a negative size, value_error if the type cannot hold the value.
template <class T = void, class Device = Cpu, Number V>
auto full(const dims& sizes, V value, Device where = {}) {
  using E = detail::created_t<T, V>;
  const E element = detail::number_as<E>(value, "full");
  auto result = empty<E, Device>(sizes, where);
  executor<Device>::fill(*result.state(), element);
  return result;
}
template <class T = void, std::same_as<dtype> Device, Number V>
auto full(const dims&, V, Device) {
  return detail::dtype_as_value<detail::created_t<T, V>, Device>();
}
/// Every element is 0. Throws shape_error for a negative size.
template <Element T = float, class Device = Cpu>
Tensor<T, Device> zeros(const dims& sizes, Device where = {}) {
  return full<T, Device>(sizes, 0, where);
}
template <Element T = float, std::same_as<dtype> D>
Tensor<T> zeros(const dims&, D) {
  return detail::dtype_as_value<T, D>();
}
template <Element T = float, detail::SizeLike... Sizes>
  requires(sizeof...(Sizes) > 0)
auto zeros(Sizes... sizes) {
  return zeros<T>(dims{sizes...});
}
/// Every element is 1. Throws shape_error for a negative size.
template <Element T = float, class Device = Cpu>
Tensor<T, Device> ones(const dims& sizes, Device where = {}) {
  return full<T, Device>(sizes, 1, where);
}
template <Element T = float, std::same_as<dtype> D>
Tensor<T> ones(const dims&, D) {
  return detail::dtype_as_value<T, D>();
}
template <Element T = float, detail::SizeLike... Sizes>
  requires(sizeof...(Sizes) > 0)
auto ones(Sizes... sizes) {
  return ones<T>(dims{sizes...});
}

/// Shape, element type and device as those of x, which is not evaluated. Within vmap and jvp, one tensor for all
/// members, as of the other *_like.
template <Expression X>
auto empty_like(const X& x) {
  return empty<typename X::value_type, decltype(detail::device_of(x))>(shape_of(x), detail::device_of(x));
}
/// Every element is `value`; shape, type and device as those of x.
template <Expression X, Number V>
auto full_like(const X& x, V value) {
  return full<typename X::value_type, decltype(detail::device_of(x))>(shape_of(x), value, detail::device_of(x));
}
/// Zeros of the shape, type and device of x.
template <Expression X>
auto zeros_like(const X& x) {
  return full_like(x, 0);
}
/// Ones of the shape, type and device of x.
template <Expression X>
auto ones_like(const X& x) {
  return full_like(x, 1);
}

/// Ones on the diagonal, zeros beside it; `columns` of -1 means square. Throws shape_error for a negative size.
template <Element T = float, class Device = Cpu>
Tensor<T, Device> eye(std::int64_t rows, std::int64_t columns = -1, Device where = {}) {
  if (columns == -1) columns = rows;
  auto result = zeros<T>({rows, columns});
  for (std::int64_t i = 0; i < std::min(rows, columns); ++i) result.data()[i * (columns + 1)] = T(1);
  return result.to(where);
}

/// start, start + step, ... before end: ceil((end - start) / step) elements, none if that is negative. Without a type
/// given: int64 for integers, else float32. Throws value_error for a step of 0 or values that the type cannot hold.
template <class T = void, class Device = Cpu, Number A, Number B, Number S = int>
auto arange(A start, B end, S step = 1, Device where = {}) {
  using E = detail::created_t<T, A, B, S>;
  static_assert(!std::same_as<E, bool>, "kiln: arange makes no bools: name a number type, arange<float>(...)");
  if constexpr (std::is_integral_v<A> && std::is_integral_v<B> && std::is_integral_v<S>) {
    const auto a = detail::number_as<std::int64_t>(start, "arange"), b = detail::number_as<std::int64_t>(end, "arange"),
               s = detail::number_as<std::int64_t>(step, "arange");
    if (s == 0) throw value_error("arange: a step of 0 never arrives: use another");
    const bool some = s > 0 ? a < b : a > b;
    // Unsigned, because the distance may not fit 63 bits.
    const auto ua = static_cast<std::uint64_t>(a), ub = static_cast<std::uint64_t>(b),
               us = static_cast<std::uint64_t>(s);
    const std::uint64_t n = !some ? 0 : (s > 0 ? (ub - ua - 1) / us : (ua - ub - 1) / (0 - us)) + 1;
    auto result = empty<E>({static_cast<std::int64_t>(std::min(n, std::uint64_t{1} << 62))});
    auto at = [&](std::int64_t i) { return static_cast<std::int64_t>(ua + static_cast<std::uint64_t>(i) * us); };
    if (n > 0) {
      detail::number_as<E>(a, "arange");
      detail::number_as<E>(at(static_cast<std::int64_t>(n) - 1), "arange");
    }
    detail::generate_elements(result.data(), static_cast<std::int64_t>(n),
                              [&](std::int64_t i) { return static_cast<E>(static_cast<compute_t<E>>(at(i))); });
    return result.to(where);
  } else {
    const double a = static_cast<double>(start), b = static_cast<double>(end), s = static_cast<double>(step);
    const double n = std::max(std::ceil((b - a) / s), 0.0);
    if (s == 0 || !std::isfinite(a) || !std::isfinite(b) || !std::isfinite(n))
      throw value_error(message("arange: from ", a, " to ", b, " in steps of ", s,
                                " is no range: use finite numbers and a step other than 0"));
    if (n > std::ldexp(1.0, 59))
      throw shape_error(message("arange: ", n, " elements are more than memory can hold: make the step larger"));
    const auto elements = static_cast<std::int64_t>(n);
    auto result = empty<E>({elements});
    if (elements > 0) {
      detail::number_as<E>(a, "arange");
      detail::number_as<E>(a + static_cast<double>(elements - 1) * s, "arange");
    }
    detail::generate_elements(result.data(), elements, [=](std::int64_t i) {
      return static_cast<E>(static_cast<compute_t<E>>(a + static_cast<double>(i) * s));
    });
    return result.to(where);
  }
}
/// 0, 1, ... before end.
template <class T = void, class Device = Cpu, Number B>
  requires HasExecutor<Device>
auto arange(B end, Device where = {}) {
  return arange<T, Device>(B(0), end, B(1), where);
}

/// `steps` numbers from start to end, both included, at equal distances. Throws value_error for a negative number of
/// them, or numbers that an integer type cannot hold.
template <Element T = float, class Device = Cpu, Number A, Number B>
Tensor<T, Device> linspace(A start, B end, detail::whole_number how_many, Device where = {}) {
  const std::int64_t steps = how_many.value;
  if (steps < 0) throw value_error(message("linspace: ", steps, " steps: use 0 or more"));
  const double a = static_cast<double>(start), b = static_cast<double>(end);
  detail::number_as<T>(a, "linspace");
  detail::number_as<T>(b, "linspace");
  auto result = empty<T>({steps});
  const double gaps = static_cast<double>(std::max<std::int64_t>(steps - 1, 1));
  // The distance of two finite numbers may be infinite.
  const double step = steps < 3                                               ? 0
                      : std::isinf(b - a) && !std::isinf(a) && !std::isinf(b) ? b / gaps - a / gaps
                                                                              : (b - a) / gaps;
  // From both ends, so that both are exact.
  detail::generate_elements(result.data(), steps, [=](std::int64_t i) {
    const double v =
        i < (steps + 1) / 2 ? a + static_cast<double>(i) * step : b - static_cast<double>(steps - 1 - i) * step;
    return static_cast<T>(static_cast<compute_t<T>>(v));
  });
  return result.to(where);
}

namespace detail {

template <class R>
concept ElementRange = requires(const R& r) {
  { *std::data(r) } -> std::convertible_to<const std::remove_cvref_t<decltype(*std::data(r))>&>;
  std::size(r);
}
&&Element<std::remove_cvref_t<decltype(*std::data(std::declval<const R&>()))>> && !Expression<R>;

template <class R>
concept NestedRange = !ElementRange<R> && !Expression<R> && requires(const R& r) {
  std::begin(r)->begin();
  std::size(r);
};

template <class R>
struct nested {
  using type = std::remove_cvref_t<decltype(*std::data(std::declval<const R&>()))>;
};
template <NestedRange R>
struct nested<R> {
  using type = typename nested<std::remove_cvref_t<decltype(*std::begin(std::declval<const R&>()))>>::type;
};

// The sizes along the first elements; what differs from them is found while copying.
template <class R>
void nested_sizes(const R& r, dims& sizes) {
  sizes.push_back(static_cast<std::int64_t>(std::size(r)));
  if constexpr (NestedRange<R>) {
    using Inner = std::remove_cvref_t<decltype(*std::begin(r))>;
    if (std::size(r) > 0)
      nested_sizes(*std::begin(r), sizes);
    else
      nested_sizes(Inner{}, sizes);
  }
}
template <class R, class T>
T* copy_nested(const R& r, const dims& sizes, int axis, T* to) {
  if (static_cast<std::int64_t>(std::size(r)) != sizes[axis])
    throw shape_error(message("tensor: axis ", axis, " has rows of ", sizes[axis], " and of ", std::size(r),
                              " elements: make them equally long"));
  if constexpr (NestedRange<R>) {
    for (const auto& row : r) to = copy_nested(row, sizes, axis + 1, to);
    return to;
  } else {
    return std::copy(std::data(r), std::data(r) + std::size(r), to);
  }
}

}  // namespace detail

/// A copy of the elements of a contiguous range (vector, array, span ...), as a 1-D tensor.
template <detail::ElementRange R>
auto tensor(const R& values) {
  using T = typename detail::nested<R>::type;
  auto result = empty<T>({static_cast<std::int64_t>(std::size(values))});
  std::copy(std::data(values), std::data(values) + std::size(values), result.data());
  return result;
}
/// A copy of the elements of a contiguous range in row-major order. Throws shape_error unless they fill the sizes.
template <detail::ElementRange R>
auto tensor(const R& values, const dims& sizes) {
  if (static_cast<std::int64_t>(std::size(values)) != count(sizes))
    throw shape_error(
        message("tensor: ", std::size(values), " elements do not fill shape ", sizes, ", which has ", count(sizes)));
  using T = typename detail::nested<R>::type;
  auto result = empty<T>(sizes);
  std::copy(std::data(values), std::data(values) + std::size(values), result.data());
  return result;
}
/// A copy of nested ranges: vectors of vectors. Throws shape_error if inner ones differ in length.
template <detail::NestedRange R>
auto tensor(const R& values) {
  dims sizes;
  detail::nested_sizes(values, sizes);
  auto result = empty<typename detail::nested<R>::type>(sizes);
  detail::copy_nested(values, sizes, 0, result.data());
  return result;
}

/// A copy of the elements of a list, `tensor({1.f, 2.f})` or of lists; of the type in which they are written, or of the
/// one named, `tensor<float>({1, 2})`.
template <Element S>
auto tensor(std::initializer_list<S> values) {
  return tensor<std::initializer_list<S>>(values);
}
template <Element S>
auto tensor(std::initializer_list<S> values, const dims& sizes) {
  return tensor<std::initializer_list<S>>(values, sizes);
}
template <Element S>
auto tensor(std::initializer_list<std::initializer_list<S>> values) {
  return tensor<std::initializer_list<std::initializer_list<S>>>(values);
}
/// A number as a 0-d tensor.
template <Element S>
auto tensor(S value) {
  return Tensor<S>(value);
}

/// A tensor that looks at memory it does not own, `strides` elements apart along each axis: of the host, or with
/// from_blob<Cuda> of a GPU. The memory may begin at any address, and must outlive the tensor and everything that
/// shares its elements; `keep_alive` is held until then. What writes in place writes there; `t = a + 1` gives t memory
/// of its own. On a GPU, queued work may still use the memory when `keep_alive` is released: work that its owner gives
/// CUDA's default stream comes after it, other owners wait. Throws shape_error for negative sizes, value_error for a
/// null pointer to elements, device_error for memory that is not the device's.
template <class Device = Cpu, Element T>
Tensor<T, Device> from_blob(T* data, const dims& sizes, const dims& strides, std::shared_ptr<void> keep_alive = nullptr,
                            Device where = {}) {
  const std::int64_t elements = count(sizes);
  executor<Device>::check_foreign(data, elements, where);
  if (sizes.rank() != strides.rank())
    throw shape_error(message("from_blob: sizes ", sizes, " and strides ", strides, ": give one stride per axis"));
  auto state = new_state(dtype_of<T>, sizes, strides);
  auto owner = std::make_unique<std::shared_ptr<void>>(std::move(keep_alive));
  auto* const block = new storage;
  block->owner = owner.release();
  block->release = [](storage* s) noexcept {
    delete static_cast<std::shared_ptr<void>*>(s->owner);
    delete s;
  };
  block->foreign = true;
  block->data = data;
  block->bytes = static_cast<std::size_t>(elements) * sizeof(T);
  if constexpr (requires { where.index; }) block->device = where.index;  // of a kind of which there are several
  state->memory = ref<storage>::adopt(block);
  state->data = data;
  return Tensor<T, Device>(std::move(state));
}
/// The same with row-major strides.
template <class Device = Cpu, Element T>
Tensor<T, Device> from_blob(T* data, const dims& sizes, std::shared_ptr<void> keep_alive = nullptr, Device where = {}) {
  return from_blob<Device>(data, sizes, contiguous_strides(sizes), std::move(keep_alive), where);
}

}  // namespace kiln
