// SPDX-License-Identifier: BSL-1.0
// The compiled executor: `kernel<Program, Kind, Pass>::run` executes one kernel of a constexpr tape over a strip, all
// values in vector registers. It is the only code compiled per expression; everything around it (shapes, strides,
// threads) is written once, in terms of `strip`. Read `run`, then `compute`.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include <kiln/device/cpu/kernel/kernel_facts.hpp>
#include <kiln/device/cpu/kernel/kernel_layout.hpp>
#include <kiln/device/cpu/kernel/register_access.hpp>
#include <kiln/device/cpu/kernel/strip.hpp>
#include <kiln/device/cpu/processor/isa.hpp>
#include <kiln/device/cpu/simd/all.hpp>

namespace kiln::cpu::inline KILN_VERSION_ISA {

namespace detail {

/// Partial results of strips are joined in double or int64.
template <class Op, class T>
inline std::uint64_t joined_bits(std::uint64_t a, std::uint64_t b) {
  using wide = std::conditional_t<std::is_floating_point_v<T>, double, std::int64_t>;
  std::array<wide, 2> joined;
  store(joined.data(), Op::combine(lanes<wide, 2>(from_bits<wide>(a)), lanes<wide, 2>(from_bits<wide>(b))));
  return to_bits(joined[0]);
}

/// The values of a lengthy op by a call, which all kernels of a program share.
template <class Op, class V, class... More>
[[gnu::noinline]] V called(V a, More... more) {
  return Op::value(a, more...);
}

}  // namespace detail

template <class Program, kernel_kind Kind, int Pass>
class kernel {
  using plan = kernel_layout<Program>;
  using facts = kernel_facts<Program, Kind, Pass>;
  static constexpr const auto& t = Program::tape;
  static constexpr int N = plan::width;
  static constexpr role role_of(int i) { return facts::role_of(i); }
  static constexpr bool joins(int i) { return facts::joins(i); }
  static constexpr int reduction_of(int i) { return plan::value(i).reduction; }
  using once_numbers = decltype(detail::list_where<plan::size, &facts::per_strip>());
  using each_numbers = decltype(detail::list_where<plan::size, &facts::per_element>());
  using leaf_numbers = decltype(detail::list_where<plan::size, &facts::leaf_per_element>());
  using reduced_numbers = decltype(detail::list_where<plan::size, &facts::reduced_here>());
  using folded_numbers = decltype(detail::list_where<plan::size, &facts::folded_here>());
  using result_numbers = std::make_integer_sequence<int, facts::delivers ? t.result_count() : 0>;

  template <int I>
  using element = compute_t<element_t<t[I].type>>;
  template <int I>
  using value = detail::cell<I, lanes<element<I>, N>>;
  struct types {
    template <int I>
    using at = lanes<element<I>, N>;
  };
  using once_values = detail::cells<types, once_numbers>;
  using each_values = detail::cells<types, each_numbers>;
  using sums = detail::cells<types, folded_numbers>;

  static constexpr bool reduces = facts::reduces;
  static constexpr int side_by_side = reduces ? accumulators(facts::work) : 1;
  static constexpr std::int64_t sum_length = run_of_sums(side_by_side, N);
  using running_sums = std::array<sums, static_cast<std::size_t>(side_by_side)>;

  using spread_values = std::array<std::array<unsigned char, vector_bytes>, static_cast<std::size_t>(plan::slots) + 1>;
  enum class delivery : std::uint8_t { write, add, non_temporal };
  struct state {  // left uninitialised: only what the kernel uses is written
    once_values once;
    std::array<detail::source, static_cast<std::size_t>(plan::slots) + 1> from;
    std::array<void*, static_cast<std::size_t>(t.result_count()) + 1> out;
    std::array<delivery, static_cast<std::size_t>(t.result_count()) + 1> how;
    std::array<char*, static_cast<std::size_t>(plan::kept_count) + 1> kept;
    std::array<char*, static_cast<std::size_t>(plan::facts.reductions) + 1>
        by_reduction;  ///< finished values in, or operands out
  };
  enum class extent { contiguous, mixed, tail };

