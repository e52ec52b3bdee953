// SPDX-License-Identifier: BSL-1.0
// The definitions of join.hpp.
#pragma once

#include <algorithm>

#include <kiln/tensor/join.hpp>

namespace kiln {

namespace detail {

KILN_INLINE ref<tensor_state> join(const std::vector<ref<tensor_state>>& parts, std::int64_t axis, const runnable& copy,
                                   const runnable* add, const char* where) {
  if (parts.empty()) throw value_error(message(where, ": no tensors to join: give at least one"));
  // As in PyTorch, a tensor of shape [0] goes with any others and adds nothing.
  const auto is_nothing = [](const ref<tensor_state>& part) { return part->sizes == dims{0}; };
  const auto first = std::find_if_not(parts.begin(), parts.end(), is_nothing);
  dims sizes = first == parts.end() ? dims{0} : (*first)->sizes;
  if (sizes.rank() == 0) throw shape_error("cat: a 0-d tensor has no axis to join along: use stack");
  const int along = normalize_axis(axis, sizes.rank(), where);
  bool recorded = false;
  const dims shape = sizes;
  sizes[along] = 0;
  for (const auto& part : parts) {
    recorded |= static_cast<bool>(part->autograd_metadata);
    if (is_nothing(part)) continue;
    bool fits = part->sizes.rank() == sizes.rank();
    for (int i = 0; i < sizes.rank() && fits; ++i) fits = i == along || part->sizes[i] == sizes[i];
    if (!fits)
      throw shape_error(message(where, ": shapes ", shape, " and ", part->sizes, " do not join along axis ", along,
                                ": all other sizes must be equal (reshape or slice them first)"));
    if (__builtin_add_overflow(sizes[along], part->sizes[along], &sizes[along]))
      throw shape_error(message(where, ": axis ", along, " of tensors of shape ", shape,
                                " and others gets longer than 63 bits can say: join fewer of them"));
  }
  const ref<tensor_state> out = copy.device->new_tensor(parts[0]->type, sizes, *parts[0]->memory);
  const std::size_t size = size_of(out->type);
  std::vector<joined_part> places;
  std::vector<ref<gradient_record>> records;
  std::int64_t begin = 0;
  const std::int64_t whole = count(sizes);
  for (const auto& part : parts) {
    const std::int64_t offset = whole > 0 ? begin * out->strides[along] : 0;  // of nothing, axes may be huge
    if (!is_nothing(part)) begin += part->sizes[along];
    places.push_back({part->sizes, offset});
    records.push_back(part->autograd_metadata);
    if (count(part->sizes) == 0) continue;
    common::operand_view from{part->data, common::broadcast_strides(part->sizes, part->strides, part->sizes), size};
    common::result_view to{static_cast<char*>(out->data) + offset * static_cast<std::int64_t>(size), out->strides,
                           out->type, false};
    copy.device->check_operand(*part->memory, *out->memory);
    common::task job{.program = &copy.program(), .domain = part->sizes, .in = &from, .out = &to};
    copy.run(job, *out->memory);
  }
  if (recorded && grad_enabled() && add) set_producer(*out, new join_node(std::move(places), std::move(records), add));
  return out;
}

}  // namespace detail
}  // namespace kiln
