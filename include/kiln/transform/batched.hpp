// SPDX-License-Identifier: BSL-1.0
// Tensors with a hidden batch axis. An expression of them is the same expression of the tensors behind them, whose axes
// are one further: it runs as one kernel, and a gradient or a tangent goes through it as through any other.
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

#include <kiln/expr/tangent.hpp>
#include <kiln/tensor/products.hpp>
#include <kiln/transform/level.hpp>

namespace kiln {

template <Element T, class Device>
class Tensor<T, batched<Device>, dynamic_extents>
    : public detail::transformed_tensor<Tensor<T, batched<Device>, dynamic_extents>> {
 public:
  using operand = void;
  using leaf = void;
  using value_type = T;
  using device_type = batched<Device>;

  Tensor() = default;
  /// `all` has the batch as its first axis.
  Tensor(Tensor<T, Device> all, std::uint64_t transform) : all_(std::move(all)), transform_(transform) { find_sizes(); }
  template <Expression E>
    requires(!Leaf<E>)
  Tensor(const E& e);
  Tensor(const Tensor&) = default;
  Tensor(Tensor&&) noexcept = default;
  Tensor& operator=(const Tensor&) & = default;
  Tensor& operator=(Tensor&&) & noexcept = default;
  ~Tensor() = default;
  /// Not possible: what has no name would be written in place.
  template <class E>
  Tensor operator=(const E&) && {
    return this->template in_place<E>();
  }

  const dims& sizes() const { return sizes_; }
  static constexpr kiln::dtype dtype() { return dtype_of<T>; }
  /// All members of the batch, along the first axis.
  const Tensor<T, Device>& all() const { return all_; }
  /// Where the elements are, below all transforms.
  auto device() const { return all_.device(); }
  std::uint64_t transform() const { return transform_; }
  Tensor clone() const { return {all_.clone(), transform_}; }
  Tensor contiguous() const { return {all_.contiguous(), transform_}; }
  Tensor detach() const { return {all_.detach(), transform_}; }

 private:
  void find_sizes() {
    sizes_ = all_.sizes();
    sizes_.erase(0);
  }
  Tensor<T, Device> all_;
  dims sizes_;  // without the batch
  std::uint64_t transform_ = 0;
};

namespace detail {

/// Axes of size 1 after the batch, so that the other axes are `rank`.
template <class X>
X with_rank(X x, int rank) {
  while (x.sizes().rank() - 1 < rank) x = unsqueeze(x, 1);
  return x;
}

/// Takes expressions of batched tensors to expressions of the tensors behind them.
template <class Device>
struct batch_walk {
  std::uint64_t transform = 0;

  template <class X>
  static constexpr bool holds_batch = std::same_as<typename X::device_type, batched<Device>>;

  // `rank` is that of the expression around: what is smaller stands at its last axes.
  template <class X>
  auto of(const X& x, int) {
    return x;
  }
  template <class T>
  auto of(const Tensor<T, batched<Device>, dynamic_extents>& x, int rank) {
    transform = same_transform(transform, x.transform());
    return operand(with_rank(x.all(), rank));
  }
  template <class X>
  auto of(const inert<X>& x, int rank) {
    auto below = of(x.x, rank);
    return inert<decltype(below)>{std::move(below)};
  }
  template <class Op, class... X>
  auto of(const node<Op, X...>& x, int rank) {
    if constexpr (!holds_batch<node<Op, X...>>)
      return x;
    else if constexpr (sizeof...(X) == 1)
      return join<Op>(of(x.a, rank));
    else if constexpr (sizeof...(X) == 2)
      return join<Op>(of(x.a, rank), of(x.b, rank));
    else
      return join<Op>(of(x.a, rank), of(x.b, rank), of(x.c, rank));
  }
  template <class Op, class A>
  auto of(const row_node<Op, A>& x, int rank) {
    if constexpr (!holds_batch<row_node<Op, A>>) {
      return x;
    } else {
      const int inner = shape_of(x.a).rank();
      int folded = 0;
      for (int i = 0; i < inner; ++i) folded += static_cast<int>(x.axes >> i & 1);
      const bool drops = Op::reduces && !x.keepdim;
      // Folding the first axes and leaving them out is, at the last axes of more, keeping them: one kernel can do that.
      const bool keeps = drops && (x.axes & (x.axes + 1)) == 0 && rank >= inner;
      const int added = rank - (drops && !keeps ? inner - folded : inner);
      auto operand = of(x.a, inner + added);
      return row_node<Op, decltype(operand)>{
          {}, std::move(operand), x.axes << (1 + added), x.keepdim || keeps, x.numbers};
    }
  }
  template <class A, class B>
  auto of(const product<A, B>& x, int rank) {
    if constexpr (!holds_batch<product<A, B>>)
      return x;
    else
      return operand(with_rank(multiplied(x.a, x.b), rank));
  }

