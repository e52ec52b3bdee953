// SPDX-License-Identifier: BSL-1.0
// gather, scatter and their gradients on the stand-in, against plain loops; sums in a fixed order, and with atomics.
#include <kiln/cuda.hpp>

#include <cuda_emulator/stand_in.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "support/device_indexing.hpp"

using namespace kiln;

namespace {

template <class T>
using on_gpu = Tensor<T, Cuda>;
using at = on_gpu<std::int64_t>;
using device_test::list;
using device_test::values;

struct any_order {
  any_order() { cuda::set_deterministic(false); }
  ~any_order() { cuda::set_deterministic(true); }
};

}  // namespace

TEST_CASE("cuda indexing: reads and writes go where the index says") {
  emulate::stand_in();
  device_test::check_indexing<Cuda>();
  device_test::check_other_orders<Cuda>();
}

TEST_CASE("cuda indexing: rows of any length and alignment are taken, beside other operands of every kind") {
  emulate::stand_in();
  constexpr std::int64_t n = 37, rows = 11;
  const auto check = [&]<class T>(std::type_identity<T>, std::int64_t columns, std::int64_t from) {
    Tensor<float> all = empty<float>({rows, columns + from}), by = empty<float>({n, columns}),
                  of_row = empty<float>({n, 1}), of_column = empty<float>({columns});
    for (Tensor<float>* each : {&all, &by, &of_row, &of_column})
      for (std::int64_t i = 0; i < each->numel(); ++i) each->data()[i] = static_cast<float>(i * 7 % 31) / 4;
    Tensor<std::int64_t> index = empty<std::int64_t>({n});
    for (std::int64_t i = 0; i < n; ++i) index.data()[i] = i * 5 % rows;
    const on_gpu<T> table = on_gpu<T>(Tensor<T>(cast<T>(all)).template to<Cuda>()).slice(1, from, columns + from);
    const on_gpu<T> there[] = {Tensor<T>(cast<T>(by)).template to<Cuda>(),
                               Tensor<T>(cast<T>(of_row)).template to<Cuda>(),
                               Tensor<T>(cast<T>(of_column)).template to<Cuda>()};
    const list got = values(on_gpu<T>(index_select(table, 0, index.to<Cuda>()) + there[0] - there[1] + there[2]));
    list want;
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t c = 0; c < columns; ++c)
        want.push_back(static_cast<double>(all.data()[index.data()[i] * (columns + from) + from + c] +
                                           by.data()[i * columns + c] - of_row.data()[i] + of_column.data()[c]));
    CHECK(got == want);
  };
  for (const std::int64_t columns : {13, 16, 17, 40, 100}) check(std::type_identity<float>{}, columns, 0);
  check(std::type_identity<float>{}, 32, 3);
  check(std::type_identity<double>{}, 9, 0);
  check(std::type_identity<half>{}, 40, 0);
}

// The terms in chunks of 256, the first of which begins with what is there: the order that is promised, by plain loops.
float sum_in_chunks(float start, const std::vector<float>& terms) {
  float sum = start;
  for (std::size_t i = 0; i < terms.size(); i += 256) {
    float chunk = i == 0 ? sum : 0;
    for (std::size_t k = i; k < std::min(i + 256, terms.size()); ++k) chunk += terms[k];
    sum = i == 0 ? chunk : sum + chunk;
  }
  return sum;
}

TEST_CASE("cuda indexing: many terms are added in a fixed order, the same bits every time") {
  const auto& device = emulate::stand_in();
  constexpr std::int64_t n = 3000, places = 5;  // more keys than a tile of the sort has
  Tensor<float> terms = empty<float>({n, 2});
  Tensor<std::int64_t> where_to = empty<std::int64_t>({n});
  for (std::int64_t i = 0; i < n; ++i) {
    where_to.data()[i] = i * i % places;
    for (int c = 0; c < 2; ++c)
      terms.data()[2 * i + c] = static_cast<float>(std::sin(static_cast<double>(i + c)) * std::pow(10.0, i % 9));
  }
  std::vector<std::vector<float>> of_place(2 * places);
  for (std::int64_t i = 0; i < n; ++i)
    for (int c = 0; c < 2; ++c)
      of_place[static_cast<std::size_t>(2 * where_to.data()[i] + c)].push_back(terms.data()[2 * i + c]);
  std::vector<float> want;
  for (const auto& added : of_place) want.push_back(sum_in_chunks(0.5f, added));
  for (const int seed : {1, 2, 3}) {
    if (device.emulated()) device.set("seed", seed);
    const auto sums = index_add(full<float, Cuda>({places, 2}, 0.5f), 0, where_to.to<Cuda>(), terms.to<Cuda>());
    const Tensor<float> got = sums.to(Cpu{});
    CHECK(std::vector<float>(got.span().begin(), got.span().end()) == want);
  }
  for (std::size_t k = 0; k < want.size(); ++k) {
    double exact = 0.5, size = 0.5;
    for (const float x : of_place[k]) exact += static_cast<double>(x), size += std::abs(static_cast<double>(x));
    CHECK(static_cast<double>(want[k]) ==
          doctest::Approx(exact).epsilon(1e-6 * size / std::max(1e-30, std::abs(exact))));
  }
}

