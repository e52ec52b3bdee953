// SPDX-License-Identifier: BSL-1.0
// Gathers and random numbers within expressions on the device: one kernel each, in every kind of kernel, and the same
// numbers as on the host.
#include "operands.hpp"

#include "support/device_draws.hpp"
#include "support/draws.hpp"

using namespace gpu_test;

namespace {

using device_test::number_at;
template <class X, class F>
void check_values(const X& y, F wanted) {
  device_test::check_values<Cuda>(y, wanted);
}
on_device<float> zero(const dims& sizes) {
  return zeros<float, Cuda>(sizes);
}
}  // namespace

TEST_CASE("draws on the device: maps, rows, columns and sums see the numbers of the host") {
  emulate::stand_in();
  device_test::check_draws<Cuda>();
}

TEST_CASE("draws on the device: dropout is one kernel forward and one back, which drops the same") {
  const auto& device = emulate::stand_in();
  const auto launches = [&] { return device.emulated() ? device.count("cuLaunchKernel") : 0; };
  device_test::check_dropout<Cuda>(launches, device.emulated());
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
  const auto launches = [&] { return device.emulated() ? device.count("cuLaunchKernel") : 0; };
  device_test::check_gathers<Cuda>(launches, device.emulated());
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