 private:
  template <class Op, class... X>
  static node<Op, X...> join(X... x) {
    return node<Op, X...>{{}, std::move(x)...};
  }
  template <class A, class B>
  auto multiplied(const A& a, const B& b) {
    using P = Tensor<typename A::value_type, Device>;
    const int left = a.sizes().rank(), right = b.sizes().rank();
    (void)product_sizes(a.sizes(), b.sizes());  // says what does not fit in the sizes that the function sees
    if constexpr (!holds_batch<B>) {
      const auto x = of(a, left);
      if (right <= 2) return P(matmul(x, b));  // the batch is one more axis of rows
      return P(squeezed(matmul(matrices(x, left, 0, right), b), left, right));
    } else if constexpr (!holds_batch<A>) {
      const auto y = of(b, right);
      if (right == 1 && left <= 2) return P(matmul(y, left == 2 ? transpose(a, 0, 1) : a));
      return P(
          squeezed(matmul(a, matrices(y, right, 1, left)), 2, right));  // a row of a's own is dropped by the product
    } else {
      const auto x = of(a, left);
      const auto y = of(b, right);
      return P(squeezed(matmul(matrices(x, left, 0, right), matrices(y, right, 1, left)), left, right));
    }
  }
  // Stacks of matrices with as many axes as the other operand: 1-D ones are a row (side 0) or a column (side 1).
  template <class X>
  static X matrices(X x, int rank, int side, int other) {
    if (rank == 1) x = unsqueeze(x, side == 0 ? 1 : 2);
    return with_rank(x, std::max({rank, other, 2}));
  }
  template <class E>
  static auto squeezed(const E& e, int left, int right) {
    Tensor<typename E::value_type, Device> p(e);
    if (right == 1) p = squeeze(p, -1);
    if (left == 1) p = squeeze(p, right == 1 ? -1 : -2);
    return p;
  }
};

}  // namespace detail

template <Element T, class Device>
template <Expression E>
  requires(!Leaf<E>)
Tensor<T, batched<Device>, dynamic_extents>::Tensor(const E& e) {
  static_assert(
      std::same_as<typename E::value_type, T>,
      "kiln: the expression has another element type than the tensor it goes to: write cast<T>(...) around it");
  detail::batch_walk<Device> walk;
  all_ = Tensor<T, Device>(walk.of(e, shape_of(e).rank()));
  transform_ = walk.transform;
  find_sizes();
}

namespace detail {

/// The change of a view, for the axes after the batch.
template <class Change>
layout after_batch(const layout& l, const Change& change) {
  layout inner = l;
  inner.sizes.erase(0);
  inner.strides.erase(0);
  inner = change(inner);
  inner.sizes.insert(0, l.sizes[0]);
  inner.strides.insert(0, l.strides[0]);
  return inner;
}
template <class Device>
struct lift<batched<Device>> {
  template <class Whole, Element T>
  static Tensor<T, batched<Device>> apply(const Tensor<T, Device>& x) {
    const running_transform& in = transform_of<Whole, batched<Device>>();
    dims sizes = x.sizes();
    sizes.insert(0, in.batch);
    return {expand(unsqueeze(x, 0), sizes), in.id};
  }
};

template <Element T, class Device>
struct transformed_views<Tensor<T, batched<Device>, dynamic_extents>> {
  using X = Tensor<T, batched<Device>, dynamic_extents>;
  template <class Change>
  static X through(const X& x, const Change& change) {
    return {view_through(x.all(), [&](const layout& l) { return after_batch(l, change); }), x.transform()};
  }
  static X reshaped(const X& x, const dims& sizes) {
    dims all = resolved_sizes(x.sizes(), sizes, "reshape");
    all.insert(0, x.all().sizes()[0]);
    return {reshape(x.all(), all), x.transform()};
  }
};

}  // namespace detail

}  // namespace kiln
