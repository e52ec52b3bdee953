// SPDX-License-Identifier: BSL-1.0
// The definitions of sort.hpp.
#pragma once

#include <kiln/tensor/sort.hpp>

namespace kiln::detail {

KILN_INLINE order_job order_of(const tensor_state& x, int axis, const ranks& wanted) {
  const bool of_number = x.sizes.rank() == 0;
  order_job job;
  job.sizes = of_number ? dims{1} : x.sizes;
  job.axis = axis;
  job.from = x.data;
  job.from_strides = of_number ? dims{1} : x.strides;
  job.first = wanted.first;
  job.last = wanted.last < 0 ? job.sizes[axis] : wanted.last;
  job.descending = wanted.descending;
  job.nan_first = wanted.nan_first;
  return job;
}

KILN_INLINE ref<tensor_state> places_of(order_job& job, bool of_number) {
  dims sizes = job.sizes;
  sizes[job.axis] = job.last - job.first;
  const bool stays = of_number && sizes[0] == 1;
  ref<tensor_state> places = new_tensor(dtype::int64, stays ? dims{} : sizes);
  job.to = static_cast<std::int64_t*>(places->data);
  job.to_strides.set_contiguous(sizes);
  return places;
}

}  // namespace kiln::detail
