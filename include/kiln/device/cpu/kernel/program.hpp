// SPDX-License-Identifier: BSL-1.0
// The compiled executor: makes of a Program, a tape known at compile time, the plain data that drivers take, with the
// kernels of kernel.hpp.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include <kiln/device/cpu/kernel/compiled.hpp>
#include <kiln/device/cpu/kernel/draws.hpp>
#include <kiln/device/cpu/kernel/kernel.hpp>
#include <kiln/device/cpu/processor/isa.hpp>

namespace kiln::cpu::inline KILN_VERSION_ISA {

namespace detail {

template <class Op, class T>
struct vertical {
  using wide = std::conditional_t<std::is_floating_point_v<T>, double, std::int64_t>;
  static constexpr int N = std::clamp(vector_bytes / static_cast<int>(sizeof(T)), 2, 64);
  static void reset(void* partial, std::int64_t n) {
    T* p = static_cast<T*>(partial);
    const lanes<T, N> nothing(Op::template identity<T>());
    std::int64_t i = 0;
    for (; i + N <= n; i += N) store(p + i, nothing);
    if (i < n) store_partial(p + i, nothing, static_cast<int>(n - i));
  }
  static void add(void* partial, const void* values, std::int64_t stride, std::int64_t rows, std::int64_t n) {
    T* p = static_cast<T*>(partial);
    const T* v = static_cast<const T*>(values);
    std::int64_t i = 0;
    // Eight registers side by side, so that rows are read in pieces that are worth fetching.
    const auto whole = [](const T* row) __attribute__((always_inline)) { return load<N>(row); };
    for (; i + 8 * N <= n; i += 8 * N) add_columns<8>(p + i, v + i, stride, rows, whole);
    for (; i + 2 * N <= n; i += 2 * N) add_columns<2>(p + i, v + i, stride, rows, whole);
    for (; i < n; i += N) {
      const int left = static_cast<int>(std::min<std::int64_t>(N, n - i));
      add_columns<1>(
          p + i, v + i, stride,
          rows, [left](const T* row) __attribute__((always_inline)) { return load_partial<N>(row, left); }, left);
    }
  }
  template <int Registers, class Load>
  [[gnu::always_inline]] static void add_columns(T* p, const T* v, std::int64_t stride, std::int64_t rows,
                                                 Load load_row, int left = N) {
    [&]<int... K>(std::integer_sequence<int, K...>) __attribute__((always_inline)) {
      lanes<T, N> total[] = {load_row(p + K * N)...};
      const auto two = [&](const T* row) __attribute__((always_inline)) {
        return Op::combine(load_row(row), load_row(row + stride));
      };
      std::int64_t r = 0;
      for (; r + 2 <= rows; r += 2) ((total[K] = Op::combine(total[K], two(v + r * stride + K * N))), ...);
      for (; r < rows; ++r) ((total[K] = Op::combine(total[K], load_row(v + r * stride + K * N))), ...);
      if constexpr (Registers == 1)
        store_partial(p, total[0], left);
      else
        (store(p + K * N, total[K]), ...);
    }
    (std::make_integer_sequence<int, Registers>{});
  }
  static void clear(std::uint64_t* total, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) total[i] = to_bits(Op::template identity<T>());
  }
  static void flush(std::uint64_t* total, void* partial, std::int64_t n) {
    T* p = static_cast<T*>(partial);
    constexpr int W = std::clamp(vector_bytes / 8, 2, 64);
    std::int64_t i = 0;
    for (; i + W <= n; i += W) {
      wide* t = reinterpret_cast<wide*>(total + i);
      store(t, Op::combine(load<W>(static_cast<const wide*>(t)), convert<wide>(load<W>(static_cast<const T*>(p + i)))));
    }
    if (i < n) {
      const int left = static_cast<int>(n - i);
      wide* t = reinterpret_cast<wide*>(total + i);
      const auto more = convert<wide>(load_partial<W>(static_cast<const T*>(p + i), left));
      store_partial(t, Op::combine(load_partial<W>(static_cast<const wide*>(t), left), more), left);
    }
    reset(p, n);
  }
  static void join(std::uint64_t* total, const std::uint64_t* other, std::int64_t n) {
    constexpr int W = std::clamp(vector_bytes / 8, 2, 64);
    wide* t = reinterpret_cast<wide*>(total);
    const wide* o = reinterpret_cast<const wide*>(other);
    for (std::int64_t i = 0; i < n; i += W) {
      const int left = static_cast<int>(std::min<std::int64_t>(W, n - i));
      store_partial(t + i,
                    Op::combine(load_partial<W>(static_cast<const wide*>(t + i), left), load_partial<W>(o + i, left)),
                    left);
    }
  }
  static void finish(void* values, const std::uint64_t* total, std::int64_t n) {
    T* v = static_cast<T*>(values);
    for (std::int64_t i = 0; i < n; ++i) v[i] = from_bits<T>(total[i]);
  }
  static constexpr vertical_fold functions{&reset, &add, &clear, &flush, &join, &finish};
};

/// The facts of a reduction that do not depend on where it stands, but for the functions that fold across rows.
template <class Op, class T>
constexpr reduction_facts facts_of_fold() {
  return {.type = dtype_of<T>,
          .identity = to_bits(Op::template identity<T>()),
          .has_identity = Op::has_identity,
          .name = Op::name.data(),
          .join = &joined_bits<Op, T>,
          .vertical = {}};
}

}  // namespace detail

