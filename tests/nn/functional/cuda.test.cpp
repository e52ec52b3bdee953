// SPDX-License-Identifier: BSL-1.0
// Convolution, pooling, batch norm and attention of Tensor<T, Cuda> over the stand-in: sums and gradients that can be
// had by hand.
#include <kiln/autograd/create_graph.hpp>
#include <kiln/cuda.hpp>
#include <kiln/nn/functional/attention.hpp>

#include <cuda_emulator/stand_in.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <vector>

#include "channels_last.hpp"
#include "support/device_layers.hpp"

using namespace kiln;

namespace {

using on_gpu = Tensor<float, Cuda>;
using device_test::list;
using device_test::values;

}  // namespace

TEST_CASE("cuda convolution: values and all gradients of a small image") {
  emulate::stand_in();
  device_test::check_convolution<Cuda>();
}

TEST_CASE("cuda convolution with channels last: values and all gradients") {
  const auto& device = emulate::stand_in();
  const auto each = []<class T>(std::type_identity<T>) {
    images::compare_channels_last<T, Cuda>({2, 5, 6, 4}, {6, 3, 2, 2}, {.stride = {2, 1}, .padding = 1, .groups = 2});
    images::compare_channels_last<T, Cuda>({1, 3, 4, 5}, {2, 1, 1, 5}, {});
  };
  each(std::type_identity<float>());
  each(std::type_identity<half>());
  each(std::type_identity<bfloat16>());
  each(std::type_identity<double>());  // which cuDNN is not asked for in this layout
  // No element is moved to another layout: three calls of cuDNN and nothing else.
  on_gpu x = arange<float, Cuda>(24).reshape({1, 2, 3, 4}), w = ones<float, Cuda>({2, 1, 2, 4});
  x.requires_grad(), w.requires_grad();
  const conv2d_options how{.layout = image_layout::channels_last};
  const on_gpu g = ones<float, Cuda>({1, 2, 2, 2});
  cuda::synchronize({});
  device.reset();
  backward(on_gpu(conv2d(x, w, how)), g);
  if (!device.emulated()) return;
  CHECK(device.count("cuLaunchKernel") == 0);
  CHECK(device.count("cudnnConvolutionForward") == 1);
  CHECK(device.count("cudnnConvolutionBackwardData") == 1);
  CHECK(device.count("cudnnConvolutionBackwardFilter") == 1);
}

TEST_CASE("cuda pooling: maxima and averages, and where their gradients go") {
  emulate::stand_in();
  device_test::check_pooling<Cuda>();
}

namespace {

using device_test::by_definition;
using device_test::close;
using device_test::normalised;
using device_test::waves;
on_gpu on_device(const list& values, const dims& sizes) {
  return device_test::on_device<Cuda>(values, sizes);
}

}  // namespace

TEST_CASE("cuda convolution with channels last: second derivatives") {
  emulate::stand_in();
  // One place, y[o] = sum of w[o, i] x[i]; the sum over i of d(sum of y^2 / 2)/dx[i] is sum of y[o] W[o], where W[o] is
  // the sum of w[o, i].
  const list X{1, -2, 3, 0.5}, W{2, 1, -1, 3, 0.5, 1, 1, -2};
  on_gpu x = on_device(X, {1, 1, 2, 2}), w = on_device(W, {2, 1, 2, 2});
  x.requires_grad(), w.requires_grad();
  const on_gpu y = conv2d(x, w, {.layout = image_layout::channels_last});
  const auto first = grad(sum(y * y) * 0.5f, x, {.create_graph = true});
  backward(sum(first));
  list by_x(4), by_w(8);
  for (std::size_t o = 0; o < 2; ++o) {
    double total = 0, at = 0;
    for (std::size_t i = 0; i < 4; ++i) total += W[4 * o + i], at += W[4 * o + i] * X[i];
    for (std::size_t i = 0; i < 4; ++i) by_x[i] += W[4 * o + i] * total, by_w[4 * o + i] = X[i] * total + at;
  }
  CHECK(close(x.grad(), by_x));
  CHECK(close(w.grad(), by_w));
}

