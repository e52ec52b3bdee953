// SPDX-License-Identifier: BSL-1.0
// Names of PyTorch and NumPy that are spelled otherwise here: each is refused by a sentence that says how.
#pragma once

#include <cstdint>

#include <kiln/expr/node.hpp>

namespace kiln {

namespace detail {

/// Members of tensors: templates, so that what is not called costs nothing and may be asked for.
template <class Derived>
struct other_names {
  template <class Never = void>
  Derived T() const {
    static_assert(never<Never>, "kiln: x.T is x.t(), or transpose(x, 0, 1)");
    return refused();
  }
  template <class Never = void>
  Derived cpu() const {
    static_assert(never<Never>, "kiln: x.cpu() is x.to<Cpu>()");
    return refused();
  }
  template <class Never = void>
  Derived cuda() const {
    static_assert(never<Never>, "kiln: x.cuda() is x.to<Cuda>(), or x.to(Cuda{1}): #include <kiln/cuda.hpp>");
    return refused();
  }
  template <class Never = void>
  Derived numpy() const {
    static_assert(never<Never>, "kiln: x.numpy() is x.span(), the elements in memory, or x.data()");
    return refused();
  }
  template <class Y>
  Derived add_(const Y&) const {
    return in_place<Y>();
  }
  template <class Y>
  Derived sub_(const Y&) const {
    return in_place<Y>();
  }
  template <class Y>
  Derived mul_(const Y&) const {
    return in_place<Y>();
  }
  template <class Y>
  Derived div_(const Y&) const {
    return in_place<Y>();
  }
  template <class Y>
  Derived add(const Y&) const {
    return operators<Y>();
  }
  template <class Y>
  Derived sub(const Y&) const {
    return operators<Y>();
  }
  template <class Y>
  Derived mul(const Y&) const {
    return operators<Y>();
  }
  template <class Y>
  Derived div(const Y&) const {
    return operators<Y>();
  }
  template <class... Y>
  Derived requires_grad_(const Y&...) const {
    static_assert(never<Derived, Y...>, "kiln: x.requires_grad_() is x.requires_grad()");
    return refused();
  }
  template <class... Y>
  Derived masked_fill_(const Y&...) const {
    static_assert(never<Derived, Y...>, "kiln: x.masked_fill_(mask, value) is x[mask] = value");
    return refused();
  }
  template <class... Y>
  Derived index_add_(const Y&...) const {
    static_assert(never<Derived, Y...>,
                  "kiln: x.index_add_(axis, index, y) is x = index_add(x, axis, index, y); so of scatter_add_");
    return refused();
  }
  template <class... Y>
  Derived scatter_add_(const Y&... y) const {
    return index_add_(y...);
  }
  template <class... Y>
  Derived view_as(const Y&...) const {
    static_assert(never<Derived, Y...>, "kiln: x.view_as(y) is x.view(y.sizes()), x.expand_as(y) x.expand(y.sizes())");
    return refused();
  }
  template <class... Y>
  Derived expand_as(const Y&... y) const {
    return view_as(y...);
  }

 private:
  const Derived& refused() const { return static_cast<const Derived&>(*this); }
  template <class Y>
  const Derived& in_place() const {
    static_assert(never<Y>, "kiln: x.add_(y), sub_, mul_ and div_ are x += y, x -= y, x *= y and x /= y");
    return refused();
  }
  template <class Y>
  const Derived& operators() const {
    static_assert(never<Y>, "kiln: x.add(y), sub, mul and div are x + y, x - y, x * y and x / y");
    return refused();
  }
};

}  // namespace detail

// Packs, because functions of these names in a program come first then.

/// Not possible: matmul is all of PyTorch's products. So of bmm and mv.
template <Expression A, Expression... B>
A mm(const A& a, const B&...) {
  static_assert(detail::never<A, B...>, "kiln: mm, bmm and mv are matmul(a, b)");
  return a;
}
/// Not possible, as mm.
template <Expression A, Expression... B>
A bmm(const A& a, const B&... b) {
  return mm(a, b...);
}
/// Not possible, as mm.
template <Expression A, Expression... B>
A mv(const A& a, const B&... b) {
  return mm(a, b...);
}
/// Not possible: max takes several axes too. So of amin.
template <Expression X, class... Axes>
X amax(const X& x, const Axes&...) {
  static_assert(detail::never<X, Axes...>,
                "kiln: amax and amin are max(x, axes) and min(x, axes), whose gradient equal elements share");
  return x;
}
/// Not possible, as amax.
template <Expression X, class... Axes>
X amin(const X& x, const Axes&... over) {
  return amax(x, over...);
}
/// Not possible: sizes are a member.
template <Expression... X>
  requires(sizeof...(X) == 1)
dims shape(const X&...) {
  static_assert(detail::never<X...>, "kiln: the shape of x is x.shape(), or x.sizes()");
  return {};
}
/// Not possible: the number of elements is a member.
template <Expression... X>
  requires(sizeof...(X) == 1)
std::int64_t numel(const X&...) {
  static_assert(detail::never<X...>, "kiln: the number of elements of x is x.numel()");
  return 0;
}

}  // namespace kiln
