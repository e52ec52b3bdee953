// SPDX-License-Identifier: BSL-1.0
// Maps that turn leaves tile by tile, on the emulator against plain loops.
#include <kiln/device/cuda/print/print_transpose.hpp>

#include "device/cuda/naive_tape.hpp"
#include "tape/sheet.hpp"

#include <doctest/doctest.h>

#include <deque>
#include <set>
#include <string>

using namespace kiln;
using emulated::memory;

namespace {

struct turned_case {
  sheet tape;
  std::deque<memory> leaves, results;
  cuda::task written, what;
  cuda::plan how;
  cuda::source printed;
};

// y = x0 + 2 * x1 - x2, x0 along the last axis, x1 along another, x2 broadcast; a half type and a result that is added.
void make(turned_case& c, const dims& domain, const dims& x1, bool add, dtype type) {
  const symbol a = c.tape.leaf(0), b = c.tape.leaf(1, type), z = c.tape.leaf(2);
  c.tape.result(a + 2 * (type == dtype::float32 ? b : cast(b, dtype::float32)) - z);
  c.written = cuda::task_for(view_of(c.tape.p), domain);
  dims packed = dims::filled(domain.rank(), 1), last_only = dims::filled(domain.rank(), 0);
  for (int d = domain.rank() - 2; d >= 0; --d) packed[d] = packed[d + 1] * domain[d + 1];
  last_only[domain.rank() - 1] = 1;
  const dims* strides[] = {&packed, &x1, &last_only};
  for (std::size_t k = 0; k < 3; ++k) {
    auto& x = c.written.leaves[k];
    x.strides = *strides[k];
    std::int64_t top = 0;
    for (int d = 0; d < domain.rank(); ++d) top += x.strides[d] * (domain[d] - 1);
    memory& m = c.leaves.emplace_back(x.type, static_cast<std::size_t>(top + 1));
    for (std::size_t i = 0; i < m.size(); ++i) m.set(i, static_cast<double>((i * 37 + k) % 101));
    x.data = m.data();
  }
  auto& y = c.written.results[0];
  y.strides = packed;
  y.add = add;
  memory& m = c.results.emplace_back(dtype::float32, c.leaves[0].size());
  for (std::size_t i = 0; i < m.size(); ++i) m.set(i, 5);
  y.data = m.data();
  c.what = c.written;
  order_axes(c.what);
  collapse(c.what);
  const int axis = cuda::axis_to_turn(c.what);
  REQUIRE(axis >= 0);
  c.how = cuda::plan_transpose(c.what, axis);
  c.printed = cuda::print_transpose(c.what, c.how);
}

// y = x0 + x1 + ..., all of them transposed.
void make_sum(turned_case& c, dtype type, int count) {
  symbol sum = c.tape.leaf(0, type);
  for (int k = 1; k < count; ++k) sum = detail::push(opcode_of("add"), type, sum, c.tape.leaf(k, type));
  c.tape.result(sum);
  c.written = cuda::task_for(view_of(c.tape.p), {40, 70});
  const auto reserve = [&](std::deque<memory>& of, std::size_t k) {
    memory& m = of.emplace_back(type, 40 * 70);
    for (std::size_t i = 0; i < m.size(); ++i) m.set(i, static_cast<double>((i * 37 + k) % 101));
    return m.data();
  };
  for (std::size_t k = 0; k < c.written.leaves.size(); ++k)
    c.written.leaves[k].data = reserve(c.leaves, k), c.written.leaves[k].strides = {1, 40};
  c.written.results[0].data = reserve(c.results, 0);
  c.written.results[0].strides = {70, 1};
  c.what = c.written;
  c.how = cuda::plan_transpose(c.what, cuda::axis_to_turn(c.what));
  c.printed = cuda::print_transpose(c.what, c.how);
}

// The result of a kernel beside that of plain loops over what was there before.
void check_by_loops(turned_case& c, const std::vector<oracles::real>& before) {
  const auto want = naive_tape::result_of(c.written, naive_tape::values_of(c.written, c.leaves), 0, before);
  int wrong = 0;
  for (std::size_t i = 0; i < want.size(); ++i) wrong += c.results[0][i] != want[i];
  CHECK_MESSAGE(wrong == 0, c.printed.text);
}

}  // namespace

TEST_CASE("print_transpose: of more tensors than 48 KiB have room for, some are read where they lie") {
  std::deque<turned_case> cases;
  make_sum(cases.emplace_back(), dtype::float64, 6);
  make_sum(cases.emplace_back(), dtype::float32, 12);
  const std::string text = cases[0].printed.text + cases[1].printed.text;
  const emulated::module module(text);
  for (turned_case& c : cases) {
    CHECK(c.how.leaves[0].how >= cuda::access::turned);
    CHECK(c.how.leaves.back().how == cuda::access::strided);
    emulated::run(module, c.printed, c.how, c.what);
    check_by_loops(c, std::vector<oracles::real>(40 * 70));
  }
}

TEST_CASE("print_transpose: leaves that lie along another axis are turned in tiles") {
  std::deque<turned_case> cases;
  make(cases.emplace_back(), {70, 45}, {1, 70}, false, dtype::float32);
  make(cases.emplace_back(), {32, 64}, {1, 33}, true, dtype::float32);
  make(cases.emplace_back(), {3, 40, 37}, {40 * 37, 1, 40}, false, dtype::bfloat16);
  make(cases.emplace_back(), {33, 5, 34}, {1, 33 * 34, 33}, true, dtype::float32);
  // Whole tiles of 64, and such with a rest along either axis; vectors of 16 bytes, and elements one by one.
  make(cases.emplace_back(), {128, 192}, {1, 128}, false, dtype::float32);
  make(cases.emplace_back(), {132, 68}, {1, 132}, true, dtype::float32);
  make(cases.emplace_back(), {2, 72, 136}, {72 * 136, 1, 72}, false, dtype::bfloat16);
  make(cases.emplace_back(), {65, 80}, {1, 67}, false, dtype::bfloat16);
  std::string text;
  std::set<std::string> seen;
  for (const turned_case& c : cases)
    if (seen.insert(c.printed.name).second) text += c.printed.text;
  const emulated::module module(text, emulated::headers());
  for (turned_case& c : cases) {
    CHECK(c.how.leaves[1].how >= cuda::access::turned);
    std::vector<oracles::real> before(c.results[0].size(), 5);
    for (const std::uint64_t seed : {1u, 2u}) {
      for (std::size_t i = 0; i < before.size(); ++i) c.results[0].set(i, 5);
      emulated::run(module, c.printed, c.how, c.what, 2, {}, nullptr, seed);
      check_by_loops(c, before);
    }
  }
}

TEST_CASE("print_transpose: leaves along the last axis, broadcast ones and thin ones are not turned") {
  auto axis = [](const dims& domain, const dims& strides) {
    sheet s;
    s.result(s.leaf(0) + 1);
    cuda::task job = cuda::task_for(view_of(s.p), domain);
    job.leaves[0].strides = strides;
    return cuda::axis_to_turn(job);
  };
  CHECK(axis({40, 50}, {50, 1}) == -1);
  CHECK(axis({40, 50}, {1, 0}) == -1);
  CHECK(axis({3, 50}, {1, 3}) == -1);
  CHECK(axis({40, 50}, {2, 80}) == -1);
  CHECK(axis({40, 50}, {1, 40}) == 0);
}
