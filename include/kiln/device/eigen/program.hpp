// SPDX-License-Identifier: BSL-1.0
// Makes of a Program, a tape known at compile time, the plain data that the drivers of device/cpu take, with kernels by
// Eigen: strips, staging, broadcasts, sums and threads are those of Cpu.
#pragma once

#include <kiln/device/cpu/kernel/program.hpp>
#include <kiln/device/eigen/kernel.hpp>

namespace kiln::eigen::inline KILN_VERSION_ISA {

/// Folds rows onto each other, column by column: what is arithmetic, by Eigen's vectors where it has them.
template <class Op, class T>
struct vertical : cpu::detail::vertical<Op, T> {
  using typename cpu::detail::vertical<Op, T>::wide;
  template <class V, class X>
  static void onto(places<V> to, const lazy<V, X>& more) {
    if constexpr (std::floating_point<V>)
      to = Op::combine(made(to), more).x;
    else
      to = to.binaryExpr(more.x, scalar_rule<combination<Op>>{});
  }
  static places<wide> totals(std::uint64_t* total, std::int64_t n) { return {reinterpret_cast<wide*>(total), n}; }

  static void add(void* partial, const void* values, std::int64_t stride, std::int64_t rows, std::int64_t n) {
    for (std::int64_t r = 0; r < rows; ++r)
      onto<T>({static_cast<T*>(partial), n}, made(elements<T>(static_cast<const T*>(values) + r * stride, n)));
  }
  static void flush(std::uint64_t* total, void* partial, std::int64_t n) {
    onto<wide>(totals(total, n), as<wide>(made(elements<T>(static_cast<T*>(partial), n))));
    vertical::reset(partial, n);
  }
  static void join(std::uint64_t* total, const std::uint64_t* other, std::int64_t n) {
    onto<wide>(totals(total, n), made(elements<wide>(reinterpret_cast<const wide*>(other), n)));
  }
  static constexpr cpu::vertical_fold functions{&vertical::reset, &add,  &vertical::clear,
                                                &flush,           &join, &vertical::finish};
};

/// See cpu::strip_kernels.
struct array_kernels {
  template <class Program, kernel_kind Kind, int Pass>
  using kernel = eigen::kernel<Program, Kind, Pass>;
  template <class Op, class T>
  using vertical = eigen::vertical<Op, T>;
};
template <class Program>
using compiler = cpu::compiler<Program, array_kernels>;

}  // namespace kiln::eigen::inline KILN_VERSION_ISA
