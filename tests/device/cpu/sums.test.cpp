// SPDX-License-Identifier: BSL-1.0
// Results narrower than the domain are sums: of every layout, type and number of threads, rounded once.
#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include <kiln/autograd/backward.hpp>
#include <kiln/device/cpu/sums.hpp>
#include <kiln/ops/all.hpp>
#include <support/compare.hpp>
#include <support/draw.hpp>

using namespace kiln;
using test::draw;

TEST_CASE("sums: strips are put with a stride, converted, added") {
  std::vector<float> from(100);
  for (std::size_t i = 0; i < 100; ++i) from[i] = static_cast<float>(i) + 0.25f;
  std::vector<half> halves(300, half(1.0f));
  cpu::put_strip(halves.data(), dtype::float16, 3, from.data(), dtype::float32, 100, true);
  std::vector<double> doubles(300, 2.0);
  cpu::put_strip(doubles.data(), dtype::float64, 2, from.data(), dtype::float32, 100, false);
  std::vector<float> floats(100, 1.0f);
  cpu::put_strip(floats.data(), dtype::float32, 1, from.data(), dtype::float32, 100, false);
  bool right = true;
  for (std::size_t i = 0; i < 100; ++i) {
    right &= static_cast<float>(halves[3 * i]) == static_cast<float>(half(from[i] + 1)) &&
             static_cast<float>(halves[3 * i + 1]) == 1;
    right &= doubles[2 * i] == static_cast<double>(from[i]) && doubles[2 * i + 1] == 2;
    right &= floats[i] == from[i];
  }
  CHECK(right);
}

TEST_CASE("sums: gradients of broadcast operands, large and small, on one thread and two") {
  for (int threads : {1, 2}) {
    cpu::set_num_threads(threads);
    for (const auto& shape :
         {std::pair<std::int64_t, std::int64_t>{3, 5}, {700, 300}, {5, 40000}, {60000, 3}, {2000, 33}}) {
      const std::int64_t m = shape.first, n = shape.second;  // clang 14 captures no bindings
      CAPTURE(threads);
      CAPTURE(m);
      CAPTURE(n);
      draw d(static_cast<std::uint32_t>(m));
      const auto x = d.tensor<float>({m, n}), g = d.contiguous<float>({m, n});
      auto row = d.tensor<float>({n}), column = d.tensor<float>({m, 1}), number = d.tensor<float>({});
      for (auto* p : {&row, &column, &number}) p->requires_grad();
      backward(Tensor<float>(x * row + column * number), g);
      std::vector<double> by_row(static_cast<std::size_t>(n), 0), by_column(static_cast<std::size_t>(m), 0);
      double all = 0;
      for (std::int64_t i = 0; i < m; ++i)
        for (std::int64_t j = 0; j < n; ++j) {
          by_row[static_cast<std::size_t>(j)] += double(g(i, j)) * double(x(i, j));
          by_column[static_cast<std::size_t>(i)] += double(g(i, j)) * double(number.item());
          all += double(g(i, j)) * double(column(i, 0));
        }
      double worst_row = 0, worst_column = 0;
      for (std::int64_t j = 0; j < n; ++j)
        worst_row = std::max(worst_row, std::abs(double(row.grad()(j)) - by_row[static_cast<std::size_t>(j)]));
      for (std::int64_t i = 0; i < m; ++i)
        worst_column =
            std::max(worst_column, std::abs(double(column.grad()(i, 0)) - by_column[static_cast<std::size_t>(i)]));
      CHECK(worst_row < 2e-5 * std::sqrt(static_cast<double>(m)));
      CHECK(worst_column < 2e-5 * std::sqrt(static_cast<double>(n)));
      CHECK(number.grad().item() == doctest::Approx(all).epsilon(1e-5));
    }
  }
}

TEST_CASE("sums: many small values beside a large one are not lost") {
  Tensor<float> number(1.0f), x(new_tensor(dtype::float32, {1000, 1000}));
  x.fill_(1);
  x(0, 0) = 1e8f;
  number.requires_grad();
  Tensor<float> ones(new_tensor(dtype::float32, {1000, 1000}));
  ones.fill_(1);
  backward(Tensor<float>(x * number), ones);
  CHECK(number.grad().item() == doctest::Approx(1e8 + 999999).epsilon(2e-6));
}

TEST_CASE("sums: threads that come after the room was made have room too") {
  cpu::set_num_threads(1);
  cpu::compiled program;
  const dtype stores = dtype::float32;
  program.results = 1;
  program.stores = &stores;
  float total = 0.5f;
  cpu::result_view out{&total, {0}, 4, dtype::float32, true};
  cpu::task job{.program = &program, .domain = {4000}, .out = &out};
  cpu::result_sums sums(job);
  CHECK(sums.any());
  sums.prepare(job);
  cpu::set_num_threads(4);
  cpu::parallel_for(4000, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) sums.add_number(0, static_cast<double>(i), 0);
  });
  sums.deliver();
  CHECK(total == 0.5f + 3999 * 2000);
  cpu::set_num_threads(2);
}
