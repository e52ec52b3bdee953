// SPDX-License-Identifier: BSL-1.0
// The folds of reductions over strips: value for value in the order of a compiled kernel (kernel/kernel.hpp), so that
// float sums agree to the last bit. That order depends on the lanes a program computes in, so these are templates of
// their number too, but for integers and truth values: those fold to the same bits in any order.
#pragma once

#include <kiln/core/error.hpp>
#include <kiln/device/cpu/interpreter/strip_function.hpp>
#include <kiln/device/cpu/simd/all.hpp>
#include <kiln/ops/all.hpp>

namespace kiln::cpu::inline KILN_VERSION_ISA {
namespace interpreter {

namespace detail {

/// Whether a fold of T gives the same bits in any order.
template <class T>
constexpr bool any_order = std::is_integral_v<T>;

template <class Op, class T, int N>
struct fold_strip {
  using V = lanes<T, N>;
  static_assert(sizeof(V) <= static_cast<std::size_t>(vector_bytes));

  static V nothing() { return V(Op::template identity<T>()); }
  static V get(const std::array<unsigned char, static_cast<std::size_t>(vector_bytes)>& workspace) {
    V v;
    std::memcpy(static_cast<void*>(&v), workspace.data(), sizeof(V));
    return v;
  }
  static void put(std::array<unsigned char, static_cast<std::size_t>(vector_bytes)>& workspace, V v) {
    std::memcpy(workspace.data(), static_cast<const void*>(&v), sizeof(V));
  }
  // Named, not an array, so that compilers keep them in registers.
  struct running {
    V a, b, c, d, earlier;
    std::int64_t taken;
    [[gnu::always_inline]] void begin() {
      a = b = c = d = nothing();
      taken = 0;
    }
  };
  [[gnu::always_inline]] static void resume(running& r, const fold_state& state) {
    r.a = get(state.totals[0]), r.b = get(state.totals[1]), r.c = get(state.totals[2]), r.d = get(state.totals[3]);
    r.earlier = get(state.earlier);
    r.taken = state.taken;
  }
  [[gnu::always_inline]] static void keep(fold_state& state, const running& r) {
    put(state.totals[0], r.a), put(state.totals[1], r.b), put(state.totals[2], r.c), put(state.totals[3], r.d);
    put(state.earlier, r.earlier);
    state.taken = r.taken;
  }
  template <int Side>
  [[gnu::always_inline]] static V joined(const running& r) {
    V total = r.a;
    if constexpr (Side > 1) total = Op::combine(total, r.b);
    if constexpr (Side > 2) total = Op::combine(Op::combine(total, r.c), r.d);
    return total;
  }
  /// Calls `f` with the number of accumulators as a constant.
  template <class F>
  [[gnu::always_inline]] static void with_side(int side_by_side, F f) {
    if (any_order<T> || side_by_side == 4) return f(std::integral_constant<int, 4>{});
    if constexpr (!any_order<T>) {
      if (side_by_side == 2) return f(std::integral_constant<int, 2>{});
      f(std::integral_constant<int, 1>{});
    }
  }

  static void start(fold_state& state) {
    running r;
    r.begin();
    r.earlier = nothing();
    keep(state, r);
  }
  static void add(fold_state& state, const operand& a, const operand* factor, std::int64_t n, int side_by_side) {
    with_side(
        side_by_side, [&]<int Side>(std::integral_constant<int, Side>) __attribute__((always_inline)) {
          running r;
          resume(r, state);
          take<Side>(r, a, factor, n);
          keep(state, r);
        });
  }
  static void finish(fold_state& state, int side_by_side, std::uint64_t* bits) {
    with_side(
        side_by_side, [&]<int Side>(std::integral_constant<int, Side>) __attribute__((always_inline)) {
          running r;
          resume(r, state);
          deliver<Side>(r, bits);
        });
  }
  static void whole(const operand& a, const operand* factor, std::int64_t n, int side_by_side, std::uint64_t* bits) {
    with_side(
        side_by_side, [&]<int Side>(std::integral_constant<int, Side>) __attribute__((always_inline)) {
          running r;
          r.begin();
          r.earlier = nothing();
          take<Side>(r, a, factor, n);
          deliver<Side>(r, bits);
        });
  }
  template <int Side>
  [[gnu::always_inline]] static void deliver(const running& r, std::uint64_t* bits) {
    const V total = Op::combine(r.earlier, joined<Side>(r));
    *bits = cpu::detail::joined_bits<Op, T>(*bits, to_bits(Op::fold(total)));
  }

