// SPDX-License-Identifier: BSL-1.0
// Convolutions by the stand-in for cuDNN against the CPU's, which are compared with plain loops elsewhere; what is
// kept, which algorithm is chosen, and what goes wrong.
#include <kiln/device/cuda/libraries/convolution.hpp>

#include <cuda_emulator/stand_in.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

#include <kiln/device/cpu/images/convolution.hpp>

using namespace kiln;
using kiln::cuda::current_stream;

namespace {

template <class T>
std::vector<T> some(std::int64_t n, std::uint32_t state) {
  std::vector<T> out(static_cast<std::size_t>(n));
  for (T& v : out) {
    state = state * 1664525u + 1013904223u;
    v = static_cast<T>(static_cast<int>(state >> 28) - 8) / 8;
  }
  return out;
}

// Memory of the device with these values.
template <class T>
struct on_device {
  ref<storage> memory;
  std::size_t n;
  explicit on_device(const std::vector<T>& values)
      : memory(cuda::new_storage(values.size() * sizeof(T) + 1, current_stream(Cuda{0}))), n(values.size()) {
    cuda::copy_to_device(memory->data, values.data(), n * sizeof(T), current_stream(Cuda{0}));
  }
  T* data() const { return static_cast<T*>(memory->data); }
  std::vector<T> read() const {
    std::vector<T> out(n);
    cuda::copy_to_host(out.data(), memory->data, n * sizeof(T), current_stream(Cuda{0}));
    return out;
  }
};

const convolution_sizes usual{2, 4, 6, 2, {7, 6}, {4, 7}, {.kernel = {3, 2}, .stride = {2, 1}, .padding = 1}};

template <class T>
void compare(const convolution_sizes& s, dtype type) {
  const auto& where = current_stream(Cuda{0});
  const auto x = some<T>(s.batch * s.channels * s.image.area(), 1), w = some<T>(s.weights(), 2),
             bias = some<T>(s.out_channels, 3), dy = some<T>(s.batch * s.out_channels * s.places.area(), 4);
  const on_device<T> xd(x), wd(w), bd(bias), dyd(dy);
  std::vector<T> y(dy.size(), 9), dx(x.size(), 1), dw(w.size(), 1);
  const on_device<T> y_out(y), dx_out(dx), dw_out(dw);
  cpu::convolve(s, x.data(), w.data(), bias.data(), y.data());
  cuda::convolve(s, type, xd.data(), wd.data(), bd.data(), y_out.data(), false, where);
  CHECK(y_out.read() == y);
  for (const bool add : {true, false}) {
    cpu::convolve_backward_input(s, dy.data(), w.data(), dx.data(), add);
    cuda::convolve_backward_input(s, type, dyd.data(), wd.data(), dx_out.data(), add, false, where);
    CHECK(dx_out.read() == dx);
    cpu::convolve_backward_weight(s, x.data(), dy.data(), dw.data(), add);
    cuda::convolve_backward_weight(s, type, xd.data(), dyd.data(), dw_out.data(), add, false, where);
    CHECK(dw_out.read() == dw);
  }
}

}  // namespace

TEST_CASE("convolutions and their gradients are those of the CPU") {
  emulate::stand_in();
  compare<float>(usual, dtype::float32);  // sums are exact in both
  compare<double>(usual, dtype::float64);
  compare<float>({1, 3, 2, 1, {5, 9}, {5, 9}, {.kernel = 1}}, dtype::float32);
  compare<float>({3, 2, 2, 2, {9, 9}, {3, 3}, {.kernel = 3, .stride = 2, .dilation = 2}}, dtype::float32);
}

TEST_CASE("nothing to multiply: results are the bias, gradients are zero") {
  emulate::stand_in();
  compare<float>({0, 4, 6, 2, {7, 6}, {5, 5}, {.kernel = {3, 2}}}, dtype::float32);
  compare<float>({2, 0, 3, 1, {7, 6}, {5, 5}, {.kernel = {3, 2}}}, dtype::float32);
}

