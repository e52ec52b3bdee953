// SPDX-License-Identifier: BSL-1.0
// The executor by Eigen: `kernel<Program, Kind, Pass>::run` executes one kernel of a constexpr tape over a strip, as
// device/cpu's does, as one array expression for each result. What an expression would compute twice is computed once
// into a row of first-level cache, block by block; so is what stands between ops that Eigen has vectors for and ops
// that it has not, since one of those in an expression takes the vectors from all of it. Read `run`, then `computed`.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <type_traits>
#include <utility>

#include <kiln/device/cpu/kernel/kernel_facts.hpp>
#include <kiln/device/cpu/kernel/kernel_layout.hpp>
#include <kiln/device/cpu/kernel/strip.hpp>
#include <kiln/device/eigen/array.hpp>

namespace kiln::eigen::inline KILN_VERSION_ISA {

/// Whether Eigen runs this op on operands of a type with vectors.
template <class Op>
inline constexpr bool has_vectors = !lacks_op<Op> && !std::same_as<Op, where_op> && !std::same_as<Op, asinh_op> &&
                                    !std::same_as<Op, acosh_op> && !std::same_as<Op, atanh_op>;

template <class Program, kernel_kind Kind, int Pass>
class kernel {
  using plan = cpu::kernel_layout<Program>;
  using facts = cpu::kernel_facts<Program, Kind, Pass>;
  static constexpr const auto& t = Program::tape;
  static constexpr int size = plan::size;
  template <int I>
  using element = compute_t<element_t<t[I].type>>;
  template <int I>
  using op_at = op_with_code<all_ops, t[I].code>;

  static constexpr bool once(int i) { return facts::per_strip(i); }
  static constexpr bool each(int i) { return facts::per_element(i) || facts::role_of(i) == role::joined; }
  static constexpr bool computes(int i) {
    return each(i) && facts::role_of(i) != role::read_back && is_op(t[i].code) &&
           !(Kind == kernel_kind::rows && facts::reduction_of(i) >= 0);
  }
  using once_numbers = decltype(cpu::detail::list_where<size, &facts::per_strip>());

  // What is computed into a row of its own, and which row that is.
  struct rows_of_values {
    std::array<int, static_cast<std::size_t>(size)> row{};
    int count = 0;
  };
  template <int I>
  static constexpr bool vectors_at() {
    if constexpr (!computes(I))
      return true;
    else if constexpr (t[I].code == op_rules_table.cast)
      return is_floating(t[I].type) && is_floating(t[t[I].a].type) && compute_type(t[I].type) == t[I].type;
    else
      return has_vectors<op_at<I>> && is_floating(compute_type(t[I].type)) && is_floating(t[t[I].a].type);
  }
  static constexpr rows_of_values stored = [] {
    std::array<bool, static_cast<std::size_t>(size)> vectors{};
    [&]<int... I>(std::integer_sequence<int, I...>) {
      ((vectors[static_cast<std::size_t>(I)] = vectors_at<I>()), ...);
    }
    (std::make_integer_sequence<int, size>{});
    std::array<int, static_cast<std::size_t>(size)> uses{}, tree{};
    std::array<bool, static_cast<std::size_t>(size)> meets{};  // is used by an op of the other kind
    auto use = [&](int i, int by, int times) {
      if (i < 0 || !each(i)) return;
      uses[static_cast<std::size_t>(i)] += times;
      if (by >= 0)
        meets[static_cast<std::size_t>(i)] |=
            vectors[static_cast<std::size_t>(by)] != vectors[static_cast<std::size_t>(i)];
    };
    for (int i = 0; i < size; ++i) {
      if (computes(i)) {
        use(t[i].a, i, t[i].code == opcode_of("square") ? 2 : 1);
        use(t[i].b, i, 1);
        use(t[i].c, i, 1);
      } else if (facts::reduced_here(i)) {
        use(t[i].a, -1, 1);
      }
    }
    if (facts::delivers)
      for (int r = 0; r < t.result_count(); ++r) use(t.result(r), -1, t.result_count() > 1 ? 2 : 1);
    rows_of_values out;
    for (int i = 0; i < size; ++i) {
      const std::size_t k = static_cast<std::size_t>(i);
      out.row[k] = -1;
      if (!computes(i)) {
        // A result that is an operand: it may be overwritten before it is read.
        if (facts::delivers && t.result_count() > 1 && each(i) && uses[k] > 1)
          for (int r = 0; r < t.result_count(); ++r)
            if (t.result(r) == i && out.row[k] < 0) out.row[k] = out.count++;
        continue;
      }
      const found_rules op = op_rules_table.find(t[i].code);
      tree[k] = op && op->expensive ? 8 : 1;
      for (const int x : {int{t[i].a}, int{t[i].b}, int{t[i].c}})
        if (x >= 0 && each(x) && out.row[static_cast<std::size_t>(x)] < 0) tree[k] += tree[static_cast<std::size_t>(x)];
      const bool boundary = meets[k] && tree[k] > 2;
      if (facts::keeps(i) || boundary || tree[k] * (uses[k] - 1) > 4 || tree[k] > 48 ||
          (uses[k] > 1 && t.result_count() > 1))
        out.row[k] = out.count++;
    }
    return out;
  }();
  static constexpr bool is_stored(int i) { return stored.row[static_cast<std::size_t>(i)] >= 0; }
  static constexpr bool reduces = [] {
    for (int i = 0; i < size; ++i)
      if (facts::folded_here(i)) return true;
    return false;
  }();
  /// Elements of a block: all rows fit first-level cache, and sums of a block are as accurate as pairwise ones.
  static constexpr Index block = stored.count > 0 ? std::clamp(32768 / (8 * stored.count) / 64 * 64, 64, 512) : 1024;
  static constexpr bool in_blocks = stored.count > 0 || reduces;

