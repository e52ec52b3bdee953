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

/// The text that a job takes.
inline attention_text text_of(const attention_job& job, attention_kernel which) {
  const bool plain = size_of(job.type) == 2 && !job.added.data && !job.allowed.data && job.dropout <= 0 &&
                     job.scale >= std::numeric_limits<float>::min();
  return {which, job.type, attention_width(job), !plain};
}

inline constexpr std::int64_t most_grid_y = 65535;

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
  const attention_text text = text_of(job, which);
  const attention_block_size size = attention_block(text);
  const std::int64_t rows = which == attention_kernel::backward_keys ? job.keys : job.queries,
                     tiles = (rows + size.rows - 1) / size.rows;
  if (tiles == 0 || job.matrices == 0) return;
  const Cuda device = where.device();
  const std::string key =
      message("attention ", static_cast<int>(which), " ", name(job.type), " ", text.width, " ", text.extras);
  auto kernel = kernel_table::instance().find(key, device.index);
  if (!kernel) kernel = load_kernel(key, print_attention(text), device);
  // What more a block has than 48 KiB must be asked for.
  const auto bytes = static_cast<std::size_t>(size.shared_bytes);
  if (bytes > 49152) kernel->function.allow_shared_bytes(bytes);
  void* places[N];
  for (std::size_t i = 0; i < N; ++i) places[i] = const_cast<void*>(arguments[i]);
  // The blocks of a matrix follow each other, so that its keys and values stay in the cache.
  const std::int64_t deep = (job.matrices + most_grid_y - 1) / most_grid_y, high = (job.matrices + deep - 1) / deep;
  kernel->function.launch({.grid_x = static_cast<unsigned>(tiles),
                           .grid_y = static_cast<unsigned>(high),
                           .grid_z = static_cast<unsigned>(deep),
                           .block_x = static_cast<unsigned>(size.threads),
                           .shared_bytes = bytes},
                          where, places);
}

}  // namespace detail

KILN_INLINE std::vector<attention_text> attention_texts(dtype type) {
  std::vector<attention_text> all{{attention_kernel::sums, type}};
  for (const int width : attention_widths)
    for (const attention_kernel which :
         {attention_kernel::forward, attention_kernel::backward_keys, attention_kernel::backward_queries}) {
      all.push_back({which, type, width, true});
      if (size_of(type) == 2) all.push_back({which, type, width, false});
    }
  return all;
}

// The same as attention_mma_tiles and attention_tiles in kernels/, which check it.
KILN_INLINE attention_block_size attention_block(const attention_text& what) {
  const int bytes = static_cast<int>(size_of(what.type)), width = what.width;
  const bool forward = what.which == attention_kernel::forward, keys = what.which == attention_kernel::backward_keys;
  if (what.which == attention_kernel::sums) return {32, 256, 0};  // eight threads for each
  if (bytes == 2) {
    const int rows = what.extras || (keys && width > 64) ? 64 : 128;
    if (forward) return {rows, 128, 2 * width * (rows + 3 * 64) + 16, !what.extras && width == 64 ? 3 : 0};
    const int steps = keys && !what.extras && width > 64 ? 64 : 32;
    return {rows, 128, 4 * width * rows + 2 * (4 * width + (keys ? 8 : 0)) * steps + 32};
  }
  const int pad = 16 / bytes, steps = bytes == 8 && width > 32 ? 16 : 32,
            rows = !forward     ? steps
                   : bytes == 8 ? 32
                                : 64,
            tiles = forward ? rows + 2 * steps : 2 * (rows + steps), weights = forward ? rows : 2 * rows;
  // Else ptxas spills a word or two for the sake of one block more.
  int blocks = 0;
  if (!forward && bytes == 8 && width == 32) blocks = 3;
  if (!forward && bytes == 4 && width == 128) blocks = 2;
  return {rows, 128, bytes * (tiles * (width + pad) + weights * (steps + pad)) + rows * steps, blocks};
}

