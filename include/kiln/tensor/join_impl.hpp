// SPDX-License-Identifier: BSL-1.0
// The definitions of join.hpp.
#pragma once

#include <kiln/tensor/join.hpp>

namespace kiln {

namespace detail {

KILN_INLINE ref<tensor_state> join(const std::vector<ref<tensor_state>>& parts, std::int64_t axis, const runnable& copy,
                                   const runnable* add) {
  if (parts.empty()) throw value_error("cat: no tensors to join: give at least one");
  dims sizes = parts[0]->sizes;
  if (sizes.rank() == 0) throw shape_error("cat: a 0-d tensor has no axis to join along: use stack");
  const int along = normalize_axis(axis, sizes.rank(), "cat");
  sizes[along] = 0;
  bool recorded = false;
  for (const auto& part : parts) {
    bool fits = part->sizes.rank() == sizes.rank();
    for (int i = 0; i < sizes.rank() && fits; ++i) fits = i == along || part->sizes[i] == sizes[i];
    if (!fits)
      throw shape_error(message("cat: shapes ", parts[0]->sizes, " and ", part->sizes, " do not join along axis ",
                                along, ": all other sizes must be equal (reshape or slice them first)"));
    sizes[along] += part->sizes[along];
    recorded |= static_cast<bool>(part->history);
  }
  const ref<tensor_state> out = copy.device->new_tensor(parts[0]->type, sizes, *parts[0]->memory);
  const std::size_t size = size_of(out->type);
  std::vector<joined_part> places;
  std::int64_t begin = 0;
  for (const auto& part : parts) {
    const std::int64_t offset = begin * out->strides[along];
    begin += part->sizes[along];
    places.push_back({part->history, part->sizes, offset});
    if (count(part->sizes) == 0) continue;
    cpu::operand_view from{part->data, cpu::broadcast_strides(part->sizes, part->strides, part->sizes), size};
    cpu::result_view to{static_cast<char*>(out->data) + offset * static_cast<std::int64_t>(size), out->strides, size,
                        out->type, false};
    copy.device->check_operand(*part->memory, *out->memory);
    cpu::task job{.program = &copy.program(), .domain = part->sizes, .in = &from, .out = &to};
    copy.run(job, *out->memory);
  }
  if (recorded && grad_enabled() && add) {
    out->history = new_record(out->type, sizes);
    out->history->producer = ref<graph_node>::adopt(new join_node(std::move(places), add));
  }
  return out;
}

}  // namespace detail
}  // namespace kiln
