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
#include <kiln/tensor/gradient_target.hpp>
#include <kiln/tensor/views.hpp>

namespace kiln {

namespace detail {

/// The slice of a contiguous result that a part fills.
struct joined_part {
  ref<gradient_record> history;
  dims sizes;
  std::int64_t offset = 0;  ///< of its first element in the result, in elements
};

class join_node final : public graph_node {
 public:
  join_node(std::vector<joined_part> parts, const runnable* add) : parts_(std::move(parts)), add_(add) {
    for (auto& p : parts_) edges_.push_back(p.history);
    inputs = edges_.data();
    input_count = static_cast<int>(edges_.size());
  }
  void backward(const ref<tensor_state>& gradient) override {
    for (const auto& p : parts_) {
      if (!p.history || count(p.sizes) == 0) continue;
      const gradient_target target(*p.history, *add_->device, *gradient->memory);
      tensor_state& to = *target.tensor;
      const std::size_t size = size_of(to.type);
      cpu::operand_view in{static_cast<const char*>(gradient->data) + p.offset * static_cast<std::int64_t>(size),
                           gradient->strides, size};
      cpu::result_view out{to.data, to.strides, size, to.type, target.add};
      cpu::task job{.program = &add_->program(), .domain = p.sizes, .in = &in, .out = &out};
      add_->run(job, *to.memory);
    }
  }
  void release() override {}

 private:
  std::vector<joined_part> parts_;
  std::vector<ref<gradient_record>> edges_;
  const runnable* add_;
};

/// The parts, which have one type, side by side along an axis.
ref<tensor_state> join(const std::vector<ref<tensor_state>>& parts, std::int64_t axis, const runnable& copy,
                       const runnable* add);
template <Element T, class Device>
Tensor<T, Device> join(const std::vector<ref<tensor_state>>& parts, std::int64_t axis) {
  return Tensor<T, Device>(
      join(parts, axis, runnable_of<value_program<Tensor<T>>, Device>, adding_kernel<T, Device>()));
}

template <class R>
using element_of_range = std::remove_cvref_t<decltype(*std::begin(std::declval<const R&>()))>;

template <class R>
concept TensorRange = !Expression<R> && requires(const R& r) {
  std::begin(r);
}
&&Expression<element_of_range<R>>;

template <class R, class Change>
auto joined(const R& parts, std::int64_t axis, Change change) {
  using X = element_of_range<R>;
  std::vector<ref<tensor_state>> states;
  for (const auto& part : parts) states.push_back(change(as_tensor(part)).state());
  return join<typename X::value_type, typename X::device_type>(states, axis);
}
template <class... X, class Change>
auto joined(const std::tuple<X...>& parts, std::int64_t axis, Change change) {
  using First = std::tuple_element_t<0, std::tuple<std::remove_cvref_t<X>...>>;
  using T = operands_t<std::remove_cvref_t<X>...>;
  const auto states = std::apply(
      [&](const auto&... part) { return std::vector<ref<tensor_state>>{change(as_tensor(cast<T>(part))).state()...}; },
      parts);
  return join<T, typename First::device_type>(states, axis);
}

inline constexpr auto as_it_is = [](const auto& x) { return x; };
// `first` is the shape that all have to have.
inline auto one_more_axis(std::int64_t axis) {
  return [axis, first = dims(), any = false](const auto& x) mutable {
    if (!any) first = x.sizes();
    any = true;
    if (x.sizes() != first)
      throw shape_error(
          message("stack: shapes ", first, " and ", x.sizes(), " differ: all must be equal (or join them with cat)"));
    return unsqueeze(x, axis);
  };
}

}  // namespace detail

/// Tensors of one element type side by side along an axis: `cat({a, b}, 1)`. Throws shape_error unless all other sizes
/// are equal, value_error for no tensors, index_error.
template <Expression X>
auto cat(std::initializer_list<X> parts, std::int64_t axis = 0) {
  return detail::joined(parts, axis, detail::as_it_is);
}
/// The same of a vector, span or array of tensors.
template <detail::TensorRange R>
auto cat(const R& parts, std::int64_t axis = 0) {
  return detail::joined(parts, axis, detail::as_it_is);
}
/// The same of tensors whose element types differ, which are promoted: `cat(std::tuple(a, b))`.
template <Expression... X>
auto cat(const std::tuple<X...>& parts, std::int64_t axis = 0) {
  return detail::joined(parts, axis, detail::as_it_is);
}

/// Tensors of one shape and element type along a new axis, which gets this place in the result: `stack({a, b})`. Throws
/// shape_error if shapes differ, value_error for no tensors, index_error.
template <Expression X>
auto stack(std::initializer_list<X> parts, std::int64_t axis = 0) {
  return detail::joined(parts, axis, detail::one_more_axis(axis));
}
template <detail::TensorRange R>
auto stack(const R& parts, std::int64_t axis = 0) {
  return detail::joined(parts, axis, detail::one_more_axis(axis));
}
template <Expression... X>
auto stack(const std::tuple<X...>& parts, std::int64_t axis = 0) {
  return detail::joined(parts, axis, detail::one_more_axis(axis));
}

}  // namespace kiln

#ifndef KILN_COMPILED
#include <kiln/tensor/join_impl.hpp>
#endif
