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

#include <kiln/device/cpu/isa.hpp>
#include <kiln/device/cpu/kernel_layout.hpp>
#include <kiln/device/cpu/simd/all.hpp>
#include <kiln/device/cpu/strip.hpp>

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

struct nothing {};
template <int I, class V>
struct cell {
  V v;
};
template <class Types, class Numbers>
struct cells;
template <class Types, int... I>
struct cells<Types, std::integer_sequence<int, I...>> : cell<I, typename Types::template at<I>>... {};
template <int I, class V>
[[gnu::always_inline]] inline V& value_of(cell<I, V>& c) {
  return c.v;
}

}  // namespace detail

template <class Program, kernel_kind Kind, int Pass>
class kernel {
  using plan = layout<Program>;
  static constexpr const auto& t = Program::tape;
  static constexpr int size = plan::size;
  static constexpr int N = plan::width;
  static constexpr auto roles = [] {
    std::array<role, static_cast<std::size_t>(size)> out{};
    find_roles(view(t), plan::facts, plan::facts.values.data(), Kind, Pass, Program::row_root, out.data());
    join_products(view(t), plan::facts, op_rules_table, plan::facts.values.data(), Kind, Pass, Program::row_root,
                  out.data());
    return out;
  }();
  static constexpr bool delivers = delivers_results(plan::facts, Kind, Pass, Program::row_root);

  static constexpr role role_of(int i) { return roles[static_cast<std::size_t>(i)]; }
  static constexpr bool per_element(int i) { return role_of(i) == role::each || role_of(i) == role::read_back; }
  static constexpr bool joins(int i) { return i >= 0 && role_of(i) == role::joined; }
  static constexpr int reduction_of(int i) { return plan::value(i).reduction; }
  static constexpr bool reduced_here(int i) {
    return reduction_of(i) >= 0 && (Kind == kernel_kind::pass || Kind == kernel_kind::operands) &&
           plan::value(i).phase == Pass + 1;
  }
  static constexpr bool keeps(int i) {
    return Kind == kernel_kind::pass && plan::value(i).kept == Pass && role_of(i) == role::each;
  }

  template <int I>
  using element = compute_t<element_t<t[I].type>>;
  struct once_types {
    template <int I>
    using at = std::conditional_t<role_of(I) == role::once, lanes<element<I>, N>, detail::nothing>;
  };
  struct each_types {
    template <int I>
    using at = std::conditional_t<per_element(I), lanes<element<I>, N>, detail::nothing>;
  };
  struct sum_types {
    template <int I>
    using at = std::conditional_t<reduced_here(I) && Kind == kernel_kind::pass, lanes<element<I>, N>, detail::nothing>;
  };
  using numbers = std::make_integer_sequence<int, size>;
  using once_values = detail::cells<once_types, numbers>;
  using each_values = detail::cells<each_types, numbers>;
  using sums = detail::cells<sum_types, numbers>;

  static constexpr int work = [] {
    int n = 0;
    for (int i = 0; i < size; ++i) n += per_element(i);
    return n;
  }();
  static constexpr bool reduces = [] {
    for (int i = 0; i < size; ++i)
      if (reduced_here(i)) return Kind == kernel_kind::pass;
    return false;
  }();
  // Up to here a program has a loop each for contiguous operands, for mixed ones, and for the rest of a strip.
  static constexpr int small_work = 16;
  static constexpr int side_by_side = reduces ? accumulators(work) : 1;
  static constexpr std::int64_t sum_length = run_of_sums(side_by_side, N);
  using running_sums = std::array<sums, static_cast<std::size_t>(side_by_side)>;

  // Where the loop finds each leaf: contiguous leaves in memory, single values spread over a register's worth of
  // stack. `mask` is all ones or zero, so that one loop serves every mixture of the two without a branch; where all
  // leaves are contiguous, another loop does without the masks.
  struct source {
    const void* base;
    std::int64_t mask;
  };
  using spread_values = std::array<std::array<unsigned char, vector_bytes>, static_cast<std::size_t>(plan::slots) + 1>;
  enum class delivery : std::uint8_t { write, add, past_cache };
  struct state {  // left uninitialised: only what the kernel uses is written
    once_values once;
    std::array<source, static_cast<std::size_t>(plan::slots) + 1> from;
    std::array<void*, static_cast<std::size_t>(t.result_count()) + 1> out;
    std::array<delivery, static_cast<std::size_t>(t.result_count()) + 1> how;
    std::array<char*, static_cast<std::size_t>(plan::kept_count) + 1> kept;
    std::array<char*, static_cast<std::size_t>(plan::facts.reductions) + 1>
        by_reduction;  ///< finished values in, or operands out
  };
  enum class extent { contiguous, mixed, tail };