  template <int I>
  [[gnu::always_inline]] static lanes<element<I>, N> operand(const state& now, const each_values& v) {
    if constexpr (facts::per_element(I))
      return static_cast<const value<I>&>(v).v;
    else
      return static_cast<const value<I>&>(now.once).v;
  }
  template <class Op, bool Calls, class... V>
  [[gnu::always_inline]] static auto op_value(V... operands) {
    if constexpr (Calls && Op::lengthy)
      return detail::called<Op>(operands...);
    else
      return Op::value(operands...);
  }
  // The value of instruction I, not yet rounded; that of a lengthy op by a call if `Calls`.
  template <int I, bool Calls>
  [[gnu::always_inline]] static lanes<element<I>, N> computed(const state& now, const each_values& v) {
    constexpr instruction x = t[I];
    using Op = op_with_code<all_ops, x.code>;
    if constexpr (joins(x.a)) {
      const auto added = operand<x.b>(now, v);
      return fma(operand<t[x.a].a>(now, v), operand<t[x.a].b>(now, v), x.code == op_facts_table.sub ? -added : added);
    } else if constexpr (joins(x.b)) {
      const auto factor = operand<t[x.b].a>(now, v);
      return fma(x.code == op_facts_table.sub ? -factor : factor, operand<t[x.b].b>(now, v), operand<x.a>(now, v));
    } else if constexpr (x.code == opcode_of("cast")) {
      // A cast to a half type rounds through it; the value goes on as a float.
      if constexpr (kiln::compute_type(x.type) != x.type)
        return round_through<element_t<x.type>>(convert<float>(operand<x.a>(now, v)));
      else
        return convert<element<I>>(operand<x.a>(now, v));
    } else {
      if constexpr (Op::arity == 1)
        return op_value<Op, Calls>(operand<x.a>(now, v));
      else if constexpr (Op::arity == 2)
        return op_value<Op, Calls>(operand<x.a>(now, v), operand<x.b>(now, v));
      else
        return op_value<Op, Calls>(operand<x.a>(now, v), operand<x.b>(now, v), operand<x.c>(now, v));
    }
  }
  template <class Half>
  static lanes<float, N> round_through(lanes<float, N> v) {
    std::array<Half, static_cast<std::size_t>(N)> kept;
    store(kept.data(), v);
    return load<N>(static_cast<const Half*>(kept.data()));
  }

  // A value that does not change along the strip.
  template <int I>
  [[gnu::always_inline]] static void prepare(const strip& s, state& now) {
    constexpr instruction x = t[I];
    using E = element<I>;
    [[maybe_unused]] each_values unused;
    auto& v = static_cast<value<I>&>(now.once).v;
    if constexpr (x.code == opcode::constant)
      v = lanes<E, N>(from_bits<E>(x.literal));
    else if constexpr (x.code == opcode::scalar)
      v = lanes<E, N>(from_bits<E>(s.scalars[x.slot]));
    else if constexpr (x.code == opcode::leaf)
      v = lanes<E, N>(static_cast<E>(*static_cast<const element_t<x.type>*>(s.in[x.slot])));
    else if constexpr (reduction_of(I) >= 0)
      v = lanes<E, N>(from_bits<E>(s.rows[reduction_of(I)]));
    else
      v = rounded_here(computed<I, true>(now, unused));
  }
  // Where a leaf lies.
  template <int I>
  [[gnu::always_inline]] static void find(const strip& s, state& now, spread_values& spread) {
    constexpr instruction x = t[I];
    using S = element_t<x.type>;
    constexpr auto slot = static_cast<std::size_t>(x.slot);
    const bool single = s.step[slot] == 0 && s.count > 0;
    if constexpr (facts::short_program)
      now.from[slot] = detail::source_of<S, N>(s.in[slot], single, spread[slot].data());
    else
      now.from[slot] = detail::called_source_of<S, N>(s.in[slot], single, spread[slot].data());
  }

