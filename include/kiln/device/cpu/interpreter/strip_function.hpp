// SPDX-License-Identifier: BSL-1.0
// What the interpreter computes with: for each op and type a function that runs over a strip in first-level cache, and
// the same for conversions and for the folds of reductions. Here stand their signatures and how they are found; the
// functions themselves are templates of the *_impl.hpp files beside this one, compiled once.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include <kiln/core/version.hpp>
#include <kiln/device/cpu/kernel/program.hpp>
#include <kiln/device/cpu/simd/width.hpp>

namespace kiln::cpu::inline KILN_VERSION_ISA {
namespace interpreter {

/// Where a strip function finds an operand: `mask` is all ones for elements one after the other, and 0 where a
/// register's worth of one value stands for all.
struct operand {
  const void* data;
  std::int64_t mask;
};

struct step;
/// Computes `n` elements, a multiple of the function's lanes, of and into the places that a step names. The result may
/// lie on an operand whose elements are not narrower.
using strip_function = void (*)(const operand* places, const step& x, std::int64_t n);
struct step {
  strip_function run = nullptr;
  std::int16_t out = 0, a = 0, b = 0, c = 0, d = 0;
  std::int64_t n = 0;  ///< of a step that is taken once

  template <class T>
  T* result(const operand* places) const {
    return static_cast<T*>(const_cast<void*>(places[out].data));
  }
};

/// Elements that a strip function handles at a time, whose widest operand or result is computed in `type`.
constexpr int lanes_of(dtype type) {
  return std::clamp(vector_bytes / static_cast<int>(size_of(kiln::compute_type(type))), 2, 64);
}
constexpr int lanes_of(dtype a, dtype b) {
  return std::min(lanes_of(a), lanes_of(b));
}

/// The function of an op whose last operand is computed in `type`, for a program that takes steps of `width` elements;
/// null if there is none. Where the mathematics of floats differ by width (tables that fit whole registers alone), so
/// do the functions: bits are those of a compiled kernel of that width.
strip_function strip_of(opcode code, dtype type, int width);
/// a * b + c (way 0), a * b - c (1) and c - a * b (2), rounded once where the hardware can; for floating types.
strip_function joined_product(dtype type, int way);
/// Two of +, - and * in one, each rounded: outer(inner(a, b), c), or `swapped` outer(c, inner(a, b)). Null for others.
strip_function pair_of(opcode inner, opcode outer, bool swapped, dtype type);
/// c where a comparison of a and b holds, else d, all computed in a floating type; null if `comparison` is no
/// comparison.
strip_function choice(opcode comparison, dtype type);
/// From elements stored as one type to elements stored as another, as a cast: also loads of half types (to float32),
/// their rounding stores, and copies.
strip_function conversion(dtype from, dtype to);
/// Adds values of compute_type(stored) to what is there; not for bool.
strip_function addition(dtype stored);
/// What fills `vector_bytes` bytes with one number as kernels are given it.
using spread_function = void (*)(void* workspace, std::uint64_t bits);
spread_function spreading(dtype type);

/// A reduction under way: accumulators side by side, what they held before they last began anew, and how many elements
/// they have taken since.
struct alignas(64) fold_state {
  std::array<std::array<unsigned char, static_cast<std::size_t>(vector_bytes)>, 4> totals;
  std::array<unsigned char, static_cast<std::size_t>(vector_bytes)> earlier;
  std::int64_t taken;
};
/// The steps of a fold over lanes of a given number, as a compiled kernel takes them. Every call of `add` but the last
/// takes a multiple of side_by_side registers.
struct fold_functions {
  void (*start)(fold_state& state) = nullptr;
  /// Takes n values, or products with a factor where there is one: of floating sums only.
  void (*add)(fold_state& state, const operand& values, const operand* factor, std::int64_t n,
              int side_by_side) = nullptr;
  void (*finish)(fold_state& state, int side_by_side, std::uint64_t* bits) = nullptr;  ///< joined to what `bits` holds
  /// All three, for values that are taken at once.
  void (*whole)(const operand& values, const operand* factor, std::int64_t n, int side_by_side,
                std::uint64_t* bits) = nullptr;
};
fold_functions fold_of(opcode code, dtype type, int lanes);

/// The facts of a reduction computed in `type`, but for its operand and pass.
reduction_facts facts_of_reduction(opcode code, dtype type);

/// What fills strips with random numbers.
using draw_function = void (*)(const random_stream& stream, std::uint64_t position, std::int64_t stride, std::int64_t n,
                               void* to);
draw_function draws_of(leaf_kind kind, dtype type);

}  // namespace interpreter
}  // namespace kiln::cpu::inline KILN_VERSION_ISA