  template <int I>
  [[gnu::always_inline]] static auto operand(state& now, each_values& v) {
    if constexpr (per_element(I))
      return detail::value_of<I>(v);
    else
      return detail::value_of<I>(now.once);
  }
  template <int I>
  [[gnu::always_inline]] static lanes<element<I>, N> apply_op_at(state& now, each_values& v) {
    return rounded_here(unrounded_op_at<I>(now, v));
  }
  template <int I>
  [[gnu::always_inline]] static lanes<element<I>, N> unrounded_op_at(state& now, each_values& v) {
    constexpr instruction x = t[I];
    using Op = op_with_code<all_ops, x.code>;
    if constexpr (joins(x.a)) {
      const auto added = operand<x.b>(now, v);
      return fma(operand<t[x.a].a>(now, v), operand<t[x.a].b>(now, v), x.code == op_rules_table.sub ? -added : added);
    } else if constexpr (joins(x.b)) {
      const auto factor = operand<t[x.b].a>(now, v);
      return fma(x.code == op_rules_table.sub ? -factor : factor, operand<t[x.b].b>(now, v), operand<x.a>(now, v));
    } else if constexpr (x.code == opcode_of("cast")) {
      // A cast to a half type rounds through it; the value goes on as a float.
      if constexpr (kiln::compute_type(x.type) != x.type)
        return round_through<element_t<x.type>>(convert<float>(operand<x.a>(now, v)));
      else
        return convert<element<I>>(operand<x.a>(now, v));
    } else if constexpr (Op::arity == 1) {
      return Op::value(operand<x.a>(now, v));
    } else if constexpr (Op::arity == 2) {
      return Op::value(operand<x.a>(now, v), operand<x.b>(now, v));
    } else {
      return Op::value(operand<x.a>(now, v), operand<x.b>(now, v), operand<x.c>(now, v));
    }
  }
  template <class Half>
  static lanes<float, N> round_through(lanes<float, N> v) {
    std::array<Half, static_cast<std::size_t>(N)> kept;
    store(kept.data(), v);
    return load<N>(static_cast<const Half*>(kept.data()));
  }

  template <bool Tail, class S>
  [[gnu::always_inline]] static auto fetch(const S* p, std::int64_t left) {
    if constexpr (!Tail) {
      return load<N>(p);
    } else {
      return load_partial<N>(p, static_cast<int>(left));
    }
  }

  // Values that do not change along the strip.
  template <int I>
  [[gnu::always_inline]] static void prepare(const strip& s, state& now, spread_values& spread, each_values& unused) {
    constexpr instruction x = t[I];
    using E = element<I>;
    if constexpr (role_of(I) == role::once) {
      auto& v = detail::value_of<I>(now.once);
      if constexpr (x.code == opcode::constant)
        v = lanes<E, N>(from_bits<E>(x.literal));
      else if constexpr (x.code == opcode::scalar)
        v = lanes<E, N>(from_bits<E>(s.scalars[x.slot]));
      else if constexpr (x.code == opcode::leaf)
        v = lanes<E, N>(static_cast<E>(*static_cast<const element_t<x.type>*>(s.in[x.slot])));
      else if constexpr (reduction_of(I) >= 0)
        v = lanes<E, N>(from_bits<E>(s.rows[reduction_of(I)]));
      else
        v = apply_op_at<I>(now, unused);
    } else if constexpr (x.code == opcode::leaf && role_of(I) == role::each) {
      using S = element_t<x.type>;
      auto& from = now.from[static_cast<std::size_t>(x.slot)];
      from = {s.in[x.slot], -1};
      if (s.step[x.slot] == 0 && s.count > 0) {
        auto& room = spread[static_cast<std::size_t>(x.slot)];
        store(reinterpret_cast<S*>(room.data()), lanes<E, N>(static_cast<E>(*static_cast<const S*>(s.in[x.slot]))));
        from = {room.data(), 0};
      }
    }
  }

