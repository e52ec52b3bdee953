// SPDX-License-Identifier: BSL-1.0
// The definitions of tape_program.hpp.
#pragma once

#include <algorithm>

#include <kiln/autograd/tape_program.hpp>
#include <kiln/core/few.hpp>
#include <kiln/device/cpu/drivers.hpp>
#ifndef KILN_COMPILED
#include <kiln/device/cpu/interpreter.hpp>
#endif
#include <kiln/expr/shape.hpp>
#include <kiln/ops/all.hpp>
#include <kiln/tensor/run.hpp>

namespace kiln::detail {

// A tape by the interpreter on the processor, by its own printer on a device that has one.
KILN_INLINE void run_tape(const device_functions& device, const run_time_tape& code, common::task& job,
                          const storage& near) {
  if (device.run_tape) return device.run_tape(code, job, near);
#ifdef KILN_COMPILED
  using cpu::drivers::interpret;
#else
  using cpu::interpret;
#endif
  const auto made = code.prepared<cpu::compiled>(&device, [&] {
    return std::const_pointer_cast<cpu::compiled>(interpret(code.view(), code.stores.data(), code.reduction_rooted));
  });
  job.program = made.get();
  made->reductions == 0 ? cpu::drivers::run_map(job) : cpu::drivers::run_rows(job);
}

KILN_INLINE bool is_reduction(const instruction& now) {
  const found_rules op = op_facts_table.find(now.code);
  return op && op->reduces;
}

KILN_INLINE tape_program::tape_program(const program& tape, int slots, std::vector<delivered_result> results,
                                       const program* as_written)
    : tape_(tape),
      as_written_(as_written ? std::make_unique<const program>(*as_written) : nullptr),
      slots_(slots),
      results_(std::move(results)),
      leaf_of_(static_cast<std::size_t>(slots), -1) {
  std::vector<int> elements;
  for (int i = 0; i < tape_.size(); ++i)
    if (tape_[i].code == opcode::leaf) leaf_of_[static_cast<std::size_t>(tape_[i].slot)] = i;
  for (int r = 0; r < tape_.result_count; ++r) {
    if (!has(r)) continue;
    if (results_[static_cast<std::size_t>(r)].at == level::row)
      add_row_result(r);
    else
      elements.push_back(r);
  }
  add_element_results(std::move(elements));
}

// The part of a tape that its results need, its leaves numbered anew. Over rows, leaves are taken for elements that
// stand still along the row: a row program of one value per row finds no other values per row in memory.
KILN_INLINE std::unique_ptr<tape_program::part> tape_program::cut(const program& from, const std::vector<int>& results,
                                                                  over domain) const {
  auto made = std::make_unique<part>();
  program needed;
  keep_needed(from, needed);
  detail::scratch<std::int16_t> places(needed.size());
  for (int i = 0; i < needed.size(); ++i) {
    instruction now = needed[i];
    for (std::int16_t* operand : {&now.a, &now.b, &now.c})
      if (*operand >= 0) *operand = places.data()[*operand];
    if (now.code == opcode::leaf) {
      const auto known = std::find(made->slot.begin(), made->slot.end(), now.slot);
      const auto at = known - made->slot.begin();
      if (known == made->slot.end()) {
        made->slot.push_back(now.slot);
        made->leaf_row.push_back(kind_of(now) == leaf_kind::row);
      }
      now.slot = static_cast<std::int16_t>(at);
      if (kind_of(now) == leaf_kind::row && domain == over::rows) now.literal = 0;
    }
    made->code.reductions += is_reduction(now);
    places.data()[i] = static_cast<std::int16_t>(made->code.tape.push(now));
  }
  for (int r = 0; r < needed.result_count; ++r) made->code.tape.add_result(places.data()[needed.results[r]]);
  made->code.slots = static_cast<int>(made->slot.size());
  made->domain = domain;
  made->result = results;
  made->code.reduction_rooted = domain == over::rows;
  return made;
}

KILN_INLINE void tape_program::add_element_results(std::vector<int> results) {
  if (results.empty()) return;
  program wanted(tape_);
  wanted.result_count = 0;
  for (const int r : results) wanted.add_result(tape_.results[r]);
  auto made = cut(wanted, results, over::elements);
  if (made->code.slots > common::max_slots) {
    if (results.size() == 1)
      throw graph_error(message("create_graph: the gradient of one operand reads ", made->code.slots,
                                " tensors, more than the ", common::max_slots,
                                " of a kernel: evaluate a part of the expression into a Tensor first"));
    const auto half = results.begin() + static_cast<std::ptrdiff_t>(results.size() / 2);
    add_element_results({results.begin(), half});
    return add_element_results({half, results.end()});
  }
  // What is added up is computed in the wider type and rounded once.
  for (const int r : results) made->code.stores.push_back(compute_type(tape_[tape_.results[r]].type));
  parts_.push_back(std::move(made));
}

KILN_INLINE void tape_program::add_row_result(int result) {
  const int root = tape_.results[result];
  const dtype stored = results_[static_cast<std::size_t>(result)].stored;
  // The reductions that the result is computed from directly, and whether values per row go into it as well.
  std::vector<bool> below(static_cast<std::size_t>(tape_.size()));
  below[static_cast<std::size_t>(root)] = true;
  bool other = false;
  std::vector<int> reductions;
  for (int i = root; i >= 0; --i) {
    if (!below[static_cast<std::size_t>(i)]) continue;
    const instruction& now = tape_[i];
    if (is_reduction(now)) {
      reductions.push_back(i);
      continue;
    }
    other |= now.code == opcode::leaf;
    if (now.code == opcode::leaf) continue;
    for (const int x : {int{now.a}, int{now.b}, int{now.c}})
      if (x >= 0) below[static_cast<std::size_t>(x)] = true;
  }
  program wanted(tape_);
  wanted.result_count = 0;
  if (!reductions.empty() && !other) {
    wanted.add_result(root);
    parts_.push_back(cut(wanted, {result}, over::rows));
    parts_.back()->code.stores = {stored};
    return;
  }
  // Each reduction by itself, then all values of the rows.
  program rest;
  detail::scratch<std::int16_t> places(tape_.size());
  for (int i = 0; i <= root; ++i) {
    if (!below[static_cast<std::size_t>(i)]) continue;
    instruction now = tape_[i];
    if (is_reduction(now)) {
      program alone(tape_);
      alone.result_count = 0;
      alone.add_result(i);
      const int number = static_cast<int>(temporary_.size());
      temporary_.push_back(compute_type(now.type));
      parts_.push_back(cut(alone, {static_cast<int>(results_.size()) + number}, over::rows));
      parts_.back()->code.stores = {temporary_.back()};
      now = {.code = opcode::leaf,
             .type = temporary_.back(),
             .slot = static_cast<std::int16_t>(slots_ + number),
             .literal = static_cast<std::uint64_t>(leaf_kind::row)};
    } else {
      for (std::int16_t* operand : {&now.a, &now.b, &now.c})
        if (*operand >= 0) *operand = places.data()[*operand];
    }
    places.data()[i] = static_cast<std::int16_t>(rest.push(now));
  }
  rest.add_result(places.data()[root]);
  parts_.push_back(cut(rest, {result}, over::row_values));
  parts_.back()->code.stores = {compute_type(tape_[root].type)};
}

KILN_INLINE void tape_program::run(const device_functions& device, const evaluation& how,
                                   const ref<tensor_state>* operands, const std::uint64_t* numbers,
                                   const ref<tensor_state>* out, const storage& near) const {
  std::vector<ref<tensor_state>> temporary;
  const dims rows = reduced_sizes(how.domain, how.axes, how.keepdim);
  for (const dtype type : temporary_) temporary.push_back(device.new_tensor(type, rows, near));
  auto strides_of = [&](const tensor_state& t, bool row) {
    return row ? row_value_strides(t, how.domain, how.axes, how.keepdim)
               : common::broadcast_strides(t.sizes, t.strides, how.domain);
  };
  for (const auto& p : parts_) {
    few<common::operand_view, common::max_slots> in(p->code.slots);
    std::vector<common::result_view> results(p->result.size());
    for (int i = 0; i < p->code.slots; ++i) {
      const int slot = p->slot[static_cast<std::size_t>(i)];
      const tensor_state& t = slot < slots_ ? *operands[slot] : *temporary[static_cast<std::size_t>(slot - slots_)];
      device.check_operand(*t.memory, near);
      in[i] = {t.data, strides_of(t, p->leaf_row[static_cast<std::size_t>(i)]), size_of(t.type)};
    }
    bool any = false;
    for (std::size_t r = 0; r < results.size(); ++r) {
      const int own = p->result[r], count = static_cast<int>(results_.size());
      const ref<tensor_state>& t = own < count ? out[own] : temporary[static_cast<std::size_t>(own - count)];
      results[r].data = nullptr;
      if (!t) continue;
      any = true;
      results[r] = {t->data, strides_of(*t, p->domain != over::elements), t->type, false};
    }
    if (!any) continue;
    common::task job{.domain = how.domain, .in = in.data(), .out = results.data(), .scalars = numbers};
    if (p->code.reductions > 0) job.reduced_axes = how.axes;
    if (p->domain == over::row_values)
      for (int i = 0; i < job.domain.rank(); ++i)
        if (how.axes >> i & 1) job.domain[i] = 1;
    run_tape(device, p->code, job, near);
  }
}

KILN_INLINE std::shared_ptr<const tape_program> tape_program::gradient(const std::vector<bool>& arrives,
                                                                       const std::vector<bool>& wanted) const {
  if (auto found = gradients_.find({arrives, wanted})) return found;
  std::vector<delivered_result> from = results_, to;
  for (std::size_t r = 0; r < from.size(); ++r) from[r].arrives = arrives[r], from[r].read_back = false;
  program all;
  kiln::gradient(as_written_ ? *as_written_ : tape_, all, op_rules_table, slots_, from.data());
  for (int s = 0; s < slots_; ++s) {
    const int leaf = leaf_of_[static_cast<std::size_t>(s)];
    if (leaf < 0 || !wanted[static_cast<std::size_t>(s)]) {
      all.results[s] = -1;
      to.push_back({});
      continue;
    }
    to.push_back(
        {.stored = tape_[leaf].type, .at = kind_of(tape_[leaf]) == leaf_kind::row ? level::row : level::element});
  }
  program needed;
  keep_needed(all, needed);
  auto made = std::make_shared<const tape_program>(needed, slots_ + static_cast<int>(from.size()), std::move(to));
  gradients_.keep({arrives, wanted}, made);
  return made;
}

}  // namespace kiln::detail