  template <extent Extent, int I>
  [[gnu::always_inline]] static void compute(state& now, each_values& v, std::int64_t i, std::int64_t left) {
    constexpr instruction x = t[I];
    constexpr bool Tail = Extent == extent::tail;
    auto& result = static_cast<value<I>&>(v).v;
    if constexpr (role_of(I) == role::read_back) {
      result = detail::fetch<N, Tail>(
          reinterpret_cast<const element<I>*>(now.kept[static_cast<std::size_t>(plan::kept_number(I))]) + i, left);
    } else if constexpr (x.code == opcode::leaf) {
      const auto& from = now.from[static_cast<std::size_t>(x.slot)];
      const auto* p = static_cast<const element_t<x.type>*>(from.base);
      if constexpr (Tail)
        result = from.mask ? detail::fetch<N, true>(p + i, left) : load<N>(p);
      else if constexpr (Extent == extent::contiguous)
        result = load<N>(p + i);
      else
        result = load<N>(p + (i & from.mask));
    } else if constexpr (Kind == kernel_kind::rows && reduction_of(I) >= 0) {
      result = detail::fetch<N, Tail>(
          reinterpret_cast<const element<I>*>(now.by_reduction[static_cast<std::size_t>(reduction_of(I))]) + i, left);
    } else {
      result = rounded_here(computed < I, Tail || !facts::inlines_lengthy > (now, v));
    }
    if constexpr (facts::keeps(I))
      detail::put<Tail>(reinterpret_cast<element<I>*>(now.kept[static_cast<std::size_t>(plan::kept_number(I))]) + i,
                        result, left);
  }

  template <bool Tail, int R>
  [[gnu::always_inline]] static void deliver(state& now, each_values& v, std::int64_t i, std::int64_t left) {
    if constexpr (t.result(R) >= 0) {
      using S = element_t<Program::stores[static_cast<std::size_t>(R)]>;
      if constexpr (t.result_count() > 1)
        if (!now.out[static_cast<std::size_t>(R)]) return;  // a gradient nobody asked for
      S* p = static_cast<S*>(now.out[static_cast<std::size_t>(R)]) + i;
      auto value = convert<compute_t<S>>(operand<t.result(R)>(now, v));
      if (const delivery how = now.how[static_cast<std::size_t>(R)]; how != delivery::write) [[unlikely]] {
        if constexpr (Kind == kernel_kind::map && t.result_count() == 1 && !Tail)
          if (how == delivery::non_temporal) return store_non_temporal(p, value);
        if constexpr (!std::is_same_v<S, bool>)
          if (how == delivery::add) value = detail::fetch<N, Tail>(static_cast<const S*>(p), left) + value;
      }
      detail::put<Tail>(p, value, left);
    }
  }
  template <bool Tail, int I>
  [[gnu::always_inline]] static void reduce(state& now, each_values& v, sums& total, std::int64_t i,
                                            std::int64_t left) {
    if constexpr (Kind == kernel_kind::operands) {
      detail::put<Tail>(reinterpret_cast<element<I>*>(now.by_reduction[static_cast<std::size_t>(reduction_of(I))]) + i,
                        operand<t[I].a>(now, v), left);
    } else if constexpr (joins(t[I].a)) {
      constexpr instruction product = t[t[I].a];
      auto& sum = static_cast<value<I>&>(total).v;
      const auto more = fma(operand<product.a>(now, v), operand<product.b>(now, v), sum);
      if constexpr (Tail)
        sum = where(detail::first_lanes<N>(left), more, sum);
      else
        sum = more;
    } else {
      using Op = op_with_code<all_ops, t[I].code>;
      auto& sum = static_cast<value<I>&>(total).v;
      auto more = operand<t[I].a>(now, v);
      if constexpr (Tail)
        more = where(detail::first_lanes<N>(left), more, lanes<element<I>, N>(Op::template identity<element<I>>()));
      sum = Op::combine(sum, more);
    }
  }
  template <int... I>
  [[gnu::always_inline]] static void start(sums& total, std::integer_sequence<int, I...>) {
    ((static_cast<value<I>&>(total).v =
          lanes<element<I>, N>(op_with_code<all_ops, t[I].code>::template identity<element<I>>())),
     ...);
  }
  // Written out, so that the sums stay in registers.
  template <class F>
  [[gnu::always_inline]] static void each_sum(running_sums& totals, F f) {
    [&]<std::size_t... U>(std::index_sequence<U...>) __attribute__((always_inline)) {
      (f(totals[U]), ...);
    }
    (std::make_index_sequence<static_cast<std::size_t>(side_by_side)>{});
  }
  [[gnu::always_inline]] static void start_all(running_sums& totals) {
    if constexpr (reduces)
      each_sum(
          totals, [](sums & total) __attribute__((always_inline)) { start(total, folded_numbers{}); });
  }
  // The sum of all accumulators and what was there earlier.
  template <int I>
  [[gnu::always_inline]] static auto joined(running_sums& totals, const sums& earlier) {
    using Op = op_with_code<all_ops, t[I].code>;
    auto total = static_cast<value<I>&>(totals[0]).v;
    each_sum(
        totals, [&](sums & one) __attribute__((always_inline)) {
          if (&one != &totals[0]) total = Op::combine(total, static_cast<value<I>&>(one).v);
        });
    return Op::combine(static_cast<const value<I>&>(earlier).v, total);
  }
  template <int... I>
  [[gnu::always_inline]] static void move_on(running_sums& totals, sums& earlier, std::integer_sequence<int, I...>) {
    ((static_cast<value<I>&>(earlier).v = joined<I>(totals, earlier)), ...);
    start_all(totals);
  }
  template <int I>
  [[gnu::always_inline]] static void finish(const strip& s, running_sums& totals, const sums& earlier) {
    using Op = op_with_code<all_ops, t[I].code>;
    std::uint64_t& bits = s.partial[reduction_of(I)];
    bits = detail::joined_bits<Op, element<I>>(bits, to_bits(Op::fold(joined<I>(totals, earlier))));
  }