TEST_CASE("cuda batch norm: rows without an image get mean 0 and variance 1, running statistics follow") {
  emulate::stand_in();
  const on_gpu x{{1, 10}, {3, 30}};
  on_gpu mean = zeros<float, Cuda>({2}), variance = ones<float, Cuda>({2});
  const auto y = values(batch_norm(x, mean, variance, on_gpu{1, 1}, on_gpu{0, 0}, {.training = true}));
  for (const std::size_t i : {0u, 1u}) CHECK(y[i] == doctest::Approx(-1).epsilon(1e-4));
  for (const std::size_t i : {2u, 3u}) CHECK(y[i] == doctest::Approx(1).epsilon(1e-4));
  CHECK(values(mean)[1] == doctest::Approx(2));        // a tenth of 20
  CHECK(values(variance)[0] == doctest::Approx(1.1));  // 0.9 + a tenth of the unbiased 2
}

TEST_CASE("cuda batch norm: cuDNN trains, and gradients add up") {
  const auto& device = emulate::stand_in();
  for (const dims& sizes : {dims{3, 2, 4}, dims{2, 3, 2, 3}, dims{2, 2, 2, 1, 3}}) {
    device_test::check_batch_norm<Cuda>(sizes);
  }
  if (!device.emulated()) return;
  CHECK(device.count("cudnnBatchNormalizationForwardTraining") == 12);
  CHECK(device.count("cudnnBatchNormalizationBackward") == 9);
}

TEST_CASE("cuda batch norm: what cuDNN does not take, kiln's kernels do") {
  const auto& device = emulate::stand_in();
  const auto calls = [&] { return device.emulated() ? device.count("cudnnBatchNormalizationForwardTraining") : 0; };
  const list X = waves(12, 1), G = waves(12, 2), W{1, 1}, B{0, 0};
  const dims sizes{2, 2, 3};
  const normalised wanted = by_definition(X, 2, 2, W, B, G, 1e-5);
  list other_order(12);
  for (std::size_t n = 0; n < 2; ++n)
    for (std::size_t c = 0; c < 2; ++c)
      for (std::size_t i = 0; i < 3; ++i) other_order[(i * 2 + c) * 2 + n] = X[(n * 2 + c) * 3 + i];
  on_gpu turned = on_device(other_order, {3, 2, 2}).transpose(0, 2);
  turned.requires_grad();
  const on_gpu none, y = batch_norm(turned, none, none, {.training = true});
  CHECK(close(y, wanted.y));
  backward(y, on_device(G, sizes));
  CHECK(close(turned.grad(), wanted.dx));
  const on_gpu x = on_device(X, sizes);
  Tensor<double, Cuda> mean{0, 0}, variance{1, 1};  // statistics of another type
  CHECK(close(batch_norm(x, mean, variance, {.training = true, .momentum = 1}), wanted.y));
  CHECK(mean.to(Cpu{}).data()[1] == doctest::Approx(wanted.mean[1]).epsilon(1e-5));
  CHECK(calls() == 0);
  // Weights of another layout are put in one piece; eps may be 0.
  const on_gpu w = on_gpu{1}.expand({2});
  CHECK(close(batch_norm(x, none, none, w, none, {.training = true}), wanted.y));
  CHECK(close(batch_norm(x, none, none, {.training = true, .eps = 0}), by_definition(X, 2, 2, W, B, G, 0).y));
  if (device.emulated()) CHECK(calls() == 2);
}

TEST_CASE("cuda batch norm and pooling: kiln's kernels take over where cuDNN opens but does not start") {
  if (emulate::skip_on_gpu("it does not let cuDNN start")) return;
  const auto& device = emulate::stand_in();
  device.set("fail_cudnn_start", 1);
  const list X = waves(12, 1), G = waves(12, 2);
  const normalised wanted = by_definition(X, 2, 2, {1, 1}, {0, 0}, G, 1e-5);
  on_gpu x = on_device(X, {2, 2, 3}).to(Cuda{1});
  x.requires_grad();
  const on_gpu none, y = batch_norm(x, none, none, {.training = true});
  CHECK(close(y, wanted.y));
  backward(y, on_device(G, {2, 2, 3}).to(Cuda{1}));
  CHECK(close(x.grad(), wanted.dx));
  on_gpu image = Tensor<float>{{{{1, 2}, {3, 6}}}}.to(Cuda{1});
  image.requires_grad();
  const on_gpu mean = avg_pool2d(image, 2);
  CHECK(values(mean) == list{3});
  backward(mean, Tensor<float>{{{{8}}}}.to(Cuda{1}));
  CHECK(values(image.grad()) == list{2, 2, 2, 2});
  CHECK(device.count("cudnnBatchNormalizationForwardTraining") == 0);
  CHECK(device.count("cudnnPoolingForward") == 0);
}