  // Where the expressions find each leaf: in memory, or a single value spread over a register's worth.
  struct source {
    const void* p;
    Index mask;
  };
  static constexpr std::size_t widest_register = 64;
  struct state {  // but for these, left uninitialised: only what the kernel uses is written
    state(const cpu::strip& strip, char* workspace) : s(strip), rows(workspace) {}
    const cpu::strip& s;
    char* rows;
    Index begin = 0, n = 0;
    std::array<std::uint64_t, static_cast<std::size_t>(size)> once;
    std::array<source, static_cast<std::size_t>(plan::slots) + 1> from;
    alignas(64) std::array<std::array<char, widest_register>, static_cast<std::size_t>(plan::slots) + 1> spread;
  };
  template <int I>
  static void find(const cpu::strip& s, state& now) {
    constexpr instruction x = t[I];
    if constexpr (x.code == opcode::leaf && each(I)) {
      using S = element_t<x.type>;
      const std::size_t k = static_cast<std::size_t>(x.slot);
      now.from[k] = {s.in[k], -1};
      if (s.step[k] == 0 && s.count > 0) {
        S* const workspace = reinterpret_cast<S*>(now.spread[k].data());
        std::uninitialized_fill_n(workspace, widest_register / sizeof(S), *static_cast<const S*>(s.in[k]));
        now.from[k] = {workspace, 0};
      }
    }
  }
  // Where a stored value is: among the rows of the block, or in the row that a later pass reads.
  template <int I>
  static constexpr int alignment_of_row = facts::keeps(I) ? int{Eigen::Unaligned} : int{Eigen::AlignedMax};
  template <int I>
  static element<I>* row(const state& now) {
    if constexpr (facts::keeps(I))
      return static_cast<element<I>*>(now.s.kept[plan::kept_number(I)]) + now.begin;
    else
      return reinterpret_cast<element<I>*>(now.rows + stored.row[static_cast<std::size_t>(I)] * block * 8);
  }