  template <extent Extent, int... E, int... Reduced, int... R>
  [[gnu::always_inline]] static void step(state& now, sums& total, std::int64_t i, std::int64_t left,
                                          std::integer_sequence<int, E...>, std::integer_sequence<int, Reduced...>,
                                          std::integer_sequence<int, R...>) {
    constexpr bool Tail = Extent == extent::tail;
    each_values v;
    (compute<Extent, E>(now, v, i, left), ...);
    (deliver<Tail, R>(now, v, i, left), ...);
    (reduce<Tail, Reduced>(now, v, total, i, left), ...);
  }
  // All whole steps of a strip; sums of the first parts of a long one are moved to `earlier`.
  template <extent Extent>
  [[gnu::always_inline]] static std::int64_t whole_steps(state& now, running_sums& totals, sums& earlier,
                                                         std::int64_t count) {
    constexpr each_numbers each;
    constexpr reduced_numbers reduced;
    constexpr result_numbers results;
    std::int64_t i = 0;
    for (;;) {
      const std::int64_t end = reduces && count - i > sum_length ? i + sum_length : count;
      if constexpr (side_by_side == 4)
        for (; i + 4 * N <= end; i += 4 * N) {
          step<Extent>(now, totals[0], i, N, each, reduced, results);
          step<Extent>(now, totals[1], i + N, N, each, reduced, results);
          step<Extent>(now, totals[2], i + 2 * N, N, each, reduced, results);
          step<Extent>(now, totals[3], i + 3 * N, N, each, reduced, results);
        }
      else if constexpr (side_by_side == 2)
        for (; i + 2 * N <= end; i += 2 * N) {
          step<Extent>(now, totals[0], i, N, each, reduced, results);
          step<Extent>(now, totals[1], i + N, N, each, reduced, results);
        }
      for (; i + N <= end; i += N) step<Extent>(now, totals[0], i, N, each, reduced, results);
      if (!reduces || end == count) return i;
      if constexpr (reduces) move_on(totals, earlier, folded_numbers{});
    }
  }
  // What runs. Its lists are parameters of a struct, not of one more function: functions inlined one into the other
  // take the compiler as long as they are deep.
  template <class Once, class Leaves, class Folded>
  struct lists;
  template <int... Once, int... Leaf, int... Folded>
  struct lists<std::integer_sequence<int, Once...>, std::integer_sequence<int, Leaf...>,
               std::integer_sequence<int, Folded...>> {
    static void run(const strip& s) {
      state now;
      [[maybe_unused]] alignas(64) spread_values spread;
      (prepare<Once>(s, now), ...);
      (find<Leaf>(s, now, spread), ...);
      if constexpr (facts::delivers)
        for (std::size_t r = 0; r < static_cast<std::size_t>(t.result_count()); ++r)
          now.out[r] = s.out[r], now.how[r] = s.add[r]         ? delivery::add
                                              : s.non_temporal ? delivery::non_temporal
                                                               : delivery::write;
      if constexpr (Kind == kernel_kind::pass)
        for (std::size_t k = 0; k < static_cast<std::size_t>(plan::kept_count); ++k)
          now.kept[k] = static_cast<char*>(s.kept[k]);
      for (std::size_t k = 0; k < static_cast<std::size_t>(plan::facts.reductions); ++k) {
        if constexpr (Kind == kernel_kind::operands) now.by_reduction[k] = static_cast<char*>(s.out[k]);
        if constexpr (Kind == kernel_kind::rows)
          now.by_reduction[k] = static_cast<char*>(const_cast<void*>(s.finished[k]));
      }
      running_sums totals;
      [[maybe_unused]] sums earlier;
      start_all(totals);
      start(earlier, folded_numbers{});
      if constexpr (Kind == kernel_kind::rows) {
        // One body for whole registers and the rest: a row's number must not depend on the rows finished along with it.
        for (std::int64_t i = 0; i < s.count; i += N)
          step<extent::tail>(now, totals[0], i, s.count - i < N ? s.count - i : N, each_numbers{}, reduced_numbers{},
                             result_numbers{});
      } else if constexpr (Kind == kernel_kind::map && !facts::short_program) {
        all_steps(s, now, spread, totals[0], leaf_numbers{}, result_numbers{});
      } else {
        std::int64_t i = 0;
        if constexpr (!facts::short_program) {
          i = whole_steps<extent::mixed>(now, totals, earlier, s.count);
        } else {
          std::int64_t contiguous = -1;
          ((contiguous &= now.from[static_cast<std::size_t>(t[Leaf].slot)].mask), ...);
          i = contiguous ? whole_steps<extent::contiguous>(now, totals, earlier, s.count)
                         : whole_steps<extent::mixed>(now, totals, earlier, s.count);
        }
        if (i < s.count)
          step<extent::tail>(now, totals[0], i, s.count - i, each_numbers{}, reduced_numbers{}, result_numbers{});
      }
      (finish<Folded>(s, totals, earlier), ...);
    }
  };

