// SPDX-License-Identifier: BSL-1.0
// Makes of a Program, a tape known at compile time, the plain data that the drivers of device/cpu take, with kernels by
// Eigen: strips, staging, broadcasts, sums and threads are those of Cpu.
#pragma once

#include <kiln/device/cpu/kernel/program.hpp>
#include <kiln/device/eigen/kernel.hpp>

namespace kiln::eigen::inline KILN_VERSION_ISA {

/// Folds rows onto each other, column by column.
template <class Op, class T>
struct vertical {
  using wide = std::conditional_t<std::is_floating_point_v<T>, double, std::int64_t>;
  // Onto what is there: by Eigen's vectors where it has them.
  template <class V, class X>
  static void onto(places<V> to, const X& more) {
    if constexpr (std::floating_point<V>)
      to = Op::combine(made(to), made(more)).x;
    else
      to = to.binaryExpr(more, scalar_rule<combination<Op>>{});
  }
  template <class V>
  static auto as_wide(const elements<V>& x) {
    if constexpr (std::floating_point<V>)
      return x.template cast<wide>();
    else
      return x.unaryExpr(conversion<wide>{});
  }

  static void reset(void* partial, std::int64_t n) {
    places<T>(static_cast<T*>(partial), n).setConstant(Op::template identity<T>());
  }
  static void add(void* partial, const void* values, std::int64_t stride, std::int64_t rows, std::int64_t n) {
    for (std::int64_t r = 0; r < rows; ++r)
      onto<T>(places<T>(static_cast<T*>(partial), n), elements<T>(static_cast<const T*>(values) + r * stride, n));
  }
  static void clear(std::uint64_t* total, std::int64_t n) {
    std::fill_n(total, n, common::to_bits(Op::template identity<T>()));
  }
  static void flush(std::uint64_t* total, void* partial, std::int64_t n) {
    onto<wide>(places<wide>(reinterpret_cast<wide*>(total), n), as_wide<T>(elements<T>(static_cast<T*>(partial), n)));
    reset(partial, n);
  }
  static void join(std::uint64_t* total, const std::uint64_t* other, std::int64_t n) {
    onto<wide>(places<wide>(reinterpret_cast<wide*>(total), n),
               elements<wide>(reinterpret_cast<const wide*>(other), n));
  }
  static void finish(void* values, const std::uint64_t* total, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) static_cast<T*>(values)[i] = common::from_bits<T>(total[i]);
  }
  static constexpr cpu::vertical_fold functions{&reset, &add, &clear, &flush, &join, &finish};
};

/// The kernels of a Program: see cpu::compiler.
template <class Program>
class compiler {
  using plan = cpu::kernel_layout<Program>;
  static constexpr const auto& t = Program::tape;
  static constexpr int reductions = plan::facts.reductions;
  static constexpr int passes = plan::facts.passes(Program::reduction_rooted);
  static constexpr auto draws = cpu::detail::draw_slots<Program>();

  template <int I>
  static constexpr void describe(std::array<cpu::reduction_facts, static_cast<std::size_t>(reductions) + 1>& all) {
    if constexpr (plan::value(I).reduction >= 0) {
      using T = compute_t<element_t<t[I].type>>;
      using Op = op_with_code<all_ops, t[I].code>;
      cpu::reduction_facts f = cpu::detail::facts_of_fold<Op, T, false>();
      if constexpr (Program::reduction_rooted && plan::facts.last_phase == 1) f.vertical = vertical<Op, T>::functions;
      f.pass = plan::value(I).phase - 1;
      f.has_identity |= t[I].slot == folds_nothing;
      if (t[t[I].a].code == opcode::leaf && t[t[I].a].type == f.type) f.operand_slot = t[t[I].a].slot;
      all[static_cast<std::size_t>(plan::value(I).reduction)] = f;
    }
  }
  static constexpr auto reduced = []<int... I>(std::integer_sequence<int, I...>) {
    std::array<cpu::reduction_facts, static_cast<std::size_t>(reductions) + 1> all{};
    (describe<I>(all), ...);
    return all;
  }
  (std::make_integer_sequence<int, plan::size>{});
  static constexpr auto kept_types = [] {
    std::array<dtype, static_cast<std::size_t>(plan::kept_count) + 1> types{};
    for (int i = 0; i < plan::size; ++i)
      if (plan::value(i).kept >= 0) types[static_cast<std::size_t>(plan::kept_number(i))] = plan::compute_type_of(i);
    return types;
  }();
  static constexpr auto pass = []<int... P>(std::integer_sequence<int, P...>) {
    return std::array<cpu::pass_kernel, static_cast<std::size_t>(passes) + 1>{
        cpu::pass_kernel{&kernel<Program, kernel_kind::pass, P>::run}..., cpu::pass_kernel{}};
  }
  (std::make_integer_sequence<int, passes>{});

  static constexpr cpu::compiled make() {
    static_assert(plan::slots <= common::max_slots,
                  "kiln: an expression can hold at most 62 tensors: evaluate a part of it into a Tensor first");
    cpu::compiled c;
    c.tape = view(t);
    c.slots = plan::slots;
    c.results = t.result_count();
    c.reductions = reductions;
    c.reduction_rooted = Program::reduction_rooted;
    c.stores = Program::stores.data();
    c.passes = passes;
    c.kept = plan::kept_count;
    c.cost = cpu::work_of(view(t), op_rules_table);
    c.reduced = reduced.data();
    c.kept_types = kept_types.data();
    if constexpr (cpu::detail::count_draws(t) > 0) {
      c.draw_count = static_cast<int>(draws.size());
      c.draws = draws.data();
    }
    if constexpr (reductions == 0) {
      c.map = &kernel<Program, kernel_kind::map, 0>::run;
    } else {
      c.pass = pass.data();
      if constexpr (Program::reduction_rooted) {
        c.rows = &kernel<Program, kernel_kind::rows, 0>::run;
        if constexpr (plan::facts.last_phase == 1) c.operands = &kernel<Program, kernel_kind::operands, 0>::run;
      }
    }
    return c;
  }

 public:
  static constexpr cpu::compiled program = make();
};

}  // namespace kiln::eigen::inline KILN_VERSION_ISA
