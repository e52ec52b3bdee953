// SPDX-License-Identifier: BSL-1.0
// Sums of very many terms by the kernels of scatter_add on the emulator. What else those of gather and scatter compute
// is tested by tensor/cuda_indexing.test.cpp; that NVRTC compiles all of them, by nvrtc/fixed.test.cpp.
#include <kiln/device/cuda/print/print_index.hpp>
#include <kiln/device/cuda/run/index.hpp>

#include "device/cuda/emulated.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>

using namespace kiln;
using cuda::index_kernel;

TEST_CASE(
    "print_index: a million terms of one place have the same sum in whatever launch, terms of their neighbours too") {
  // Sorted keys of three places; of each, the terms in chunks of 256 and their sums one after the other.
  constexpr std::int64_t few = 300, many = 1'000'000, n = many + 2 * few, chunk = cuda::sum_chunk;
  constexpr std::int64_t begins[] = {0, few, few + many, n};
  emulated::buffer<std::uint64_t> keys(n);
  emulated::buffer<float> terms(n), sums((n + chunk - 1) / chunk), table(3);
  for (std::int64_t i = 0; i < n; ++i) {
    const std::uint64_t place = i < few ? 0 : i < few + many ? 1 : 2;
    keys[static_cast<std::size_t>(i)] = place << 32 | static_cast<std::uint64_t>(i);
    terms[static_cast<std::size_t>(i)] = 1.0f / static_cast<float>(1 + i % 1009);
  }
  float want[3];
  double exact[3];
  for (int p = 0; p < 3; ++p) {
    want[p] = 0.5f, exact[p] = 0.5;
    for (std::int64_t from = begins[p]; from < begins[p + 1]; from += chunk) {
      float sum = from == begins[p] ? 0.5f : 0;
      for (std::int64_t i = from; i < std::min(from + chunk, begins[p + 1]); ++i) {
        sum += terms[static_cast<std::size_t>(i)];
        exact[p] += static_cast<double>(terms[static_cast<std::size_t>(i)]);
      }
      want[p] = from == begins[p] ? sum : want[p] + sum;
    }
  }
  index_job job;
  job.domain = {n};
  job.table_strides = {0}, job.value_strides = job.index_strides = {1};
  job.axis_stride = 1, job.axis_size = 3;
  const cuda::detail::index_walk32 walk = cuda::detail::in_32(cuda::detail::walk_over(job, [](int) { return true; })),
                                   rest = cuda::detail::in_32(cuda::detail::walk_over(job, [](int) { return false; }));
  const cuda::source cut = cuda::print_index(index_kernel::sum_chunks, dtype::float32, true, false),
                     join = cuda::print_index(index_kernel::sum_in_order, dtype::float32, true, false);
  const emulated::module module(cut.text + join.text);
  for (const unsigned blocks : {1u, 7u}) {
    for (int p = 0; p < 3; ++p) table[static_cast<std::size_t>(p)] = 0.5f;
    const emulate::shape how{.grid = {blocks}, .block = {256}, .shared_bytes = 0, .seed = blocks};
    float *const to = table.data(), *const left = sums.data();
    const float *const from = terms.data(), *const join_from = sums.data();
    const std::uint64_t* const sorted = keys.data();
    module.launch(cut.name, how, left, from, sorted, walk, rest);
    module.launch(join.name, how, to, from, sorted, join_from, walk, rest);
    for (int p = 0; p < 3; ++p) {
      CHECK(table[static_cast<std::size_t>(p)] == want[p]);
      CHECK(static_cast<double>(table[static_cast<std::size_t>(p)]) == doctest::Approx(exact[p]).epsilon(1e-5));
    }
  }
}
