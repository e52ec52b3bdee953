// SPDX-License-Identifier: BSL-1.0
// Average poolings by the stand-in for cuDNN against the CPU's, which are compared with plain loops elsewhere.
#include <kiln/device/cuda/libraries/pooling.hpp>

#include <cuda_emulator/stand_in.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

#include <kiln/device/cpu/images/pooling.hpp>

using namespace kiln;
using kiln::cuda::current_stream;

namespace {

ref<storage> on_device(const std::vector<float>& values) {
  auto memory = cuda::new_storage(values.size() * sizeof(float), current_stream(Cuda{0}));
  cuda::copy_to_device(memory->data, values.data(), memory->bytes, current_stream(Cuda{0}));
  return memory;
}
std::vector<float> read(const ref<storage>& memory) {
  std::vector<float> out(memory->bytes / sizeof(float));
  cuda::copy_to_host(out.data(), memory->data, memory->bytes, current_stream(Cuda{0}));
  return out;
}

}  // namespace

TEST_CASE("average poolings and their gradients are those of the CPU") {
  emulate::stand_in();
  const auto& where = current_stream(Cuda{0});
  const pooling_sizes s{3, {7, 8}, {4, 4}, {.kernel = {2, 4}, .stride = 2, .padding = {1, 1}}};
  std::vector<float> x(3 * 56), dy(3 * 16), y(dy.size()), dx(x.size(), 1);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 37 % 64) / 8;
  for (std::size_t i = 0; i < dy.size(); ++i) dy[i] = static_cast<float>(i % 5) * 24;
  const auto xd = on_device(x), dyd = on_device(dy), yd = on_device(y), dxd = on_device(dx);
  for (const bool add : {true, false}) {
    for (const bool padding : {true, false}) {
      const average_divisor divisor{padding, 0};
      cpu::average_pool(s, divisor, x.data(), y.data());
      cuda::average_pool(s, divisor, dtype::float32, xd->data, yd->data, where);
      const std::vector<float> found = read(yd);  // cuDNN multiplies by a reciprocal that was rounded
      for (std::size_t i = 0; i < y.size(); ++i) CHECK(std::abs(found[i] - y[i]) <= 2e-7F * std::abs(y[i]));
      cpu::average_pool_backward(s, divisor, dy.data(), dx.data(), add);
      cuda::average_pool_backward(s, divisor, dtype::float32, dyd->data, dxd->data, add, where);
      CHECK(read(dxd) == dx);
    }
  }
}

TEST_CASE("what cuDNN has no pooling for is refused") {
  emulate::stand_in();
  pooling_sizes s{1, {5, 5}, {2, 2}, {.kernel = 2, .stride = 2}};
  CHECK(cuda::can_pool(s, {}));
  CHECK_FALSE(cuda::can_pool(s, {.fixed = 3}));
  s.places = 3;  // ceil_mode
  CHECK_FALSE(cuda::can_pool(s, {}));
  CHECK_THROWS_AS(cuda::average_pool(s, {}, dtype::float32, nullptr, nullptr, current_stream(Cuda{0})), value_error);
  s = {1, {5, 5}, {3, 3}, {.kernel = 2, .dilation = 2}};
  CHECK_FALSE(cuda::can_pool(s, {}));
  CHECK_THROWS_AS(cuda::average_pool(s, {}, dtype::float32, nullptr, nullptr, current_stream(Cuda{0})), value_error);
}