KILN_INLINE source print_attention(const attention_text& what) {
  const bool mma = size_of(what.type) == 2, extras = what.extras;
  const int width = what.width;
  const std::string of(storage_name(what.type)), sum(storage_name(compute_type(what.type))),
      in = message("const ", of, "* "), types = message("<", of, ", ", width),
      arguments = mma ? message(types, ", ", extras ? "true" : "false", ">") : types + ">",
      shape = "const __grid_constant__ attention_shape s, ",
      gradient = "const __grid_constant__ attention_gradient g, ", moved = "const uint64* moved";
  const attention_block_size size = attention_block(what);
  const auto kernel = [&](const std::string& file, const std::string& name, const std::string& parameters,
                          const std::string& call) {
    return print_fixed({.file = message("attention", file, ".cuh"),
                        .name = message("attention_", name, "_", of, "_", width, extras ? "" : "_plain"),
                        .parameters = parameters,
                        .call = call,
                        .threads = size.threads,
                        .least_blocks = size.blocks});
  };
  // The text says itself that it has the block that it will be launched with.
  const auto memory = [&](const std::string& direction) {
    const bool forward = direction == "forward";
    const std::string tiling =
        mma ? message("attention_mma_tiles<", width, ", ", extras ? "true" : "false", ">::", direction)
            : message("attention_tiles", types, ">::", forward ? direction : "backward");
    const std::string fits = mma ? message("fits_", forward ? "forward" : "backward", "<", width, ", ", tiling, ">(",
                                           forward                        ? ""
                                           : direction == "backward_keys" ? "8, "
                                                                          : "0, ")
                                 : message("fits_block", types, ", ", tiling, ">(", forward ? "true, " : "false, ");
    return message("static_assert(", fits, size.rows, ", ", size.threads, ", ", size.shared_bytes,
                   "));\n  extern __shared__ __align__(16) char memory[];\n  ");
  };
  const std::string file = mma ? "_mma" : "_fma", backward = mma ? "_mma_backward" : file;
  switch (what.which) {
    case attention_kernel::forward:
      return kernel(file, "forward", message(shape, of, "* out, ", sum, "* logsumexp, ", moved),
                    message(memory("forward"), "attention_forward", arguments, "(memory, s, out, logsumexp, moved)"));
    case attention_kernel::sums:
      return kernel("", "sums",
                    message(in, "out, ", in, "dout, const ", sum, "* logsumexp, attention_sums<", sum,
                            ">* sums, int64 rows, int64 width, bool wide"),
                    "attention_sums_of(out, dout, logsumexp, sums, rows, width, wide)");
    case attention_kernel::backward_keys:
      return kernel(backward, "backward_keys",
                    message(shape, gradient, of, "* dk, ", of, "* dv, bool add_k, bool add_v, ", moved),
                    message(memory("backward_keys"), "attention_backward_keys", arguments,
                            "(memory, s, g, dk, dv, add_k, add_v, moved)"));
    case attention_kernel::backward_queries:
      break;
  }
  return kernel(
      backward, "backward_queries", message(shape, gradient, of, "* dq, bool add, ", moved),
      message(memory("backward_queries"), "attention_backward_queries", arguments, "(memory, s, g, dq, add, moved)"));
}

KILN_INLINE bool can_attend(const attention_job& job, Cuda device) {
  if (detail::attention_width(job) == 0 || properties(device).architecture < 80) return false;
  constexpr std::int64_t most = (std::int64_t{1} << 31) - (1 << 16);  // kernels count rows and matrices in 32 bits
  return job.queries < most && job.keys < most && job.matrices < most;
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
  const std::size_t element = size_of(job.type);
  const ref<storage> sums = new_storage(static_cast<std::size_t>(rows) * 2 * size_of(compute_type(job.type)), where);
  const auto aligned = [](const void* p) { return reinterpret_cast<std::uintptr_t>(p) % 16 == 0; };
  const bool wide = aligned(out) && aligned(dout) && static_cast<std::size_t>(job.value_width) * element % 16 == 0;
  launch_fixed(message("attention sums ", name(job.type)),
               [&] {
                 return print_attention({attention_kernel::sums, job.type});
               },
               rows * 8, 256, where, {&out, &dout, &logsumexp, &sums->data, &rows, &job.value_width, &wide});
  const detail::attention_shape s = detail::shape_of(job);
  const detail::attention_gradient g{
      detail::matrices_of(detail::one_after_the_other(dout, job.stack, job.queries, job.value_width), job.stack,
                          job.type, job.value_width),
      sums->data};
  const std::uint64_t* const moved = s.drops ? draw_offset(where.device()) : nullptr;
  // In the order of the operands: where some are one tensor, the later ones add to what the first has written.
  if (dq.data)
    detail::launch_attention(attention_kernel::backward_queries, job, where, {&s, &g, &dq.data, &dq.add, &moved});
  if (dk.data || dv.data)
    detail::launch_attention(attention_kernel::backward_keys, job, where,
                             {&s, &g, &dk.data, &dv.data, &dk.add, &dv.add, &moved});
}

}  // namespace kiln::cuda