  // A long program has one body: after the whole steps it goes once more through the loop, over the rest in padded
  // buffers.
  template <int... Leaf, int... R>
  [[gnu::always_inline]] static void all_steps(const strip& s, state& now, spread_values& spread, sums& unused,
                                               std::integer_sequence<int, Leaf...>, std::integer_sequence<int, R...>) {
    const std::int64_t whole = s.count / N * N, rest = s.count - whole;
    alignas(64) std::array<std::array<unsigned char, vector_bytes>, sizeof...(R)> ends;
    std::int64_t end = whole;
    for (bool padded = false;; padded = true, end = N) {
      for (std::int64_t i = 0; i < end; i += N)
        step<extent::mixed>(now, unused, i, N, each_numbers{}, reduced_numbers{}, result_numbers{});
      if (padded || rest == 0) break;
      (detail::pad<element_t<t[Leaf].type>, N>(now.from[static_cast<std::size_t>(t[Leaf].slot)],
                                               spread[static_cast<std::size_t>(t[Leaf].slot)].data(), whole, rest),
       ...);
      // Adding waits until the values are there: two results, gradients of one tensor, may lie in the same place.
      for (std::size_t r = 0; r < sizeof...(R); ++r) {
        now.how[r] = delivery::write;
        if (now.out[r]) now.out[r] = ends[r].data();
      }
    }
    if (rest > 0)
      (detail::put_end<element_t<Program::stores[static_cast<std::size_t>(R)]>, N>(s.out[R], s.add[R], ends[R].data(),
                                                                                   whole, rest),
       ...);
  }

 public:
  static constexpr std::int64_t longest = longest_strip(reduces, side_by_side, N);
  static constexpr void (*run)(const strip&) = &lists<once_numbers, leaf_numbers, folded_numbers>::run;
};

}  // namespace kiln::cpu::inline KILN_VERSION_ISA