TEST_CASE("cuda indexing: places of any size are sorted, by as many bits as they have") {
  emulate::stand_in();
  // 5000 of 70000 rows of three elements: 18 bits, three times eight; the last keys end within a tile and a warp.
  constexpr std::int64_t n = 5000, rows = 70000;
  Tensor<float> terms = empty<float>({n, 3});
  Tensor<std::int64_t> where_to = empty<std::int64_t>({n});
  std::vector<float> want(3 * rows, 0);
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t row = i % 25 == 0 ? rows - 1 : i * 7919 % rows;
    where_to.data()[i] = row;
    for (std::int64_t c = 0; c < 3; ++c) {
      terms.data()[3 * i + c] = static_cast<float>(std::sin(static_cast<double>(3 * i + c)));
      want[static_cast<std::size_t>(3 * row + c)] += terms.data()[3 * i + c];
    }
  }
  const auto sums = index_add(zeros<float, Cuda>({rows, 3}), 0, where_to.to<Cuda>(), terms.to<Cuda>());
  const Tensor<float> got = sums.to(Cpu{});
  CHECK(std::vector<float>(got.span().begin(), got.span().end()) == want);
}

// The rows of a table in bfloat16 with its gradient, that of rows which many indices name and of rows that none does:
// by plain loops in the order that is promised, in float and rounded once.
TEST_CASE("cuda indexing: the gradient of an embedding takes five launches at most, of few indices two") {
  const auto& device = emulate::stand_in();
  struct sizes {
    std::int64_t n, rows, columns;
    long long launches;
  };
  for (const sizes& s : {sizes{9000, 40'000, 16, 4}, sizes{4100, 5'000'000, 1, 5}, sizes{4100, 300, 3, 3},
                         sizes{1500, 40'000, 24, 2}, sizes{1, 2, 8, 2}}) {
    Tensor<std::int32_t> index = empty<std::int32_t>({s.n});
    Tensor<bfloat16> weights = empty<bfloat16>({s.n, s.columns});
    std::vector<std::vector<std::int64_t>> of_row(static_cast<std::size_t>(s.rows));
    for (std::int64_t i = 0; i < s.n; ++i) {
      // A third of them to one row.
      const std::int64_t row = i % 3 == 0 ? s.rows / 2 : i * 7919 % s.rows;
      index.data()[i] = static_cast<std::int32_t>(row);
      of_row[static_cast<std::size_t>(row)].push_back(i);
      for (std::int64_t c = 0; c < s.columns; ++c)
        weights.data()[s.columns * i + c] = static_cast<bfloat16>(static_cast<float>((i + c) % 13) / 8 - 0.5f);
    }
    on_gpu<bfloat16> table = zeros<bfloat16, Cuda>({s.rows, s.columns});
    table.requires_grad();
    const on_gpu<std::int32_t> there = index.to<Cuda>();
    const on_gpu<bfloat16> by = weights.to<Cuda>();
    const on_gpu<bfloat16> taken = index_select(table, 0, there);
    const auto launches = [&] { return device.emulated() ? device.count("cuLaunchKernel") : 0; };
    const long long before = launches();
    backward(taken, by);
    if (device.emulated()) CHECK(launches() - before == 1 + s.launches);  // one copies what arrives
    const Tensor<bfloat16> got = table.grad().to(Cpu{});
    std::int64_t wrong = 0;
    for (std::int64_t row = 0; row < s.rows; ++row)
      for (std::int64_t c = 0; c < s.columns; ++c) {
        std::vector<float> terms;
        for (const std::int64_t i : of_row[static_cast<std::size_t>(row)])
          terms.push_back(static_cast<float>(weights.data()[s.columns * i + c]));
        wrong += static_cast<float>(got.data()[s.columns * row + c]) !=
                 static_cast<float>(static_cast<bfloat16>(sum_in_chunks(0, terms)));
      }
    CHECK(wrong == 0);
  }
}

TEST_CASE("cuda indexing: with atomics the sums are the same but for rounding, in every type that has them") {
  emulate::stand_in();
  const any_order here;
  const at places{2, 0, 2, 2};
  const on_gpu<float> added{1, 2, 3, 4};
  const auto check = [&]<class T>(std::type_identity<T>) {
    const auto sums = index_add(zeros<T, Cuda>({3}), 0, places, on_gpu<T>(cast<T>(added)));
    CHECK(values(sums) == list{2, 0, 8});
  };
  check(std::type_identity<float>{});
  check(std::type_identity<double>{});
  check(std::type_identity<half>{});
  check(std::type_identity<bfloat16>{});
  check(std::type_identity<std::int64_t>{});
  check(std::type_identity<std::int32_t>{});
  check(std::type_identity<std::int16_t>{});
  check(std::type_identity<std::int8_t>{});  // has none: added in order
}

TEST_CASE("cuda indexing: gradients go to what was read and come from where it was written") {
  emulate::stand_in();
  device_test::check_gradients_of_indexing<Cuda>();
}

TEST_CASE("cuda indexing: an index outside its axis is reported when values are read, and the next call works") {
  emulate::stand_in();
  const on_gpu<float> x{1, 2, 3};
  const on_gpu<float> y = index_select(x, 0, at{0, 3});
  CHECK_THROWS_AS(y.to<Cpu>(), index_error);
  CHECK_THROWS_AS(index_add(x, 0, at{-1}, on_gpu<float>{1}).to<Cpu>(), index_error);
  CHECK(values(index_select(x, 0, at{2})) == list{3});
}

TEST_CASE("cuda indexing: what is put in order or added up on the host comes back, and so do gradients") {
  emulate::stand_in();
  on_gpu<float> x = Tensor<float>{{3, 1, 2}, {4, 9, 8}}.to<Cuda>();
  x.requires_grad();
  const auto [best, places] = topk(x, 2, 1);
  CHECK(values(best) == list{3, 2, 9, 8});
  CHECK(values(places) == list{0, 2, 1, 2});
  const on_gpu<float> sums = cumsum(x, 1);
  CHECK(values(sums) == list{3, 4, 6, 4, 13, 21});
  backward(sum(best) + sum(sums));
  CHECK(values(x.grad()) == list{4, 2, 2, 3, 3, 2});
}
