// SPDX-License-Identifier: BSL-1.0
// Gathers and random numbers within expressions on the device: one kernel each, in every kind of kernel, and the same
// numbers as on the host.
#include "operands.hpp"

#include "support/draws.hpp"

using namespace gpu_test;

namespace {

template <class F>
void check_values(const on_device<float>& y, F wanted, double epsilon = 5e-6) {
  const Tensor<float> here = y.to(Cpu{});
  for (std::int64_t i = 0; i < here.numel(); ++i) {
    const double want = wanted(static_cast<std::uint64_t>(i));
    INFO("element ", i);
    REQUIRE(static_cast<double>(here.data()[i]) == doctest::Approx(want).epsilon(epsilon).scale(1));
  }
}
double number_at(std::uint64_t i) {
  return test::normal(7, 0, i);
}
on_device<float> zero(const dims& sizes) {
  return zeros<float, Cuda>(sizes);
}
}  // namespace

TEST_CASE("draws on the device: maps, rows, columns and sums see the numbers of the host") {
  emulate::stand_in();
  for (const dims& sizes : {dims{1027}, dims{33, 20}}) {  // with and without vectors that share a block
    manual_seed(7);
    check_values(normal(zero(sizes), 1.0), number_at);
  }
  manual_seed(7);
  check_values(bernoulli(full<float, Cuda>({1000}, 0.25f)),
               [](std::uint64_t i) { return test::uniform(7, 0, i) < 0.25 ? 1.0 : 0.0; });
  manual_seed(7);
  check_values(zero({6, 40}) + normal(zero({6, 1}), 1.0), [](std::uint64_t i) { return number_at(i / 40); });
  constexpr std::int64_t rows = 37, columns = 70;
  std::vector<double> by_row(rows), by_column(columns), powers(rows);
  double all = 0;
  for (std::int64_t i = 0; i < rows * columns; ++i) {
    const double z = number_at(static_cast<std::uint64_t>(i));
    by_row[static_cast<std::size_t>(i / columns)] += z;
    by_column[static_cast<std::size_t>(i % columns)] += z;
    powers[static_cast<std::size_t>(i / columns)] += std::exp(z);
    all += z * z;
  }
  const on_device<float> x = zero({rows, columns});
  manual_seed(7);
  check_values(
      sum(normal(x, 1.0), 0), [&](std::uint64_t i) { return by_column[i]; }, 1e-5);
  manual_seed(7);
  check_values(
      sum(square(normal(x, 1.0))), [&](std::uint64_t) { return all; }, 1e-5);
  manual_seed(7);
  check_values(
      softmax(normal(x, 1.0), 1), [&](std::uint64_t i) { return std::exp(number_at(i)) / powers[i / columns]; }, 1e-5);
  // Rows over axes that do not join for every operand: the numbers are written out first.
  manual_seed(7);
  const on_device<float> y = sum(normal(zero({5, 6, 7}), 1.0) + zero({6, 5, 7}).transpose(0, 1), {0, 2});
  std::vector<double> middle(6);
  for (std::size_t i = 0; i < 210; ++i) middle[i / 7 % 6] += number_at(i);
  check_values(
      y, [&](std::uint64_t i) { return middle[i]; }, 1e-5);
  manual_seed(7);
  const Tensor<double> wide = on_device<double>(normal(zeros<double, Cuda>({63}), 1.0)).to(Cpu{});
  for (std::uint64_t i = 0; i < 63; ++i)
    REQUIRE(wide.data()[i] == doctest::Approx(test::normal_of_double(7, 0, i)).epsilon(1e-13).scale(1));
}

TEST_CASE("draws on the device: dropout is one kernel forward and one back, which drops the same") {
  const auto& device = emulate::stand_in();
  const on_device<float> x = on_device<float>(ones<float, Cuda>({300})).requires_grad();
  manual_seed(9);
  const long long before = device.emulated() ? device.count("cuLaunchKernel") : 0;
  const on_device<float> y = dropout(x, 0.25) * 3;
  if (device.emulated()) CHECK(device.count("cuLaunchKernel") == before + 1);
  backward(sum(y));
  for (const auto& t : {y, x.grad()})
    check_values(t, [](std::uint64_t i) { return test::uniform(9, 0, i) >= 0.25 ? 4.0 : 0.0; });
  check_values(dropout(x, 0.25, false), [](std::uint64_t) { return 1.0; });
}

