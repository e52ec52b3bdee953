// SPDX-License-Identifier: BSL-1.0
// cat and stack: several tensors as one. Each part is copied into its slice of the result; one graph node hands each
// part its slice of the gradient.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <tuple>
#include <utility>
#include <vector>

#include <kiln/core/version.hpp>
#include <kiln/tensor/op_node.hpp>
#include <kiln/tensor/recorder.hpp>
#include <kiln/tensor/views.hpp>

namespace kiln {

namespace detail {

/// The slice of a contiguous result that a part fills.
struct joined_part {
  dims sizes;
  std::int64_t offset = 0;  ///< of its first element in the result, in elements
};

class join_node final : public op_node {
 public:
  join_node(std::vector<joined_part> parts, std::vector<ref<gradient_record>> records, const runnable* add)
      : op_node(*add->device), parts_(std::move(parts)), records_(std::move(records)), add_(add) {
    set_inputs(records_.data(), static_cast<int>(records_.size()));
    stay_walkable();
  }
  void backward(const ref<tensor_state>& gradient) override {
    for (int i = 0; i < input_count; ++i) {
      const joined_part& p = parts_[static_cast<std::size_t>(i)];
      if (!wants(i) || count(p.sizes) == 0) continue;
      const gradient_target into = target(i, *gradient->memory);
      tensor_state& to = *into.tensor;
      const std::size_t size = size_of(to.type);
      common::operand_view in{static_cast<const char*>(gradient->data) + p.offset * static_cast<std::int64_t>(size),
                              gradient->strides, size};
      common::result_view out{to.data, to.strides, to.type, into.add};
      common::task job{.program = &add_->program(), .domain = p.sizes, .in = &in, .out = &out};
      add_->run(job, *to.memory);
    }
  }
  [[gnu::cold]] void backward_recorded(const ref<tensor_state>& gradient, const ref<gradient_record>&) override {
    recorder& r = the_recorder();
    for (int i = 0; i < input_count; ++i) {
      const joined_part& p = parts_[static_cast<std::size_t>(i)];
      if (wants(i) && count(p.sizes) > 0)
        r.add(*records_[static_cast<std::size_t>(i)],
              r.view(gradient, {p.sizes, gradient->strides, p.offset}, device()), device());
    }
  }

 private:
  std::vector<joined_part> parts_;
  std::vector<ref<gradient_record>> records_;
  const runnable* add_;
};

/// The parts, which have one type, side by side along an axis, for the function of the name `where`.
ref<tensor_state> join(const std::vector<ref<tensor_state>>& parts, std::int64_t axis, const runnable& copy,
                       const runnable* add, const char* where = "cat");
template <Element T, class Device>
Tensor<T, Device> join(const std::vector<ref<tensor_state>>& parts, std::int64_t axis, const char* where) {
  return Tensor<T, Device>(
      join(parts, axis, runnable_of<value_program<Tensor<T>>, Device>, adding_kernel<T, Device>(), where));
}

template <class R>
using element_of_range = std::remove_cvref_t<decltype(*std::begin(std::declval<const R&>()))>;

template <class R>
concept TensorRange = !Expression<R> && requires(const R& r) {
  std::begin(r);
}
&&Expression<element_of_range<R>>;

template <class R, class Change>
auto joined(const R& parts, std::int64_t axis, Change change, const char* where) {
  using X = element_of_range<R>;
  if constexpr (is_transformed<X>) {
    static_assert(never<X>,
                  "kiln: cat and stack have no meaning within vmap and jvp yet: let the function give one part, and "
                  "join what several give");
    return *std::begin(parts);
  } else {
    std::vector<ref<tensor_state>> states;
    for (const auto& part : parts) states.push_back(change(as_tensor(part)).state());
    return join<typename X::value_type, typename X::device_type>(states, axis, where);
  }
}
template <class... X, class Change>
auto joined(const std::tuple<X...>& parts, std::int64_t axis, Change change, const char* where) {
  using First = std::tuple_element_t<0, std::tuple<std::remove_cvref_t<X>...>>;
  if constexpr (any_transformed<std::remove_cvref_t<X>...>) {
    static_assert(never<X...>,
                  "kiln: cat and stack have no meaning within vmap and jvp yet: let the function give one part, and "
                  "join what several give");
    return std::get<0>(parts);
  } else {
    using T = operands_t<std::remove_cvref_t<X>...>;
    const auto states = std::apply(
        [&](const auto&... part) {
          return std::vector<ref<tensor_state>>{change(as_tensor(cast<T>(part))).state()...};
        },
        parts);
    return join<T, typename First::device_type>(states, axis, where);
  }
}

/// One of several parts of different types.
struct any_part {
  template <Expression X>
  any_part(const X&) {}
};

inline constexpr auto as_it_is = [](const auto& x) { return x; };
// `first` is the shape that all have to have.
inline auto one_more_axis(std::int64_t axis) {
  return [axis, first = dims(), any = false](const auto& x) mutable {
    if (!any) first = x.sizes();
    any = true;
    if (x.sizes() != first)
      throw shape_error(
          message("stack: shapes ", first, " and ", x.sizes(), " differ: all must be equal (or join them with cat)"));
    return view_through(x, [&](const layout& l) { return unsqueezed(l, axis, "stack"); });
  };
}

}  // namespace detail

/// Tensors of one element type side by side along an axis: `cat({a, b}, 1)`. Throws shape_error unless all other sizes
/// are equal, value_error for no tensors, index_error.
template <Expression X>
auto cat(std::initializer_list<X> parts, std::int64_t axis = 0) {
  return detail::joined(parts, axis, detail::as_it_is, "cat");
}
/// The same of a vector, span or array of tensors.
template <detail::TensorRange R>
auto cat(const R& parts, std::int64_t axis = 0) {
  return detail::joined(parts, axis, detail::as_it_is, "cat");
}
/// The same of tensors whose element types differ, which are promoted: `cat(std::tuple(a, b))`.
template <Expression... X>
auto cat(const std::tuple<X...>& parts, std::int64_t axis = 0) {
  return detail::joined(parts, axis, detail::as_it_is, "cat");
}

/// A part of a list in braces whose parts are tensors and expressions of one element type on the processor.
template <Element T>
class list_part {
 public:
  template <Expression X>
    requires(std::same_as<typename X::value_type, T>&& std::same_as<typename X::device_type, Cpu>)
  list_part(const X& x) : tensor_(x) {}

