// SPDX-License-Identifier: BSL-1.0
// One line of a tape. A tape is straight-line code in single-assignment form: instruction i defines value i.
#pragma once

#include <bit>
#include <cstdint>
#include <string_view>

#include <kiln/core/dtype.hpp>

namespace kiln {

/// What an instruction does: a leaf kind below, or the code of an op (a hash of its name, so that tapes mean the same
/// in every translation unit and every build).
enum class opcode : std::uint32_t {
  none = 0,      ///< no instruction: the gradient of something that has none
  leaf = 1,      ///< a tensor; `slot` says which
  scalar = 2,    ///< a number known at run time; `slot` says which
  constant = 3,  ///< a number known to the tape; `literal` holds it
};

constexpr opcode opcode_of(std::string_view op_name) {
  std::uint32_t hash = 2166136261u;  // FNV-1a
  for (char c : op_name) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  return static_cast<opcode>(hash | 0x80000000u);
}

constexpr bool is_op(opcode code) {
  return static_cast<std::uint32_t>(code) >= 0x80000000u;
}

/// What a leaf instruction stands for; kept in its `literal`.
enum class leaf_kind : std::uint64_t {
  element = 0,  ///< an element of a tensor
  row = 1,      ///< the one value that a tensor holds per row
  address = 2,  ///< where an element of a tensor lies: what ops take that look elsewhere
  uniform = 3,  ///< a random number in [0, 1), by its place in a stream: no memory lies there. Operands a and b are the
                ///< seed and the first block of the stream
  normal = 4,   ///< the same of the standard normal distribution
};

/// The slot of a reduction that may fold nothing whatever its op says of that: of one within a function of whole rows,
/// which has its own answer for an empty row.
inline constexpr std::int16_t folds_nothing = 0;

struct instruction {
  opcode code = opcode::none;
  dtype type = dtype::float32;
  std::int16_t a = -1, b = -1, c = -1;  ///< operands: earlier instructions
  std::int16_t slot = -1;               ///< of a leaf or scalar; of a reduction, see folds_nothing
  /// Of a constant: the double, or for integer types the int64, as bits. Of a leaf: its leaf_kind.
  std::uint64_t literal = 0;

  constexpr bool operator==(const instruction&) const = default;
};

/// Of a leaf.
constexpr leaf_kind kind_of(const instruction& now) {
  return static_cast<leaf_kind>(now.literal);
}
constexpr bool is_address(const instruction& now) {
  return now.code == opcode::leaf && kind_of(now) == leaf_kind::address;
}
constexpr bool is_drawn(leaf_kind kind) {
  return kind == leaf_kind::uniform || kind == leaf_kind::normal;
}

/// The value of a constant instruction, as a double.
constexpr double number_in(const instruction& now) {
  return is_floating(now.type) ? std::bit_cast<double>(now.literal)
                               : static_cast<double>(static_cast<std::int64_t>(now.literal));
}

constexpr std::uint64_t literal_for(dtype type, double value) {
  return is_floating(type) ? std::bit_cast<std::uint64_t>(value)
                           : static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
}

}  // namespace kiln
