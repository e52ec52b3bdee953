// SPDX-License-Identifier: BSL-1.0
// Loops written out: unroll<Count>(f) calls f(0), f(1), ... f(Count - 1).
#pragma once

#include <utility>

#include <kiln/device/cpu/processor/isa.hpp>

namespace kiln::cpu::inline KILN_VERSION_ISA::detail {

// An object rather than a function that makes its numbers in another one: of functions inlined into each other, every
// further one costs the compiler all of it again. For that reason g++ gets a loop, which it writes out once, in the
// function that all of this ends in; clang++ does so too late for values to stay in registers.
template <class Numbers>
struct unroller;
template <int... I>
struct unroller<std::integer_sequence<int, I...>> {
  template <class F>
  [[gnu::always_inline]] void operator()(const F& f) const {
#ifdef __clang__
    (f(I), ...);
#else
#pragma GCC unroll 64
    for (int i = 0; i < static_cast<int>(sizeof...(I)); ++i) f(i);
#endif
  }
};
template <int Count>
inline constexpr unroller<std::make_integer_sequence<int, Count>> unroll{};

}  // namespace kiln::cpu::inline KILN_VERSION_ISA::detail