  template <int Side>
  [[gnu::always_inline]] static void take(running& r, const operand& a, const operand* factor, std::int64_t n) {
    const T* const x = static_cast<const T*>(a.data);
    const std::int64_t p = a.mask;
    auto rest = [](const T* from, std::int64_t mask, std::int64_t i, std::int64_t left) {
      return mask ? load_partial<N>(from + i, static_cast<int>(left)) : load<N>(from);
    };
    if constexpr (multiplies) {
      if (factor) {
        const T* const y = static_cast<const T*>(factor->data);
        const std::int64_t q = factor->mask;
        return take_all<Side>(
            r, n,
            [=](V total, std::int64_t i)
                __attribute__((always_inline)) { return fma(load<N>(x + (i & p)), load<N>(y + (i & q)), total); },
            [=](V total, std::int64_t i, std::int64_t left) {
              return where(first_lanes(left), fma(rest(x, p, i, left), rest(y, q, i, left), total), total);
            });
      }
    }
    take_all<Side>(
        r, n,
        [=](V total, std::int64_t i)
            __attribute__((always_inline)) { return Op::combine(total, load<N>(x + (i & p))); },
        [=](V total, std::int64_t i, std::int64_t left) {
          return Op::combine(total, where(first_lanes(left), rest(x, p, i, left), nothing()));
        });
  }
  template <int Side, class Take, class TakeRest>
  [[gnu::always_inline]] static void take_all(running& r, std::int64_t n, Take one, TakeRest one_rest) {
    constexpr std::int64_t run = run_of_sums(Side, N);
    for (std::int64_t i = 0; i < n;) {
      if (r.taken == run) {
        r.earlier = Op::combine(r.earlier, joined<Side>(r));
        r.begin();
      }
      const std::int64_t end = std::min(n, i + run - r.taken);
      r.taken += end - i;
      if constexpr (Side == 4)
        for (; i + 4 * N <= end; i += 4 * N) {
          r.a = one(r.a, i);
          r.b = one(r.b, i + N);
          r.c = one(r.c, i + 2 * N);
          r.d = one(r.d, i + 3 * N);
        }
      if constexpr (Side == 2)
        for (; i + 2 * N <= end; i += 2 * N) {
          r.a = one(r.a, i);
          r.b = one(r.b, i + N);
        }
      for (; i + N <= end; i += N) r.a = one(r.a, i);
      if (i < end) {
        r.a = one_rest(r.a, i, end - i);
        i = end;
      }
    }
  }
  static constexpr bool multiplies =
      std::is_floating_point_v<T> && opcode_of(Op::name) == op_facts_table.sum;  ///< takes factors
  static lanes<bool, N> first_lanes(std::int64_t left) {
    std::array<bool, static_cast<std::size_t>(N)> in{};
    for (int k = 0; k < N; ++k) in[static_cast<std::size_t>(k)] = k < left;
    return load<N>(static_cast<const bool*>(in.data()));
  }
  static constexpr fold_functions functions{&start, &add, &finish, &whole};
};

/// Whether a reduction is ever computed in T.
template <class Op, class T>
constexpr bool folds_in() {
  return Op::accepts(dtype_of<T>) && Op::common(dtype_of<T>) == dtype_of<T>;
}

template <class Op, class T, int N>
constexpr fold_functions fold_for(int lanes) {
  if (any_order<T> || lanes == N) return fold_strip<Op, T, N>::functions;
  if constexpr (!any_order<T> && N * 8 > vector_bytes && N > 2)
    return fold_for<Op, T, N / 2>(lanes);
  else
    return {};
}
template <class... Ops, class F>
void with_reduction(op_list<Ops...>, opcode code, F f) {
  auto one = [&]<class Op>(std::type_identity<Op>) {
    if constexpr (Op::reduces && !Op::composite)
      if (opcode_of(Op::name) == code) f(std::type_identity<Op>{});
  };
  (one(std::type_identity<Ops>{}), ...);
}

}  // namespace detail

KILN_INLINE fold_functions fold_of(opcode code, dtype type, int lanes) {
  fold_functions found;
  detail::with_reduction(all_ops{}, code, [&]<class Op>(std::type_identity<Op>) {
    visit_dtype(kiln::compute_type(type), [&]<class S>(std::type_identity<S>) {
      using T = compute_t<S>;
      if constexpr (detail::folds_in<Op, T>()) found = detail::fold_for<Op, T, lanes_of(dtype_of<T>)>(lanes);
    });
  });
  return found;
}

KILN_INLINE reduction_facts facts_of_reduction(opcode code, dtype type) {
  reduction_facts found;
  detail::with_reduction(all_ops{}, code, [&]<class Op>(std::type_identity<Op>) {
    visit_dtype(kiln::compute_type(type), [&]<class S>(std::type_identity<S>) {
      using T = compute_t<S>;
      if constexpr (detail::folds_in<Op, T>()) {
        found = cpu::detail::facts_of_fold<Op, T>();
        found.vertical = cpu::detail::vertical<Op, T>::functions;
      }
    });
  });
  return found;
}

}  // namespace interpreter
}  // namespace kiln::cpu::inline KILN_VERSION_ISA
