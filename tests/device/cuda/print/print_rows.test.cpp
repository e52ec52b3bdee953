// SPDX-License-Identifier: BSL-1.0
// Row programs on the emulator against plain loops: every shape of kernel, value and gradient.
#include <kiln/device/cuda/plan/specialise_rows.hpp>
#include <kiln/device/cuda/print/print_rows.hpp>

#include "device/cuda/row_cases.hpp"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

using namespace rows_test;

namespace {

void plan_and_print(row_case& c, bool wide = false, int cluster = 1) {
  c.what = c.written;
  c.how = cuda::plan_rows(c.what, cuda::most_row_bytes, cluster);
  c.how.wide |= wide;
  c.printed = cuda::print_rows(c.what, c.how);
}
std::string together(const std::deque<row_case>& cases) {
  std::string all;
  std::set<std::string> seen;
  for (const row_case& c : cases)
    if (seen.insert(c.printed.name).second) all += c.printed.text;
  return all;
}
// Runs a kernel, and folds the shares of sums over rows by a plain loop.
void run(row_case& c, const emulated::module& module, std::int64_t resident) {
  const std::int64_t blocks = blocks_for(c.how, c.what, resident), shares = shares_of(c.how, blocks);
  const std::size_t length = static_cast<std::size_t>(c.written.domain[1]);
  std::deque<memory> scratch;
  std::vector<void*> places;
  for (std::size_t r = 0; r < c.results.size(); ++r)
    places.push_back(
        scratch.emplace_back(compute_type(c.written.results[r].type), static_cast<std::size_t>(shares) * length)
            .data());
  emulated::run(module, c.printed, c.how, c.what, resident, places);
  for (std::size_t r = 0; r < c.results.size(); ++r)
    if (c.how.sums[r] == cuda::summed::across_rows && c.written.results[r].data)
      for (std::size_t i = 0; i < length; ++i) {
        real total = c.written.results[r].add ? c.results[r][i] : 0;
        for (std::size_t k = 0; k < static_cast<std::size_t>(shares); ++k) total += scratch[r][k * length + i];
        c.results[r].set(i, static_cast<double>(total));
      }
}

}  // namespace

TEST_CASE("print_rows: reductions and norms over rows of all lengths, value and gradient") {
  std::deque<row_case> cases;
  constexpr std::int64_t lengths[] = {1, 5, 20, 64, 333, 1024, 1500, 4096, 9001};
  int turn = 0;
  for (const formula& f : formulas())
    for (const bool gradient : {false, true})
      for (const std::int64_t length : lengths) {
        const dtype types[] = {dtype::float32, dtype::bfloat16, dtype::float32, dtype::float64, dtype::float16};
        const dtype type = length == 9001 ? dtype::float32 : types[turn++ % 5];
        row_case& c = cases.emplace_back(f, type, gradient, length > 2000 ? 3 : 11, length, turn % 3 == 0 ? 3 : 0);
        plan_and_print(c, turn % 7 == 0);
      }
  std::set<cuda::kernel_shape> shapes;
  const emulated::module module(together(cases), emulated::headers());
  for (row_case& c : cases) {
    shapes.insert(c.how.shape);
    const auto start = c.before();
    run(c, module, 2);
    c.check(start, tolerance(c.written.results[0].type));
  }
  CHECK(shapes.size() == 2);
}

