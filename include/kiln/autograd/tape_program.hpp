// SPDX-License-Identifier: BSL-1.0
// A tape made while the program runs, cut into what drivers can run: results per element are one program; each result
// per row is one of its own, or, where values per row go into it besides reductions, two.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <kiln/core/recently_used.hpp>
#include <kiln/tape/gradient.hpp>
#include <kiln/tensor/executor.hpp>
#include <kiln/tensor/expression_facts.hpp>
#include <kiln/tensor/run_time_tape.hpp>

namespace kiln::detail {

class tape_program {
 public:
  /// Of a tape with leaves in slots [0, slots), whose composite ops are written out. `as_written` is the same with
  /// those composite ops that have a derivative rule of their own, which gradients then follow. Throws graph_error if a
  /// result needs more leaves than one kernel takes.
  tape_program(const program& tape, int slots, std::vector<delivered_result> results,
               const program* as_written = nullptr);

  const program& tape() const { return tape_; }
  int slots() const { return slots_; }
  const std::vector<delivered_result>& results() const { return results_; }
  bool reads(int slot) const { return leaf_of_[static_cast<std::size_t>(slot)] >= 0; }
  bool has(int result) const { return tape_.results[result] >= 0; }

  /// Computes the results into `out`, of the right sizes and types: null where they are not wanted. Operands are per
  /// slot. Results narrower than the domain receive sums.
  void run(const device_functions& device, const evaluation& how, const ref<tensor_state>* operands,
           const std::uint64_t* numbers, const ref<tensor_state>* out, const storage& near) const;

  /// The gradients of the leaves that are wanted, given those of the results that arrive: slots [0, slots) are ours,
  /// those after them the gradients of our results; it has a result for each of our slots. The 16 last asked for are
  /// kept.
  std::shared_ptr<const tape_program> gradient(const std::vector<bool>& arrives, const std::vector<bool>& wanted) const;

 private:
  enum class over : std::uint8_t { elements, rows, row_values };
  struct part {
    run_time_tape code;
    over domain = over::elements;
    std::vector<int> slot;       // of each leaf: ours; of what an earlier part computes: slots() + its number
    std::vector<bool> leaf_row;  // of each leaf: one value per row
    std::vector<int> result;     // of each result: ours, or results() + the number of what a later part reads
  };
  std::unique_ptr<part> cut(const program& from, const std::vector<int>& results, over domain) const;
  void add_row_result(int result);
  void add_element_results(std::vector<int> results);

  program tape_;
  std::unique_ptr<const program> as_written_;  // null: as tape_
  int slots_;
  std::vector<delivered_result> results_;
  std::vector<int> leaf_of_;  // per slot: its instruction, or -1
  std::vector<std::unique_ptr<part>> parts_;
  std::vector<dtype> temporary_;  // values per row that one part computes for another
  mutable recently_used<std::pair<std::vector<bool>, std::vector<bool>>, tape_program, 16> gradients_;
};

}  // namespace kiln::detail

#ifndef KILN_COMPILED
#include <kiln/autograd/tape_program_impl.hpp>
#endif
