// SPDX-License-Identifier: BSL-1.0
// Threads with streams of their own, graphs, and memory that runs out: what a device does while it is used.
#include "operands.hpp"

#include <atomic>
#include <thread>

using namespace gpu_test;

namespace {

std::vector<double> wave(std::int64_t n, double phase) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < n; ++i)
    values.push_back(number(static_cast<float>(std::sin(static_cast<double>(i) * 0.37 + phase))));
  return values;
}

}  // namespace

TEST_CASE("gpu: threads with streams of their own compute at once, and hand results to each other") {
  emulate::stand_in();
  const std::int64_t n = everything() ? 300'000 : 500;
  const int threads = everything() ? 8 : 2, rounds = everything() ? 60 : 3;
  std::vector<on_device<float>> results(static_cast<std::size_t>(threads));
  std::vector<std::thread> team;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < threads; ++t)
    team.emplace_back([&, t] {
      const cuda::stream own = cuda::stream::create(Cuda{});
      const cuda::stream_scope scope(own);
      const std::vector<double> start = wave(n, t);
      auto x = to_device<float>(start, {n});
      for (int i = 0; i < rounds; ++i) x = x * 0.5f + 1.0f;  // memory goes round and round
      const std::vector<double> got = to_host(x);
      for (std::size_t i = 0; i < got.size(); ++i) {
        double want = start[i];
        for (int k = 0; k < rounds; ++k) want = want * 0.5 + 1;
        wrong += !(std::abs(got[i] - want) < 1e-5);
      }
      results[static_cast<std::size_t>(t)] = x;
      own.synchronize();
    });
  for (std::thread& each : team) each.join();
  CHECK(wrong == 0);
  // Read in another stream than they were made in, and freed there.
  on_device<float> total = results[0];
  for (std::size_t t = 1; t < results.size(); ++t) total = total + results[t];
  results.clear();
  const std::vector<double> sums = to_host(total);
  const double limit = 2.0 * threads;  // the series ends at 2
  CHECK(std::abs(sums[0] - limit) <= (everything() ? 1e-4 : 2.0));
}

TEST_CASE("gpu: a captured softmax with its gradient follows its inputs at every replay") {
  emulate::stand_in();
  const std::int64_t rows = everything() ? 200 : 3, columns = everything() ? 1000 : 40;
  auto x = to_device<float>(wave(rows * columns, 0), {rows, columns});
  const auto w = to_device<float>(wave(rows * columns, 5), {rows, columns});
  x.requires_grad();
  on_device<float> soft, slope;
  // Twice before: what a run leaves in `soft` and `slope` is there while the next one makes its own.
  const auto step = [&] {
    x.zero_grad();
    const auto y = softmax(x, 1);
    soft = y;
    backward(sum(y * w));
    slope = x.grad();
  };
  const auto graph = cuda::capture(step, {}, 2);
  for (const double phase : {1.0, 2.0}) {
    const std::vector<double> values = wave(rows * columns, phase), weights = wave(rows * columns, 5);
    {
      const no_grad quiet;
      x.copy_(to_device<float>(values, {rows, columns}));
    }
    graph.replay();
    std::vector<double> want_soft(values.size()), want_slope(values.size());
    for (std::int64_t r = 0; r < rows; ++r) {
      const auto at = [&](std::int64_t c) { return static_cast<std::size_t>(r * columns + c); };
      double sum = 0, weighted = 0;
      for (std::int64_t c = 0; c < columns; ++c) sum += std::exp(values[at(c)]);
      for (std::int64_t c = 0; c < columns; ++c) {
        want_soft[at(c)] = std::exp(values[at(c)]) / sum;
        weighted += want_soft[at(c)] * weights[at(c)];
      }
      for (std::int64_t c = 0; c < columns; ++c) want_slope[at(c)] = want_soft[at(c)] * (weights[at(c)] - weighted);
    }
    CHECK(distance(to_host(soft), want_soft) < 1e-6);
    CHECK(distance(to_host(slope), want_slope) < 1e-6);
  }
}

TEST_CASE("gpu: memory that runs out is an error, and what is freed can be used") {
  const auto& device = emulate::stand_in();
  cuda::empty_cache();
  if (device.emulated()) device.set("memory", 64 << 20);
  const cuda::device_scope scope(Cuda{});
  std::size_t unused = 0, total = 0;
  cuda::check(cuda::driver().memory_get_info(&unused, &total), "cuMemGetInfo");
  const auto part = static_cast<std::int64_t>(total / 4);
  std::vector<on_device<std::uint8_t>> held;
  std::string words;
  for (int i = 0; i < 5 && words.empty(); ++i) {
    try {
      held.push_back(empty<std::uint8_t, Cuda>({part}));
    } catch (const memory_error& caught) {
      words = caught.what();
    }
  }
  INFO(words);
  CHECK(words.find("tensors use") != words.npos);
  CHECK(words.find(std::to_string(part) + " bytes") != words.npos);
  REQUIRE(!held.empty());
  held.pop_back();
  CHECK_NOTHROW(held.push_back(empty<std::uint8_t, Cuda>({part})));
  held.clear();
  cuda::empty_cache();
  const auto x = full<float, Cuda>({1000}, 3);
  CHECK(on_device<float>(sum(x * 2.0f)).item() == 6000);
}
