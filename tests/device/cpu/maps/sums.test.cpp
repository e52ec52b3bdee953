// SPDX-License-Identifier: BSL-1.0
// Results narrower than the domain are sums: of every layout, type and number of threads, rounded once.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include <kiln/autograd/backward.hpp>
#include <kiln/device/cpu/maps/sums.hpp>
#include <kiln/ops/all.hpp>
#include <support/bits.hpp>
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

namespace {
struct one_sum {  // the sum over a domain, added to one number or to one per column
  cpu::compiled program;
  dtype stores = dtype::float32;
  std::vector<float> total;
  cpu::result_view out;
  cpu::task job;
  one_sum(const dims& domain, const dims& strides, std::size_t size) : total(size, 0.5f) {
    program.results = 1;
    program.stores = &stores;
    out = {total.data(), strides, dtype::float32, true};
    job = {.program = &program, .domain = domain, .out = &out};
  }
};
}  // namespace

TEST_CASE("sums: the number of threads may change between making room and adding") {
  cpu::set_num_threads(1);
  one_sum s({4000000}, {0}, 1);
  cpu::result_sums sums(s.job);
  CHECK(sums.any());
  sums.cut({.domain = {4000000}, .split = 1});
  CHECK(sums.parts() > 4);
  cpu::set_num_threads(4);
  cpu::parallel_for(sums.parts(), 1, [&](std::int64_t begin, std::int64_t end) {
    const float one = 1;
    for (std::int64_t k = begin; k < end; ++k) {
      cpu::part_sums part(sums, k);
      for (std::int64_t i = part.where().outer; i < part.where().outer_end; ++i) part.add(0, &one, 0, 0, 1);
      part.finish();
    }
  });
  cpu::set_num_threads(2);
  sums.deliver();
  CHECK(s.total[0] == 4000000.5f);
}

TEST_CASE("sums: a wide result is cut by its columns, and its sums take no room of their own") {
  const std::int64_t rows = 8, columns = 300000;
  one_sum s({rows, columns}, {0, 1}, static_cast<std::size_t>(columns));
  cpu::result_sums sums(s.job);
  sums.cut({.domain = {rows, columns}, .split = 1, .step = 512});
  CHECK(sums.parts() > 8);
  CHECK(sums.shared_bytes() == 0);
  const std::vector<float> ones(static_cast<std::size_t>(columns), 1.0f);
  for (std::int64_t k = 0; k < sums.parts(); ++k) {
    cpu::part_sums part(sums, k);
    const cpu::sum_part here = part.where();
    CHECK(here.outer == 0);
    CHECK(here.outer_end == rows);
    for (std::int64_t i = 0; i < rows; ++i) part.add(0, ones.data(), here.inner, 1, here.inner_end - here.inner);
    part.finish();
  }
  sums.deliver();
  CHECK(std::count(s.total.begin(), s.total.end(), 8.5f) == columns);
}

TEST_CASE("sums: what parts share takes a small part of the work's own memory") {
  const std::int64_t rows = 4096, columns = 1000;
  one_sum s({rows, columns}, {0, 1}, static_cast<std::size_t>(columns));
  cpu::result_sums sums(s.job);
  sums.cut({.domain = {rows, columns}, .split = 1, .step = 512});
  CHECK(sums.parts() >= 8);
  CHECK(sums.shared_bytes() <= 8 * (columns + rows * columns / 512));
}

TEST_CASE("sums: without strips, zeros, or what was there") {
  one_sum s({0, 5}, {0, 1}, 5);
  cpu::result_sums(s.job).deliver();
  CHECK(s.total == std::vector<float>(5, 0.5f));
  s.out.add = false;
  cpu::result_sums(s.job).deliver();
  CHECK(s.total == std::vector<float>(5, 0.0f));
}

TEST_CASE("sums: gradients of broadcast operands have the same bits in every run and on any number of threads") {
  const std::int64_t m = 4096, n = 1000;
  const auto g = test::cancelling(m, n, 3);
  Tensor<float> ones(new_tensor(dtype::float32, {m, n}));
  ones.fill_(1);
  auto row = draw(1).contiguous<float>({n}), column = Tensor<float>(new_tensor(dtype::float32, {m, 1})),
       number = Tensor<float>(1.0f);
  column.fill_(1);
  for (auto* p : {&row, &column, &number}) p->requires_grad();
  const auto gradient_of = [&](Tensor<float>& p) {
    return test::bit_patterns([&] {
      for (auto* q : {&row, &column, &number}) q->zero_grad();
      backward(Tensor<float>(ones * row + column * number), g);
      return p.grad();
    });
  };
  CHECK(gradient_of(row) == 1);
  CHECK(gradient_of(column) == 1);
  CHECK(gradient_of(number) == 1);
}

TEST_CASE("sums: the same bits for biases of few columns and wide ones, and for row programs") {
  for (const auto& shape : {std::pair<std::int64_t, std::int64_t>{60000, 10}, {100, 9000}}) {
    const std::int64_t m = shape.first, n = shape.second;
    const auto g = test::cancelling(m, n, 5), x = draw(4).contiguous<float>({m, n});
    auto bias = draw(1).contiguous<float>({n}), scale = draw(2).contiguous<float>({n});
    bias.requires_grad();
    scale.requires_grad();
    const auto count = [&](auto f, Tensor<float>& p) {
      return test::bit_patterns([&] {
        bias.zero_grad();
        scale.zero_grad();
        backward(Tensor<float>(f()), g);
        return p.grad();
      });
    };
    CHECK(count([&] { return x + bias; }, bias) == 1);
    CHECK(count([&] { return layer_norm(x) * scale + bias; }, scale) == 1);
    CHECK(count([&] { return layer_norm(x) * scale + bias; }, bias) == 1);
  }
}