TEST_CASE("descriptors and algorithms are kept for each set of sizes and each pass") {
  if (emulate::skip_on_gpu("it counts calls of cuDNN")) return;
  const auto& device = emulate::stand_in();
  const convolution_sizes s{1, 2, 3, 1, {11, 5}, {9, 3}, {.kernel = 3}};
  compare<float>(s, dtype::float32);
  const auto before = device.count("cudnnGetConvolutionForwardAlgorithm_v7");
  CHECK(before == 1);
  compare<float>(s, dtype::float32);
  CHECK(device.count("cudnnGetConvolutionForwardAlgorithm_v7") == 1);
  CHECK(device.count("cudnnGetConvolutionBackwardDataAlgorithm_v7") == 1);
  CHECK(device.count("cudnnGetConvolutionBackwardFilterAlgorithm_v7") == 1);
  CHECK(device.count("cudnnConvolutionForward") == 2);
}

TEST_CASE("float32 keeps its bits unless TF32 is allowed") {
  emulate::stand_in();
  const convolution_sizes s{1, 1, 1, 1, 1, 1, {.kernel = 1}};
  const float fine = 1 + 0x1p-20F;
  const on_device<float> x({fine}), w({1}), y({0});
  const auto& where = current_stream(Cuda{0});
  cuda::convolve(s, dtype::float32, x.data(), w.data(), nullptr, y.data(), false, where);
  CHECK(y.read()[0] == fine);
  if (emulate::skip_on_gpu("a library need not use tensor cores for one number")) return;
  cuda::convolve(s, dtype::float32, x.data(), w.data(), nullptr, y.data(), true, where);
  CHECK(y.read()[0] == 1);
}

TEST_CASE("half types are summed in float32") {
  emulate::stand_in();
  const convolution_sizes s{1, 3, 1, 1, 1, 1, {.kernel = 1}};
  const on_device<half> x({half(2048.0F), half(1.0F), half(1.0F)}), w({half(1.0F), half(1.0F), half(1.0F)}),
      y({half(0.0F)});
  cuda::convolve(s, dtype::float16, x.data(), w.data(), nullptr, y.data(), false, current_stream(Cuda{0}));
  CHECK(static_cast<float>(y.read()[0]) == 2050);
}

TEST_CASE("what goes wrong is said") {
  if (emulate::skip_on_gpu("it lets cuDNN fail")) return;
  const auto& device = emulate::stand_in();
  const on_device<float> x({1}), w({1}), y({1});
  const auto& where = current_stream(Cuda{0});
  const convolution_sizes s{1, 1, 1, 1, 1, 1, {.kernel = 1, .dilation = 3}};
  auto run = [&] { cuda::convolve(s, dtype::float32, x.data(), w.data(), nullptr, y.data(), false, where); };
  device.set("fail_cudnn_deterministic", 1);
  CHECK_THROWS_WITH_AS(run(), doctest::Contains("has no deterministic algorithm"), device_error);
  device.set("fail_cudnn_heuristic", 1);
  CHECK_THROWS_WITH_AS(run(), doctest::Contains("CUDNN_STATUS_NOT_SUPPORTED"), device_error);
  device.set("fail_cudnn_convolution", 1);
  CHECK_THROWS_WITH_AS(run(), doctest::Contains("cudnnConvolutionForward: CUDNN_STATUS_EXECUTION_FAILED (5000)"),
                       device_error);
  CHECK_NOTHROW(run());
  float on_host = 0;
  CHECK_THROWS_WITH_AS(cuda::convolve(s, dtype::float32, &on_host, w.data(), nullptr, y.data(), false, where),
                       doctest::Contains("memory of this device"), device_error);
  convolution_sizes large = s;
  large.batch = std::int64_t{1} << 31;
  CHECK_THROWS_AS(cuda::convolve(large, dtype::float32, x.data(), w.data(), nullptr, y.data(), false, where),
                  shape_error);
}