/// What a Program is compiled to: the kernels of kernel.hpp. Another device says others of the same form.
struct strip_kernels {
  template <class Program, kernel_kind Kind, int Pass>
  using kernel = cpu::kernel<Program, Kind, Pass>;
  template <class Op, class T>
  using vertical = detail::vertical<Op, T>;
};

/// The kernels of a Program: a type with `tape` (constexpr), `stores` (a dtype per result) and `reduction_rooted`
/// (whether the result is one value per row).
template <class Program, class Kernels = strip_kernels>
class compiler {
  template <kernel_kind Kind, int Pass>
  using kernel = typename Kernels::template kernel<Program, Kind, Pass>;
  using plan = kernel_layout<Program>;
  static constexpr const auto& t = Program::tape;
  static constexpr int reductions = plan::facts.reductions;
  static constexpr int passes = plan::facts.passes(Program::reduction_rooted);

  template <int I>
  static constexpr reduction_facts facts_at() {
    using T = compute_t<element_t<t[I].type>>;
    using Op = op_with_code<all_ops, t[I].code>;
    reduction_facts f = detail::facts_of_fold<Op, T>();
    if constexpr (Program::reduction_rooted && plan::facts.last_phase == 1)
      f.vertical = Kernels::template vertical<Op, T>::functions;
    f.pass = plan::value(I).phase - 1;
    f.has_identity |= t[I].slot == folds_nothing;
    if (t[t[I].a].code == opcode::leaf && t[t[I].a].type == f.type) f.operand_slot = t[t[I].a].slot;
    return f;
  }
  static constexpr auto reduced = []<std::size_t... R>(std::index_sequence<R...>) {
    return std::array<reduction_facts, static_cast<std::size_t>(reductions) + 1>{facts_at<plan::reductions[R]>()...};
  }
  (std::make_index_sequence<static_cast<std::size_t>(reductions)>{});
  static constexpr auto kept_types = [] {
    std::array<dtype, static_cast<std::size_t>(plan::kept_count) + 1> types{};
    for (int i = 0; i < plan::size; ++i)
      if (plan::value(i).kept >= 0) types[static_cast<std::size_t>(plan::kept_number(i))] = plan::compute_type_of(i);
    return types;
  }();
  static constexpr auto pass = []<int... P>(std::integer_sequence<int, P...>) {
    return std::array<pass_kernel, static_cast<std::size_t>(passes) + 1>{
        pass_kernel{kernel<kernel_kind::pass, P>::run}..., pass_kernel{}};
  }
  (std::make_integer_sequence<int, passes>{});
  static constexpr std::int64_t pass_length = []<int... P>(std::integer_sequence<int, P...>) {
    return std::min({std::int64_t{16384}, kernel<kernel_kind::pass, P>::longest...});
  }
  (std::make_integer_sequence<int, passes>{});
  static constexpr auto draws = detail::draw_slots<Program>();

  static constexpr compiled make() {
    static_assert(plan::slots <= max_slots,
                  "kiln: an expression can hold at most 62 tensors: evaluate a part of it into a Tensor first");
    compiled c;
    c.tape = view(t);
    c.slots = plan::slots;
    c.results = t.result_count();
    c.reductions = reductions;
    c.reduction_rooted = Program::reduction_rooted;
    c.stores = Program::stores.data();
    c.passes = passes;
    c.kept = plan::kept_count;
    c.cost = work_of(view(t), op_facts_table);
    c.reduced = reduced.data();
    c.kept_types = kept_types.data();
    if constexpr (detail::count_draws(t) > 0) {
      c.draw_count = static_cast<int>(draws.size());
      c.draws = draws.data();
    }
    if constexpr (reductions == 0) {
      c.map = kernel<kernel_kind::map, 0>::run;
    } else {
      c.pass = pass.data();
      c.pass_length = pass_length;
      if constexpr (Program::reduction_rooted) {
        c.rows = kernel<kernel_kind::rows, 0>::run;
        if constexpr (plan::facts.last_phase == 1) c.operands = kernel<kernel_kind::operands, 0>::run;
      }
    }
    return c;
  }

 public:
  static constexpr compiled program = make();
};

}  // namespace kiln::cpu::inline KILN_VERSION_ISA
