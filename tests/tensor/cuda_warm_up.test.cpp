// SPDX-License-Identifier: BSL-1.0
// warm_up runs work as always, and compiles its kernels together: the results of plain loops, whatever the work does in
// between.
#include <kiln/cuda.hpp>

#include <cuda_emulator/stand_in.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <stdexcept>
#include <vector>

#include "support/device_indexing.hpp"

using namespace kiln;

namespace {

using floats = Tensor<float, Cuda>;
using device_test::list;
using device_test::values;

}  // namespace

TEST_CASE("warm_up: kernels are compiled together, and work that changes tensors in place is done once and in order") {
  const auto& device = emulate::stand_in();
  floats x{{1, 2}, {3, 4}}, w{{1, 0}, {0, 2}}, moment = zeros<float, Cuda>({2, 2});
  w.requires_grad();
  floats y;
  if (device.emulated()) device.compiled_at_once();
  cuda::warm_up([&] {
    for (int step = 0; step < 2; ++step) {
      y = matmul(x, w) * 0.5f + 1;
      w.zero_grad();
      backward(sum(square(y)));
      const no_grad quiet;
      moment *= 0.5f;
      moment += w.grad();
      w -= 0.125f * moment;
      floats gone = exp(y) - y;  // its memory is used again
      gone += 1;
    }
  });
  // What lies in a folder already takes no time that could overlap.
  if (device.emulated() && std::getenv("KILN_EMULATOR_CACHE") == nullptr) CHECK(device.compiled_at_once() > 1);
  double at[2][2] = {{1, 0}, {0, 2}}, was[2][2] = {}, out[2][2] = {};
  const double in[2][2] = {{1, 2}, {3, 4}};
  for (int step = 0; step < 2; ++step) {
    double gradient[2][2] = {};
    for (int i = 0; i < 2; ++i)
      for (int k = 0; k < 2; ++k) out[i][k] = (in[i][0] * at[0][k] + in[i][1] * at[1][k]) * 0.5 + 1;
    for (int j = 0; j < 2; ++j)
      for (int k = 0; k < 2; ++k)
        for (int i = 0; i < 2; ++i) gradient[j][k] += in[i][j] * out[i][k];
    for (int j = 0; j < 2; ++j)
      for (int k = 0; k < 2; ++k) {
        was[j][k] = was[j][k] * 0.5 + gradient[j][k];
        at[j][k] -= 0.125 * was[j][k];
      }
  }
  CHECK(values(y) == list{out[0][0], out[0][1], out[1][0], out[1][1]});
  CHECK(values(w) == list{at[0][0], at[0][1], at[1][0], at[1][1]});
  CHECK(values(moment) == list{was[0][0], was[0][1], was[1][0], was[1][1]});
}

TEST_CASE("warm_up: values may be read, streams may be changed, graphs captured, and it may stand within itself") {
  emulate::stand_in();
  const floats x{1, 2, 3};
  float read = 0;
  floats beside, again = zeros<float, Cuda>({3});
  cuda::graph recorded;
  cuda::warm_up([&] {
    const floats twice = x * 2 + 1;
    read = sum(twice).item();
    cuda::warm_up([&] {
      const cuda::stream other = cuda::stream::create({});
      cuda::hold_back(other, cuda::current_stream({}));
      const cuda::stream_scope there(other);
      beside = sqrt(twice + 1) * 3;
      cuda::hold_back(cuda::current_stream({}), other);
      other.synchronize();
    });
    recorded = cuda::capture([&] { again += cos(x) - 1; });
  });
  CHECK(read == 15);
  CHECK(values(beside)[2] == doctest::Approx(3 * std::sqrt(8.0)));
  recorded.replay();
  CHECK(values(again)[1] == doctest::Approx(2 * (std::cos(2.0) - 1)));  // once to warm up, once as a graph
}

TEST_CASE("warm_up: what was asked for before work throws is done") {
  emulate::stand_in();
  floats x{1, 2, 3};
  CHECK_THROWS_WITH_AS(cuda::warm_up([&] {
                         x += sin(x) * 0;
                         x *= 3;
                         throw std::runtime_error("no more");
                       }),
                       "no more", std::runtime_error);
  CHECK(values(x) == list{3, 6, 9});
  x += 1;
  CHECK(values(x) == list{4, 7, 10});
}
