// SPDX-License-Identifier: BSL-1.0
// Batch norms in training by the stand-in for cuDNN against plain double loops, gradients against finite differences of
// them; for which operands there are any; what goes wrong.
#include <kiln/device/cuda/libraries/batch_norm.hpp>

#include <cuda_emulator/stand_in.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

using namespace kiln;
using kiln::cuda::batch_norm_sizes, kiln::cuda::can_batch_norm, kiln::cuda::current_stream;

namespace {

using numbers = std::vector<double>;

numbers some(std::int64_t n, std::uint32_t state, double offset = 0) {
  numbers out(static_cast<std::size_t>(n));
  for (double& v : out) {
    state = state * 1664525u + 1013904223u;
    v = offset + static_cast<double>(static_cast<int>(state >> 28) - 8) / 8;
  }
  return out;
}

// Memory of the device with these values as a T.
template <class T>
struct on_device {
  ref<storage> memory;
  std::size_t n;
  explicit on_device(const numbers& values)
      : memory(cuda::new_storage(values.size() * sizeof(T), current_stream(Cuda{0}))), n(values.size()) {
    const std::vector<T> rounded(values.begin(), values.end());
    cuda::copy_to_device(memory->data, rounded.data(), n * sizeof(T), current_stream(Cuda{0}));
  }
  T* data() const { return static_cast<T*>(memory->data); }
  // The largest distance to these values; infinite where one is NaN.
  double distance(const numbers& wanted) const {
    std::vector<T> got(n);
    cuda::copy_to_host(got.data(), memory->data, n * sizeof(T), current_stream(Cuda{0}));
    double worst = wanted.size() == n ? 0 : INFINITY;
    for (std::size_t i = 0; i < n; ++i) {
      const double d = std::abs(static_cast<double>(got[i]) - wanted[i]) / std::max(1.0, std::abs(wanted[i]));
      worst = d <= worst ? worst : (std::isnan(d) ? INFINITY : d);
    }
    return worst;
  }
};

struct results {
  numbers y, mean, inverse, unbiased;
};

results by_definition(const batch_norm_sizes& s, const numbers& x, const numbers& w, const numbers& b, double eps) {
  const std::size_t channels = static_cast<std::size_t>(s.channels), image = static_cast<std::size_t>(s.image.area());
  const double n = static_cast<double>(x.size() / channels);
  results r{numbers(x.size()), numbers(channels), numbers(channels), numbers(channels)};
  for (std::size_t i = 0; i < x.size(); ++i) r.mean[i / image % channels] += x[i] / n;
  for (std::size_t i = 0; i < x.size(); ++i)
    r.unbiased[i / image % channels] += std::pow(x[i] - r.mean[i / image % channels], 2) / (n - 1);
  for (std::size_t c = 0; c < channels; ++c) r.inverse[c] = 1 / std::sqrt(r.unbiased[c] * (n - 1) / n + eps);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::size_t c = i / image % channels;
    r.y[i] = (x[i] - r.mean[c]) * r.inverse[c] * w[c] + b[c];
  }
  return r;
}

// The slopes of sum(y * dy) by central differences.
numbers slopes(numbers& of, const numbers& dy, auto y) {
  numbers out;
  const double h = 1e-5;
  for (double& v : of) {
    const double kept = v;
    double slope = 0;
    for (const double side : {1, -1}) {
      v = kept + side * h;
      const numbers now = y();
      for (std::size_t i = 0; i < dy.size(); ++i) slope += side * now[i] * dy[i] / (2 * h);
    }
    v = kept;
    out.push_back(slope);
  }
  return out;
}