  template <extent Extent, int I>
  [[gnu::always_inline]] static void compute(state& now, each_values& v, std::int64_t i, std::int64_t left) {
    constexpr instruction x = t[I];
    constexpr bool Tail = Extent == extent::tail;
    if constexpr (per_element(I)) {
      auto& result = detail::value_of<I>(v);
      if constexpr (role_of(I) == role::read_back) {
        result = fetch<Tail>(
            reinterpret_cast<const element<I>*>(now.kept[static_cast<std::size_t>(plan::kept_number(I))]) + i, left);
      } else if constexpr (x.code == opcode::leaf) {
        const auto& from = now.from[static_cast<std::size_t>(x.slot)];
        const auto* p = static_cast<const element_t<x.type>*>(from.base);
        if constexpr (Tail)
          result = from.mask ? fetch<true>(p + i, left) : load<N>(p);
        else if constexpr (Extent == extent::contiguous)
          result = load<N>(p + i);
        else
          result = load<N>(p + (i & from.mask));
      } else if constexpr (Kind == kernel_kind::rows && reduction_of(I) >= 0) {
        result = fetch<Tail>(
            reinterpret_cast<const element<I>*>(now.by_reduction[static_cast<std::size_t>(reduction_of(I))]) + i, left);
      } else {
        result = apply_op_at<I>(now, v);
      }
      if constexpr (keeps(I))
        put<Tail>(reinterpret_cast<element<I>*>(now.kept[static_cast<std::size_t>(plan::kept_number(I))]) + i, result,
                  left);
    }
  }
  template <bool Tail, class S, class V>
  [[gnu::always_inline]] static void put(S* p, V v, std::int64_t left) {
    if constexpr (Tail)
      store_partial(p, v, static_cast<int>(left));
    else
      store(p, v);
  }

  template <bool Tail, int R>
  [[gnu::always_inline]] static void deliver(state& now, each_values& v, std::int64_t i, std::int64_t left) {
    if constexpr (delivers && t.result(R) >= 0) {
      using S = element_t<Program::stores[static_cast<std::size_t>(R)]>;
      if constexpr (t.result_count() > 1)
        if (!now.out[static_cast<std::size_t>(R)]) return;  // a gradient nobody asked for
      S* p = static_cast<S*>(now.out[static_cast<std::size_t>(R)]) + i;
      auto value = convert<compute_t<S>>(operand<t.result(R)>(now, v));
      if (const delivery how = now.how[static_cast<std::size_t>(R)]; how != delivery::write) [[unlikely]] {
        if constexpr (Kind == kernel_kind::map && t.result_count() == 1 && !Tail)
          if (how == delivery::past_cache) return store_past_cache(p, value);
        if constexpr (!std::is_same_v<S, bool>)
          if (how == delivery::add) value = fetch<Tail>(static_cast<const S*>(p), left) + value;
      }
      put<Tail>(p, value, left);
    }
  }
  template <bool Tail, int I>
  [[gnu::always_inline]] static void reduce(state& now, each_values& v, sums& total, std::int64_t i,
                                            std::int64_t left) {
    if constexpr (reduced_here(I) && joins(t[I].a)) {
      constexpr instruction product = t[t[I].a];
      auto& sum = detail::value_of<I>(total);
      const auto more = fma(operand<product.a>(now, v), operand<product.b>(now, v), sum);
      if constexpr (Tail)
        sum = where(first_lanes(left), more, sum);
      else
        sum = more;
    } else if constexpr (reduced_here(I)) {
      auto value = operand<t[I].a>(now, v);
      if constexpr (Kind == kernel_kind::operands) {
        put<Tail>(reinterpret_cast<element<I>*>(now.by_reduction[static_cast<std::size_t>(reduction_of(I))]) + i, value,
                  left);
      } else {
        using Op = op_with_code<all_ops, t[I].code>;
        if constexpr (Tail)
          value = where(first_lanes(left), value, lanes<element<I>, N>(Op::template identity<element<I>>()));
        detail::value_of<I>(total) = Op::combine(detail::value_of<I>(total), value);
      }
    }
  }
  [[gnu::always_inline]] static lanes<bool, N> first_lanes(std::int64_t left) {
    std::array<bool, static_cast<std::size_t>(N)> in{};
    for (int k = 0; k < N; ++k) in[static_cast<std::size_t>(k)] = k < left;
    return load<N>(static_cast<const bool*>(in.data()));
  }
  template <int I>
  [[gnu::always_inline]] static void start(sums& total) {
    if constexpr (reduced_here(I) && Kind == kernel_kind::pass) {
      using Op = op_with_code<all_ops, t[I].code>;
      detail::value_of<I>(total) = lanes<element<I>, N>(Op::template identity<element<I>>());
    }
  }
  // Written out, so that the sums stay in registers.
  template <class F>
  [[gnu::always_inline]] static void each_sum(running_sums& totals, F f) {
    [&]<std::size_t... U>(std::index_sequence<U...>) __attribute__((always_inline)) {
      (f(totals[U]), ...);
    }
    (std::make_index_sequence<static_cast<std::size_t>(side_by_side)>{});
  }
  template <int I>
  [[gnu::always_inline]] static auto joined(running_sums& totals) {
    using Op = op_with_code<all_ops, t[I].code>;
    auto total = detail::value_of<I>(totals[0]);
    each_sum(
        totals, [&](sums & one) __attribute__((always_inline)) {
          if (&one != &totals[0]) total = Op::combine(total, detail::value_of<I>(one));
        });
    return total;
  }
  template <int... I>
  [[gnu::always_inline]] static void move_on(running_sums& totals, sums& earlier, std::integer_sequence<int, I...>) {
    auto one = [&]<int K>(std::integral_constant<int, K>) {
      if constexpr (reduced_here(K)) {
        using Op = op_with_code<all_ops, t[K].code>;
        auto& sum = detail::value_of<K>(earlier);
        sum = Op::combine(sum, joined<K>(totals));
      }
    };
    (one(std::integral_constant<int, I>{}), ...);
    each_sum(
        totals, [](sums & total) __attribute__((always_inline)) { (start<I>(total), ...); });
  }
  template <int I>
  [[gnu::always_inline]] static void finish(const strip& s, running_sums& totals, sums& earlier) {
    if constexpr (reduced_here(I) && Kind == kernel_kind::pass) {
      using Op = op_with_code<all_ops, t[I].code>;
      const auto total = Op::combine(detail::value_of<I>(earlier), joined<I>(totals));
      std::uint64_t& bits = s.partial[reduction_of(I)];
      bits = detail::joined_bits<Op, element<I>>(bits, to_bits(Op::fold(total)));
    }
  }

