// SPDX-License-Identifier: BSL-1.0
// Poolings by kernels of our own against plain loops, over windows that cuDNN has and that it has not.
#include <kiln/device/cuda/memory/memory_copy.hpp>
#include <kiln/device/cuda/run/pooling_kernels.hpp>

#include <cuda_emulator/stand_in.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

using namespace kiln;
using list = std::vector<float>;

namespace {

struct on_device {
  ref<storage> memory;
  explicit on_device(const list& values) : memory(cuda::new_storage(values.size() * 4)) {
    cuda::copy_to_device(memory->data, values.data(), values.size() * 4, cuda::current_stream({}));
  }
  void* data() const { return memory->data; }
  list values() const {
    list out(memory->bytes / 4);
    cuda::copy_to_host(out.data(), memory->data, memory->bytes, cuda::current_stream({}));
    return out;
  }
};

// All four, one element of the result after the other.
struct by_hand {
  list most, average, dx_most, dx_average;
  by_hand(const pooling_sizes& s, const average_divisor& divisor, const list& x, const list& dy)
      : dx_most(x.size(), 1.0f), dx_average(x.size(), 1.0f) {
    const window2d& w = s.window;
    std::size_t place = 0;
    for (std::int64_t p = 0; p < s.planes; ++p)
      for (std::int64_t i = 0; i < s.places.height; ++i)
        for (std::int64_t j = 0; j < s.places.width; ++j, ++place) {
          const pair2d first(i * w.stride.height - w.padding.height, j * w.stride.width - w.padding.width);
          double sum = 0;
          std::size_t best = 0;
          bool any = false;
          const double by = divisor.of(s, first);
          for (std::int64_t a = 0; a < w.kernel.height; ++a)
            for (std::int64_t b = 0; b < w.kernel.width; ++b) {
              const std::int64_t r = first.height + a * w.dilation.height, c = first.width + b * w.dilation.width;
              if (r < 0 || r >= s.image.height || c < 0 || c >= s.image.width) continue;
              const auto at = static_cast<std::size_t>((p * s.image.height + r) * s.image.width + c);
              sum += x[at];
              if (!any || x[at] > x[best] || (std::isnan(x[at]) && !std::isnan(x[best]))) best = at;
              any = true;
              dx_average[at] += static_cast<float>(dy[place] / by);
            }
          most.push_back(x[best]);
          average.push_back(static_cast<float>(sum / by));
          dx_most[best] += dy[place];
        }
  }
};

double furthest(const list& a, const list& b) {
  double most = a.size() == b.size() ? 0 : 1e9;
  for (std::size_t i = 0; i < a.size() && most < 1e9; ++i)
    if (std::isnan(a[i]) != std::isnan(b[i]) || (!std::isnan(a[i]) && std::abs(a[i] - b[i]) > most))
      most = std::isnan(a[i]) != std::isnan(b[i]) ? 1e9 : std::abs(double{a[i]} - b[i]);
  return most;
}

void check(const pooling_sizes& s, const average_divisor& divisor) {
  list x, dy;
  // Few values, so that many are equal.
  for (std::int64_t i = 0; i < s.planes * s.image.area(); ++i) x.push_back(static_cast<float>(i * i % 7));
  for (std::int64_t i = 0; i < s.planes * s.places.area(); ++i) dy.push_back(static_cast<float>(i % 5) - 1.5f);
  x[3] = std::numeric_limits<float>::quiet_NaN();
  const by_hand want(s, divisor, x, dy);
  const on_device from(x), gradient(dy), y(list(dy.size())), dx(list(x.size(), 1.0f));
  const auto& where = cuda::current_stream({});
  cuda::own_max_pool(s, dtype::float32, from.data(), y.data(), where);
  CHECK(furthest(y.values(), want.most) == 0);
  cuda::own_max_pool_backward(s, dtype::float32, from.data(), y.data(), gradient.data(), dx.data(), true, where);
  CHECK(furthest(dx.values(), want.dx_most) < 1e-6);
  cuda::own_average_pool(s, divisor, dtype::float32, from.data(), y.data(), where);
  CHECK(furthest(y.values(), want.average) < 1e-5);
  const on_device again(list(x.size(), 1.0f));
  cuda::own_average_pool_backward(s, divisor, dtype::float32, gradient.data(), again.data(), true, where);
  CHECK(furthest(again.values(), want.dx_average) < 1e-5);
  cuda::own_average_pool_backward(s, divisor, dtype::float32, gradient.data(), again.data(), false, where);
  list without = want.dx_average;
  for (float& v : without) v -= 1;
  CHECK(furthest(again.values(), without) < 1e-5);
}

}  // namespace

TEST_CASE("pool: windows of every kind, with ties and a nan") {
  emulate::stand_in();
  check({3, {6, 8}, {3, 4}, {.kernel = 2, .stride = 2}}, {});
  check({2, {7, 9}, {4, 5}, {.kernel = 3, .stride = 2, .padding = 1}}, {.padding = false});
  check({2, {7, 6}, {4, 3}, {.kernel = 3, .stride = 2, .padding = 1}}, {.padding = true});
  check({1, {8, 8}, {4, 6}, {.kernel = {3, 2}, .stride = 1, .dilation = {2, 2}}}, {.fixed = 4});
  check({1, {5, 5}, {3, 3}, {.kernel = 2, .stride = 2}}, {});  // ceil_mode: the last window reaches over the edge
}
