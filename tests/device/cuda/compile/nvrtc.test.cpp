// SPDX-License-Identifier: BSL-1.0
// NVRTC: the choice of its version, and text that its stand-in compiles and the stand-in driver runs.
#include <kiln/device/cuda/compile/nvrtc.hpp>

#include <cuda_emulator/stand_in.hpp>

#include <doctest/doctest.h>

#include <string>
#include <string_view>

namespace {

using namespace std::string_view_literals;
using kiln::cuda::driver;
using kiln::cuda::driver_result;
using kiln::cuda::nvrtc;
using kiln::cuda::nvrtc_result;

}  // namespace

TEST_CASE("a compiler of the driver's major version comes first") {
  CHECK(kiln::cuda::detail::nvrtc_library(12040).files[0] == "libnvrtc.so.12"sv);
  CHECK(kiln::cuda::detail::nvrtc_library(13000).files[0] == "libnvrtc.so.13"sv);
  CHECK(kiln::cuda::detail::nvrtc_library(0).files[0] == "libnvrtc.so.13"sv);
}

TEST_CASE("text compiles, loads and runs") {
  if (emulate::skip_on_gpu("a kernel that strays ends the use of a GPU")) return;
  const long long before = emulate::stand_in().memory();
  kiln::cuda::nvrtc_program program = nullptr;
  const char* text =
      "extern \"C\" __global__ void twice(float* x, int n) { if (threadIdx.x < n) x[threadIdx.x] *= 2; }";
  REQUIRE(nvrtc().create_program(&program, text, "twice.cu", 0, nullptr, nullptr) == nvrtc_result::success);
  const char* options[] = {"-arch=sm_90"};
  REQUIRE(nvrtc().compile_program(program, 1, options) == nvrtc_result::success);
  std::size_t size = 0;
  nvrtc().get_cubin_size(program, &size);
  std::string image(size, '\0');
  nvrtc().get_cubin(program, image.data());
  nvrtc().destroy_program(&program);

  const auto& api = driver();
  kiln::cuda::context_handle context = nullptr;
  REQUIRE(api.primary_context_retain(&context, 0) == driver_result::success);
  REQUIRE(api.context_set_current(context) == driver_result::success);
  kiln::cuda::module_handle module = nullptr;
  kiln::cuda::function_handle function = nullptr;
  REQUIRE(api.module_load_data(&module, image.data()) == driver_result::success);
  CHECK(api.module_get_function(&function, module, "thrice") == driver_result::not_found);
  REQUIRE(api.module_get_function(&function, module, "twice") == driver_result::success);
  kiln::cuda::device_pointer memory = 0;
  REQUIRE(api.memory_allocate(&memory, 4 * sizeof(float)) == driver_result::success);
  float values[] = {1, 2, 3, 4};
  api.copy_to_device(memory, values, sizeof values, nullptr);
  int count = 4;
  void* arguments[] = {&memory, &count};
  CHECK(api.launch_kernel(function, 1, 1, 1, 32, 1, 1, 0, nullptr, arguments, nullptr) == driver_result::success);
  api.copy_to_host(values, memory, sizeof values, nullptr);
  CHECK(api.context_synchronize() == driver_result::success);
  CHECK(values[3] == 8);

  // A kernel that strays ends the device's use, as on real hardware, and the emulator says where.
  count = 5;
  api.launch_kernel(function, 1, 1, 1, 32, 1, 1, 0, nullptr, arguments, nullptr);
  CHECK(api.context_synchronize() == driver_result::illegal_address);
  const auto& device = emulate::stand_in();
  CHECK(api.memory_free(memory) == driver_result::success);
  CHECK(api.module_unload(module) == driver_result::success);
  CHECK(device.memory() == before);
}

TEST_CASE("an architecture that the compiler does not know is refused") {
  emulate::stand_in();
  kiln::cuda::nvrtc_program program = nullptr;
  nvrtc().create_program(&program, "", "empty.cu", 0, nullptr, nullptr);
  const char* options[] = {"-arch=sm_11"};
  CHECK(nvrtc().compile_program(program, 1, options) == nvrtc_result::invalid_option);
  nvrtc().destroy_program(&program);
}

TEST_CASE("more than 48 KiB of shared memory that a text declares are refused, as by the real compiler") {
  if (emulate::skip_on_gpu("it knows the stand-in's words")) return;
  emulate::stand_in();
  for (const int size : {12288, 12289}) {
    kiln::cuda::nvrtc_program program = nullptr;
    const std::string text = "extern \"C\" __global__ void f(float* x) { __shared__ float all[" + std::to_string(size) +
                             "]; all[threadIdx.x] = 1; __syncthreads(); *x = all[0]; }";
    nvrtc().create_program(&program, text.c_str(), "f.cu", 0, nullptr, nullptr);
    CHECK((nvrtc().compile_program(program, 0, nullptr) == nvrtc_result::success) == (size == 12288));
    nvrtc().destroy_program(&program);
  }
}

TEST_CASE("a compiler that is not there is an error with the variable that named it") {
  if (emulate::skip_on_gpu("it needs another compiler")) return;
  emulate::stand_in();
  ::setenv("KILN_LIBNVRTC", "/nowhere/libnvrtc.so.13", 1);
  CHECK_THROWS_WITH_AS(kiln::cuda::open_nvrtc(13000), doctest::Contains("KILN_LIBNVRTC names /nowhere"),
                       kiln::device_error);
  emulate::stand_in();
}

TEST_CASE("a compiler that is too old is an error") {
  if (emulate::skip_on_gpu("it needs another compiler")) return;
  emulate::stand_in();
  ::setenv("KILN_STAND_IN_nvrtc", "11", 1);
  CHECK_THROWS_WITH_AS(kiln::cuda::open_nvrtc(13000), doctest::Contains("has version 11.0, kiln needs 12.0"),
                       kiln::device_error);
  ::unsetenv("KILN_STAND_IN_nvrtc");
}
