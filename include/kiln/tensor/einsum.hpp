// SPDX-License-Identifier: BSL-1.0
// einsum: sums of products by an equation, as NumPy and torch.einsum have it.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <kiln/expr/reductions.hpp>
#include <kiln/tensor/products.hpp>
#include <kiln/tensor/triangular.hpp>
#include <kiln/tensor/views.hpp>

namespace kiln {

namespace detail {

/// An equation, with a number for each axis: that of its letter, or, of an axis within `...`, a number below 0, counted
/// from the last. Of so many operands as a call may have.
struct einsum_equation {
  static constexpr int most = 16;
  dims operand[most];
  dims result;
  int uses[128] = {};  ///< how often each letter stands there
};

/// Reads an equation for operands of these ranks. Throws value_error for one that is none, shape_error for other ranks.
void read_equation(einsum_equation& e, std::string_view text, const dims* sizes, int count);
/// Notes the sizes of the axes of an operand; throws shape_error for two that do not broadcast.
void note_sizes(std::int64_t (&size_of_label)[256], const dims& labels, const dims& sizes, std::string_view text);

constexpr std::size_t slot_of_label(std::int64_t label) {
  return static_cast<std::size_t>(label + 128);
}
constexpr int place_of_label(const dims& labels, std::int64_t label) {
  for (int i = 0; i < labels.rank(); ++i)
    if (labels[i] == label) return i;
  return -1;
}

/// A tensor with a label for each axis.
template <class X>
struct labelled {
  X values;
  dims labels;
};

/// Axes of one label become one: the diagonal.
template <class X>
void take_diagonals(labelled<X>& x) {
  for (int i = 0; i < x.labels.rank(); ++i)
    for (int j = i + 1; j < x.labels.rank(); ++j) {
      if (x.labels[i] != x.labels[j]) continue;
      if (x.values.size(i) != x.values.size(j))
        throw shape_error(message("einsum: an operand of shape ", x.values.sizes(), " has one letter for axes of ",
                                  x.values.size(i), " and ", x.values.size(j),
                                  " elements: a diagonal needs equal ones"));
      dims order, labels;
      for (int k = 0; k < x.labels.rank(); ++k)
        if (k != i && k != j) order.push_back(k), labels.push_back(x.labels[k]);
      labels.push_back(x.labels[i]);
      order.push_back(i), order.push_back(j);
      x.values = diagonal(permute(x.values, order));
      x.labels = labels;
      i = -1;  // from the start, by the new order
      break;
    }
}

/// Sums over all axes whose label is in none of the lists.
template <class X>
void sum_what_ends(labelled<X>& x, const dims& kept, const dims& also = {}) {
  std::vector<std::int64_t> over;
  dims labels;
  for (int i = 0; i < x.labels.rank(); ++i)
    if (place_of_label(kept, x.labels[i]) < 0 && place_of_label(also, x.labels[i]) < 0)
      over.push_back(i);
    else
      labels.push_back(x.labels[i]);
  if (over.empty()) return;
  x.values = cast<typename X::value_type>(sum(x.values, axes(over)));
  x.labels = labels;
}

/// The axes with these labels in this order, those that it lacks of size 1 or, where `whole`, of their full size.
template <class X>
X ordered(const labelled<X>& x, const dims& labels, const std::int64_t* size_of_label) {
  dims order, sizes, full;
  for (int i = 0; i < labels.rank(); ++i) {
    const int at = place_of_label(x.labels, labels[i]);
    if (at >= 0) order.push_back(at);
    sizes.push_back(at >= 0 ? x.values.size(at) : 1);
    full.push_back(size_of_label ? size_of_label[slot_of_label(labels[i])] : sizes.back());
  }
  const X in_order = permute(x.values, order);
  const X with_ones = in_order.sizes() == sizes ? in_order : X(reshape(in_order, sizes));
  return full == sizes ? with_ones : X(expand(with_ones, full));
}

/// The product of two operands, summed over the labels of both that are not `kept`: a stack of matrix products.
template <class X>
labelled<X> contracted(labelled<X> a, labelled<X> b, const dims& kept, const std::int64_t* size_of_label) {
  sum_what_ends(a, kept, b.labels);
  sum_what_ends(b, kept, a.labels);
  dims batch, left, right, inner;
  for (const std::int64_t label : a.labels)
    (place_of_label(b.labels, label) < 0 ? left : place_of_label(kept, label) < 0 ? inner : batch).push_back(label);
  for (const std::int64_t label : b.labels)
    if (place_of_label(a.labels, label) < 0) right.push_back(label);
  const auto joined = [](dims first, const dims& second, const dims& third = {}) {
    for (const std::int64_t label : second) first.push_back(label);
    for (const std::int64_t label : third) first.push_back(label);
    return first;
  };
  const auto sizes_of = [&](const dims& labels) {
    dims sizes;
    for (const std::int64_t label : labels) sizes.push_back(size_of_label[slot_of_label(label)]);
    return sizes;
  };
  const dims labels = joined(batch, left, right);
  if (inner.rank() == 0) return {X(ordered(a, labels, nullptr) * ordered(b, labels, nullptr)), labels};
  const std::int64_t stack = count(sizes_of(batch)), rows = count(sizes_of(left)), columns = count(sizes_of(right)),
                     terms = count(sizes_of(inner));
  const X first = reshape(ordered(a, joined(batch, left, inner), size_of_label), {stack, rows, terms});
  const X second = reshape(ordered(b, joined(batch, inner, right), size_of_label), {stack, terms, columns});
  const X product = batch.rank() == 0 ? X(matmul(first.select(0, 0), second.select(0, 0))) : X(matmul(first, second));
  return {X(reshape(product, sizes_of(labels))), labels};
}

}  // namespace detail

/// The sum of products that an equation names, one letter for each axis: torch.einsum. "ij,jk->ik" is matmul(a, b),
/// "bij,bjk->bik" of stacks of them, "ii->i" a diagonal, "ij->ji" a transposed matrix, "i,j->ij" an outer product.
/// Letters that the result lacks are summed over; without "->" it has those that occur once, in alphabetical order.
/// "..." stands for any axes, which broadcast, and so do axes of size 1. Operands are taken from left to right, two at
/// a time, as matrix products: write those first whose product is small. Throws value_error for an equation that is
/// none, shape_error for shapes that do not fit it.
template <Expression X, Expression... More>
auto einsum(std::string_view equation, const X& first, const More&... more) {
  using T = typename X::value_type;
  using made = Tensor<T, typename X::device_type>;
  constexpr bool transformed = detail::any_transformed<X, More...>;
  constexpr bool one_kind = ((std::same_as<T, typename More::value_type> &&
                              std::same_as<typename X::device_type, typename More::device_type>)&&...);
  static_assert(!transformed,
                "kiln: einsum has no meaning within vmap and jvp yet: write the batch as a letter of the equation, or "
                "call matmul");
  static_assert(one_kind || transformed,
                "kiln: the operands of einsum have one element type and device: cast<T>() or .to<Device>() them");
  static_assert(!std::same_as<T, bool>, "kiln: einsum is not defined for bool: cast<T>() to a number type");
  static_assert(sizeof...(More) < detail::einsum_equation::most, "kiln: einsum takes at most 16 operands");
  if constexpr (transformed || !one_kind || std::same_as<T, bool>) {
    return first;
  } else {
    constexpr int operands = 1 + static_cast<int>(sizeof...(More));
    const made values[] = {made(detail::as_tensor(first)), made(detail::as_tensor(more))...};
    dims sizes[sizeof...(More) + 1];
    for (int i = 0; i < operands; ++i) sizes[i] = values[i].sizes();
    detail::einsum_equation e;
    detail::read_equation(e, equation, sizes, operands);
    std::int64_t size_of_label[256];
    for (std::int64_t& size : size_of_label) size = -1;
    for (int i = 0; i < operands; ++i) detail::note_sizes(size_of_label, e.operand[i], sizes[i], equation);
    detail::labelled<made> so_far{values[0], e.operand[0]};
    detail::take_diagonals(so_far);
    for (int i = 1; i < operands; ++i) {
      detail::labelled<made> next{values[i], e.operand[i]};
      detail::take_diagonals(next);
      dims kept = e.result;  // and what a later operand still reads
      for (const auto* labels : {&so_far.labels, &next.labels})
        for (const std::int64_t label : *labels)
          for (int later = i + 1; later < operands && detail::place_of_label(kept, label) < 0; ++later)
            if (detail::place_of_label(e.operand[later], label) >= 0) kept.push_back(label);
      so_far = detail::contracted(std::move(so_far), std::move(next), kept, size_of_label);
    }
    detail::sum_what_ends(so_far, e.result);
    return detail::ordered(so_far, e.result, size_of_label);
  }
}

}  // namespace kiln

#ifndef KILN_COMPILED
#include <kiln/tensor/einsum_impl.hpp>
#endif
