// SPDX-License-Identifier: BSL-1.0
// The definitions of attention.hpp.
#pragma once

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include <kiln/device/cuda/run/attention.hpp>

namespace kiln::cuda {

namespace detail {

/// The padded width of a job's rows; 0 if there is none.
inline int attention_width(const attention_job& job) {
  for (const int width : attention_widths)
    if (std::max(job.width, job.value_width) <= width) return width;
  return 0;
}

inline std::int64_t attention_blocks(const attention_job& job, attention_kernel which) {
  const attention_block_size size = attention_block(which, job.type, attention_width(job));
  const std::int64_t rows = which == attention_kernel::backward_keys ? job.keys : job.queries;
  return job.matrices * ((rows + size.rows - 1) / size.rows);
}

inline attention_matrices matrices_of(const matrix_places& m, const dims& stack, dtype type, std::int64_t width) {
  attention_matrices out{.data = m.data, .row = m.row, .column = m.column};
  const auto step = static_cast<std::int64_t>(16 / size_of(type));
  bool whole =
      m.column == 1 && m.row % step == 0 && width % step == 0 && reinterpret_cast<std::uintptr_t>(m.data) % 16 == 0;
  for (int i = 0; i < stack.rank(); ++i) {
    out.stack[i] = m.strides[i];
    whole = whole && m.strides[i] % step == 0;
  }
  out.wide = whole;
  return out;
}
/// Matrices that lie one after the other.
inline matrix_places one_after_the_other(const void* data, const dims& stack, std::int64_t rows, std::int64_t width) {
  matrix_places out{.data = data, .strides = stack, .row = width, .column = 1};
  std::int64_t elements = rows * width;
  for (int i = stack.rank() - 1; i >= 0; --i) out.strides[i] = elements, elements *= stack[i];
  return out;
}

inline attention_shape shape_of(const attention_job& job) {
  constexpr double words = 1 << 24;  // what a number between 0 and 1 is drawn from
  attention_shape s{.matrices = job.matrices,
                    .queries = job.queries,
                    .keys = job.keys,
                    .width = static_cast<std::int32_t>(job.width),
                    .value_width = static_cast<std::int32_t>(job.value_width),
                    .rank = job.stack.rank(),
                    .causal = job.causal,
                    .sizes = {},
                    .q = matrices_of(job.q, job.stack, job.type, job.width),
                    .k = matrices_of(job.k, job.stack, job.type, job.width),
                    .v = matrices_of(job.v, job.stack, job.type, job.value_width),
                    .added = {},
                    .allowed = {},
                    .scale = job.scale,
                    .kept = job.dropout < 1 ? 1 / (1 - job.dropout) : 0,
                    .seed = job.stream.seed,
                    .first = job.stream.first,
                    .dropped = static_cast<std::uint32_t>(std::ceil(job.dropout * words)),
                    .drops = job.dropout > 0};
  std::copy_n(job.stack.begin(), job.stack.rank(), s.sizes);
  if (job.added.data) s.added = matrices_of(job.added, job.stack, job.type, 0);
  if (job.allowed.data) s.allowed = matrices_of(job.allowed, job.stack, dtype::boolean, 0);
  return s;
}

template <std::size_t N>
void launch_attention(attention_kernel which, const attention_job& job, const stream& where,
                      const void* const (&arguments)[N]) {
  const std::int64_t blocks = attention_blocks(job, which);
  if (blocks == 0) return;
  const int width = attention_width(job);
  const attention_block_size size = attention_block(which, job.type, width);
  const Cuda device = where.device();
  const std::string key = message("attention ", static_cast<int>(which), " ", name(job.type), " ", width);
  auto kernel = kernel_table::instance().find(key, device.index);
  if (!kernel) kernel = load_kernel(key, print_attention(which, job.type, width), device);
  // What more a block has than 48 KiB must be asked for.
  const auto bytes = static_cast<std::size_t>(size.shared_bytes);
  if (bytes > 49152) kernel->function.allow_shared_bytes(bytes);
  void* places[N];
  for (std::size_t i = 0; i < N; ++i) places[i] = const_cast<void*>(arguments[i]);
  kernel->function.launch(
      {.grid_x = static_cast<unsigned>(blocks), .block_x = static_cast<unsigned>(size.threads), .shared_bytes = bytes},
      where, places);
}

}  // namespace detail

// The same as attention_tiles in kernels/attention.cuh, which checks it.
KILN_INLINE attention_block_size attention_block(attention_kernel which, dtype type, int width) {
  const int bytes = static_cast<int>(size_of(type)), pad = 16 / bytes;
  const bool forward = which == attention_kernel::forward, narrow = bytes == 8 && width > 32;
  int rows = bytes == 8 ? 32 : 64, steps = narrow ? 16 : 32, threads = 128;
  if (bytes == 2 && width <= 64) steps = 64;
  if (bytes == 2 && !forward) threads = 256;
  if (bytes != 2 && !forward) rows = steps;
  if (which == attention_kernel::common) return {8, 256, 0};  // a warp for each
  const int tiles = forward ? rows + 2 * steps : 2 * (rows + steps), weights = forward ? rows : 2 * rows;
  return {rows, threads, bytes * (tiles * (width + pad) + weights * (steps + pad)) + rows * steps};
}

KILN_INLINE source print_attention(attention_kernel which, dtype type, int width) {
  const std::string of(storage_name(type)), sum(storage_name(compute_type(type))),
      in = message("const ", of, "* "), types = message("<", of, ", ", width);
  const attention_block_size size = attention_block(which, type, width);
  const auto kernel = [&](const std::string& name, const std::string& parameters, const std::string& call) {
    return print_fixed(
        {"attention.cuh", message("attention_", name, "_", of, "_", width), parameters, call, size.threads});
  };
  // The text says itself that it has the block that it will be launched with.
  const auto memory = [&](const std::string& direction) {
    return message("static_assert(fits_block", types, ", attention_tiles", types, ">::", direction, ">(",
                   which == attention_kernel::forward, ", ", size.rows, ", ", size.threads, ", ", size.shared_bytes,
                   "));\n  extern __shared__ __align__(16) char memory[];\n  ");
  };
  switch (which) {
    case attention_kernel::forward:
      return kernel("forward", message("attention_shape s, ", of, "* out, ", sum, "* logsumexp, const uint64* moved"),
                    message(memory("forward"), "attention_forward", types, ">(memory, s, out, logsumexp, moved)"));
    case attention_kernel::common:
      return kernel("common", message(in, "out, ", in, "dout, ", sum, "* common, int64 rows, int64 width"),
                    "attention_common(out, dout, common, rows, width)");
    case attention_kernel::backward_keys:
      return kernel("backward_keys",
                    message("attention_shape s, attention_gradient g, ", of, "* dk, ", of,
                            "* dv, bool add_k, bool add_v, const uint64* moved"),
                    message(memory("backward"), "attention_backward_keys", types, ", ", sum,
                            ">(memory, s, g, dk, dv, add_k, add_v, moved)"));
    case attention_kernel::backward_queries:
      break;
  }
  return kernel(
      "backward_queries",
      message("attention_shape s, attention_gradient g, ", of, "* dq, bool add, const uint64* moved"),
      message(memory("backward"), "attention_backward_queries", types, ", ", sum, ">(memory, s, g, dq, add, moved)"));
}

KILN_INLINE bool can_attend(const attention_job& job, Cuda device) {
  if (detail::attention_width(job) == 0 || properties(device).architecture < 80) return false;
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  for (const attention_kernel which : {attention_kernel::forward, attention_kernel::backward_keys})
    if (detail::attention_blocks(job, which) > most) return false;
  return true;
}

KILN_INLINE void attention(const attention_job& job, void* out, void* logsumexp, const stream& where) {
  const detail::attention_shape s = detail::shape_of(job);
  const std::uint64_t* const moved = s.drops ? draw_offset(where.device()) : nullptr;
  detail::launch_attention(attention_kernel::forward, job, where, {&s, &out, &logsumexp, &moved});
}

KILN_INLINE void attention_backward(const attention_job& job, const void* out, const void* logsumexp, const void* dout,
                                    attention_target dq, attention_target dk, attention_target dv,
                                    const stream& where) {
  const std::int64_t rows = job.matrices * job.queries;
  const dtype sum = compute_type(job.type);
  const ref<storage> common = new_storage(static_cast<std::size_t>(rows) * size_of(sum), where);
  launch_fixed(message("attention common ", name(job.type)),
               [&] { return print_attention(attention_kernel::common, job.type, attention_widths[0]); }, rows * 32, 256,
               where, {&out, &dout, &common->data, &rows, &job.value_width});
  const detail::attention_shape s = detail::shape_of(job);
  const detail::attention_gradient g{
      detail::matrices_of(detail::one_after_the_other(dout, job.stack, job.queries, job.value_width), job.stack,
                          job.type, job.value_width),
      logsumexp, common->data};
  const std::uint64_t* const moved = s.drops ? draw_offset(where.device()) : nullptr;
  // In the order of the operands: where some are one tensor, the later ones add to what the first has written.
  if (dq.data)
    detail::launch_attention(attention_kernel::backward_queries, job, where, {&s, &g, &dq.data, &dq.add, &moved});
  if (dk.data || dv.data)
    detail::launch_attention(attention_kernel::backward_keys, job, where,
                             {&s, &g, &dk.data, &dv.data, &dk.add, &dv.add, &moved});
}

}  // namespace kiln::cuda