TEST_CASE("draws on the device: each replay of a graph draws the next numbers") {
  emulate::stand_in();
  const on_device<float> x = zero({64});
  on_device<float> y = zero({64}), z = zero({64});
  manual_seed(7);
  const auto work = [&] {
    y += normal(x, 1.0);
    z += rand<float, Cuda>({64});
  };
  const cuda::graph graph = cuda::capture(work);  // 32 blocks for the warm-up, 32 for what was recorded
  const auto place = [](std::uint64_t times, std::uint64_t i) { return times * 128 + i; };
  check_values(y, [&](std::uint64_t i) { return number_at(place(0, i)); });
  graph.replay();
  work();
  graph.replay();
  check_values(y, [&](std::uint64_t i) {
    return number_at(place(0, i)) + number_at(place(2, i)) + number_at(place(3, i)) + number_at(place(4, i));
  });
  check_values(z, [&](std::uint64_t i) {
    double sum = 0;
    for (const std::uint64_t times : {0u, 2u, 3u, 4u}) sum += test::uniform(7, 0, place(times, 64 + i));
    return sum;
  });
  generator own(3);
  CHECK_THROWS_WITH_AS(cuda::capture([&] { y += normal(x, 1.0, own); }),
                       doctest::Contains("draw from default_generator()"), device_error);
  y = normal(x, 1.0, own);  // goes on as before
  CHECK(y.to(Cpu{}).numel() == 64);
}

TEST_CASE("gathers on the device: one kernel with what stands around them, and their gradients") {
  const auto& device = emulate::stand_in();
  constexpr std::int64_t words = 50, width = 24, taken = 9;
  const on_device<float> table =
      on_device<float>(reshape(arange<float>(words * width), {words, width}).to<Cuda>() * 0.01).requires_grad();
  const std::vector<std::int64_t> which{3, 0, 49, 3, 7, 7, 21, 48, 1};
  const on_device<std::int64_t> index = Tensor<std::int64_t>(tensor(which)).to<Cuda>();
  const auto value = [&](std::uint64_t row, std::uint64_t column) {
    return 0.01 * static_cast<double>(which[row] * width + static_cast<std::int64_t>(column));
  };
  const long long before = device.emulated() ? device.count("cuLaunchKernel") : 0;
  const on_device<float> y = tanh(index_select(table, 0, index) * 0.1) + 1;
  if (device.emulated()) CHECK(device.count("cuLaunchKernel") == before + 1);
  check_values(y, [&](std::uint64_t i) { return std::tanh(0.1 * value(i / width, i % width)) + 1; });
  backward(sum(y));
  std::vector<double> slope(words * width);
  for (std::uint64_t r = 0; r < taken; ++r)
    for (std::uint64_t c = 0; c < width; ++c) {
      const double t = std::tanh(0.1 * value(r, c));
      slope[static_cast<std::size_t>(which[r]) * width + c] += 0.1 * (1 - t * t);
    }
  check_values(table.grad(), [&](std::uint64_t i) { return slope[i]; });
  // Rows of a table, normalized as they come; a column for each position; another order of axes.
  const on_device<float> n = layer_norm(index_select(table, 0, index));
  const double deviation = 0.01 * std::sqrt((width * width - 1) / 12.0 + 0.1);  // eps of 1e-5 beside the variance
  check_values(
      n, [&](std::uint64_t i) { return 0.01 * (static_cast<double>(i % width) - 11.5) / deviation; }, 1e-4);
  const on_device<float> g = gather(table, 1, on_device<std::int64_t>{{5}, {0}, {23}}) + 0.5;
  check_values(g, [](std::uint64_t i) { return 0.5 + 0.01 * std::array<double, 3>{5, 24, 71}[i]; });
  check_values(index_select(table.t(), 1, index) * 2, [&](std::uint64_t i) { return 2 * value(i % taken, i / taken); });
  check_values(sum(index_select(table, 0, index), 0), [&](std::uint64_t c) {
    double total = 0;
    for (std::uint64_t r = 0; r < taken; ++r) total += value(r, c);
    return total;
  });
}

TEST_CASE("gathers on the device: an index outside is reported, the next evaluation works") {
  emulate::stand_in();
  const on_device<float> table = on_device<float>(arange<float>(6).to<Cuda>());
  const on_device<std::int64_t> bad{0, 6};
  CHECK_THROWS_AS(on_device<float>(gather(table, 0, bad) + 1).to(Cpu{}), index_error);
  CHECK_THROWS_AS(on_device<float>(gather(table, 0, on_device<std::int32_t>{-1}) + 1).to(Cpu{}), index_error);
  check_values(gather(table, 0, on_device<std::int64_t>{5}) + 1, [](std::uint64_t) { return 6.0; });
  CHECK_THROWS_AS(index_select(zero({0, 3}), 0, on_device<std::int64_t>{0}), index_error);
  // A table that a part of is overwritten with what is taken from it.
  on_device<float> x = on_device<float>(arange<float>(4).to<Cuda>());
  x = gather(x, 0, on_device<std::int64_t>{3, 2, 1, 0}) + x * 10;
  check_values(x, [](std::uint64_t i) { return static_cast<double>(3 - i + 10 * i); });
}
