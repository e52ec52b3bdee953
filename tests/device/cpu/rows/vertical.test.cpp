// SPDX-License-Identifier: BSL-1.0
// Reductions over slow axes: few columns and many rows, columns around registers and chunks, several slow axes, beside
// loops in double.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>

#include <kiln/device/cpu/rows/vertical.hpp>
#include <kiln/expr/reductions.hpp>
#include <kiln/ops/all.hpp>
#include <kiln/tensor/views.hpp>
#include <support/bits.hpp>
#include <support/compare.hpp>

using namespace kiln;
using detail::untracked;
using test::difference;
using test::draw;
using test::naive;

namespace {

using row = std::vector<double>;
double sum_of(const row& v) {
  double s = 0;
  for (double x : v) s += x;
  return s;
}
double max_of(const row& v) {
  return *std::max_element(v.begin(), v.end());
}

struct columns_of {  // the sum over axis 0 of m x n floats, as a task
  cpu::compiled program;
  cpu::reduction_facts facts;
  cpu::operand_view in;
  cpu::result_view out;
  cpu::task job;
  columns_of(std::int64_t m, std::int64_t n) {
    facts.operand_slot = 0;
    program.slots = program.results = program.reductions = 1;
    program.reduction_rooted = true;
    program.operands = [](const cpu::strip&) {};
    program.reduced = &facts;
    in = {this, {1, n}, 4};
    out = {this, {1, 0}};
    job = {.program = &program, .domain = {n, m}, .reduced_axes = 2, .in = &in, .out = &out};
  }
  columns_of(const columns_of&) = delete;
};

}  // namespace

TEST_CASE("vertical: the cut covers each row and column once, by sizes only") {
  using runner = cpu::detail::vertical_runner;
  for (const std::int64_t m : {1, 63, 64, 65, 1000, 100000})
    for (const std::int64_t n : {8, 63, 1000, 1024, 1025, 5000}) {
      CAPTURE(m);
      CAPTURE(n);
      const columns_of c(m, n);
      CHECK(runner::suits(c.job));
      const runner::cut by = runner::cut_of(c.job);
      CHECK(by.chunk % 64 == 0);
      CHECK(by.chunk * by.chunks >= n);
      CHECK(by.chunk * (by.chunks - 1) < n);
      CHECK(by.units == by.chunks);
      CHECK(by.part_begin(0) == 0);
      for (std::int64_t k = 0; k + 1 < by.parts; ++k) CHECK(by.part_end(k) == by.part_begin(k + 1));
      for (std::int64_t k = 0; k < by.parts; ++k) CHECK(by.part_end(k) > by.part_begin(k));
      CHECK(by.part_end(by.parts - 1) == m);
      // What the parts are folded into stays small beside the operand.
      if (by.parts > 1) CHECK(by.parts * by.units * by.chunk * 8 <= m * n * 4 / 4);
    }
  CHECK(runner::cut_of(columns_of(100000, 10).job).parts > 4);
}

TEST_CASE("vertical: many rows and few columns") {
  for (const auto& shape : {std::pair<std::int64_t, std::int64_t>{30000, 10}, {5000, 63}, {3001, 130}, {600, 1025}}) {
    const std::int64_t m = shape.first, n = shape.second;
    CAPTURE(n);
    const auto a = draw(static_cast<std::uint32_t>(n)).contiguous<float>({m, n});
    const naive na = naive::of(a);
    CHECK(difference(untracked(sum(a, 0)), test::reduce(sum_of, na, 1, false), 1e-6, 1e-4) == "");
    CHECK(difference(untracked(max(a, 0)), test::reduce(max_of, na, 1, false)) == "");
    CHECK(difference(untracked(sum(a * a + 1.0f, 0)),
                     test::reduce(sum_of, test::map([](double x) { return x * x + 1; }, na), 1, false), 1e-6) == "");
    CHECK(test::bit_patterns([&] { return Tensor<float>(sum(a * a + 1.0f, 0)); }, 2) == 1);
  }
}

TEST_CASE("vertical: several slow axes, with gaps between them") {
  const auto all = draw(1).contiguous<float>({40, 31, 80});
  const auto a = all.narrow(1, 1, 29).narrow(2, 3, 70);
  const auto b = draw(2).contiguous<float>({40, 1, 70});
  const naive na = naive::of(a);
  CHECK(difference(untracked(sum(a, axes{0, 1})), test::reduce(sum_of, na, 3, false), 1e-6, 1e-4) == "");
  CHECK(difference(untracked(max(a.permute({2, 1, 0}), axes{1, 2})),
                   test::reduce(max_of, naive::of(a.permute({2, 1, 0})), 6, false)) == "");
  const naive product = test::map([](double x, double y) { return x * y; }, na, naive::of(b));
  CHECK(difference(untracked(sum(a * b, axes{0, 1})), test::reduce(sum_of, product, 3, false), 1e-5, 1e-4) == "");
  CHECK(test::bit_patterns([&] { return Tensor<float>(sum(a * b, axes{0, 1})); }, 2) == 1);
}

TEST_CASE("vertical: whole numbers, and columns in other places of the result") {
  Tensor<std::int32_t> x(new_tensor(dtype::int32, {20, 700, 12}));
  for (std::int64_t i = 0; i < x.numel(); ++i) x.data()[i] = static_cast<std::int32_t>(i % 1009);
  const naive nx = naive::of(x);
  CHECK(difference(untracked(sum(x, 1)), test::reduce(sum_of, nx, 2, false)) == "");
  const auto turned = x.permute({2, 1, 0});
  CHECK(difference(untracked(sum(turned, 1)), test::reduce(sum_of, naive::of(turned), 2, false)) == "");
  CHECK(difference(untracked(max(turned, 1)), test::reduce(max_of, naive::of(turned), 2, false)) == "");
}
