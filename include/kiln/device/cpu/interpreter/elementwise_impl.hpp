// SPDX-License-Identifier: BSL-1.0
// The strip functions of elementwise ops: one per op and type that it is computed in.
#pragma once

#include <kiln/device/cpu/interpreter/strip_function.hpp>
#include <kiln/device/cpu/simd/all.hpp>
#include <kiln/ops/all.hpp>

namespace kiln::cpu::inline KILN_VERSION_ISA {
namespace interpreter {

namespace detail {

/// Stores what `value` gives for every N of n elements, called with where each operand has them. What is cheap and has
/// all operands in line goes two registers at a time.
template <int N, bool Cheap, class R, class F, class... Mask>
[[gnu::always_inline]] inline void each_step(R* to, std::int64_t n, F value, Mask... mask) {
  std::int64_t i = 0;
  if constexpr (Cheap)
    if ((mask & ...) == -1)
      for (; i + 2 * N <= n; i += 2 * N) {
        const auto first = value((mask & i)...), second = value((mask & (i + N))...);
        store(to + i, first);
        store(to + i + N, second);
      }
  for (; i < n; i += N) store(to + i, value((i & mask)...));
}

template <class T>
[[gnu::always_inline]] inline const T* elements(const operand& x) {
  return static_cast<const T*>(x.data);
}

template <class Op, class T, int N = lanes_of(dtype_of<T>)>
struct op_strip {
  static void unary(const operand* places, const step& s, std::int64_t n) {
    const operand& a = places[s.a];
    const T* const x = elements<T>(a);
    using R = typename decltype(Op::value(load<N>(x)))::value_type;
    each_step<N, !Op::expensive>(
        s.result<R>(places),
        n, [=](std::int64_t i) __attribute__((always_inline)) { return Op::value(load<N>(x + i)); }, a.mask);
  }
  static void binary(const operand* places, const step& s, std::int64_t n) {
    const operand &a = places[s.a], &b = places[s.b];
    const T *const x = elements<T>(a), *const y = elements<T>(b);
    using R = typename decltype(Op::value(load<N>(x), load<N>(y)))::value_type;
    each_step<N, !Op::expensive>(
        s.result<R>(places), n,
        [=](std::int64_t i, std::int64_t j)
            __attribute__((always_inline)) { return Op::value(load<N>(x + i), load<N>(y + j)); },
        a.mask, b.mask);
  }
  template <class A>
  static void ternary(const operand* places, const step& s, std::int64_t n) {
    const operand &a = places[s.a], &b = places[s.b], &c = places[s.c];
    const A* const x = elements<A>(a);
    const T *const y = elements<T>(b), *const z = elements<T>(c);
    each_step<N, !Op::expensive>(
        s.result<T>(places), n,
        [=](std::int64_t i, std::int64_t j, std::int64_t k)
            __attribute__((always_inline)) { return Op::value(load<N>(x + i), load<N>(y + j), load<N>(z + k)); },
        a.mask, b.mask, c.mask);
  }