  template <extent Extent, int... I, int... R>
  [[gnu::always_inline]] static void step(state& now, sums& total, std::int64_t i, std::int64_t left,
                                          std::integer_sequence<int, I...>, std::integer_sequence<int, R...>) {
    constexpr bool Tail = Extent == extent::tail;
    each_values v;
    (compute<Extent, I>(now, v, i, left), ...);
    (deliver<Tail, R>(now, v, i, left), ...);
    (reduce<Tail, I>(now, v, total, i, left), ...);
  }
  // All whole steps of a strip; sums of the first parts of a long one are moved to `earlier`.
  template <extent Extent, class Results>
  [[gnu::always_inline]] static std::int64_t whole_steps(state& now, running_sums& totals, sums& earlier,
                                                         std::int64_t count, Results results) {
    if constexpr (!reduces) {
      return steps_to<Extent>(now, totals, 0, count, results);
    } else {
      std::int64_t i = 0;
      for (; count - i > sum_length; move_on(totals, earlier, numbers{}))
        i = steps_to<Extent>(now, totals, i, i + sum_length, results);
      return steps_to<Extent>(now, totals, i, count, results);
    }
  }
  template <extent Extent, class Results>
  [[gnu::always_inline]] static std::int64_t steps_to(state& now, running_sums& totals, std::int64_t i,
                                                      std::int64_t count, Results results) {
    if constexpr (side_by_side == 4)
      for (; i + 4 * N <= count; i += 4 * N) {
        step<Extent>(now, totals[0], i, N, numbers{}, results);
        step<Extent>(now, totals[1], i + N, N, numbers{}, results);
        step<Extent>(now, totals[2], i + 2 * N, N, numbers{}, results);
        step<Extent>(now, totals[3], i + 3 * N, N, numbers{}, results);
      }
    else if constexpr (side_by_side == 2)
      for (; i + 2 * N <= count; i += 2 * N) {
        step<Extent>(now, totals[0], i, N, numbers{}, results);
        step<Extent>(now, totals[1], i + N, N, numbers{}, results);
      }
    for (; i + N <= count; i += N) step<Extent>(now, totals[0], i, N, numbers{}, results);
    return i;
  }
  template <int I>
  static constexpr bool loops_over_leaf = t[I].code == opcode::leaf&& role_of(I) == role::each;
  template <int... I, class Results>
  [[gnu::always_inline]] static void execute(const strip& s, std::integer_sequence<int, I...>, Results results) {
    state now;
    [[maybe_unused]] alignas(64) spread_values spread;
    [[maybe_unused]] each_values unused;
    (prepare<I>(s, now, spread, unused), ...);
    if constexpr (delivers)
      for (std::size_t r = 0; r < static_cast<std::size_t>(t.result_count()); ++r)
        now.out[r] = s.out[r], now.how[r] = s.add[r]       ? delivery::add
                                            : s.past_cache ? delivery::past_cache
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
    each_sum(
        totals, [](sums & total) __attribute__((always_inline)) { (start<I>(total), ...); });
    (start<I>(earlier), ...);
    std::int64_t contiguous = -1;
    ((loops_over_leaf<I> ? void(contiguous &= now.from[static_cast<std::size_t>(t[I].slot < 0 ? 0 : t[I].slot)].mask)
                         : void()),
     ...);
    std::int64_t i = 0;
    if constexpr (Kind == kernel_kind::rows) {
      // One body for whole registers and the rest: a row's number must not depend on the rows finished along with it.
      for (; i < s.count; i += N)
        step<extent::tail>(now, totals[0], i, s.count - i < N ? s.count - i : N, numbers{}, results);
    } else if constexpr (work > small_work) {
      i = whole_steps<extent::mixed>(now, totals, earlier, s.count, results);
    } else {
      i = contiguous ? whole_steps<extent::contiguous>(now, totals, earlier, s.count, results)
                     : whole_steps<extent::mixed>(now, totals, earlier, s.count, results);
    }
    if (i < s.count) {
      const std::int64_t left = s.count - i;
      if constexpr (Kind == kernel_kind::map && work > small_work) {
        alignas(64) std::array<std::array<unsigned char, vector_bytes>, static_cast<std::size_t>(t.result_count())>
            ends;
        (pad<I>(now, spread, i, left), ...);
        // Adding waits until the values are there: two results, gradients of one tensor, may lie in the same place.
        for (std::size_t r = 0; r < static_cast<std::size_t>(t.result_count()); ++r) {
          now.how[r] = delivery::write;
          if (now.out[r]) now.out[r] = ends[r].data();
        }
        step<extent::mixed>(now, totals[0], 0, N, numbers{}, results);
        ends_out(s, ends, i, left, results);
      } else {
        step<extent::tail>(now, totals[0], i, left, numbers{}, results);
      }
    }
    (finish<I>(s, totals, earlier), ...);
  }