template <class T>
void compare(const batch_norm_sizes& s, double eps, double tolerance) {
  CAPTURE(s.image);
  const dtype type = std::is_same_v<T, float> ? dtype::float32 : dtype::float64;
  const auto& where = current_stream(Cuda{0});
  const std::int64_t n = s.batch * s.channels * s.image.area();
  numbers x = some(n, 1, 3), w = some(s.channels, 2), b = some(s.channels, 3);
  const numbers dy = some(n, 4), old_mean = some(s.channels, 5), old_variance = some(s.channels, 6, 2),
                old_dx = some(n, 7), nothing(static_cast<std::size_t>(s.channels), NAN);
  const results wanted = by_definition(s, x, w, b, eps);
  const on_device<T> xd(x), wd(w), bd(b), dyd(dy), y(numbers(x.size(), NAN)), mean(nothing), inverse(nothing),
      running_mean(old_mean), running_variance(old_variance);
  cuda::batch_norm_training(s, type, xd.data(), wd.data(), bd.data(), eps, y.data(), mean.data(), inverse.data(),
                            {running_mean.data(), running_variance.data(), 0.25}, where);
  CHECK(y.distance(wanted.y) <= tolerance);
  CHECK(mean.distance(wanted.mean) <= tolerance);
  CHECK(inverse.distance(wanted.inverse) <= tolerance);
  numbers new_mean, new_variance;
  for (std::size_t c = 0; c < old_mean.size(); ++c) {
    new_mean.push_back(0.75 * old_mean[c] + 0.25 * wanted.mean[c]);
    new_variance.push_back(0.75 * old_variance[c] + 0.25 * wanted.unbiased[c]);
  }
  CHECK(running_mean.distance(new_mean) <= tolerance);
  CHECK(running_variance.distance(new_variance) <= tolerance);

  const auto result = [&] { return by_definition(s, x, w, b, eps).y; };
  const numbers by_x = slopes(x, dy, result), by_w = slopes(w, dy, result), by_b = slopes(b, dy, result);
  for (const bool add : {false, true}) {
    const on_device<T> dx(add ? old_dx : numbers(x.size(), NAN)), dw(nothing), db(nothing);
    cuda::batch_norm_backward(s, type, xd.data(), dyd.data(), wd.data(), mean.data(), inverse.data(), eps, dx.data(),
                              add, dw.data(), db.data(), where);
    numbers sum = by_x;
    for (std::size_t i = 0; add && i < sum.size(); ++i) sum[i] += old_dx[i];
    CHECK(dx.distance(sum) <= std::max(tolerance, 1e-8));
    CHECK(dw.distance(by_w) <= std::max(tolerance, 1e-8));
    CHECK(db.distance(by_b) <= std::max(tolerance, 1e-8));
  }
}

}  // namespace

TEST_CASE("training and its gradients are those of the definition") {
  emulate::stand_in();
  REQUIRE(cuda::has_batch_norm({}));
  compare<float>({3, 4, {2, 3}}, 0.01, 1e-5);
  compare<double>({3, 4, {2, 3}}, 0.01, 1e-12);
  compare<float>({2, 1, {1, 5}}, 0.1, 1e-5);
  compare<double>({1, 3, {9, 1}}, 0, 1e-12);  // cuDNN 9 takes an eps of 0
}

TEST_CASE("training of many elements per channel and of many channels, and a mean far from zero") {
  emulate::stand_in();
  const bool all = emulate::on_gpu();
  const double eps = 1e-5;
  for (const batch_norm_sizes& s :
       {batch_norm_sizes{all ? 32 : 4, all ? 64 : 3, all ? 56 : 7}, batch_norm_sizes{2, all ? 2048 : 33, 3},
        batch_norm_sizes{all ? 65535 : 99, 2, {2, 1}}}) {
    CAPTURE(s.image);
    const std::int64_t n = s.batch * s.channels * s.image.area();
    const numbers x = some(n, 1, 50), w = some(s.channels, 2), b = some(s.channels, 3), dy = some(n, 4),
                  nothing(static_cast<std::size_t>(s.channels), NAN);
    const results wanted = by_definition(s, x, w, b, eps);
    // dx = weight inverse (dy - average(dy) - xn average(dy xn)), with xn the normalised x (Ioffe and Szegedy 2015, 3).
    const std::size_t channels = w.size(), image = static_cast<std::size_t>(s.image.area());
    const double per_channel = static_cast<double>(x.size() / channels);
    numbers by_x(x.size()), by_w(channels), by_b(channels);
    const auto normalised = [&](std::size_t i, std::size_t c) { return (x[i] - wanted.mean[c]) * wanted.inverse[c]; };
    for (std::size_t i = 0; i < x.size(); ++i) {
      const std::size_t c = i / image % channels;
      by_b[c] += dy[i];
      by_w[c] += dy[i] * normalised(i, c);
    }
    for (std::size_t i = 0; i < x.size(); ++i) {
      const std::size_t c = i / image % channels;
      by_x[i] = w[c] * wanted.inverse[c] * (dy[i] - by_b[c] / per_channel - normalised(i, c) * by_w[c] / per_channel);
    }
    const auto& where = current_stream(Cuda{0});
    const on_device<float> xd(x), wd(w), bd(b), dyd(dy), y(numbers(x.size(), NAN)), mean(nothing), inverse(nothing),
        dx(numbers(x.size(), NAN)), dw(nothing), db(nothing);
    cuda::batch_norm_training(s, dtype::float32, xd.data(), wd.data(), bd.data(), eps, y.data(), mean.data(),
                              inverse.data(), {}, where);
    cuda::batch_norm_backward(s, dtype::float32, xd.data(), dyd.data(), wd.data(), mean.data(), inverse.data(), eps,
                              dx.data(), false, dw.data(), db.data(), where);
    CHECK(y.distance(wanted.y) <= 2e-4);
    CHECK(mean.distance(wanted.mean) <= 1e-5);
    CHECK(inverse.distance(wanted.inverse) <= 1e-4);
    CHECK(dx.distance(by_x) <= 2e-4);
    // The mean of some 50 is kept in float, half a unit of 4e-6 off; each element's dy carries that into the sum.
    double moved = 0;
    for (std::size_t c = 0; c < channels; ++c) moved = std::max(moved, std::abs(by_b[c] * wanted.inverse[c]));
    CHECK(dw.distance(by_w) <= 2e-3 + 4e-6 * moved);
    CHECK(db.distance(by_b) <= 1e-4);
  }
}

