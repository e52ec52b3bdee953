// SPDX-License-Identifier: BSL-1.0
// The compiled executor: `kernel<Program, Kind, Pass>::run` executes one kernel of a constexpr tape over a strip, all
// values in vector registers. It is the only code compiled per expression; everything around it (shapes, strides,
// threads) is written once, in terms of `strip`. Read `lists::run_short`, then `compute`.
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
/// The values of an op; those of a lengthy one by a call if `Calls`.
template <class Op, bool Calls, class... V>
[[gnu::always_inline]] inline auto op_value(V... operands) {
  if constexpr (Calls && Op::lengthy)
    return called<Op>(operands...);
  else
    return Op::value(operands...);
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
  using list = detail::value_list;
  template <list List>
  using numbers = typename facts::template numbers<List>;
  using result_numbers = std::make_integer_sequence<int, facts::delivers ? t.result_count() : 0>;

  template <int I>
  using element = compute_t<element_t<t[I].type>>;
  template <int I>
  using value = detail::cell<I, lanes<element<I>, N>>;
  struct types {
    template <int I>
    using at = lanes<element<I>, N>;
  };
  // Left uninitialised: each value is written before it is read.
  using registers = detail::cells<types, numbers<list::held>>;
  using sums = detail::cells<types, numbers<list::folded>>;

  static constexpr bool reduces = facts::reduces;
  static constexpr int side_by_side = reduces ? accumulators(facts::work) : 1;
  static constexpr std::int64_t sum_length = run_of_sums(side_by_side, N);
  using running_sums = std::array<sums, static_cast<std::size_t>(side_by_side)>;

  // Plain arrays: an instruction that indexes a std::array is two functions more for the compiler to take in.
  using workspace = unsigned char[vector_bytes];
  using spread_values = workspace[plan::slots + 1];
  enum class delivery : std::uint8_t { write, add, non_temporal };
  struct state {  // left uninitialised: only what the kernel uses is written
    detail::source from[plan::slots + 1];
    void* out[t.result_count() + 1];
    delivery how[t.result_count() + 1];
    char* kept[plan::kept_count + 1];
    char* by_reduction[plan::facts.reductions + 1];  ///< finished values in, or operands out
  };
  enum class extent { contiguous, mixed, tail };

  template <class Half>
  static lanes<float, N> round_through(lanes<float, N> v) {
    std::array<Half, static_cast<std::size_t>(N)> kept;
    store(kept.data(), v);
    return load<N>(static_cast<const Half*>(kept.data()));
  }

  // A value that does not change along the strip.
  template <int I>
  [[gnu::always_inline]] static void prepare(const strip& s, state& now, registers& v) {
    constexpr instruction x = t[I];
    using E = element<I>;
    auto& result = static_cast<value<I>&>(v).v;
    if constexpr (x.code == opcode::constant)
      result = lanes<E, N>(from_bits<E>(x.literal));
    else if constexpr (x.code == opcode::scalar)
      result = lanes<E, N>(from_bits<E>(s.scalars[x.slot]));
    else if constexpr (x.code == opcode::leaf)
      result = lanes<E, N>(static_cast<E>(*static_cast<const element_t<x.type>*>(s.in[x.slot])));
    else if constexpr (reduction_of(I) >= 0)
      result = lanes<E, N>(from_bits<E>(s.rows[reduction_of(I)]));
    else
      compute<extent::tail, I>(now, v, 0, N);
  }
  // Where a leaf lies.
  template <int I>
  [[gnu::always_inline]] static void find(const strip& s, state& now, spread_values& spread) {
    constexpr int slot = t[I].slot;
    using S = element_t<t[I].type>;
    if constexpr (facts::short_program)
      detail::find_source<S, N>(s, slot, now.from[slot], spread[slot]);
    else
      detail::called_find_source<S, N>(s, slot, now.from[slot], spread[slot]);
  }

  // The value of instruction I. One function for each, and none more: there are hundreds in a program, and each takes
  // the compiler as long as a dozen lines.
  template <extent Extent, int I>
  [[gnu::always_inline]] static void compute(state& now, registers& v, std::int64_t i, std::int64_t left) {
    constexpr instruction x = t[I];
    constexpr bool Tail = Extent == extent::tail;
    auto& result = static_cast<value<I>&>(v).v;
    if constexpr (role_of(I) == role::read_back) {
      result = detail::fetch<N, Tail>(reinterpret_cast<const element<I>*>(now.kept[plan::kept_number(I)]) + i, left);
    } else if constexpr (x.code == opcode::leaf) {
      const detail::source& from = now.from[x.slot];
      const auto* p = static_cast<const element_t<x.type>*>(from.base);
      if constexpr (Tail)
        result = from.mask ? detail::fetch<N, true>(p + i, left) : load<N>(p);
      else if constexpr (Extent == extent::contiguous)
        result = load<N>(p + i);
      else
        result = load<N>(p + (i & from.mask));
    } else if constexpr (Kind == kernel_kind::rows && reduction_of(I) >= 0) {
      result = detail::fetch<N, Tail>(reinterpret_cast<const element<I>*>(now.by_reduction[reduction_of(I)]) + i, left);
    } else if constexpr (joins(x.a)) {
      const auto& added = static_cast<value<x.b>&>(v).v;
      result = rounded_here(fma(static_cast<value<t[x.a].a>&>(v).v, static_cast<value<t[x.a].b>&>(v).v,
                                x.code == op_facts_table.sub ? -added : added));
    } else if constexpr (joins(x.b)) {
      const auto& factor = static_cast<value<t[x.b].a>&>(v).v;
      result = rounded_here(fma(x.code == op_facts_table.sub ? -factor : factor, static_cast<value<t[x.b].b>&>(v).v,
                                static_cast<value<x.a>&>(v).v));
    } else if constexpr (x.code == opcode_of("cast")) {
      // A cast to a half type rounds through it; the value goes on as a float.
      const auto& from = static_cast<value<x.a>&>(v).v;
      if constexpr (kiln::compute_type(x.type) != x.type)
        result = rounded_here(round_through<element_t<x.type>>(convert<float>(from)));
      else
        result = rounded_here(convert<element<I>>(from));
    } else {
      using Op = op_with_code<all_ops, x.code>;
      constexpr bool Calls = Tail || !facts::inlines_lengthy;
      if constexpr (Op::arity == 1)
        result = rounded_here(detail::op_value<Op, Calls>(static_cast<value<x.a>&>(v).v));
      else if constexpr (Op::arity == 2)
        result =
            rounded_here(detail::op_value<Op, Calls>(static_cast<value<x.a>&>(v).v, static_cast<value<x.b>&>(v).v));
      else
        result = rounded_here(detail::op_value<Op, Calls>(static_cast<value<x.a>&>(v).v, static_cast<value<x.b>&>(v).v,
                                                          static_cast<value<x.c>&>(v).v));
    }
    if constexpr (facts::keeps(I))
      detail::put<Tail>(reinterpret_cast<element<I>*>(now.kept[plan::kept_number(I)]) + i, result, left);
  }

  template <bool Tail, int R>
  [[gnu::always_inline]] static void deliver(state& now, registers& v, std::int64_t i, std::int64_t left) {
    if constexpr (t.result(R) >= 0) {
      using S = element_t<Program::stores[static_cast<std::size_t>(R)]>;
      if constexpr (t.result_count() > 1)
        if (!now.out[R]) return;  // a gradient nobody asked for
      S* p = static_cast<S*>(now.out[R]) + i;
      auto result = convert<compute_t<S>>(static_cast<value<t.result(R)>&>(v).v);
      if (const delivery how = now.how[R]; how != delivery::write) [[unlikely]] {
        if constexpr (Kind == kernel_kind::map && t.result_count() == 1 && !Tail)
          if (how == delivery::non_temporal) return store_non_temporal(p, result);
        if constexpr (!std::is_same_v<S, bool>)
          if (how == delivery::add) result = detail::fetch<N, Tail>(static_cast<const S*>(p), left) + result;
      }
      detail::put<Tail>(p, result, left);
    }
  }
  template <bool Tail, int I>
  [[gnu::always_inline]] static void reduce(state& now, registers& v, sums& total, std::int64_t i, std::int64_t left) {
    if constexpr (Kind == kernel_kind::operands) {
      detail::put<Tail>(reinterpret_cast<element<I>*>(now.by_reduction[reduction_of(I)]) + i,
                        static_cast<value<t[I].a>&>(v).v, left);
    } else if constexpr (joins(t[I].a)) {
      constexpr instruction product = t[t[I].a];
      auto& sum = static_cast<value<I>&>(total).v;
      const auto more = fma(static_cast<value<product.a>&>(v).v, static_cast<value<product.b>&>(v).v, sum);
      if constexpr (Tail)
        sum = where(detail::first_lanes<N>(left), more, sum);
      else
        sum = more;
    } else {
      using Op = op_with_code<all_ops, t[I].code>;
      auto& sum = static_cast<value<I>&>(total).v;
      auto more = static_cast<value<t[I].a>&>(v).v;
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
          totals, [](sums & total) __attribute__((always_inline)) { start(total, numbers<list::folded>{}); });
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

  // What runs. Its lists are parameters of a struct, not of one more function: functions inlined one into the other
  // take the compiler as long as they are deep.
  template <class Once, class Each, class Leaves, class Results, class Reduced, class Folded>
  struct lists;
  template <int... Once, int... Each, int... Leaf, int... R, int... Reduced, int... Folded>
  struct lists<std::integer_sequence<int, Once...>, std::integer_sequence<int, Each...>,
               std::integer_sequence<int, Leaf...>, std::integer_sequence<int, R...>,
               std::integer_sequence<int, Reduced...>, std::integer_sequence<int, Folded...>> {
    [[gnu::always_inline]] static void begin(const strip& s, state& now, registers& v, spread_values& spread) {
      (prepare<Once>(s, now, v), ...);
      (find<Leaf>(s, now, spread), ...);
      if constexpr (facts::delivers)
        for (int r = 0; r < t.result_count(); ++r)
          now.out[r] = s.out[r], now.how[r] = s.add[r]         ? delivery::add
                                              : s.non_temporal ? delivery::non_temporal
                                                               : delivery::write;
      if constexpr (Kind == kernel_kind::pass)
        for (int k = 0; k < plan::kept_count; ++k) now.kept[k] = static_cast<char*>(s.kept[k]);
      for (int k = 0; k < plan::facts.reductions; ++k) {
        if constexpr (Kind == kernel_kind::operands) now.by_reduction[k] = static_cast<char*>(s.out[k]);
        if constexpr (Kind == kernel_kind::rows)
          now.by_reduction[k] = static_cast<char*>(const_cast<void*>(s.finished[k]));
      }
    }
    template <extent Extent>
    [[gnu::always_inline]] static void step(state& now, registers& v, sums& total, std::int64_t i, std::int64_t left) {
      constexpr bool Tail = Extent == extent::tail;
      (compute<Extent, Each>(now, v, i, left), ...);
      (deliver<Tail, R>(now, v, i, left), ...);
      (reduce<Tail, Reduced>(now, v, total, i, left), ...);
    }
    // All whole steps of a strip; sums of the first parts of a long one are moved to `earlier`.
    template <extent Extent>
    [[gnu::always_inline]] static std::int64_t whole_steps(state& now, registers& v, running_sums& totals,
                                                           sums& earlier, std::int64_t count) {
      std::int64_t i = 0;
      for (;;) {
        const std::int64_t end = reduces && count - i > sum_length ? i + sum_length : count;
        if constexpr (side_by_side == 4)
          for (; i + 4 * N <= end; i += 4 * N) {
            step<Extent>(now, v, totals[0], i, N);
            step<Extent>(now, v, totals[1], i + N, N);
            step<Extent>(now, v, totals[2], i + 2 * N, N);
            step<Extent>(now, v, totals[3], i + 3 * N, N);
          }
        else if constexpr (side_by_side == 2)
          for (; i + 2 * N <= end; i += 2 * N) {
            step<Extent>(now, v, totals[0], i, N);
            step<Extent>(now, v, totals[1], i + N, N);
          }
        for (; i + N <= end; i += N) step<Extent>(now, v, totals[0], i, N);
        if (!reduces || end == count) return i;
        if constexpr (reduces) move_on(totals, earlier, numbers<list::folded>{});
      }
    }
    static void run_short(const strip& s) {
      state now;
      registers v;
      [[maybe_unused]] alignas(64) spread_values spread;
      begin(s, now, v, spread);
      running_sums totals;
      [[maybe_unused]] sums earlier;
      start_all(totals);
      start(earlier, numbers<list::folded>{});
      if constexpr (Kind == kernel_kind::rows) {
        // One body for whole registers and the rest: a row's number must not depend on the rows finished along with it.
        for (std::int64_t i = 0; i < s.count; i += N)
          step<extent::tail>(now, v, totals[0], i, s.count - i < N ? s.count - i : N);
      } else {
        std::int64_t i = 0;
        if constexpr (!facts::short_program) {
          i = whole_steps<extent::mixed>(now, v, totals, earlier, s.count);
        } else {
          std::int64_t contiguous = -1;
          ((contiguous &= now.from[t[Leaf].slot].mask), ...);
          i = contiguous ? whole_steps<extent::contiguous>(now, v, totals, earlier, s.count)
                         : whole_steps<extent::mixed>(now, v, totals, earlier, s.count);
        }
        if (i < s.count) step<extent::tail>(now, v, totals[0], i, s.count - i);
      }
      (finish<Folded>(s, totals, earlier), ...);
    }
    // A long map has one body: after the whole steps it goes once more through the loop, over the rest in padded
    // buffers.
    static void run_long(const strip& s) {
      state now;
      registers v;
      [[maybe_unused]] alignas(64) spread_values spread;
      begin(s, now, v, spread);
      const std::int64_t whole = s.count / N * N, rest = s.count - whole;
      alignas(64) workspace ends[sizeof...(R)];
      std::int64_t end = whole;
      for (bool padded = false;; padded = true, end = N) {
        for (std::int64_t i = 0; i < end; i += N) {
          (compute<extent::mixed, Each>(now, v, i, N), ...);
          (deliver<false, R>(now, v, i, N), ...);
        }
        if (padded || rest == 0) break;
        (detail::pad<element_t<t[Leaf].type>, N>(now.from[t[Leaf].slot], spread[t[Leaf].slot], whole, rest), ...);
        // Adding waits until the values are there: two results, gradients of one tensor, may lie in the same place.
        for (std::size_t r = 0; r < sizeof...(R); ++r) {
          now.how[r] = delivery::write;
          if (now.out[r]) now.out[r] = ends[r];
        }
      }
      if (rest > 0)
        (detail::put_end<element_t<Program::stores[static_cast<std::size_t>(R)]>, N>(s.out[R], s.add[R], ends[R], whole,
                                                                                     rest),
         ...);
    }
    static constexpr auto function() {
      if constexpr (Kind == kernel_kind::map && !facts::short_program)
        return &run_long;
      else
        return &run_short;
    }
  };

 public:
  static constexpr std::int64_t longest = longest_strip(reduces, side_by_side, N);
  static constexpr void (*run)(const strip&) =
      lists<numbers<list::once>, numbers<list::each>, numbers<list::leaves>, result_numbers, numbers<list::reduced>,
            numbers<list::folded>>::function();
};

}  // namespace kiln::cpu::inline KILN_VERSION_ISA
