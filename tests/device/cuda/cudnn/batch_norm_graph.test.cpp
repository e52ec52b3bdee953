// SPDX-License-Identifier: BSL-1.0
// Batch norms by cuDNN's graphs, with channels last, against plain double loops; which layouts it is asked for; that a
// refusal and a failure are told apart.
#include <kiln/device/cuda/cudnn/batch_norm_graph.hpp>

#include <cuda_emulator/stand_in.hpp>

#include <doctest/doctest.h>

#include "cudnn_memory.hpp"

using namespace cudnn_test;
using kiln::cuda::batch_norm_layout, kiln::cuda::cudnn_batch_norm_refusal;

namespace {

template <class T>
void compare(const batch_norm_layout& s, double eps, double tolerance) {
  const auto channels = static_cast<std::size_t>(s.channels);
  const std::int64_t n = s.batch * s.positions * s.channels;
  const double rows = static_cast<double>(s.batch * s.positions);
  const numbers x = some(n, 1), w = some(s.channels, 2), b = some(s.channels, 3), dy = some(n, 4),
                old_mean = some(s.channels, 5), old_variance = some(s.channels, 6);
  numbers mean(channels), inverse(channels), unbiased(channels), y(x.size()), dw(channels), db(channels), dx(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) mean[i % channels] += x[i] / rows;
  for (std::size_t i = 0; i < x.size(); ++i)
    unbiased[i % channels] += std::pow(x[i] - mean[i % channels], 2) / (rows - 1);
  for (std::size_t c = 0; c < channels; ++c) inverse[c] = 1 / std::sqrt(unbiased[c] * (rows - 1) / rows + eps);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::size_t c = i % channels;
    const double normalised = (x[i] - mean[c]) * inverse[c];
    y[i] = normalised * w[c] + b[c];
    dw[c] += dy[i] * normalised, db[c] += dy[i];
  }
  // Ioffe and Szegedy 2015, section 3.
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::size_t c = i % channels;
    dx[i] = w[c] * inverse[c] * (dy[i] - db[c] / rows - (x[i] - mean[c]) * inverse[c] * dw[c] / rows);
  }
  const on_device<T> xd(x), dyd(dy), yd(n), dxd(n);
  const on_device<float> wd(w), bd(b), md(s.channels), id(s.channels), old_m(old_mean), old_v(old_variance),
      new_m(s.channels), new_v(s.channels), dwd(s.channels), dbd(s.channels);
  const auto& where = cuda::current_stream(Cuda{0});
  REQUIRE(cudnn_batch_norm_refusal(s, Cuda{0}) == "");
  cuda::batch_norm_running_floats running;
  if (s.running) running = {old_m.data(), old_v.data(), new_m.data(), new_v.data(), 0.25};
  cuda::cudnn_batch_norm(s, xd.data(), wd.data(), bd.data(), eps, yd.data(), md.data(), id.data(), running, where);
  CHECK(yd.distance(y) <= tolerance);
  CHECK(md.distance(mean) <= 1e-5);
  CHECK(id.distance(inverse) <= 1e-5);
  if (s.running) {
    numbers wanted_mean, wanted_variance;
    for (std::size_t c = 0; c < channels; ++c) {
      wanted_mean.push_back(0.75 * old_mean[c] + 0.25 * mean[c]);
      wanted_variance.push_back(0.75 * old_variance[c] + 0.25 * unbiased[c]);
    }
    CHECK(new_m.distance(wanted_mean) <= 1e-5);
    CHECK(new_v.distance(wanted_variance) <= 1e-5);
  }
  cuda::cudnn_batch_norm_backward(s, xd.data(), dyd.data(), wd.data(), md.data(), id.data(), dxd.data(), dwd.data(),
                                  dbd.data(), where);
  CHECK(dxd.distance(dx) <= tolerance);
  CHECK(dwd.distance(dw) <= 1e-4);
  CHECK(dbd.distance(db) <= 1e-4);
}

}  // namespace

TEST_CASE("cuDNN's batch norm with channels last and its gradients are those of plain loops") {
  emulate::stand_in();
  compare<half>({.type = dtype::float16, .batch = 3, .positions = 5, .channels = 8, .running = true}, 0.01, 4e-3);
  compare<bfloat16>({.type = dtype::bfloat16, .batch = 1, .positions = 6, .channels = 16}, 0.1, 3e-2);
}

TEST_CASE("which layouts of batch norms cuDNN is asked for, and that a refusal is no failure") {
  const auto takes = [](const batch_norm_layout& s) { return cudnn_batch_norm_refusal(s, Cuda{0}).empty(); };
  emulate::stand_in();
  CHECK_FALSE(takes({.type = dtype::float32, .batch = 2, .positions = 3, .channels = 8}));
  CHECK_FALSE(takes({.type = dtype::float16, .batch = 2, .positions = 3, .channels = 12}));
  CHECK_FALSE(takes({.type = dtype::float16, .batch = 0, .positions = 3, .channels = 8}));
  CHECK_FALSE(takes({.type = dtype::float16, .batch = 1 << 20, .positions = 1 << 10, .channels = 8}));
  if (emulate::skip_on_gpu("it lets cuDNN fail")) return;
  const auto& device = emulate::stand_in();
  const batch_norm_layout s{.type = dtype::float16, .batch = 2, .positions = 3, .channels = 8};
  const on_device<half> x(some(48, 1)), y(48);
  const on_device<float> w(some(8, 2)), mean(8), inverse(8);
  const auto run = [&] {
    cuda::cudnn_batch_norm(s, x.data(), w.data(), w.data(), 1, y.data(), mean.data(), inverse.data(), {},
                           cuda::current_stream(Cuda{0}));
  };
  device.set("fail_cudnn_plan", 1);  // of four proposals one is refused
  CHECK(takes(s));
  device.set("fail_cudnn_graph", 1);
  CHECK_THROWS_WITH_AS(run(), doctest::Contains("batch_norm by cuDNN: CUDNN_STATUS_EXECUTION_FAILED"), device_error);
  CHECK_NOTHROW(run());
  const batch_norm_layout other{.type = dtype::bfloat16, .batch = 2, .positions = 3, .channels = 8};
  device.set("no_cudnn_engines", 1);
  CHECK(cudnn_batch_norm_refusal(other, Cuda{0}) == "heuristics: no engine for this graph");
  device.set("no_cudnn_engines", 0);
  CHECK(cudnn_batch_norm_refusal(other, Cuda{0}) == "heuristics: no engine for this graph");
}