  // The rest of a strip of a long program goes through the loop that is there already, by way of padded buffers: a
  // body of its own for partial registers would double the code of the program.
  template <int I>
  [[gnu::always_inline]] static void pad(state& now, spread_values& spread, std::int64_t i, std::int64_t left) {
    if constexpr (loops_over_leaf<I>) {
      using S = element_t<t[I].type>;
      auto& from = now.from[static_cast<std::size_t>(t[I].slot)];
      if (from.mask == 0) return;
      S* room = reinterpret_cast<S*>(spread[static_cast<std::size_t>(t[I].slot)].data());
      store(room, load_partial<N>(static_cast<const S*>(from.base) + i, static_cast<int>(left)));
      from = {room, 0};
    }
  }
  template <class Ends, int... R>
  [[gnu::always_inline]] static void ends_out(const strip& s, const Ends& ends, std::int64_t i, std::int64_t left,
                                              std::integer_sequence<int, R...>) {
    auto one = [&]<int K>(std::integral_constant<int, K>) {
      constexpr std::size_t r = static_cast<std::size_t>(K);
      using S = element_t<Program::stores[r]>;
      if (!s.out[r]) return;
      S* const p = static_cast<S*>(s.out[r]) + i;
      auto value = load<N>(reinterpret_cast<const S*>(ends[r].data()));
      if constexpr (!std::is_same_v<S, bool>)
        if (s.add[r]) value = load_partial<N>(static_cast<const S*>(p), static_cast<int>(left)) + value;
      store_partial(p, value, static_cast<int>(left));
    };
    (one(std::integral_constant<int, R>{}), ...);
  }

 public:
  static constexpr std::int64_t longest = longest_strip(reduces, side_by_side, N);
  static void run(const strip& s) { execute(s, numbers{}, std::make_integer_sequence<int, t.result_count()>{}); }
};

}  // namespace kiln::cpu::inline KILN_VERSION_ISA