  // The value of instruction I over the block: as it was stored, or as an expression.
  template <int I>
  static auto value(const state& now) {
    if constexpr (is_stored(I))
      return made(elements<element<I>, alignment_of_row<I>>(row<I>(now), now.n));
    else
      return computed<I>(now);
  }
  template <int I>
  static auto computed(const state& now) {
    constexpr instruction x = t[I];
    using E = element<I>;
    if constexpr (once(I)) {
      return made(array<E>::Constant(now.n, common::from_bits<E>(now.once[static_cast<std::size_t>(I)])));
    } else if constexpr (facts::role_of(I) == role::read_back) {
      return made(elements<E>(static_cast<const E*>(now.s.kept[plan::kept_number(I)]) + now.begin, now.n));
    } else if constexpr (x.code == opcode::leaf) {
      using S = element_t<x.type>;
      const source& from = now.from[static_cast<std::size_t>(x.slot)];
      const S* const p = static_cast<const S*>(from.p) + (now.begin & from.mask);
      return as<E>(made(array<S>::NullaryExpr(now.n, strip_operand<S>{p, from.mask})));
    } else if constexpr (Kind == kernel_kind::rows && facts::reduction_of(I) >= 0) {
      return made(elements<E>(static_cast<const E*>(now.s.finished[facts::reduction_of(I)]) + now.begin, now.n));
    } else if constexpr (x.code == op_rules_table.cast) {
      const auto from = value<x.a>(now);
      if constexpr (compute_type(x.type) != x.type)
        return made(as<float>(from).x.unaryExpr(rounding<element_t<x.type>>{}));
      else
        return as<E>(from);
    } else {
      using Op = op_at<I>;
      constexpr bool whole = !std::floating_point<element<x.a>> && !std::same_as<Op, where_op>;
      if constexpr (lacks_op<Op> || whole) {
        if constexpr (Op::arity == 1)
          return made(value<x.a>(now).x.unaryExpr(scalar_rule<Op>{}));
        else
          return made(value<x.a>(now).x.binaryExpr(value<x.b>(now).x, scalar_rule<Op>{}));
      } else if constexpr (Op::arity == 1) {
        return Op::value(value<x.a>(now));
      } else if constexpr (Op::arity == 2) {
        return Op::value(value<x.a>(now), value<x.b>(now));
      } else {
        return Op::value(value<x.a>(now), value<x.b>(now), value<x.c>(now));
      }
    }
  }
  // The same as another type: by Eigen between floating ones that it knows.
  template <class To, class T, class X>
  static auto as(const lazy<T, X>& from) {
    if constexpr (std::same_as<To, T>)
      return from;
    else if constexpr (std::floating_point<To> && std::floating_point<T>)
      return made(from.x.template cast<To>());
    else
      return made(from.x.unaryExpr(conversion<To>{}));
  }

  // A value that does not change along the strip.
  template <int I>
  static void prepare(const cpu::strip& s, state& now) {
    constexpr instruction x = t[I];
    using E = element<I>;
    auto operand = [&]<int K>(std::integral_constant<int, K>) {
      return common::from_bits<element<K>>(now.once[static_cast<std::size_t>(K)]);
    };
    [[maybe_unused]] std::integral_constant<int, (x.a < 0 ? 0 : x.a)> a;
    [[maybe_unused]] std::integral_constant<int, (x.b < 0 ? 0 : x.b)> b;
    [[maybe_unused]] std::integral_constant<int, (x.c < 0 ? 0 : x.c)> c;
    E v;
    if constexpr (x.code == opcode::constant) {
      v = common::from_bits<E>(x.literal);
    } else if constexpr (x.code == opcode::scalar) {
      v = common::from_bits<E>(s.scalars[x.slot]);
    } else if constexpr (x.code == opcode::leaf) {
      v = static_cast<E>(*static_cast<const element_t<x.type>*>(s.in[x.slot]));
    } else if constexpr (facts::reduction_of(I) >= 0) {
      v = common::from_bits<E>(s.rows[facts::reduction_of(I)]);
    } else if constexpr (x.code == op_rules_table.cast) {
      v = conversion<E>{}(operand(a));
      if constexpr (compute_type(x.type) != x.type) v = rounding<element_t<x.type>>{}(v);
    } else {
      if constexpr (op_at<I>::arity == 1)
        v = scalar_rule<op_at<I>>{}(operand(a));
      else if constexpr (op_at<I>::arity == 2)
        v = scalar_rule<op_at<I>>{}(operand(a), operand(b));
      else
        v = scalar_rule<op_at<I>>{}(operand(a), operand(b), operand(c));
    }
    now.once[static_cast<std::size_t>(I)] = common::to_bits(v);
  }

