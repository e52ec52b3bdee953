// SPDX-License-Identifier: BSL-1.0
// The executor by Eigen: `kernel<Program, Kind, Pass>::run` executes one kernel of a constexpr tape over a strip, as
// device/cpu's does, as one array expression for each result. What an expression would compute twice is computed once
// into a row of first-level cache, block by block; so is what stands between ops that Eigen has vectors for and ops
// that it has not, since one of those in an expression takes the vectors from all of it. Read `run`, then `computed`.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

#include <kiln/device/cpu/kernel/kernel_facts.hpp>
#include <kiln/device/cpu/kernel/kernel_layout.hpp>
#include <kiln/device/cpu/kernel/strip.hpp>
#include <kiln/device/eigen/array.hpp>

namespace kiln::eigen::inline KILN_VERSION_ISA {

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

  template <int K>
  using number = std::integral_constant<int, K>;
  // The numbers of instructions by what is done with them.
  using list = cpu::detail::value_list;
  template <list List>
  using numbers = typename facts::template numbers<List>;
  // f(get(operand) of each operand of instruction I).
  template <int I, class Get, class F>
  static auto with_operands(Get get, F f) {
    constexpr int from[] = {t[I].a, t[I].b, t[I].c};
    return [&]<int... K>(std::integer_sequence<int, K...>) {
      return f(get(number<from[K]>{})...);
    }
    (std::make_integer_sequence<int, op_at<I>::arity>{});
  }

  static constexpr bool once(int i) { return facts::per_strip(i); }
  static constexpr bool each(int i) { return facts::per_element(i) || facts::role_of(i) == role::joined; }
  static constexpr bool computes(int i) {
    return each(i) && facts::role_of(i) != role::read_back && is_op(t[i].code) &&
           !(Kind == kernel_kind::rows && facts::reduction_of(i) >= 0);
  }
  // Gives truths, which `where` takes.
  static constexpr bool compares(int i) {
    return computes(i) && t[i].type == dtype::boolean && is_floating(t[t[i].a].type);
  }

