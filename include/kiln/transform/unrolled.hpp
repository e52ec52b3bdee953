// SPDX-License-Identifier: BSL-1.0
// A tape run on plain numbers, unrolled: every value a variable of its own, so that nothing is left of the tape when
// the program runs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <kiln/device/common/bits.hpp>
#include <kiln/device/cpu/kernel/plain.hpp>
#include <kiln/ops/all.hpp>
#include <kiln/tape/program.hpp>

namespace kiln::detail {

template <const auto& Tape, int I>
using step_type = compute_t<element_t<Tape[I].type>>;

/// The values of instructions 0 to I. Leaves and numbers come as bits (common::to_bits).
template <const auto& Tape, int I>
struct unrolled_steps : unrolled_steps<Tape, I - 1> {
  step_type<Tape, I> v;

  constexpr unrolled_steps(const std::uint64_t* leaves, const std::uint64_t* numbers)
      : unrolled_steps<Tape, I - 1>(leaves, numbers), v(compute(leaves, numbers)) {}

  template <int K>
  constexpr cpu::plain<step_type<Tape, K>> at() const {
    return {static_cast<const unrolled_steps<Tape, K>&>(*this).v};
  }

 private:
  constexpr step_type<Tape, I> compute(const std::uint64_t* leaves, const std::uint64_t* numbers) const {
    constexpr instruction now = Tape[I];
    using T = step_type<Tape, I>;
    if constexpr (now.code == opcode::leaf) {
      return common::from_bits<T>(leaves[now.slot]);
    } else if constexpr (now.code == opcode::scalar) {
      return common::from_bits<T>(numbers[now.slot]);
    } else if constexpr (now.code == opcode::constant) {
      return static_cast<T>(number_in(now));
    } else {
      using Op = op_with_code<all_ops, now.code>;
      if constexpr (std::is_same_v<Op, cast_op>)
        return cpu::plain_as<T>(this->template at<now.a>()).v;
      else if constexpr (now.b < 0)
        return Op::value(this->template at<now.a>()).v;
      else if constexpr (now.c < 0)
        return Op::value(this->template at<now.a>(), this->template at<now.b>()).v;
      else
        return Op::value(this->template at<now.a>(), this->template at<now.b>(), this->template at<now.c>()).v;
    }
  }
};
template <const auto& Tape>
struct unrolled_steps<Tape, -1> {
  constexpr unrolled_steps(const std::uint64_t*, const std::uint64_t*) {}
};

template <const auto& Tape>
using unrolled = unrolled_steps<Tape, Tape.size() - 1>;

/// Result R of a tape that has been run.
template <int R, const auto& Tape>
constexpr auto result_of(const unrolled<Tape>& run) {
  return run.template at<Tape.result(R)>().v;
}

}  // namespace kiln::detail
