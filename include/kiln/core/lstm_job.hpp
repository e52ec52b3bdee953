// SPDX-License-Identifier: BSL-1.0
// What a long short-term memory asks of a device: all its steps in time, one after the other. A description; nothing
// here computes.
#pragma once

#include <cstdint>

namespace kiln {

/// Steps of one layer in one direction: gates (input, forget, cell, output) of what the inputs and the state give
/// together, a cell and a state. Tensors without strides here are contiguous.
template <class T>
struct lstm_job {
  std::int64_t times = 0, batch = 0, units = 0;
  bool backwards = false;        ///< from the last time to the first
  const T* of_inputs = nullptr;  ///< (times, batch, 4 * units): what inputs and biases give to the gates
  const T* weight = nullptr;     ///< (4 * units, units): what the state gives to them
  std::int64_t weight_row = 0, weight_column = 0;
  const std::int64_t* lengths = nullptr;  ///< (batch): where each sequence ends; null: nowhere
  // What is kept for a backward pass. The state before the first step and the cell are to be there already.
  T* gates = nullptr;   ///< (times, batch, 4 * units), or of one time if not `keeps`
  T* cells = nullptr;   ///< (times + 1, batch, units)
  T* states = nullptr;  ///< (times + 1, batch, units)
  bool keeps = true;    ///< the gates of all times

  /// The time of a step.
  std::int64_t time_of(std::int64_t step) const { return backwards ? times - 1 - step : step; }
  /// Where cells and states have those before and after a time.
  std::int64_t before(std::int64_t time) const { return backwards ? time + 1 : time; }
  std::int64_t after(std::int64_t time) const { return backwards ? time : time + 1; }
  bool runs(std::int64_t time, std::int64_t row) const { return !lengths || time < lengths[row]; }
  std::int64_t of_a_time() const { return batch * units; }
  T* gates_at(std::int64_t time) const { return gates + (keeps ? time : 0) * 4 * of_a_time(); }
};

/// The gradients of what an LSTM gave, and where those of what it was given go; each may be null, but `gates`.
template <class T>
struct lstm_gradients {
  const T* out = nullptr;    ///< (times, batch, units)
  const T* state = nullptr;  ///< (batch, units), of the last
  const T* cell = nullptr;
  T* gates = nullptr;                               ///< (times, batch, 4 * units), of of_inputs: written
  T* weight = nullptr;                              ///< (4 * units, units): added to
  T *first_state = nullptr, *first_cell = nullptr;  ///< (batch, units): written
};

}  // namespace kiln