  // Defined here, they are no templates, so lists in braces become their arguments, and compiled only where they are
  // used.
  friend Tensor<T> cat(std::initializer_list<list_part> parts, std::int64_t axis) {
    return cat(tensors_of(parts), axis);
  }
  friend Tensor<T> stack(std::initializer_list<list_part> parts, std::int64_t axis) {
    return stack(tensors_of(parts), axis);
  }

 private:
  static std::vector<Tensor<T>> tensors_of(std::initializer_list<list_part> parts) {
    std::vector<Tensor<T>> tensors;
    for (const list_part& part : parts) tensors.push_back(part.tensor_);
    return tensors;
  }
  Tensor<T> tensor_;
};

/// The same of tensors and expressions, which are evaluated: `cat({x, 2 * x})`.
Tensor<float> cat(std::initializer_list<list_part<float>> parts, std::int64_t axis = 0);
Tensor<double> cat(std::initializer_list<list_part<double>> parts, std::int64_t axis = 0);
Tensor<std::int64_t> cat(std::initializer_list<list_part<std::int64_t>> parts, std::int64_t axis = 0);
Tensor<std::int32_t> cat(std::initializer_list<list_part<std::int32_t>> parts, std::int64_t axis = 0);
Tensor<bool> cat(std::initializer_list<list_part<bool>> parts, std::int64_t axis = 0);

/// Not possible: the parts have no common type.
template <class Never = void>
int cat(std::initializer_list<detail::any_part>, std::int64_t = 0) {
  static_assert(
      detail::never<Never>,
      "kiln: the parts of cat({...}) differ in element type: cast<T>() some, or give a tuple, cat(std::tuple(a, b)). "
      "Beside float, double, int64, int32 and bool, expressions must be evaluated too: cat({a, (a + b).eval()})");
  return 0;
}
/// Not possible: tensors stand in braces.
template <Expression X, class... Y>
  requires((Expression<Y> || Number<Y>)&&...)
int cat(const X&, const Y&...) {
  static_assert(detail::never<X>, "kiln: the tensors stand in braces: cat({a, b}, axis)");
  return 0;
}

/// Tensors of one shape and element type along a new axis, which gets this place in the result: `stack({a, b})`. Throws
/// shape_error if shapes differ, value_error for no tensors, index_error.
template <Expression X>
auto stack(std::initializer_list<X> parts, std::int64_t axis = 0) {
  return detail::joined(parts, axis, detail::one_more_axis(axis), "stack");
}
template <detail::TensorRange R>
auto stack(const R& parts, std::int64_t axis = 0) {
  return detail::joined(parts, axis, detail::one_more_axis(axis), "stack");
}
template <Expression... X>
auto stack(const std::tuple<X...>& parts, std::int64_t axis = 0) {
  return detail::joined(parts, axis, detail::one_more_axis(axis), "stack");
}

/// The same of tensors and expressions, which are evaluated: `stack({x, 2 * x})`.
Tensor<float> stack(std::initializer_list<list_part<float>> parts, std::int64_t axis = 0);
Tensor<double> stack(std::initializer_list<list_part<double>> parts, std::int64_t axis = 0);
Tensor<std::int64_t> stack(std::initializer_list<list_part<std::int64_t>> parts, std::int64_t axis = 0);
Tensor<std::int32_t> stack(std::initializer_list<list_part<std::int32_t>> parts, std::int64_t axis = 0);
Tensor<bool> stack(std::initializer_list<list_part<bool>> parts, std::int64_t axis = 0);

/// Not possible: the parts have no common type.
template <class Never = void>
int stack(std::initializer_list<detail::any_part>, std::int64_t = 0) {
  static_assert(
      detail::never<Never>,
      "kiln: the parts of stack({...}) differ in element type: cast<T>() some, or give a tuple, stack(std::tuple(a, "
      "b)). "
      "Beside float, double, int64, int32 and bool, expressions must be evaluated too: stack({a, (a + b).eval()})");
  return 0;
}
/// Not possible: tensors stand in braces.
template <Expression X, class... Y>
  requires((Expression<Y> || Number<Y>)&&...)
int stack(const X&, const Y&...) {
  static_assert(detail::never<X>, "kiln: the tensors stand in braces: stack({a, b}, axis)");
  return 0;
}

}  // namespace kiln

#ifndef KILN_COMPILED
#include <kiln/tensor/join_impl.hpp>
#endif
