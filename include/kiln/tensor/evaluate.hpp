// SPDX-License-Identifier: BSL-1.0
// From an expression to its values. `evaluate` decides what runs as one kernel: everything, unless reductions go over
// different axes or shapes (then inner ones are evaluated first). A product is computed first and the expression
// around it is applied to its blocks while they are in cache.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <kiln/core/extents.hpp>
#include <kiln/expr/flatten.hpp>
#include <kiln/expr/shape.hpp>
#include <kiln/tensor/executor.hpp>
#include <kiln/tensor/state.hpp>

namespace kiln {

template <Element T, class Device, class Extents>
class Tensor;

namespace detail {

constexpr bool is_row_root(const tape_view& t, int root) {
  bool any = false;
  level* levels = new level[static_cast<std::size_t>(t.size) + 1];
  for (int i = 0; i < t.size; ++i) {
    levels[i] = level_of(t[i], levels, op_rules_table);
    const found_rules op = op_rules_table.find(t[i].code);
    any |= op && op->reduces;
  }
  const bool row = any && levels[root] == level::row;
  delete[] levels;
  return row;
}

template <class E>
struct value_program {
  static constexpr const auto& tape = value_tape<E>;
  static constexpr bool row_root = is_row_root(view(value_tape<E>), value_tape<E>.result(0));
  static constexpr std::array<dtype, 1> stores{dtype_of<typename E::value_type>};
};

constexpr bool leading(std::uint32_t axes) {
  return (axes & (axes + 1)) == 0;
}

/// What row nodes of an expression ask for at run time, and whether one kernel can give it.
struct row_request {
  bool found = false, legal = true, keepdim = false, top_found = false;
  dims domain;
  std::uint32_t axes = 0;

  template <class X>
  void visit(const X&, bool) {}
  template <class Op, class A>
  void visit(const row_node<Op, A>& x, bool combined) {
    const dims here = shape_of(x.a);
    if (!found) {
      found = true;
      domain = here;
      axes = x.axes;
    }
    legal &= here == domain && x.axes == axes;
    if constexpr (Op::reduces) {
      // A result that meets full rows again must line up with them.
      if (combined)
        legal &= x.keepdim || leading(x.axes);
      else if (!top_found)
        keepdim = x.keepdim, top_found = true;
      else
        legal &= keepdim == x.keepdim;
    }
    visit(x.a, true);
  }
  template <class Op, class... X>
  void visit(const node<Op, X...>& x, bool combined) {
    visit(x.a, combined);
    if constexpr (sizeof...(X) > 1) visit(x.b, combined);
    if constexpr (sizeof...(X) > 2) visit(x.c, combined);
  }
};

template <class E>
inline constexpr bool is_row_node = false;
template <class Op, class A>
inline constexpr bool is_row_node<row_node<Op, A>> = true;

// One reduction with nothing but numbers around it always fits one kernel.
template <class E>
inline constexpr bool always_fits = census<E>::rows == 1 && (value_program<E>::row_root || is_row_node<E>);

// What an expression computes how often, known from its type.
template <class X>
inline constexpr level level_of_type = level::element;
template <class T>
inline constexpr level level_of_type<scalar<T>> = level::number;
template <class Op, class... X>
inline constexpr level level_of_type<node<Op, X...>> = std::max({level_of_type<X>...});
template <class Op, class A>
inline constexpr level level_of_type<row_node<Op, A>> = Op::reduces ? level::row : level_of_type<A>;

// A reduction of what is one value per row (the mean over a batch of each row's loss) runs over other axes than the
// rows: never one kernel.
template <class X>
inline constexpr bool never_fits = false;
template <class Op, class... X>
inline constexpr bool never_fits<node<Op, X...>> = (never_fits<X> || ...);
template <class Op, class A>
inline constexpr bool never_fits<row_node<Op, A>> = level_of_type<A> == level::row || never_fits<A>;

/// An expression that one kernel cannot run, cut into some that it can. `apart` evaluates every row node by itself, so
/// the number of kernels to compile stays linear; `unnested` only what is one value per row below a reduction.
struct row_split {
  template <class X>
  static auto apart(const X& x) {
    return x;
  }
  template <class Op, class... X>
    requires((census<X>::rows + ...) > 0)
  static auto apart(const node<Op, X...>& x) {
    if constexpr (sizeof...(X) == 1)
      return join<Op>(part(x.a));
    else if constexpr (sizeof...(X) == 2)
      return join<Op>(part(x.a), part(x.b));
    else
      return join<Op>(part(x.a), part(x.b), part(x.c));
  }
  template <class Op, class A>
  static auto apart(const row_node<Op, A>& x) {
    return over<Op>(part(x.a), x);
  }

