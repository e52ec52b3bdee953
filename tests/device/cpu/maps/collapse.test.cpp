// SPDX-License-Identifier: BSL-1.0
// Joining and ordering the axes of a task: the elements that are visited stay the same.
#include <doctest/doctest.h>

#include <random>
#include <set>
#include <vector>

#include <kiln/device/cpu/maps/collapse.hpp>

using namespace kiln;

namespace {

// All pairs of offsets (operand, result) that a task walks through.
std::multiset<std::pair<std::int64_t, std::int64_t>> walk(const cpu::task& job) {
  std::multiset<std::pair<std::int64_t, std::int64_t>> all;
  const std::int64_t n = count(job.domain);
  for (std::int64_t i = 0; i < n; ++i) {
    std::int64_t rest = i, a = 0, b = 0;
    for (int k = job.domain.rank() - 1; k >= 0; --k) {
      const std::int64_t at = rest % job.domain[k];
      rest /= job.domain[k];
      a += at * job.in[0].strides[k];
      b += at * job.out[0].strides[k];
    }
    all.insert({a, b});
  }
  return all;
}

struct example {
  cpu::compiled program;
  float memory = 0;
  cpu::operand_view in;
  cpu::result_view out;
  cpu::task job;
  example(const dims& domain, const dims& in_strides, const dims& out_strides, std::uint32_t reduced = 0) {
    program.slots = program.results = 1;
    in = {&memory, in_strides, 4};
    out = {&memory, out_strides, dtype::float32, false};
    job = {.program = &program, .domain = domain, .reduced_axes = reduced, .in = &in, .out = &out};
  }
  example(const example&) = delete;
};

}  // namespace

TEST_CASE("collapse: contiguous axes become one, axes of size 1 go") {
  example a({2, 3, 1, 4}, {12, 4, 4, 1}, {12, 4, 4, 1});
  cpu::collapse(a.job);
  CHECK(a.job.domain == dims{24});
  CHECK(a.in.strides == dims{1});
  example b({2, 3, 4}, {0, 4, 1}, {12, 4, 1});  // broadcast along the first
  cpu::collapse(b.job);
  CHECK(b.job.domain == dims{2, 12});
  example c({2, 3, 4}, {12, 4, 1}, {12, 4, 1}, 0b100);  // the last is reduced: not one with its neighbour
  cpu::collapse(c.job);
  CHECK(c.job.domain == dims{6, 4});
  CHECK(c.job.reduced_axes == 0b10);
  example d({1, 1}, {0, 0}, {1, 1});
  cpu::collapse(d.job);
  CHECK(d.job.domain.rank() == 0);
}

TEST_CASE("collapse: random axes, joined and reordered, visit the same elements") {
  std::mt19937 engine(1);
  const auto integer = [&](int low, int high) {
    return low + static_cast<int>(engine() % static_cast<unsigned>(high - low + 1));
  };
  for (int round = 0; round < 300; ++round) {
    CAPTURE(round);
    dims domain, a, b;
    std::int64_t step_a = 1, step_b = 1;
    for (int i = integer(1, 5); i > 0; --i) {
      const std::int64_t size = integer(1, 4);
      domain.insert(0, size);
      a.insert(0, integer(0, 3) == 0 ? 0 : step_a);
      b.insert(0, step_b);
      step_a *= size;
      step_b *= size + (integer(0, 3) == 0);
    }
    for (int i = 0; i < 3; ++i) {
      const int x = integer(0, domain.rank() - 1), y = integer(0, domain.rank() - 1);
      std::swap(domain[x], domain[y]), std::swap(a[x], a[y]), std::swap(b[x], b[y]);
    }
    example e(domain, a, b);
    const auto before = walk(e.job);
    cpu::order_by_result(e.job);
    CHECK(walk(e.job) == before);
    for (int i = 0; i + 1 < domain.rank(); ++i) CHECK(e.out.strides[i] >= e.out.strides[i + 1]);
    cpu::collapse(e.job);
    CHECK(walk(e.job) == before);
  }
}

TEST_CASE("collapse: axes of a row program in the order in which its largest operand lies") {
  cpu::compiled program;
  program.slots = 2;
  program.results = 1;
  program.reduction_rooted = true;
  int here = 0;
  // A row of 5 x 6 x 7 and a larger operand whose kept axis (4) is the fastest of [6, 5, 7, 4].
  std::vector<cpu::operand_view> in{{&here, {0, 42, 7, 1}, 4}, {&here, {1, 28, 140, 4}, 4}};
  cpu::result_view out{&here, {1, 0, 0, 0}};
  cpu::task job{.program = &program, .domain = {4, 5, 6, 7}, .reduced_axes = 14, .in = in.data(), .out = &out};
  cpu::order_by_largest(job);
  CHECK(job.domain == dims{4, 6, 5, 7});
  CHECK(in[1].strides == dims{1, 140, 28, 4});
  CHECK(in[0].strides == dims{0, 7, 42, 1});
  CHECK(job.reduced_axes == 14);
  cpu::collapse(job);
  CHECK(job.domain == dims{4, 6, 5, 7});  // the row lies in another order
  in[0].data = nullptr;
  cpu::collapse(job);
  CHECK(job.domain == dims{4, 210});

  // Kept axes: the fastest one comes last, the others stay.
  in = {{nullptr, {}, 4}, {&here, {1, 100, 10, 1000}, 4}};
  out.strides = {12, 4, 1, 0};
  job.domain = {2, 3, 4, 5};
  job.reduced_axes = 8;
  cpu::order_by_largest(job);
  CHECK(job.domain == dims{3, 4, 2, 5});
  CHECK(out.strides == dims{4, 1, 12, 0});
}
