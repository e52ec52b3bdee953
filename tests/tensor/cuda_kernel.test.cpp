// SPDX-License-Identifier: BSL-1.0
// Kernels of a user's own on the stand-in: what they write is seen, and what cannot be launched is said.
#include <kiln/cuda.hpp>
#include <kiln/io/dlpack.hpp>

#include <cuda_emulator/stand_in.hpp>

#include <doctest/doctest.h>

#include <vector>

using namespace kiln;

namespace {

using on_gpu = Tensor<float, Cuda>;

const cuda::custom_kernel& scale() {
  static const cuda::custom_kernel kernel(R"(
extern "C" __global__ void scale(float* y, const float* x, float by, long long n) {
  const long long i = blockIdx.x * 32LL + threadIdx.x;
  if (i < n) y[i] = by * x[i];
})",
                                          "scale");
  return kernel;
}
std::vector<float> values(const on_gpu& x) {
  const Tensor<float> here = x.detach().to<Cpu>().clone();
  return {here.span().begin(), here.span().end()};
}

}  // namespace

TEST_CASE("cuda kernel: a kernel of one's own works on tensors, in the order of the stream") {
  const auto& device = emulate::stand_in();
  const on_gpu x{1, 2, 3, 4, 5};
  on_gpu y = zeros<float, Cuda>({5});
  const on_gpu later = y + 1.0f;
  scale()({.grid_x = 1, .block_x = 32}, y, x, 3.0f, y.numel());
  scale()({.grid_x = 1, .block_x = 32}, y, on_gpu(y + x), 0.5f, y.numel());
  if (device.emulated()) CHECK(device.count("cuStreamSynchronize") == 0);
  CHECK(values(y) == std::vector<float>{2, 4, 6, 8, 10});
  CHECK(values(later) == std::vector<float>{1, 1, 1, 1, 1});
  CHECK(values(x) == std::vector<float>{1, 2, 3, 4, 5});
}

TEST_CASE("cuda kernel: what it writes counts as changed in place") {
  emulate::stand_in();
  on_gpu w{1, 2, 3};
  w.requires_grad();
  on_gpu x{4, 5, 6};
  const on_gpu y = sum(w * x);
  scale()({.block_x = 32}, x, on_gpu(x + 0.0f), 2.0f, x.numel());
  CHECK_THROWS_AS(backward(y), graph_error);
  CHECK_THROWS_WITH_AS(scale()({.block_x = 32}, w, x, 2.0f, x.numel()),
                       doctest::Contains("kernel scale: it may write a tensor whose gradient is wanted"), graph_error);
}

TEST_CASE("cuda kernel: mistakes are said before anything is launched") {
  const auto& device = emulate::stand_in();
  on_gpu y = zeros<float, Cuda>({2, 3});
  const on_gpu x = ones<float, Cuda>({3, 2});
  device.reset();
  CHECK_THROWS_WITH_AS(scale()({.block_x = 32}, y, x.t(), 2.0f, y.numel()),
                       doctest::Contains("is not contiguous: give x.contiguous()"), shape_error);
  CHECK_THROWS_WITH_AS(scale()({.block_x = 32}, y, x, 2.0, y.numel()),
                       doctest::Contains("argument 2 has 8 bytes and its parameter 4"), value_error);
  CHECK_THROWS_WITH_AS(scale()({.block_x = 32}, y, x, 2.0f), doctest::Contains("3 arguments, but it has more"),
                       value_error);
  CHECK_THROWS_WITH_AS(scale()({.block_x = 32}, y, x, 2.0f, y.numel(), 1),
                       doctest::Contains("5 arguments, but it has fewer"), value_error);
  const cuda::custom_kernel wrong("extern \"C\" __global__ void wrong(float* y) { y[0] = nonsense; }", "wrong");
  CHECK_THROWS_WITH_AS(wrong({}, y), doctest::Contains("nonsense"), device_error);
  CHECK_THROWS_WITH_AS(wrong({}, y), doctest::Contains(": correct its text."), device_error);
  const cuda::custom_kernel other("extern \"C\" __global__ void one(float* y) { y[0] = 1; }", "two");
  CHECK_THROWS_WITH_AS(other({}, y), doctest::Contains("kernel two: the module has none of this name"), device_error);
  if (device.emulated()) CHECK(device.count("cuLaunchKernel") == 0);
  if (emulate::lacks_second_device()) return;
  const on_gpu there = ones<float, Cuda>({6}, Cuda{1});
  CHECK_THROWS_WITH_AS(scale()({.block_x = 32}, y, there, 2.0f, y.numel()), doctest::Contains("Cuda{0} and Cuda{1}"),
                       device_error);
}

