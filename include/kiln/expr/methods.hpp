// SPDX-License-Identifier: BSL-1.0
// What can be asked of every expression by `x.name()`, as of a tensor. Here the members are declared; each is defined
// where what it needs is, and instantiated only where it is called, so that a node costs no more than its base.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <type_traits>
#include <vector>

#include <kiln/core/dims.hpp>
#include <kiln/core/dtype.hpp>

namespace kiln {

struct backward_options;
class axes;

namespace detail {
/// What may stand between [{ and }].
struct any_index {
  template <class I>
  any_index(const I&) {}
};

template <class Derived, class E, class Base>
Derived& in_place_on_expression(Base& base) {
  static_assert(never<E>,
                "kiln: `auto` made this variable an expression, which has no memory to change: declare it as a tensor, "
                "Tensor<float> h = ...");
  return static_cast<Derived&>(base);
}
}  // namespace detail

/// What tensors and lazy expressions have in common; the base of both.
template <class Derived>
struct common_methods {
  /// Adds to the grad() of every leaf that this loss, of one element, was computed from. See kiln::backward.
  void backward() const;
  void backward(const backward_options& options) const;
  /// The same of anything, given the gradient of some loss by it.
  template <class G>
    requires(!std::same_as<G, backward_options>)
  void backward(const G& its_gradient) const;

  // The functions that are mostly written as members, x.sum() for sum(x); described where those are (expr/members.hpp).
  auto sum() const;
  auto sum(const axes& over, bool keepdim = false) const;
  auto mean() const;
  auto mean(const axes& over, bool keepdim = false) const;
  auto prod() const;
  auto prod(const axes& over, bool keepdim = false) const;
  auto max() const;
  auto max(const axes& over, bool keepdim = false) const;
  auto min() const;
  auto min(const axes& over, bool keepdim = false) const;
  auto any() const;
  auto any(const axes& over, bool keepdim = false) const;
  auto all() const;
  auto all(const axes& over, bool keepdim = false) const;
  auto argmax() const;
  auto argmax(const axes& over, bool keepdim = false) const;
  auto argmin() const;
  auto argmin(const axes& over, bool keepdim = false) const;
  auto var() const;
  auto var(const axes& over, bool keepdim = false, double correction = 1) const;
  auto std() const;
  auto std(const axes& over, bool keepdim = false, double correction = 1) const;
  auto count_nonzero() const;
  auto count_nonzero(const axes& over, bool keepdim = false) const;
  auto abs() const;
  auto sign() const;
  auto floor() const;
  auto ceil() const;
  auto round() const;
  auto trunc() const;
  auto exp() const;
  auto expm1() const;
  auto log() const;
  auto log1p() const;
  auto log2() const;
  auto log10() const;
  auto sqrt() const;
  auto rsqrt() const;
  auto square() const;
  auto reciprocal() const;
  auto sin() const;
  auto cos() const;
  auto tan() const;
  auto asin() const;
  auto acos() const;
  auto atan() const;
  auto sinh() const;
  auto cosh() const;
  auto tanh() const;
  auto erf() const;
  auto erfc() const;
  auto sigmoid() const;
  auto relu() const;
  auto isnan() const;
  auto isinf() const;
  auto isfinite() const;
  auto logical_not() const;
  template <class Y>
  auto maximum(const Y& other) const;
  template <class Y>
  auto minimum(const Y& other) const;
  template <class Y>
  auto pow(const Y& exponent) const;
  template <class... Bounds>
  auto clamp(const Bounds&... bounds) const;
  auto norm() const;
  auto norm(const axes& over, bool keepdim = false) const;
  auto logsumexp() const;
  auto logsumexp(const axes& over, bool keepdim = false) const;
  auto softmax(const axes& over) const;
  auto log_softmax(const axes& over) const;
  template <class Y>
  auto matmul(const Y& right) const;
  template <class Y>
  auto dot(const Y& other) const;

  // Of elements in other places; described where those functions are (tensor/).
  auto flip() const;
  auto flip(const axes& over) const;
  auto roll(std::int64_t shift) const;
  auto roll(std::int64_t shift, std::int64_t axis) const;
  auto roll(const dims& shifts, const dims& axes) const;
  auto repeat(const dims& counts) const;
  template <detail::SizeLike... Counts>
    requires(sizeof...(Counts) > 0)
  auto repeat(Counts... counts) const;
  template <class Times, class... Axis>
  auto repeat_interleave(const Times& times, Axis... axis) const;
  auto unbind(std::int64_t axis = 0) const;
  auto split(std::int64_t size, std::int64_t axis = 0) const;
  auto split(const std::vector<std::int64_t>& sizes, std::int64_t axis = 0) const;
  auto chunk(std::int64_t count, std::int64_t axis = 0) const;
  auto swapaxes(std::int64_t a, std::int64_t b) const;
  auto movedim(std::int64_t from, std::int64_t to) const;
  auto tril(std::int64_t diagonal = 0) const;
  auto triu(std::int64_t diagonal = 0) const;
  auto diagonal(std::int64_t offset = 0) const;
  template <class M, class V>
  auto masked_fill(const M& mask, const V& value) const;
  template <class Index>
  auto gather(std::int64_t axis, const Index& index) const;
  template <class Index>
  auto index_select(std::int64_t axis, const Index& index) const;
  auto index_select(std::int64_t axis, std::initializer_list<std::int64_t> index) const;

