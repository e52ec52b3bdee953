// SPDX-License-Identifier: BSL-1.0
// x[mask]: the elements where a mask is true. Read, they are a tensor of their own, taken out when they are first
// wanted; written to, x[mask] = v, they are the places in x, and nothing is taken out.
#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

#include <kiln/core/lock.hpp>
#include <kiln/tensor/indexing.hpp>
#include <kiln/tensor/mask.hpp>
#include <kiln/tensor/tensor.hpp>

namespace kiln {

namespace detail {
template <class X>
void check_as_wanted(const X& x, int position) {
  if (!x.wanted().is_now(*x.state()->memory)) check_unchanged(*x.state(), x.wanted(), position);
}
}  // namespace detail

/// What x[mask] gives: PyTorch's, one row for each true element of the mask, which has x's sizes or those of its first
/// axes, in row-major order. A leaf of expressions. Copies share what was taken out.
template <Element T, class Device>
class masked_elements : public expression_methods<masked_elements<T, Device>> {
 public:
  using operand = void;
  using leaf = void;
  using value_type = T;
  using device_type = Device;

  masked_elements(Tensor<T, Device> x, Tensor<bool, Device> mask)
      : of_(std::make_shared<source>(std::move(x), std::move(mask))) {
    const dims& all = of_->x.sizes();
    const dims& chosen = of_->mask.sizes();
    bool fits = chosen.rank() <= all.rank();
    for (int i = 0; fits && i < chosen.rank(); ++i) fits = chosen[i] == all[i];
    if (!fits)
      throw shape_error(message("x[mask]: a mask of shape ", chosen, " does not fit a tensor of shape ", all,
                                ": give it the sizes of all axes or of the first ones, or expand() it to them"));
    of_->x.note_moment();
    of_->mask.note_moment();
  }

  /// Writes to x where the mask is true: one value, or a row for each true element, or what broadcasts to that. Throws
  /// shape_error where it does not, value_error for a number that the type does not hold, graph_error on a leaf that
  /// requires grad if the values need a gradient.
  template <class V>
    requires(Number<V> || Expression<V>)
  void operator=(const V& values) && { write(values); }
  void operator=(const masked_elements& values) && { write(values); }
  masked_elements(const masked_elements&) = default;
  masked_elements(masked_elements&&) noexcept = default;
  ~masked_elements() = default;
  /// x[mask] += v and the others: x[mask] = x[mask] + v.
  template <class V>
    requires Operands<Tensor<T, Device>, V>
  void operator+=(const V& v) && { write(selected() + v); }
  template <class V>
    requires Operands<Tensor<T, Device>, V>
  void operator-=(const V& v) && { write(selected() - v); }
  template <class V>
    requires Operands<Tensor<T, Device>, V>
  void operator*=(const V& v) && { write(selected() * v); }
  template <class V>
    requires Operands<Tensor<T, Device>, V>
  void operator/=(const V& v) && { write(selected() / v); }

  /// The elements as a tensor. Throws graph_error if x was changed in place since x[mask] was written.
  const Tensor<T, Device>& selected() const {
    {
      const detail::locked now(of_->lock);
      if (of_->taken.defined()) return of_->taken;
    }
    detail::check_as_wanted(of_->x, 1);
    detail::check_as_wanted(of_->mask, 2);
    Tensor<T, Device> made = index_select(of_->rows(), 0, of_->places());
    const detail::locked now(of_->lock);
    if (!of_->taken.defined()) of_->taken = std::move(made);
    return of_->taken;
  }
  const Tensor<T, Device>& eval() const { return selected(); }
  Tensor<T, Device> detach() const { return selected().detach(); }
  Tensor<T, Device> clone() const { return selected().clone(); }
  bool defined() const { return true; }
  Device device() const { return of_->x.device(); }

  // What leaves are asked for.
  const ref<tensor_state>& state() const { return selected().state(); }
  const dims& sizes() const { return selected().sizes(); }
  const dims& shape() const { return sizes(); }
  void note_moment() { wanted_ = moment(*state()->memory); }
  const moment& wanted() const { return wanted_; }

 private:
  struct source {
    Tensor<T, Device> x;
    Tensor<bool, Device> mask;
    detail::short_lock lock;
    Tensor<T, Device> taken;

    source(Tensor<T, Device> of, Tensor<bool, Device> where) : x(std::move(of)), mask(std::move(where)) {}
    // x with the axes of the mask as one.
    dims row_sizes() const {
      dims sizes{count(mask.sizes())};
      for (int i = mask.dim(); i < x.dim(); ++i) sizes.push_back(x.sizes()[i]);
      return sizes;
    }
    Tensor<T, Device> rows() const { return reshape(x, row_sizes()); }
    Tensor<std::int64_t, Device> places() const { return flatten(nonzero(flatten(mask))); }
  };

  template <class V>
  void write(const V& values) {
    Tensor<T, Device>& x = of_->x;
    dims beside = of_->mask.sizes();  // the mask beside all axes of x
    while (beside.rank() < x.dim()) beside.push_back(1);
    if constexpr (Number<V>) {
      x.copy_(where(reshape(of_->mask, beside), detail::written_as<T>(values, "x[mask]"), x));
    } else {
      static_assert(detail::dtype_in_place<typename V::value_type, T>::checked);
      const Tensor<T, Device> v = detail::as_tensor(cast<T>(values));
      const dims rest = of_->row_sizes();
      if (v.dim() < rest.rank()) {  // one row, or a part of it, for all
        x.copy_(where(reshape(of_->mask, beside), expanded_to_rest(v, rest), x));
        return;
      }
      const auto at = of_->places();
      dims sizes = rest;
      sizes[0] = at.numel();
      const Tensor<T, Device> each = v.sizes() == sizes ? v : spread(v, sizes);
      if (at.numel() > 0) x.copy_(reshape(scatter_rows(at, each), x.sizes()));
    }
  }
  // A part of a row for all rows; its axes are the last of x.
  static auto expanded_to_rest(const Tensor<T, Device>& v, const dims& rest) {
    dims row;
    for (int i = 1; i < rest.rank(); ++i) row.push_back(rest[i]);
    return spread(v, row);
  }
  static Tensor<T, Device> spread(const Tensor<T, Device>& v, const dims& sizes) {
    if (!detail::broadcasts_to(v.sizes(), sizes))
      throw shape_error(message("x[mask] = v: values of shape ", v.sizes(), " do not broadcast to ", sizes,
                                ", the shape of x[mask]"));
    return expand(v, sizes);
  }
  auto scatter_rows(const Tensor<std::int64_t, Device>& at, const Tensor<T, Device>& values) const {
    return detail::scatter_with(index_move::scatter, of_->rows(), 0, at, values, true, "x[mask] = v");
  }

  std::shared_ptr<source> of_;
  moment wanted_;
};

template <Element T, class Device, class Extents>
template <Expression M>
requires std::is_same_v<typename M::value_type, bool> masked_elements<T, Device> Tensor<T, Device, Extents>::operator[](
    const M& mask) const {
  return {*this, Tensor<bool, Device>(detail::untracked(mask))};
}

}  // namespace kiln