TEST_CASE("cuda kernel: tensors of a GPU go out by DLPack and come back, elements shared") {
  emulate::stand_in();
  const int index = emulate::lacks_second_device() ? 0 : 1;
  on_gpu x = ones<float, Cuda>({2, 3}, Cuda{index});
  io::dlpack::managed_tensor* const lent = io::to_dlpack(x.t());
  CHECK(lent->dl_tensor.device.type == io::dlpack::device_type::cuda);
  CHECK(lent->dl_tensor.device.id == index);
  CHECK(lent->dl_tensor.shape[0] == 3);
  CHECK(lent->dl_tensor.strides[1] == 3);
  const on_gpu back = io::from_dlpack<float, Cuda>(lent);
  CHECK(back.device() == Cuda{index});
  x.fill_(7);
  CHECK(values(back) == std::vector<float>(6, 7));
  io::dlpack::managed_tensor* const other = io::to_dlpack(x);
  CHECK_THROWS_AS((io::from_dlpack<float, Cpu>(other)), device_error);
  other->deleter(other);
}

TEST_CASE("cuda kernel: tensors of a GPU go out as a cuda_array and come back, in the order of the streams") {
  emulate::stand_in();
  const int index = emulate::lacks_second_device() ? 0 : 1;
  on_gpu x = ones<float, Cuda>({2, 3}, Cuda{index});
  io::cuda_array array = io::to_cuda_array(x);
  CHECK(array.typestr == "<f4");
  CHECK(array.shape == std::vector<std::int64_t>{2, 3});
  CHECK(!array.strides);
  CHECK(array.version == 3);
  CHECK(array.data == x.data());
  CHECK(*io::to_cuda_array(x.t()).strides == std::vector<std::int64_t>{4, 12});
  // Made in another stream, which the current one waits for.
  const cuda::stream elsewhere = cuda::stream::create(Cuda{index});
  {
    const cuda::stream_scope scope(elsewhere);
    x.fill_(5);
    array = io::to_cuda_array(x.t());
  }
  CHECK(*array.stream == reinterpret_cast<std::uintptr_t>(elsewhere.handle()));
  bool gone = false;
  {
    const on_gpu back =
        io::from_cuda_array<float>(array, std::shared_ptr<void>(&gone, [](void* p) { *static_cast<bool*>(p) = true; }));
    CHECK(back.device() == Cuda{index});
    CHECK(back.sizes() == dims{3, 2});
    CHECK(values(back) == std::vector<float>(6, 5));
    CHECK(!gone);
  }
  CHECK(gone);
  CHECK_THROWS_WITH_AS(io::from_cuda_array<double>(array), doctest::Contains("\"<f4\" are not float64"), dtype_error);
  CHECK_THROWS_WITH_AS(io::to_cuda_array(ones<bfloat16, Cuda>({1})), doctest::Contains("to_dlpack"), dtype_error);
  const auto refused = [&](auto change, const char* words) {
    io::cuda_array wrong = array;
    change(wrong);
    CHECK_THROWS_WITH_AS(io::from_cuda_array<float>(wrong), doctest::Contains(words), kiln::error);
  };
  refused([](io::cuda_array& a) { a.read_only = true; }, "may not be written");
  refused([](io::cuda_array& a) { a.stream = 0; }, "1 is the default stream");
  refused([](io::cuda_array& a) { a.strides = {4}; }, "one stride per axis");
  refused([](io::cuda_array& a) { a.strides = {4, -12}; }, "a stride of -12 bytes");
  refused([](io::cuda_array& a) { a.strides = {4, 6}; }, "a stride of 6 bytes");
  refused([](io::cuda_array& a) { a.data = nullptr; }, "has elements and no memory");
  refused([](io::cuda_array& a) { a.data = static_cast<char*>(a.data) + 2; }, "does not suit float32");
  static float host[6];
  if (!emulate::on_gpu()) refused([](io::cuda_array& a) { a.data = host; }, "no address of a GPU's memory");
}