  // Not possible, each with a sentence on what to write. (std::exp(x) asks for a double too, and so does c ? x : y.)
  operator double() const {
    static_assert(
        detail::never<Derived>,
        "kiln: a tensor or an expression is no number: its one value is x.item(). Functions of all elements are "
        "kiln's: kiln::exp(x), not std::exp(x). What ?: chooses from is evaluated: c ? x.eval() : y.eval(), or "
        "element by element where(c, x, y)");
    return 0;
  }
  explicit operator bool() const {
    static_assert(detail::never<Derived>,
                  "kiln: a tensor or an expression is no condition: write all(a == b).item(), any(...).item(), or "
                  "equal(a, b); to choose by it, also within grad, jvp and vmap, where(condition, a, b)");
    return false;
  }

 protected:
  constexpr const Derived& self() const { return static_cast<const Derived&>(*this); }
};

/// The base of lazy expressions. Nothing is kept: each call that needs values evaluates the expression anew, and takes
/// as long as a kernel does. For several of them, evaluate once: `auto y = (a * b).eval();`.
template <class Derived>
struct expression_methods : common_methods<Derived> {
  /// The values, as a tensor of their own.
  auto eval() const;
  /// The value of an expression with one element, after evaluating it. Throws shape_error for another number of them.
  auto item() const;
  /// The same as a number of another type: `sum(x).item<double>()`.
  template <Number As>
  As item() const {
    return static_cast<As>(this->self().item());
  }
  /// One element, by one index per axis; negative ones count from the end. Evaluates all of the expression: to read
  /// several, eval() it first. Throws index_error.
  template <std::convertible_to<std::int64_t>... I>
  auto operator()(I... index) const;

  /// Sizes are known before anything is evaluated. Throws shape_error where operands do not broadcast.
  constexpr dims sizes() const { return shape_of(this->self()); }
  /// The same as sizes().
  constexpr dims shape() const { return sizes(); }
  /// Number of axes.
  constexpr int dim() const { return sizes().rank(); }
  /// Size along an axis; negative axes count from the end. Throws index_error.
  constexpr std::int64_t size(std::int64_t axis) const {
    const dims all = sizes();
    return all[normalize_axis(axis, all.rank(), "size")];
  }
  /// Number of elements.
  constexpr std::int64_t numel() const { return count(sizes()); }
  /// The element type as a value.
  static constexpr kiln::dtype dtype() { return dtype_of<typename Derived::value_type>; }

  /// Not possible: an assignment to an element of what is evaluated for it would be lost.
  template <class I = std::initializer_list<detail::any_index>>
  const Derived& operator[](const I&) const {
    static_assert(detail::never<I>,
                  "kiln: an expression has no elements before it is evaluated: write (a * b).eval()[i], or declare the "
                  "variable as a tensor, Tensor<float> h = ...");
    return this->self();
  }

  // Views of the values, which are evaluated; described in tensor/views.hpp.
  auto reshape(const dims& to) const;
  auto view(const dims& to) const;
  auto flatten(std::int64_t begin = 0, std::int64_t end = -1) const;
  auto transpose() const;
  auto transpose(std::int64_t a, std::int64_t b) const;
  auto t() const;
  auto permute(const dims& order) const;
  auto squeeze() const;
  auto squeeze(std::int64_t axis) const;
  auto unsqueeze(std::int64_t axis) const;
  auto expand(const dims& to) const;
  auto slice(std::int64_t axis, std::int64_t begin, std::int64_t end, std::int64_t step = 1) const;
  auto narrow(std::int64_t axis, std::int64_t begin, std::int64_t length) const;
  auto select(std::int64_t axis, std::int64_t index) const;
  /// The values without a gradient history.
  auto detach() const;
  /// The values on another device.
  template <class To>
  auto to(To where = {}) const;

  /// Not possible: says what to write where `auto` made a variable of one expression and another is assigned to it.
  template <class E>
    requires requires {
      typename E::operand;
    }
  Derived& operator=(const E&) {
    static_assert(detail::never<E>,
                  "kiln: `auto` made this variable that one expression, which cannot become another: declare it as a "
                  "tensor, Tensor<float> h = ...");
    return static_cast<Derived&>(*this);
  }
  /// Not possible: an expression has no memory to change.
  template <class E>
  Derived& operator+=(const E&) {
    return detail::in_place_on_expression<Derived, E>(*this);
  }
  /// Not possible, as +=.
  template <class E>
  Derived& operator-=(const E&) {
    return detail::in_place_on_expression<Derived, E>(*this);
  }
  /// Not possible, as +=.
  template <class E>
  Derived& operator*=(const E&) {
    return detail::in_place_on_expression<Derived, E>(*this);
  }
  /// Not possible, as +=.
  template <class E>
  Derived& operator/=(const E&) {
    return detail::in_place_on_expression<Derived, E>(*this);
  }
};

}  // namespace kiln