  template <class X>
  static auto unnested(const X& x) {
    return x;
  }
  template <class Op, class... X>
    requires(never_fits<X> || ...)
  static auto unnested(const node<Op, X...>& x) {
    if constexpr (sizeof...(X) == 1)
      return join<Op>(unnested(x.a));
    else if constexpr (sizeof...(X) == 2)
      return join<Op>(unnested(x.a), unnested(x.b));
    else
      return join<Op>(unnested(x.a), unnested(x.b), unnested(x.c));
  }
  template <class Op, class A>
    requires never_fits<row_node<Op, A>>
  static auto unnested(const row_node<Op, A>& x) {
    if constexpr (level_of_type<A> == level::row)
      return over<Op>(evaluated(x.a), x);
    else
      return over<Op>(unnested(x.a), x);
  }

 private:
  template <class X>
  static auto evaluated(const X& x) {
    return Tensor<typename X::value_type, typename X::device_type, dynamic>(x);
  }
  template <class X>
  static auto part(const X& x) {
    return apart(x);
  }
  template <class Op, class A>
  static auto part(const row_node<Op, A>& x) {
    return evaluated(apart(x));
  }
  template <class Op, class... X>
  static node<Op, X...> join(X... x) {
    return {std::move(x)...};
  }
  template <class Op, class A, class B>
  static row_node<Op, A> over(A a, const row_node<Op, B>& like) {
    return {std::move(a), like.axes, like.keepdim, like.numbers};
  }
};

/// Operands of the products of an expression, by leaf slot.
template <int Leaves, bool Any>
struct product_operands {
  using multiplier = void (*)(const tensor_state&, const tensor_state&, tensor_state&, block_function);
  std::array<ref<tensor_state>, static_cast<std::size_t>(Leaves)> product_left, product_right;
  std::array<multiplier, static_cast<std::size_t>(Leaves)> multiply;
};
template <int Leaves>
struct product_operands<Leaves, false> {};

/// The leaves of an expression, in the order of their slots, and its numbers.
template <class E>
struct collected : product_operands<census<E>::leaves, (census<E>::products > 0)> {
  std::array<tensor_state*, static_cast<std::size_t>(census<E>::leaves) + 1> leaf;
  std::array<std::uint64_t, static_cast<std::size_t>(census<E>::scalars) + 1> number;

  collected() = default;
  explicit collected(const E& e) { add(e); }

 private:
  int leaves_ = 0, numbers_ = 0;
  void add_number(std::uint64_t bits) { number[static_cast<std::size_t>(numbers_++)] = bits; }