TEST_CASE("print_rows: weights' gradients are added up in registers while the next row is copied") {
  std::deque<row_case> cases;
  for (const auto& [rows, length, type] : {std::tuple{70, 64, dtype::bfloat16},
                                           {40, 768, dtype::bfloat16},
                                           {37, 1024, dtype::bfloat16},
                                           {37, 1024, dtype::float32},
                                           {33, 1024, dtype::float16},
                                           {20, 1000, dtype::float64},
                                           {5, 8192, dtype::bfloat16},
                                           {5, 8192, dtype::float32},
                                           {4, 12288, dtype::float16}})
    for (const formula& f : formulas())
      if (f.leaves == 3) plan_and_print(cases.emplace_back(f, type, true, rows, length));
  const emulated::module module(together(cases));
  std::set<cuda::kernel_shape> shapes;
  int ahead = 0;
  for (row_case& c : cases) {
    shapes.insert(c.how.shape);
    ahead += c.printed.text.find("copy_ahead") != std::string::npos;
    const auto start = c.before();
    run(c, module, 2);
    c.check(start, 5 * tolerance(c.written.results[0].type));
  }
  CHECK(shapes.size() == 2);
  CHECK(ahead == 8);  // shared memory has no room for that of doubles
}

TEST_CASE("print_rows: rows too long for registers are walked through once per pass") {
  std::deque<row_case> cases;
  for (const formula& f : formulas()) plan_and_print(cases.emplace_back(f, dtype::float32, false, 2, 70001));
  const emulated::module module(together(cases), emulated::headers());
  for (row_case& c : cases) {
    CHECK(c.how.shape == cuda::kernel_shape::long_rows);
    const auto start = c.before();
    run(c, module, 2);
    c.check(start, 1e-4);
  }
}

TEST_CASE("print_rows: rows that fill a block lie in shared memory too, or are copied there ahead") {
  std::deque<row_case> cases;
  for (const formula& f : formulas())
    for (const auto& [length, type] :
         {std::pair{32768, dtype::float32}, {24572, dtype::float32}, {16386, dtype::float64}, {40960, dtype::bfloat16}})
      for (const bool gradient : {false, true})
        if (f.name == std::string("softmax") || f.name == std::string("rms_norm"))
          plan_and_print(cases.emplace_back(f, type, gradient, 3, length));
  const auto has = [](const row_case& c, cuda::row_place place) {
    return std::any_of(c.how.leaves.begin(), c.how.leaves.end(), [=](const auto& x) { return x.kept == place; });
  };
  int shared = 0, ahead = 0, both = 0;
  const emulated::module module(together(cases));
  for (row_case& c : cases) {
    const bool s = has(c, cuda::row_place::shared), a = has(c, cuda::row_place::ahead);
    shared += s, ahead += a, both += s && a;
    CHECK_MESSAGE(c.how.shape == cuda::kernel_shape::block_per_row, c.name);
    CHECK(c.how.shared_bytes <= cuda::most_row_bytes);
    const auto start = c.before();
    run(c, module, 2);
    c.check(start, 5 * tolerance(c.written.results[0].type));
  }
  CHECK(shared > 0);
  CHECK(ahead > 0);
  CHECK(both > 0);
}

TEST_CASE("print_rows: rows that no block can hold are held by clusters of blocks") {
  std::deque<row_case> cases;
  const auto add = [&](const char* name, dtype type, bool gradient, std::int64_t rows, std::int64_t length) {
    for (const formula& f : formulas())
      if (f.name == std::string(name)) plan_and_print(cases.emplace_back(f, type, gradient, rows, length), false, 8);
  };
  add("softmax", dtype::float32, false, 3, 70001);
  add("softmax", dtype::float32, true, 2, 65536);  // two arrays
  add("log_softmax", dtype::bfloat16, false, 2, 98304);
  add("rms_norm", dtype::float64, true, 1, 32768);
  add("variance", dtype::float32, false, 2, 262144);  // one value per row
  const emulated::module module(together(cases));
  std::set<int> blocks;
  for (row_case& c : cases) {
    blocks.insert(c.how.cluster);
    CHECK_MESSAGE(c.how.shape == cuda::kernel_shape::cluster_per_row, c.name);
    CHECK(c.how.shared_bytes <= cuda::most_row_bytes);
    const auto start = c.before();
    run(c, module, 2);
    c.check(start, 5 * tolerance(c.written.results[0].type));
  }
  CHECK(blocks == std::set<int>{2, 8});
}