  static constexpr strip_function function() {
    constexpr dtype d = dtype_of<T>;
    if constexpr (Op::composite || Op::reduces || Op::name == "cast" || !Op::accepts(d) || Op::common(d) != d)
      return nullptr;
    else if constexpr (Op::arity == 1)
      return &unary;
    else if constexpr (Op::arity == 2)
      return &binary;
    else if constexpr (Op::name == "where")
      return &ternary<bool>;
    else
      return &ternary<T>;
  }
};

template <class T, int Way>
void product_strip(const operand* places, const step& s, std::int64_t n) {
  constexpr int N = lanes_of(dtype_of<T>);
  const operand &a = places[s.a], &b = places[s.b], &c = places[s.c];
  const T *const x = elements<T>(a), *const y = elements<T>(b), *const z = elements<T>(c);
  each_step<N, true>(
      s.result<T>(places), n,
      [=](std::int64_t i, std::int64_t j, std::int64_t k) __attribute__((always_inline)) {
        const auto p = load<N>(x + i), q = load<N>(y + j), r = load<N>(z + k);
        return fma(Way == 2 ? -p : p, q, Way == 1 ? -r : r);
      },
      a.mask, b.mask, c.mask);
}
template <class Inner, class Outer, bool Swapped, class T>
void pair_strip(const operand* places, const step& s, std::int64_t n) {
  constexpr int N = lanes_of(dtype_of<T>);
  const operand &a = places[s.a], &b = places[s.b], &c = places[s.c];
  const T *const x = elements<T>(a), *const y = elements<T>(b), *const z = elements<T>(c);
  each_step<N, true>(
      s.result<T>(places), n,
      [=](std::int64_t i, std::int64_t j, std::int64_t k) __attribute__((always_inline)) {
        const auto inner = Inner::value(load<N>(x + i), load<N>(y + j));
        return Swapped ? Outer::value(load<N>(z + k), inner) : Outer::value(inner, load<N>(z + k));
      },
      a.mask, b.mask, c.mask);
}
template <opcode Inner, opcode Outer, class T>
strip_function pair_for(bool swapped) {
  using inner = op_with_code<all_ops, Inner>;
  using outer = op_with_code<all_ops, Outer>;
  // Only a difference knows its operands apart.
  if constexpr (Outer == op_facts_table.sub)
    if (swapped) return &pair_strip<inner, outer, true, T>;
  return &pair_strip<inner, outer, false, T>;
}
template <class Op, class T>
void choice_strip(const operand* places, const step& s, std::int64_t n) {
  constexpr int N = lanes_of(dtype_of<T>);
  const operand &a = places[s.a], &b = places[s.b], &c = places[s.c], &d = places[s.d];
  const T *const x = elements<T>(a), *const y = elements<T>(b), *const z = elements<T>(c), *const w = elements<T>(d);
  each_step<N, true>(
      s.result<T>(places), n,
      [=](std::int64_t i, std::int64_t j, std::int64_t k, std::int64_t l) __attribute__((always_inline)) {
        return where(Op::value(load<N>(x + i), load<N>(y + j)), load<N>(z + k), load<N>(w + l));
      },
      a.mask, b.mask, c.mask, d.mask);
}
/// The comparison of a list with this code: two numbers to a truth value.
template <class T, class... Ops>
strip_function choice_by(op_list<Ops...>, opcode comparison) {
  strip_function found = nullptr;
  auto one = [&]<class Op>(std::type_identity<Op>) {
    if constexpr (Op::arity == 2 && !Op::composite && Op::common(dtype::float32) == dtype::float32)
      if constexpr (Op::result(dtype::float32) == dtype::boolean)
        if (opcode_of(Op::name) == comparison) found = &choice_strip<Op, T>;
  };
  (one(std::type_identity<Ops>{}), ...);
  return found;
}

template <class List, class T>
struct strip_table;
template <class... Ops, class T>
struct strip_table<op_list<Ops...>, T> {
  static constexpr std::array<strip_function, sizeof...(Ops)> functions{op_strip<Ops, T>::function()...};
};
/// Floats in the steps of a program that has doubles too: functions of their own where more than one instruction is
/// behind an op.
template <class List>
struct narrow_table;
template <class... Ops>
struct narrow_table<op_list<Ops...>> {
  template <class Op>
  static constexpr strip_function function() {
    if constexpr (Op::expensive)
      return op_strip<Op, float, lanes_of(dtype::float64)>::function();
    else
      return op_strip<Op, float>::function();
  }
  static constexpr std::array<strip_function, sizeof...(Ops)> functions{function<Ops>()...};
};

}  // namespace detail

KILN_INLINE strip_function strip_of(opcode code, dtype type, int width) {
  const int op = op_facts_table.index(code);
  if (op < 0) return nullptr;
  if (kiln::compute_type(type) == dtype::float32 && width < lanes_of(dtype::float32))
    return detail::narrow_table<all_ops>::functions[static_cast<std::size_t>(op)];
  return visit_dtype(kiln::compute_type(type), [&]<class T>(std::type_identity<T>) -> strip_function {
    return detail::strip_table<all_ops, compute_t<T>>::functions[static_cast<std::size_t>(op)];
  });
}

KILN_INLINE strip_function joined_product(dtype type, int way) {
  auto of = [&]<class T>(std::type_identity<T>) -> strip_function {
    return way == 0   ? &detail::product_strip<T, 0>
           : way == 1 ? &detail::product_strip<T, 1>
                      : &detail::product_strip<T, 2>;
  };
  return type == dtype::float64 ? of(std::type_identity<double>{}) : of(std::type_identity<float>{});
}
KILN_INLINE strip_function pair_of(opcode inner, opcode outer, bool swapped, dtype type) {
  auto of = [&]<class T>(std::type_identity<T>) -> strip_function {
    constexpr opcode add = op_facts_table.add, sub = op_facts_table.sub, mul = op_facts_table.mul;
    if (inner == mul) return outer == mul ? detail::pair_for<mul, mul, T>(swapped) : nullptr;  // else one rounding
    if (inner == add) {
      if (outer == add) return detail::pair_for<add, add, T>(swapped);
      if (outer == sub) return detail::pair_for<add, sub, T>(swapped);
      if (outer == mul) return detail::pair_for<add, mul, T>(swapped);
    }
    if (inner == sub) {
      if (outer == add) return detail::pair_for<sub, add, T>(swapped);
      if (outer == sub) return detail::pair_for<sub, sub, T>(swapped);
      if (outer == mul) return detail::pair_for<sub, mul, T>(swapped);
    }
    return nullptr;
  };
  if (type == dtype::float64) return of(std::type_identity<double>{});
  if (type == dtype::float32) return of(std::type_identity<float>{});
  return nullptr;
}
KILN_INLINE strip_function choice(opcode comparison, dtype type) {
  if (type == dtype::float64) return detail::choice_by<double>(all_ops{}, comparison);
  if (type == dtype::float32) return detail::choice_by<float>(all_ops{}, comparison);
  return nullptr;
}

}  // namespace interpreter
}  // namespace kiln::cpu::inline KILN_VERSION_ISA