TEST_CASE("cuda batch norm: cuDNN's pass finds out values that were changed, and tells that it changes some") {
  emulate::stand_in();
  on_gpu x = on_device(waves(12, 1), {2, 2, 3}), w{1, 1}, mean{0, 0}, variance{1, 1};
  w.requires_grad();
  const on_gpu y = batch_norm(x, mean, variance, w, on_gpu{0, 0}, {.training = true});
  CHECK(mean.state()->memory->version == 1);
  CHECK(variance.state()->memory->version == 1);
  x.fill_(1);
  CHECK_THROWS_AS(backward(y, x), graph_error);
}

TEST_CASE("cuda attention: averages of what is seen, their gradients, and no second ones") {
  const auto& device = emulate::stand_in();
  device_test::check_attention<Cuda>();
  on_gpu q = ones<float, Cuda>({2, 3});
  q.requires_grad();
  const auto attend = [&] { return scaled_dot_product_attention(q, q, q); };
  const long long before = device.emulated() ? device.count("cuLaunchKernel") : 0;
  const on_gpu y = attend();
  if (device.emulated()) CHECK(device.count("cuLaunchKernel") == before + 1);  // one for all of it
  CHECK_THROWS_WITH_AS(grad(sum(attend()), q, {.create_graph = true}),
                       "create_graph: scaled_dot_product_attention has no second derivative: call backward() without "
                       "create_graph, or detach() what goes into it",
                       graph_error);
}

TEST_CASE("cuda attention: dropout gives its mask, backward the same one; half types have tensor cores") {
  emulate::stand_in();
  manual_seed(3);
  Tensor<half, Cuda> q = zeros<half, Cuda>({5, 8}), k = zeros<half, Cuda>({16, 8}),
                     v = cast<half>(eye<float, Cuda>(16));
  v.requires_grad();
  const Tensor<half, Cuda> y = scaled_dot_product_attention(q, k, v, {.dropout = 0.5});
  const list mask = values(cast<float>(y));  // what was kept, as twice a sixteenth
  for (const double x : mask) CHECK((x == 0 || x == 0.125));
  CHECK(std::count(mask.begin(), mask.end(), 0) > 20);
  backward(sum(y));
  const list dv = values(cast<float>(v.grad()));
  for (std::size_t j = 0; j < 16; ++j) {
    double column = 0;
    for (std::size_t i = 0; i < 5; ++i) column += mask[16 * i + j];
    for (std::size_t c = 0; c < 16; ++c) CHECK(dv[16 * j + c] == column);
  }
}

TEST_CASE("cuda attention: memory grows with the length; rows wider than the kernels take are composed") {
  emulate::stand_in();
  const auto in_use = [](std::int64_t length, std::int64_t width) {
    on_gpu q = ones<float, Cuda>({length, width});
    q.requires_grad();
    const std::size_t before = cuda::memory_stats().in_use;
    const on_gpu y = scaled_dot_product_attention(q, q, q);
    const std::size_t kept = cuda::memory_stats().in_use - before;
    backward(sum(y));
    CHECK(values(q.grad())[0] == doctest::Approx(1).epsilon(1e-5));  // of the values, all of which are mixed alike
    return kept;
  };
  CHECK(in_use(512, 4) <= 512 * (4 + 1) * 4 + 4096);  // the result and a number for each query; scores were 1 MiB
  CHECK(in_use(6, 130) > 0);
  const on_gpu q = ones<float, Cuda>({2, 5, 4}), none = ones<float, Cuda>({2, 0, 4});
  CHECK(values(scaled_dot_product_attention(q, none, none)) == list(40, 0));
  CHECK(scaled_dot_product_attention(none, q, q).sizes() == dims{2, 0, 4});
}