  template <int I>
  static void store(const state& now) {
    if constexpr (is_stored(I)) places<element<I>, alignment_of_row<I>>(row<I>(now), now.n) = computed<I>(now).x;
  }
  template <int R>
  static void deliver(const state& now) {
    constexpr int I = t.result(R);
    if constexpr (facts::delivers && I >= 0) {
      using S = element_t<Program::stores[static_cast<std::size_t>(R)]>;
      S* const p = static_cast<S*>(now.s.out[R]);
      if (!p) return;  // a gradient nobody asked for
      places<S> to(p + now.begin, now.n);
      const auto what = as<compute_t<S>>(value<I>(now));
      if constexpr (!std::same_as<S, bool>) {
        if (now.s.add[R]) {
          if constexpr (std::same_as<S, compute_t<S>>)
            return static_cast<void>(to += what.x);
          else
            return static_cast<void>(to = as<S>(made(as<float>(made(to)).x + what.x)).x);
        }
      }
      to = as<S>(what).x;
    }
  }
  template <int I>
  static void reduce(const state& now) {
    if constexpr (facts::reduced_here(I)) {
      using E = element<I>;
      using Op = op_at<I>;
      const auto what = value<t[I].a>(now);
      const int r = facts::reduction_of(I);
      if constexpr (Kind == kernel_kind::operands) {
        places<E>(static_cast<E*>(now.s.out[r]) + now.begin, now.n) = what.x;
      } else {
        now.s.partial[r] = now.s.program->reduced[r].join(now.s.partial[r], common::to_bits(folded<Op>(what)));
      }
    }
  }
  template <class Op, class T, class X>
  static T folded(const lazy<T, X>& what) {
    if constexpr (!std::floating_point<T>)
      return what.x.redux(scalar_rule<combination<Op>>{});
    else if constexpr (std::same_as<Op, sum_op>)
      return what.x.sum();
    else if constexpr (std::same_as<Op, prod_op>)
      return what.x.prod();
    else if constexpr (std::same_as<Op, max_op>)
      return extreme<T, true>(what.x);
    else
      return extreme<T, false>(what.x);
  }
  // The largest or smallest of a block, or nan if there is one. Eigen's reduction that keeps nan asks both operands of
  // each step for it and waits for the answer; here it is asked aside, once for each element.
  template <class T, bool Largest, class X>
  static T extreme(const X& x) {
    namespace in = Eigen::internal;
    using better = std::conditional_t<Largest, larger<T>, smaller<T>>;
    using packet = typename in::packet_traits<T>::type;
    constexpr Index width = in::packet_traits<T>::size;
    constexpr int flags = static_cast<int>(in::evaluator<X>::Flags);
    if constexpr (width > 1 && (flags & int{Eigen::PacketAccessBit}) != 0 &&
                  (flags & int{Eigen::LinearAccessBit}) != 0) {
      if (x.size() < 2 * width) return x.redux(better{});
      const in::evaluator<X> at(x);
      const auto best = [](const packet& a, const packet& b) {
        if constexpr (Largest)
          return in::pmax(a, b);
        else
          return in::pmin(a, b);
      };
      const auto load = [&](Index i) { return at.template packet<Eigen::Unaligned, packet>(i); };
      packet first = load(0), second = load(width);
      packet numbers = in::pand(in::pcmp_eq(first, first), in::pcmp_eq(second, second));
      Index i = 2 * width;
      for (; i + 2 * width <= x.size(); i += 2 * width) {
        const packet a = load(i), b = load(i + width);
        numbers = in::pand(numbers, in::pand(in::pcmp_eq(a, a), in::pcmp_eq(b, b)));
        first = best(first, a);
        second = best(second, b);
      }
      first = best(first, second);
      const packet none = in::pset1<packet>(T(0)), one = in::pset1<packet>(T(1));
      if (in::predux_max(in::pselect(numbers, none, one)) != T(0)) return std::numeric_limits<T>::quiet_NaN();
      T result = Largest ? in::predux_max(first) : in::predux_min(first);
      for (; i < x.size(); ++i) result = better{}(result, at.coeff(i));
      return result;
    } else {
      return x.redux(better{});
    }
  }

  static void blocks(state& now) {
    for (Index i = 0; i < now.s.count; i += now.n) {
      now.begin = i;
      now.n = in_blocks ? std::min<Index>(block, now.s.count - i) : now.s.count;
      [&]<int... I>(std::integer_sequence<int, I...>) {
        (store<I>(now), ...);
      }
      (std::make_integer_sequence<int, size>{});
      [&]<int... R>(std::integer_sequence<int, R...>) {
        (deliver<R>(now), ...);
      }
      (std::make_integer_sequence<int, t.result_count()>{});
      [&]<int... I>(std::integer_sequence<int, I...>) {
        (reduce<I>(now), ...);
      }
      (std::make_integer_sequence<int, size>{});
    }
  }

 public:
  static void run(const cpu::strip& s) {
    alignas(64) std::array<char, static_cast<std::size_t>(stored.count * block * 8) + 1> rows;
    state now(s, rows.data());
    [&]<int... I>(std::integer_sequence<int, I...>) {
      (prepare<I>(s, now), ...);
    }
    (once_numbers{});
    [&]<int... I>(std::integer_sequence<int, I...>) {
      (find<I>(s, now), ...);
    }
    (std::make_integer_sequence<int, size>{});
    blocks(now);
  }
};

}  // namespace kiln::eigen::inline KILN_VERSION_ISA