  template <Leaf X>
  void add(const X& x) {
    leaf[static_cast<std::size_t>(leaves_++)] = x.state().get();
    if constexpr (numbers_of_leaf<X> != 0) {
      add_number(x.stream().seed);
      add_number(x.stream().first);
    }
  }
  template <class T>
  void add(const scalar<T>& x) {
    add_number(cpu::to_bits(x.value));
  }
  template <class A, class B>
  void add(const product<A, B>& x) {
    const std::size_t i = static_cast<std::size_t>(leaves_++);
    leaf[i] = nullptr;  // not computed yet
    this->product_left[i] = x.a.state();
    this->product_right[i] = x.b.state();
    this->multiply[i] = &multiply_tensors<typename product<A, B>::value_type, typename product<A, B>::device_type>;
  }
  template <class Op, class A>
  void add(const row_node<Op, A>& x) {
    add(x.a);
    for (int i = 0; i + 1 < Op::arity; ++i) add_number(cpu::to_bits(x.numbers[static_cast<std::size_t>(i)]));
  }
  template <class Op, class... X>
  void add(const node<Op, X...>& x) {
    add(x.a);
    if constexpr (sizeof...(X) > 1) add(x.b);
    if constexpr (sizeof...(X) > 2) add(x.c);
  }
};

inline bool same_view(const tensor_state& a, const tensor_state& b) {
  return a.data == b.data && a.sizes == b.sizes && a.strides == b.strides;
}

/// Whether the tape's assumption holds: leaves and numbers that it takes for one are one.
template <class E, class C>
bool shares_as_assumed(const C& c) {
  constexpr auto& shared = shared_leaves<E>;
  auto one = [](const tensor_state* a, const tensor_state* b) {
    return a == b || (a && b && a->history == b->history && same_view(*a, *b));
  };
  for (int i = 0; i < census<E>::leaves; ++i) {
    const std::size_t k = static_cast<std::size_t>(i), j = static_cast<std::size_t>(shared.leaf[k]);
    if (k == j) continue;
    if (!one(c.leaf[k], c.leaf[j])) return false;
    // Products are not computed yet: they are one if their operands are.
    if constexpr (census<E>::products > 0)
      if (!c.leaf[k] && !(one(c.product_left[k].get(), c.product_left[j].get()) &&
                          one(c.product_right[k].get(), c.product_right[j].get())))
        return false;
  }
  for (int i = 0; i < census<E>::scalars; ++i)
    if (c.number[static_cast<std::size_t>(i)] !=
        c.number[static_cast<std::size_t>(shared.number[static_cast<std::size_t>(i)])])
      return false;
  return true;
}

/// Strides over the domain of a tensor of one value per row: 0 along the row.
inline dims row_value_strides(const tensor_state& t, const dims& domain, std::uint32_t axes, bool keepdim) {
  if (keepdim) return cpu::broadcast_strides(t.sizes, t.strides, domain);
  dims strides = dims::filled(domain.rank(), 0);
  int k = 0;
  for (int i = 0; i < domain.rank(); ++i)
    if (!(axes >> i & 1)) strides[i] = t.strides[k++];
  return strides;
}

/// What one evaluation ran over; a backward pass runs over the same.
struct evaluation {
  dims domain;
  std::uint32_t axes = 0;
  bool row_root = false, keepdim = false;
};

template <class E>
constexpr dims result_sizes(const E& e, const evaluation& how) {
  if constexpr (census<E>::rows > 0) {
    if (how.row_root) return reduced_sizes(how.domain, how.axes, how.keepdim);
  }
  (void)e;
  return how.domain;
}

/// Runs the one kernel of an expression into `out`, which has the right sizes and type.
template <class E, class C>
void run_kernel(const C& c, const evaluation& how, tensor_state& out) {
  constexpr int leaves = census<E>::leaves;
  using device = executor<typename E::device_type>;
  static constexpr const cpu::compiled& program = device::template program<value_program<E>>();
  std::array<cpu::operand_view, static_cast<std::size_t>(leaves) + 1> in;
  for (int i = 0; i < program.slots; ++i) {
    const tensor_state& leaf = *c.leaf[static_cast<std::size_t>(i)];
    device::check_operand(*leaf.memory, *out.memory);
    in[static_cast<std::size_t>(i)] = {leaf.data, cpu::broadcast_strides(leaf.sizes, leaf.strides, how.domain),
                                       size_of(leaf.type)};
  }
  cpu::result_view result{out.data,
                          how.row_root ? row_value_strides(out, how.domain, how.axes, how.keepdim)
                                       : cpu::broadcast_strides(out.sizes, out.strides, how.domain),
                          size_of(out.type), out.type, false};
  cpu::task job{.program = &program,
                .domain = how.domain,
                .reduced_axes = how.axes,
                .in = in.data(),
                .out = &result,
                .scalars = c.number.data()};
  device::template run<value_program<E>>(job, *out.memory);
}

/// True if every leaf and the result are contiguous and of one shape (or the leaf is a single number): one call of the
/// kernel does it all, and nothing needs planning.
template <class E, class C>
bool run_at_once(const C& c, const tensor_state& out, std::int64_t total) {
  if constexpr (census<E>::rows > 0 || !executor<typename E::device_type>::on_host)
    return false;
  else {
    static constexpr const cpu::compiled& program = cpu::compiler<value_program<E>>::program;
    constexpr int slots = census<E>::leaves;
    if (total * program.cost > cpu::work_per_thread || total == 0 || program.draw_count) return false;
    std::array<const void*, static_cast<std::size_t>(slots) + 1> in;
    std::array<std::int64_t, static_cast<std::size_t>(slots) + 1> step;
    for (int i = 0; i < slots; ++i) {
      const std::size_t k = static_cast<std::size_t>(i);
      const tensor_state& leaf = *c.leaf[k];
      in[k] = leaf.data;
      if (leaf.sizes.rank() == 0)
        step[k] = 0;
      else if (leaf.sizes == out.sizes && is_contiguous(leaf))
        step[k] = 1;
      else
        return false;
    }
    if (!is_contiguous(out)) return false;
    void* to = out.data;
    const bool add = false;
    program.map(
        {.in = in.data(), .step = step.data(), .out = &to, .add = &add, .scalars = c.number.data(), .count = total});
    return true;
  }
}

}  // namespace detail

}  // namespace kiln
