// SPDX-License-Identifier: BSL-1.0
// The definitions of indexing.hpp.
#pragma once

#include <kiln/tensor/indexing.hpp>

namespace kiln {

namespace detail {

[[gnu::noinline]] KILN_INLINE void move_elements(const index_functions& f, const dims& domain, const tensor_state& from,
                                                 const dims& from_strides, tensor_state& to, const dims& to_strides,
                                                 bool add) {
  if (count(domain) == 0) return;
  common::operand_view in{from.data, from_strides, size_of(to.type)};
  common::result_view out{to.data, to_strides, to.type, add};
  common::task job{.program = &f.copy->program(), .domain = domain, .in = &in, .out = &out};
  f.copy->run(job, *to.memory);
}

[[gnu::noinline]] KILN_INLINE index_job job_of(const index_axes& how, index_move move, const void* index,
                                               const tensor_state& table, const tensor_state& values,
                                               const dims& value_strides) {
  index_job job;
  job.move = move;
  job.domain = how.domain;
  job.index = index;
  job.index_strides = how.index_strides;
  job.wide = how.wide;
  job.table = table.data;
  job.values = values.data;
  job.value_strides = value_strides;
  if (table.sizes.rank() == 0) {  // one element, and an index of any shape
    job.table_strides = dims::filled(how.domain.rank(), 0);
    job.axis_stride = job.axis_size = 1;
  } else {
    job.table_strides = table.strides;
    job.axis_stride = table.strides[how.axis];
    job.axis_size = table.sizes[how.axis];
    job.table_strides[how.axis] = 0;
  }
  if (how.domain.rank() == 0) {
    job.domain = {1};
    job.index_strides = job.table_strides = job.value_strides = {0};
  }
  return job;
}

KILN_INLINE index_axes axes_of_select(const dims& sizes, const tensor_state& index, std::int64_t axis,
                                      const char* where) {
  if (index.sizes.rank() > 1 || (sizes.rank() == 0 && count(index.sizes) != 1))
    throw shape_error(message(where, ": the index has shape ", index.sizes,
                              ": it must be 1-D (flatten it), and of one index for a 0-d tensor"));
  index_axes how;
  how.axis = normalize_axis(axis, sizes.rank(), where);
  how.wide = index.type == dtype::int64;
  how.domain = sizes;
  how.index_strides = dims::filled(sizes.rank(), 0);
  if (sizes.rank() == 0) return how;
  how.domain[how.axis] = index.sizes.rank() == 0 ? 1 : index.sizes[0];
  if (index.sizes.rank() == 1) how.index_strides[how.axis] = index.strides[0];
  how.wide = index.type == dtype::int64;
  return how;
}

KILN_INLINE index_axes axes_of_gather(const dims& sizes, const tensor_state& index, std::int64_t axis,
                                      const char* where) {
  index_axes how;
  how.axis = normalize_axis(axis, sizes.rank(), where);
  // A 0-d tensor goes for one with an axis of size 1, and so does the index.
  bool fits = std::max(index.sizes.rank(), 1) == std::max(sizes.rank(), 1);
  for (int i = 0; i < std::min(sizes.rank(), index.sizes.rank()) && fits; ++i)
    fits = i == how.axis || index.sizes[i] <= sizes[i];
  if (!fits)
    throw shape_error(message(where, ": an index of shape ", index.sizes, " does not go with a tensor of shape ", sizes,
                              ": it needs as many axes, and apart from axis ", how.axis, " none longer"));
  how.domain = index.sizes;
  how.index_strides = index.strides;
  how.wide = index.type == dtype::int64;
  return how;
}

KILN_INLINE void index_node::backward(const ref<tensor_state>& gradient) {
  const storage& near = *gradient->memory;
  check_saved(near);
  const void* const index = saved[0].data;
  if (move_ == index_move::gather) {
    const ref<tensor_state> to = added(0, near);
    functions_.run(job_of(how_, index_move::scatter_add, index, *to, *gradient, gradient->strides), near);
    return;
  }
  if (wants(0)) {
    ref<tensor_state> kept = gradient;
    if (move_ == index_move::scatter) {  // what was overwritten has no part in the result
      kept = device().new_tensor(gradient->type, gradient->sizes, near);
      move_elements(functions_, gradient->sizes, *gradient, gradient->strides, *kept, kept->strides, false);
      const ref<tensor_state> zero = device().zeros(gradient->type, {1}, near);
      functions_.run(job_of(how_, index_move::scatter, index, *kept, *zero, dims::filled(how_.domain.rank(), 0)), near);
    }
    const ref<tensor_state> to = added(0, near);
    move_elements(functions_, to->sizes, *kept, kept->strides, *to, to->strides, true);
  }
  if (wants(1)) {
    const ref<tensor_state> taken = device().new_tensor(gradient->type, how_.domain, near);
    functions_.run(job_of(how_, index_move::gather, index, *gradient, *taken, taken->strides), near);
    const ref<tensor_state> to = added(1, near);
    move_elements(functions_, how_.domain, *taken, taken->strides, *to, to->strides, true);
  }
}

KILN_INLINE void index_node::backward_recorded(const ref<tensor_state>& gradient, const ref<gradient_record>&) {
  const storage& near = *gradient->memory;
  check_saved(near);
  recorder& r = the_recorder();
  const ref<gradient_record> none;
  const ref<tensor_state> index = remembered(saved[0], none);
  auto made_of = [&](const ref<tensor_state>& out, index_move move, const tensor_state& table,
                     const tensor_state* values) {
    if (gradient->autograd_metadata) set_producer(*out, new index_node(how_, move, *index, table, values, functions_));
    return out;
  };
  if (move_ == index_move::gather) {
    const ref<tensor_state> to = device().zeros(gradient->type, input[0]->sizes, near);
    functions_.run(job_of(how_, index_move::scatter_add, index->data, *to, *gradient, gradient->strides), near);
    return r.add(*input[0], made_of(to, index_move::scatter_add, *index, gradient.get()), device());
  }
  if (wants(0)) {
    ref<tensor_state> kept = r.copy(gradient, device());
    if (move_ == index_move::scatter) {
      const ref<tensor_state> zero = device().zeros(gradient->type, {1}, near);
      kept->autograd_metadata = nullptr;
      functions_.run(job_of(how_, index_move::scatter, index->data, *kept, *zero, dims::filled(how_.domain.rank(), 0)),
                     near);
      made_of(kept, index_move::scatter, *gradient, nullptr);
    }
    r.add(*input[0], kept, device());
  }
  if (wants(1)) {
    const ref<tensor_state> taken = device().new_tensor(gradient->type, how_.domain, near);
    functions_.run(job_of(how_, index_move::gather, index->data, *gradient, *taken, taken->strides), near);
    made_of(taken, index_move::gather, *gradient, nullptr);
    r.add(*input[1],
          how_.domain == input[1]->sizes
              ? taken
              : r.place(taken, {how_.domain, contiguous_strides(input[1]->sizes), 0}, input[1]->sizes, device()),
          device());
  }
}

}  // namespace detail
}  // namespace kiln
