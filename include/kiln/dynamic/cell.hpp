// SPDX-License-Identifier: BSL-1.0
// What a dynamic tensor points to: a value, or what will compute it when it is asked for. A pending cell holds what it
// reads as it was when the call was written: of tensors that have values their state, history and moment, so that later
// changes are noticed; of pending ones the cell. None of it depends on an element type.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>

#include <kiln/core/dims.hpp>
#include <kiln/core/dtype.hpp>
#include <kiln/dynamic/device.hpp>
#include <kiln/tape/instruction.hpp>
#include <kiln/tensor/state.hpp>

namespace kiln::dynamic::graph {

enum class form : std::uint8_t {
  value,      ///< computed, or given
  number,     ///< a number beside tensors, which becomes one of a tape
  pointwise,  ///< an op on elements
  cast,       ///< the same elements as another type
  row,        ///< a reduction, or a function of whole rows
};

struct cell;

/// What a pending cell reads.
struct operand {
  std::shared_ptr<cell> of;                ///< a pending cell or a number; null for a value
  ref<tensor_state> state;                 ///< of a value
  ref<gradient_record> autograd_metadata;  ///< of a value, as it was when the call was written
  moment wanted;
  bool tracked = false;  ///< gradients flow back through this
};

struct cell {
  form is = form::value;
  dtype type = dtype::float32;
  device where;  ///< and where all that it reads is; a number goes with tensors of any device
  dims sizes;
  ref<tensor_state> value;
  moment computed;  ///< of a value that was pending: when it was made

  // of a number
  bool whole = false;  ///< `count` holds it, not `real`
  double real = 0;
  std::int64_t integer = 0;

  // of what is pending
  opcode code = opcode::none;
  std::string_view name;
  bool reduces = false, keepdim = false, tracked = false;
  int arity = 0;
  std::uint32_t axes = 0;
  std::array<double, 2> numbers{};  ///< the further operands of a row function
  std::array<operand, 3> in;
  int cost = 0;    ///< of this op alone
  int weight = 0;  ///< no fewer instructions than the tape of all that is pending from here down
  int leaves = 0;  ///< no fewer tensors than that reads

  bool went_along = false;  ///< was computed on the tape of another cell, which kept nothing of it

  bool pending() const { return is != form::value && is != form::number; }
};

/// The most that a pending cell may stand for; before there would be more, operands are evaluated. (A kernel takes 64
/// tensors; second derivatives read all leaves, and a gradient of each.)
inline constexpr int most_instructions = 256, most_leaves = 30;

/// Computes the value of a cell; does nothing if it has one. A cell whose evaluation throws stays as it was.
void evaluate(cell& of);

/// The state of a cell's value, evaluated, with the history it has now.
const ref<tensor_state>& state_of(cell& of);

std::shared_ptr<cell> cell_of(ref<tensor_state> state, device where = {});

}  // namespace kiln::dynamic::graph