  // What is computed into a row of its own, and which row that is.
  struct rows_of_values {
    std::array<int, static_cast<std::size_t>(size)> row{}, at{};
    int count = 0;
    constexpr void add(int i) {
      row[static_cast<std::size_t>(i)] = count;
      at[static_cast<std::size_t>(count++)] = i;
    }
  };
  template <int I>
  static constexpr bool vectors_at() {
    if constexpr (!computes(I))
      return true;
    else if constexpr (t[I].code == op_facts_table.cast)
      return is_floating(t[I].type) && is_floating(t[t[I].a].type) && compute_type(t[I].type) == t[I].type;
    else
      return has_vectors<op_at<I>> && (is_floating(compute_type(t[I].type)) || compares(I)) &&
             (is_floating(t[t[I].a].type) || (std::same_as<op_at<I>, where_op> && compares(t[I].a)));
  }
  static constexpr rows_of_values stored = [] {
    const auto vectors = []<int... I>(std::integer_sequence<int, I...>) {
      return std::array<bool, sizeof...(I)>{vectors_at<I>()...};
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
            if (t.result(r) == i && out.row[k] < 0) out.add(i);
        continue;
      }
      const found_rules op = op_facts_table.find(t[i].code);
      tree[k] = op && op->expensive ? 8 : 1;
      for (const int x : {int{t[i].a}, int{t[i].b}, int{t[i].c}})
        if (x >= 0 && each(x) && out.row[static_cast<std::size_t>(x)] < 0) tree[k] += tree[static_cast<std::size_t>(x)];
      const bool boundary = meets[k] && tree[k] > 2;
      if (facts::keeps(i) || boundary || tree[k] * (uses[k] - 1) > 4 || tree[k] > 48 ||
          (uses[k] > 1 && t.result_count() > 1))
        out.add(i);
    }
    return out;
  }();
  template <std::size_t... K>
  static std::integer_sequence<int, stored.at[K]...> sequence_of_stored(std::index_sequence<K...>);
  using stored_numbers = decltype(sequence_of_stored(std::make_index_sequence<std::size_t{stored.count}>{}));
  static constexpr bool is_stored(int i) { return stored.row[static_cast<std::size_t>(i)] >= 0; }
  /// Elements of a block: all rows fit first-level cache, and sums of a block are as accurate as pairwise ones.
  static constexpr Index block = stored.count > 0 ? std::clamp(32768 / (8 * stored.count) / 64 * 64, 64, 512) : 1024;
  static constexpr bool in_blocks = stored.count > 0 || facts::reduces;

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
    using S = element_t<x.type>;
    const std::size_t k = static_cast<std::size_t>(x.slot);
    now.from[k] = {s.in[k], -1};
    if (s.step[k] == 0 && s.count > 0) {
      S* const workspace = reinterpret_cast<S*>(now.spread[k].data());
      std::uninitialized_fill_n(workspace, widest_register / sizeof(S), *static_cast<const S*>(s.in[k]));
      now.from[k] = {workspace, 0};
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
      return plain(computed<I>(now));
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
    } else if constexpr (x.code == op_facts_table.cast) {
      return as<E>(as<element_t<x.type>>(value<x.a>(now)));
    } else {
      using Op = op_at<I>;
      constexpr bool whole = !std::floating_point<element<x.a>> && !std::same_as<Op, where_op>;
      const auto get = [&]<int K>(number<K>) {
        if constexpr (std::floating_point<E> && compares(K) && !is_stored(K))
          return computed<K>(now);
        else
          return value<K>(now);
      };
      return with_operands<I>(get, [](auto a, auto... more) {
        if constexpr (!lacks_op<Op> && !whole)
          return Op::value(a, more...);
        else if constexpr (sizeof...(more) == 0)
          return made(a.x.unaryExpr(scalar_rule<Op>{}));
        else
          return made(a.x.binaryExpr(more.x..., scalar_rule<Op>{}));
      });
    }
  }
  // A value that does not change along the strip.
  template <int I>
  static void prepare(const cpu::strip& s, state& now) {
    constexpr instruction x = t[I];
    using E = element<I>;
    [[maybe_unused]] const auto known = [&]<int K>(number<K>) {
      return common::from_bits<element<K>>(now.once[static_cast<std::size_t>(K)]);
    };
    E v;
    if constexpr (x.code == opcode::constant) {
      v = common::from_bits<E>(x.literal);
    } else if constexpr (x.code == opcode::scalar) {
      v = common::from_bits<E>(s.scalars[x.slot]);
    } else if constexpr (x.code == opcode::leaf) {
      v = static_cast<E>(*static_cast<const element_t<x.type>*>(s.in[x.slot]));
    } else if constexpr (facts::reduction_of(I) >= 0) {
      v = common::from_bits<E>(s.rows[facts::reduction_of(I)]);
    } else if constexpr (x.code == op_facts_table.cast) {
      v = conversion<E>{}(conversion<element_t<x.type>>{}(known(number<x.a>{})));
    } else {
      v = with_operands<I>(known, scalar_rule<op_at<I>>{});
    }
    now.once[static_cast<std::size_t>(I)] = common::to_bits(v);
  }

  template <int I>
  static void store(const state& now) {
    places<element<I>, alignment_of_row<I>>(row<I>(now), now.n) = plain(computed<I>(now)).x;
  }
  template <int R>
  [[gnu::always_inline]] static void deliver(const state& now) {  // called once: what it reads may stay in registers
    constexpr int I = t.result(R);
    if constexpr (facts::delivers && I >= 0) {
      using S = element_t<Program::stores[static_cast<std::size_t>(R)]>;
      S* const p = static_cast<S*>(now.s.out[R]);
      if (!p) return;  // a gradient nobody asked for
      places<S> to(p + now.begin, now.n);
      const auto what = as<compute_t<S>>(value<I>(now));
      if constexpr (!std::same_as<S, bool>)
        if (now.s.add[R]) return static_cast<void>(to = as<S>(as<compute_t<S>>(made(to)) + what).x);
      to = as<S>(what).x;
    }
  }
  template <int I>
  static void reduce(const state& now) {
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
  template <class Op, class T, class X>
  static T folded(const lazy<T, X>& what) {
    if constexpr (!std::floating_point<T>)
      return what.x.redux(scalar_rule<combination<Op>>{});
    else if constexpr (std::same_as<Op, sum_op>)
      return what.x.sum();
    else if constexpr (std::same_as<Op, prod_op>)
      return what.x.prod();
    else
      return what.x.redux(extreme_so_far<T, std::same_as<Op, max_op>>{});
  }

 public:
  static constexpr std::int64_t longest = 4096;  ///< strip of a pass, whose blocks are joined in double
  static void run(const cpu::strip& s) {
    alignas(64) std::array<char, static_cast<std::size_t>(stored.count * block * 8) + 1> rows;
    state now(s, rows.data());
    [&]<int... I>(std::integer_sequence<int, I...>) {
      (prepare<I>(s, now), ...);
    }
    (numbers<list::once>{});
    [&]<int... I>(std::integer_sequence<int, I...>) {
      (find<I>(s, now), ...);
    }
    (numbers<list::leaves>{});
    for (; now.begin < s.count; now.begin += now.n) {
      now.n = in_blocks ? std::min<Index>(block, s.count - now.begin) : s.count;
      [&]<int... I>(std::integer_sequence<int, I...>) {
        (store<I>(now), ...);
      }
      (stored_numbers{});
      [&]<int... R>(std::integer_sequence<int, R...>) {
        (deliver<R>(now), ...);
      }
      (std::make_integer_sequence<int, t.result_count()>{});
      [&]<int... I>(std::integer_sequence<int, I...>) {
        (reduce<I>(now), ...);
      }
      (numbers<list::reduced>{});
      if constexpr (!in_blocks) return;
    }
  }
};

}  // namespace kiln::eigen::inline KILN_VERSION_ISA
