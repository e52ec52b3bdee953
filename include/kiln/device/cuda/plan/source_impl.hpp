// SPDX-License-Identifier: BSL-1.0
// The definitions of source.hpp.
#pragma once

#include <kiln/device/cuda/plan/source.hpp>

namespace kiln::cuda {

KILN_INLINE std::uint64_t divisor_bits(std::int64_t n) {
  const auto by = static_cast<std::uint64_t>(n);
  std::uint64_t shift = 0;
  while ((std::uint64_t{1} << shift) < by) ++shift;
  const std::uint64_t magic = (((std::uint64_t{1} << 32) * ((std::uint64_t{1} << shift) - by)) / by) + 1;
  return magic | shift << 32;
}

namespace detail {

KILN_INLINE std::uint64_t number_bits(std::uint64_t bits, dtype type) {
  if (compute_type(type) == dtype::float32)
    return std::bit_cast<std::uint32_t>(static_cast<float>(std::bit_cast<double>(bits)));
  return bits;  // a double is itself; of an int64 the low bytes are the narrower integer
}

KILN_INLINE std::int64_t rows_of(const task& job, const plan& p) {
  std::int64_t rows = 1;
  for (int i = 0; i < job.domain.rank() - p.row_axes; ++i) rows *= job.domain[i];
  return rows;
}

KILN_INLINE std::int64_t steps_of(const task& job, const plan& p) {
  const int taken = p.step * (p.shape == kernel_shape::map ? p.at_once : 1);
  return (job.domain.back() + taken - 1) / taken;
}

KILN_INLINE std::int64_t tiles_of(const task& job, const plan& p) {
  return (steps_of(job, p) + 31) / 32;
}

KILN_INLINE std::int64_t part_of(const task& job) {
  return job.part > 0 ? job.part : job.domain[job.domain.rank() - 2];
}

KILN_INLINE std::int64_t parts_of(const task& job) {
  const std::int64_t rows = job.domain[job.domain.rank() - 2], part = part_of(job);
  return part == 0 ? 1 : (rows + part - 1) / part;
}

}  // namespace detail

KILN_INLINE std::vector<std::uint64_t> arguments_of(const source& s, const plan& p, const task& job,
                                                    const std::vector<std::uint64_t>& scratch, std::uint64_t fault,
                                                    std::uint64_t draw_offset, std::uint64_t finished) {
  std::vector<std::uint64_t> values;
  values.reserve(s.parameters.size());
  auto pointer = [](const void* at) { return static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(at)); };
  for (const parameter& x : s.parameters) {
    const std::size_t k = static_cast<std::size_t>(x.index);
    std::uint64_t value = 0;
    switch (x.kind) {
      case parameter_kind::result:
        value = pointer(job.results[k].data);
        break;
      case parameter_kind::leaf:
        value = pointer(job.leaves[k].data);
        break;
      case parameter_kind::number:
        value = detail::number_bits(job.numbers[k], x.type);
        break;
      case parameter_kind::size:
        value = static_cast<std::uint64_t>(job.domain[x.axis]);
        break;
      case parameter_kind::steps:
        value = static_cast<std::uint64_t>(detail::steps_of(job, p));
        break;
      case parameter_kind::divisor: {
        const std::int64_t n = x.axis < 0 ? detail::steps_of(job, p) : job.domain[x.axis];
        value = p.wide ? static_cast<std::uint64_t>(n) : divisor_bits(n);
        break;
      }
      case parameter_kind::leaf_stride:
        value = static_cast<std::uint64_t>(job.leaves[k].strides[x.axis]);
        break;
      case parameter_kind::result_stride:
        value = static_cast<std::uint64_t>(job.results[k].strides[x.axis]);
        break;
      case parameter_kind::rows:
        value = static_cast<std::uint64_t>(detail::rows_of(job, p));
        break;
      case parameter_kind::tiles:
        value = static_cast<std::uint64_t>(detail::tiles_of(job, p));
        break;
      case parameter_kind::parts:
        value = static_cast<std::uint64_t>(detail::parts_of(job));
        break;
      case parameter_kind::part:
        value = static_cast<std::uint64_t>(detail::part_of(job));
        break;
      case parameter_kind::part_stride:
        value = static_cast<std::uint64_t>(job.part_stride);
        break;
      case parameter_kind::scratch:
        value = scratch.empty() ? 0 : scratch[k];
        break;
      case parameter_kind::fault:
        value = fault;
        break;
      case parameter_kind::finished:
        value = finished;
        break;
      case parameter_kind::draw_offset:
        value = draw_offset;
        break;
    }
    values.push_back(value);
  }
  return values;
}

KILN_INLINE int rows_per_block(const plan& p) {
  return p.shape == kernel_shape::warp_per_row ? p.threads / p.lanes : 1;
}

KILN_INLINE std::int64_t blocks_for(const plan& p, const task& job, std::int64_t resident) {
  std::int64_t wanted = 1;
  const int rank = job.domain.rank();
  auto times_outer = [&](int inner) {
    for (int i = 0; i + inner < rank; ++i) wanted *= job.domain[i];
  };
  switch (p.shape) {
    case kernel_shape::map:
    case kernel_shape::reduce_all: {
      const int steps = p.threads * (p.shape == kernel_shape::reduce_all ? p.at_once : 1);
      wanted = detail::steps_of(job, p);
      times_outer(1);
      wanted = (wanted + steps - 1) / steps;
      break;
    }
    case kernel_shape::warp_per_row:
    case kernel_shape::block_per_row:
    case kernel_shape::cluster_per_row:
    case kernel_shape::long_rows:
      wanted = (detail::rows_of(job, p) + rows_per_block(p) - 1) / rows_per_block(p) * p.cluster;
      break;
    case kernel_shape::columns:
      wanted = detail::tiles_of(job, p) * detail::parts_of(job);
      times_outer(2);
      break;
    case kernel_shape::transpose: {
      auto tiles = [&](int axis) { return (job.domain[axis] + p.tile - 1) / p.tile; };
      wanted = tiles(rank - 1) * tiles(rank - 2);
      times_outer(2);
      break;
    }
  }
  return whole_clusters(p, std::min(wanted, resident));
}

KILN_INLINE std::int64_t shares_of(const plan& p, std::int64_t blocks) {
  return blocks / p.cluster;
}

}  // namespace kiln::cuda