TEST_CASE("training without running statistics") {
  emulate::stand_in();
  const batch_norm_sizes s{2, 2, {1, 2}};
  const on_device<float> x({1, 3, 5, 5, 1, 3, 5, 9}), w({1, 2}), b({0, 1}), y(numbers(8)), mean({0, 0}),
      inverse({0, 0});
  cuda::batch_norm_training(s, dtype::float32, x.data(), w.data(), b.data(), 1, y.data(), mean.data(), inverse.data(),
                            {}, current_stream(Cuda{0}));
  CHECK(mean.distance({2, 6}) == 0);
  CHECK(inverse.distance({std::sqrt(0.5), 0.5}) <= 1e-6);
  CHECK(y.distance({-std::sqrt(0.5), std::sqrt(0.5), 0, 0, -std::sqrt(0.5), std::sqrt(0.5), 0, 4}) <= 1e-6);
}

TEST_CASE("which operands cuDNN takes") {
  const batch_norm_sizes s{4, 3, {2, 2}};
  CHECK(can_batch_norm(s, dtype::float32, 1e-5));
  CHECK(can_batch_norm(s, dtype::float64, 0));
  CHECK(can_batch_norm({1, 1, {1, 2}}, dtype::float32, 1));
  CHECK(can_batch_norm({65535, 1, {1, 2}}, dtype::float32, 1));
  CHECK_FALSE(can_batch_norm(s, dtype::float16, 1e-5));
  CHECK_FALSE(can_batch_norm(s, dtype::bfloat16, 1e-5));
  CHECK_FALSE(can_batch_norm(s, dtype::int32, 1e-5));
  CHECK_FALSE(can_batch_norm(s, dtype::float32, -1e-5));
  CHECK_FALSE(can_batch_norm(s, dtype::float32, std::numeric_limits<double>::quiet_NaN()));
  CHECK_FALSE(can_batch_norm({65536, 1, {1, 2}}, dtype::float32, 1));
  CHECK_FALSE(can_batch_norm({4, 3, 1}, dtype::float32, 1e-5));
  for (const batch_norm_sizes& empty :
       {batch_norm_sizes{0, 3, 2}, batch_norm_sizes{4, 0, 2}, batch_norm_sizes{4, 3, {0, 2}}})
    CHECK_FALSE(can_batch_norm(empty, dtype::float32, 1e-5));
  const std::int64_t half = std::int64_t{1} << 30, much = std::int64_t{1} << 62;
  CHECK(can_batch_norm({1, 1, {half, 1}}, dtype::float32, 1));
  CHECK_FALSE(can_batch_norm({2, 1, {half, 1}}, dtype::float32, 1));
  CHECK_FALSE(can_batch_norm({1, 2, {half, 1}}, dtype::float32, 1));
  CHECK_FALSE(can_batch_norm({4, much, {much, much}}, dtype::float32, 1));
}

TEST_CASE("what goes wrong is said") {
  if (emulate::skip_on_gpu("it lets cuDNN fail")) return;
  const auto& device = emulate::stand_in();
  const on_device<float> x({1, 2}), w({1}), y({0, 0}), out({0}), other({0});
  const auto run = [&](const batch_norm_sizes& s, const void* from) {
    cuda::batch_norm_training(s, dtype::float32, from, w.data(), w.data(), 1, y.data(), out.data(), other.data(), {},
                              current_stream(Cuda{0}));
  };
  device.set("fail_cudnn_batch_norm", 1);
  CHECK_THROWS_WITH_AS(run({1, 1, {1, 2}}, x.data()),
                       doctest::Contains("cudnnBatchNormalizationForwardTraining: CUDNN_STATUS_EXECUTION_FAILED"),
                       device_error);
  CHECK_NOTHROW(run({1, 1, {1, 2}}, x.data()));
  const float on_host[2] = {};
  CHECK_THROWS_WITH_AS(run({1, 1, {1, 2}}, on_host), doctest::Contains("memory of this device"), device_error);
  CHECK_THROWS_WITH_AS(run({2, 1, {1, 1}}, x.data()),
                       "batch_norm: cuDNN has none for float32 elements of (2, 1, 1, 1) and an eps of 1: ask "
                       "can_batch_norm() first",
                       value_error);
  device.set("fail_cudnn_batch_norm", 1);
  CHECK_THROWS_WITH_AS(
      cuda::batch_norm_backward({1, 1, {1, 2}}, dtype::float32, x.data(), x.data(), w.data(), out.data(), other.data(),
                                1, y.data(), false, out.data(), other.data(), current_stream(Cuda{0})),
      doctest::Contains("cudnnBatchNormalizationBackward: CUDNN_STATUS_EXECUTION_FAILED"), device_error);
}
