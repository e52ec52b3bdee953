// SPDX-License-Identifier: BSL-1.0
// The sort of the positions of scatter_add, and sums of very many terms, on the emulator. What gather and scatter
// compute is tested by tensor/cuda_indexing.test.cpp; that NVRTC compiles all their kernels, by nvrtc/fixed.test.cpp.
#include <kiln/device/cuda/print/print_index.hpp>
#include <kiln/device/cuda/run/index.hpp>

#include "device/cuda/emulated.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <string>
#include <utility>
#include <vector>

using namespace kiln;
using cuda::index_kernel;

namespace {

/// What the kernels take as an entry.
struct entry {
  std::uint32_t place, position;
};

/// An index of n elements into rows, as index_add has it.
index_job job_over(std::int64_t n, std::int64_t rows) {
  index_job job;
  job.domain = {n};
  job.table_strides = {0}, job.value_strides = job.index_strides = {1};
  job.axis_stride = 1, job.axis_size = rows;
  job.move = index_move::scatter_add;
  return job;
}

}  // namespace

TEST_CASE("print_index: tiles are sorted as std::stable_sort does, by digits of any width, whichever block is first") {
  const cuda::index_kernel_types types{dtype::float32, true, false, 1};
  const cuda::source count = print_index(index_kernel::count_digits, types),
                     first = print_index(index_kernel::first_pass, types),
                     next = print_index(index_kernel::next_pass, types),
                     one = print_index(index_kernel::sort_tile, types);
  const emulated::module module(count.text + first.text + next.text + one.text);
  std::mt19937 random(7);
  std::uint64_t seed = 0;
  struct sizes {
    std::int64_t n, rows;
    std::int32_t bits, passes;
    bool skewed;
  };
  for (const sizes& s :
       {sizes{9000, 70'000, 9, 2, false}, sizes{3 * 4096, 3, 2, 1, true}, sizes{4097, 1 << 30, 11, 3, false},
        sizes{12'500, 2000, 6, 2, true}, sizes{700, 1'000'000, 10, 2, false}, sizes{4096, 250, 8, 1, false},
        sizes{1, 1, 1, 1, false}}) {
    emulated::buffer<std::int64_t> index(static_cast<std::size_t>(s.n));
    std::vector<entry> want;
    std::uniform_int_distribution<std::int64_t> any(-1, s.rows);  // some outside
    for (std::int64_t i = 0; i < s.n; ++i) {
      const std::int64_t row = i == s.n / 2 ? -1 : s.skewed && i % 7 != 0 ? s.rows / 2 : any(random);
      index[static_cast<std::size_t>(i)] = row;
      want.push_back(
          {static_cast<std::uint32_t>(row < 0 || row >= s.rows ? s.rows : row), static_cast<std::uint32_t>(i)});
    }
    std::stable_sort(want.begin(), want.end(), [](const entry& a, const entry& b) { return a.place < b.place; });
    const std::int64_t tiles = (s.n + cuda::sort_tile - 1) / cuda::sort_tile, digits = std::int64_t{1} << s.bits;
    const std::int32_t counting = static_cast<std::int32_t>(std::min<std::int64_t>(tiles, 3));
    const std::int64_t words = tiles == 1 ? 5000 : s.passes * (1 + tiles * digits);
    emulated::buffer<entry> a(static_cast<std::size_t>(s.n)), b(static_cast<std::size_t>(s.n));
    emulated::buffer<std::uint32_t> counts(static_cast<std::size_t>(counting * s.passes * digits)),
        zeroed(static_cast<std::size_t>(words)), fault{0};
    const auto walk = cuda::detail::in_32(cuda::detail::walk_over(job_over(s.n, s.rows), [](int) { return true; }));
    const std::int64_t* const from = index.data();
    const auto places = static_cast<std::uint32_t>(s.rows);
    std::uint32_t *const count_at = counts.data(), *const zero_at = zeroed.data(), *const fault_at = fault.data();
    entry *const one_at = a.data(), *const two_at = b.data();
    const auto shape = [&](unsigned blocks, int threads) {
      return emulate::shape{{blocks}, {static_cast<unsigned>(threads)}, 0, ++seed};
    };
    if (tiles == 1) {
      module.launch(one.name, shape(2, cuda::sort_threads), one_at, two_at, from, walk, places, s.bits, s.passes,
                    zero_at, words, fault_at);
      for (std::int64_t k = 0; k < words; ++k) REQUIRE(zeroed[static_cast<std::size_t>(k)] == 0);
    } else {
      module.launch(count.name, shape(static_cast<unsigned>(counting), cuda::count_threads), count_at, from, walk,
                    places, s.bits, s.passes, zero_at, words, fault_at);
      for (std::int32_t pass = 0; pass < s.passes; ++pass) {
        const std::uint32_t* const counted = count_at + pass * counting * digits;
        std::uint32_t *const tile = zero_at + pass * (1 + tiles * digits), *const states = tile + 1;
        entry* const to = pass % 2 ? two_at : one_at;
        const entry* const entries = pass % 2 ? one_at : two_at;
        const std::int32_t shift = pass * s.bits;
        // Fewer blocks than tiles, or more.
        const auto how = shape(pass == 0 ? 2 : static_cast<unsigned>(tiles) + 1, cuda::sort_threads);
        if (pass == 0)
          module.launch(first.name, how, to, from, walk, places, s.bits, counted, counting, states, tile);
        else
          module.launch(next.name, how, to, entries, s.n, shift, s.bits, counted, counting, states, tile);
      }
    }
    emulated::buffer<entry>& got = s.passes % 2 ? a : b;
    bool same = true;
    for (std::size_t i = 0; i < want.size(); ++i)
      same &= got[i].place == want[i].place && got[i].position == want[i].position;
    CHECK_MESSAGE(same, s.n, " keys of ", s.rows, " places");
    CHECK(fault[0] == 2);
  }
}

TEST_CASE(
    "print_index: very many terms of one place have the same sum in whatever launch, terms of their neighbours too") {
  // Sorted entries of three places; of each, the terms in chunks of 256 and their sums one after the other. Rows of
  // four floats, at once or one by one; the fourth is always 1.
  constexpr std::int64_t few = 300, many = 100'000, n = many + 2 * few, chunk = cuda::sum_chunk, columns = 4;
  constexpr std::int64_t begins[] = {0, few, few + many, n};
  emulated::buffer<entry> entries(n);
  emulated::buffer<float> terms(columns * n), table(3 * columns), sums(2 * columns * ((n + chunk - 1) / chunk));
  emulated::buffer<std::uint32_t> arrived(columns * ((n + chunk - 1) / chunk));
  std::fill_n(arrived.data(), arrived.size(), 0u);
  for (std::int64_t i = 0; i < n; ++i) {
    const auto k = static_cast<std::size_t>(i);
    entries[k] = {i < few ? 0u : i < few + many ? 1u : 2u, static_cast<std::uint32_t>(i)};
    for (int c = 0; c < columns; ++c)
      terms[columns * k + static_cast<std::size_t>(c)] = c == 3 ? 1 : 1.0f / static_cast<float>(1 + (i + c) % 1009);
  }
  float want[3][columns];
  double exact[3][columns];
  for (int p = 0; p < 3; ++p)
    for (int c = 0; c < columns; ++c) {
      const auto term = [&](std::int64_t i) { return terms[static_cast<std::size_t>(columns * i + c)]; };
      want[p][c] = 0.5f, exact[p][c] = 0.5;
      for (std::int64_t from = begins[p]; from < begins[p + 1]; from += chunk) {
        float sum = from == begins[p] ? 0.5f : 0;
        for (std::int64_t i = from; i < std::min(from + chunk, begins[p + 1]); ++i) {
          sum += term(i);
          exact[p][c] += static_cast<double>(term(i));
        }
        want[p][c] = from == begins[p] ? sum : want[p][c] + sum;
      }
    }
  index_job job;
  job.domain = {n, columns};
  job.table_strides = {0, 1}, job.value_strides = {columns, 1}, job.index_strides = {1, 0};
  job.axis_stride = 1, job.axis_size = 3;  // in rows
  std::string text;
  for (const auto& [step, wide] : {std::pair{1, true}, {4, false}})
    text += print_index(index_kernel::sum_in_order, {dtype::float32, true, wide, step}).text;
  const emulated::module module(text);
  for (const auto& [step, blocks, window_bits] : {std::tuple{1, 3u, 2}, {4, 1u, 5}, {4, 7u, 0}}) {
    const bool wide = step == 1;
    cuda::detail::index_walk walk = cuda::detail::walk_over(job, [](int i) { return i == 0; }),
                             rest = cuda::detail::walk_over(job, [](int i) { return i == 1; });
    if (step == 4) rest.sizes[0] = rest.elements = 1, rest.table[0] = rest.values[0] = 4;
    rest.by[0] = walk.by_beside = cuda::detail::divisor64(rest.elements);
    std::fill_n(table.data(), table.size(), 0.5f);
    const emulate::shape how{.grid = {blocks}, .block = {256}, .shared_bytes = 0, .seed = blocks};
    float *const to = table.data(), *const left = sums.data();
    const float* const from = terms.data();
    const entry* const sorted = entries.data();
    std::uint32_t* const words = arrived.data();
    const std::int64_t unit = columns;
    const std::uint32_t places = 3;
    const std::string name = print_index(index_kernel::sum_in_order, {dtype::float32, true, wide, step}).name;
    if (wide)
      module.launch(name, how, to, from, sorted, left, words, walk, rest, unit, places, window_bits);
    else
      module.launch(name, how, to, from, sorted, left, words, cuda::detail::in_32(walk), cuda::detail::in_32(rest),
                    unit, places, window_bits);
    for (int p = 0; p < 3; ++p)
      for (int c = 0; c < columns; ++c) {
        const float got = table[static_cast<std::size_t>(columns * p + c)];
        CHECK(got == want[p][c]);
        CHECK(static_cast<double>(got) == doctest::Approx(exact[p][c]).epsilon(1e-5));
      }
    CHECK(std::all_of(words, words + arrived.size(), [](std::uint32_t word) { return word == 0; }));
  }
}
