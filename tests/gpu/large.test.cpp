// SPDX-License-Identifier: BSL-1.0
// Long rows, and tensors of more than 2^31 bytes and elements: the device against closed forms. On the stand-in the
// same with a few thousand elements.
#include "operands.hpp"

using namespace gpu_test;

namespace {

// Whether a device has this much memory to give; says if not.
bool has_memory(std::size_t bytes) {
  if (!everything()) return true;
  cuda::empty_cache();
  const cuda::device_scope scope(Cuda{});
  std::size_t unused = 0, total = 0;
  cuda::check(cuda::driver().memory_get_info(&unused, &total), "cuMemGetInfo");
  if (unused >= bytes) return true;
  MESSAGE("SKIPPED: it needs ", bytes >> 20, " MiB of device memory, there are ", unused >> 20);
  return false;
}

double wave(std::int64_t i) {
  return std::sin(static_cast<double>(i % 1009)) * 2;
}

}  // namespace

TEST_CASE("gpu: rows of any length") {
  emulate::stand_in();
  std::vector<std::int64_t> lengths{1, 33, 1100};
  if (everything()) lengths.insert(lengths.end(), {8191, 32768, 65537, 1'000'003});
  for (const std::int64_t n : lengths) {
    INFO("rows of ", n);
    std::vector<double> values, weights;
    for (std::int64_t i = 0; i < 3 * n; ++i) {
      values.push_back(number(static_cast<float>(wave(i))));
      weights.push_back(number(static_cast<float>(wave(i * 7 + 3))));
    }
    auto x = to_device<float>(values, {3, n});
    const auto w = to_device<float>(weights, {3, n});
    std::vector<double> soft(values.size()), slopes(values.size()), sums;
    for (std::int64_t r = 0; r < 3; ++r) {
      const auto at = [&](std::int64_t i) { return static_cast<std::size_t>(r * n + i); };
      double total = 0, sum = 0, weighted = 0;
      for (std::int64_t i = 0; i < n; ++i) total += std::exp(values[at(i)]), sum += values[at(i)];
      for (std::int64_t i = 0; i < n; ++i) soft[at(i)] = std::exp(values[at(i)]) / total;
      for (std::int64_t i = 0; i < n; ++i) weighted += soft[at(i)] * weights[at(i)];
      for (std::int64_t i = 0; i < n; ++i) slopes[at(i)] = soft[at(i)] * (weights[at(i)] - weighted);
      sums.push_back(sum);
    }
    const double scale = static_cast<double>(n);  // of 1 / the values of a softmax
    const auto scaled = [&](std::vector<double> list) {
      for (double& v : list) v *= scale;
      return list;
    };
    CHECK(distance(scaled(to_host(on_device<float>(softmax(x, 1)))), scaled(soft)) <= 2e-5);
    CHECK(distance(to_host(on_device<float>(sum(x, 1))), sums) <= 2e-5);
    x.requires_grad();
    backward(sum(softmax(x, 1) * w));
    CHECK(distance(scaled(to_host(x.grad())), scaled(slopes)) <= 5e-5);
  }
}

TEST_CASE("gpu: more than 2^31 bytes") {
  emulate::stand_in();
  const std::int64_t rows = everything() ? 30'011 : 61, columns = everything() ? 20'021 : 37, n = rows * columns;
  if (!has_memory(std::size_t{12} << 30)) return;
  const auto x = arange<std::int32_t, Cuda>(n);
  // Exactly, in whole numbers: i to 2 i + 1 fits.
  const on_device<std::int32_t> y = x * 2 + 1;
  const auto check_line = [&](const on_device<std::int32_t>& got, std::int64_t first, std::int64_t step, auto wanted) {
    const auto some = to_host(on_device<std::int32_t>(got.flatten().slice(0, first, got.numel(), step)));
    std::int64_t wrong = 0, i = first;
    for (const double v : some) wrong += v != static_cast<double>(wanted(i)), i += step;
    CHECK(wrong == 0);
    CHECK(!some.empty());
  };
  const auto twice = [](std::int64_t i) { return 2 * i + 1; };
  check_line(y, 0, everything() ? 9973 : 1, twice);
  check_line(y, n - 5, 1, twice);
  // Turned, so that the result's neighbours are far apart in what is read.
  const on_device<std::int32_t> turned = x.view({rows, columns}).t() + 3;
  check_line(turned, 0, everything() ? 99'991 : 1, [&](std::int64_t i) { return i % rows * columns + i / rows + 3; });
  // Sums in double over everything and over both axes.
  const double last = static_cast<double>(n - 1);
  CHECK(on_device<double>(sum(cast<double>(x))).item() == doctest::Approx(last * (last + 1) / 2).epsilon(1e-12));
  const auto square = x.view({rows, columns});
  const auto over_rows = to_host(on_device<double>(sum(cast<double>(square), 0)));
  const auto over_columns = to_host(on_device<double>(sum(cast<double>(square), 1)));
  double worst = 0;
  for (std::int64_t c = 0; c < columns; ++c) {
    const double want = static_cast<double>(rows) * static_cast<double>(c) +
                        static_cast<double>(columns) * static_cast<double>(rows) * static_cast<double>(rows - 1) / 2;
    worst = std::max(worst, std::abs(over_rows[static_cast<std::size_t>(c)] / want - 1));
  }
  for (std::int64_t r = 0; r < rows; ++r) {
    const double want = static_cast<double>(columns) *
                        (static_cast<double>(r) * static_cast<double>(columns) + static_cast<double>(columns - 1) / 2);
    worst = std::max(worst, std::abs(over_columns[static_cast<std::size_t>(r)] / want - 1));
  }
  CHECK(worst < 1e-12);
}

TEST_CASE("gpu: more than 2^32 elements") {
  emulate::stand_in();
  if (!has_memory(std::size_t{14} << 30)) return;
  const std::int64_t n = everything() ? (std::int64_t{1} << 32) + 12'345 : 12'345;
  auto x = full<std::uint8_t, Cuda>({n}, 7);
  x.slice(0, n - 3, n).fill_(9);
  x.slice(0, n / 2, n / 2 + 1).fill_(5);
  const on_device<std::uint8_t> y = x + 1;
  const auto part = [&](std::int64_t from, std::int64_t to) {
    return to_host(on_device<std::uint8_t>(y.slice(0, from, to)));
  };
  CHECK(part(n - 4, n) == std::vector<double>{8, 10, 10, 10});
  CHECK(part(n / 2 - 1, n / 2 + 2) == std::vector<double>{8, 6, 8});
  CHECK(part(0, 2) == std::vector<double>{8, 8});
  CHECK(on_device<std::int64_t>(sum(cast<std::int64_t>(y))).item() == 8 * n + 6 - 2);
}
