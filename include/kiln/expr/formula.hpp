// SPDX-License-Identifier: BSL-1.0
// An expression in print, for looking at what will run: its formula as written, the tape that computes it, and the
// tape of its gradient.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <kiln/expr/flatten.hpp>
#include <kiln/tape/infix.hpp>

namespace kiln {

namespace detail {

/// Gives every slot of an expression its name: tensors are x0 x1 ... in the order in which they first stand in it (or
/// as the caller names them), the same one everywhere; numbers are their values.
class slot_names {
 public:
  explicit slot_names(const std::vector<std::string>& given) : given_(given) {}
  template <class X>
  tape_names of(const X& x) {
    visit(x);
    return std::move(names_);
  }

 private:
  template <class T>
  void visit(const scalar<T>& x) {
    names_.numbers.push_back(number_text(static_cast<double>(x.value), dtype_of<T>));
  }
  template <class A, class B>
  void visit(const product<A, B>& x) {
    const std::string left = tensor(x.a), right = tensor(x.b);
    names_.leaves.push_back("matmul(" + left + ", " + right + ")");
  }
  template <class Op, class... X>
  void visit(const node<Op, X...>& x) {
    visit(x.a);
    if constexpr (sizeof...(X) > 1) visit(x.b);
    if constexpr (sizeof...(X) > 2) visit(x.c);
  }
  template <class Op, class A>
  void visit(const row_node<Op, A>& x) {
    visit(x.a);
    const dtype type = dtype_of<typename row_node<Op, A>::value_type>;
    for (std::size_t i = 0; i + 1 < static_cast<std::size_t>(Op::arity); ++i)
      names_.numbers.push_back(number_text(x.numbers[i], type));
  }
  template <Leaf X>
  void visit(const X& x) {
    if constexpr (numbers_of_leaf<X> != 0) {
      names_.leaves.push_back(kind_of_leaf<X> == leaf_kind::uniform ? "rand()" : "randn()");
      for (const std::uint64_t word : {x.stream().seed, x.stream().first})
        names_.numbers.push_back(std::to_string(word));
    } else {
      names_.leaves.push_back(tensor(x));
    }
  }
  template <Leaf X>
  std::string tensor(const X& x) {
    const void* identity = &x;
    if constexpr (requires { x.state().get(); }) identity = x.state().get();
    std::size_t k = 0;
    while (k < seen_.size() && seen_[k] != identity) ++k;
    if (k == seen_.size()) seen_.push_back(identity);
    return name_in(given_, static_cast<int>(k), "x");
  }

  const std::vector<std::string>& given_;
  std::vector<const void*> seen_;
  tape_names names_;
};

}  // namespace detail

/// The expression as it was written, composite functions by their names: `relu(x0 * x1 + x2)`. `names` are those of its
/// tensors, in the order in which they first stand in it.
template <Expression E>
std::string formula(const E& e, const std::vector<std::string>& names = {}) {
  return infix(view(written_tape<E>), facts_at_run_time<E>(), detail::slot_names(names).of(e));
}

/// The tape that computes the expression, one instruction a line.
template <Expression E>
std::string tape_listing(const E& e, const std::vector<std::string>& names = {}) {
  return listing(view(value_tape<E>), facts_at_run_time<E>(), detail::slot_names(names).of(e));
}

/// The tape that computes the gradients of all tensors of the expression, given the gradient that arrives. Result i is
/// the gradient of the tensor in place i; `none` is zero.
template <Expression E>
std::string gradient_listing(const E& e, const std::vector<std::string>& names = {}) {
  tape_names all = detail::slot_names(names).of(e);
  all.leaves.resize(static_cast<std::size_t>(census<E>::leaves));
  all.leaves.push_back("gradient");
  all.leaves.push_back("result");
  return listing(view(gradient_tape<E>), facts_at_run_time<E>(), all);
}

}  // namespace kiln
