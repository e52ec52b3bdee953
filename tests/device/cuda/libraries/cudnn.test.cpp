// SPDX-License-Identifier: BSL-1.0
// cuDNN is found, its functions are there, and what it says in numbers is said in words. tests/cuda_headers
// compares our declarations with NVIDIA's.
#include <kiln/device/cuda/libraries/batch_norm.hpp>
#include <kiln/device/cuda/libraries/cudnn.hpp>

#include <cuda_emulator/stand_in.hpp>

#include <doctest/doctest.h>

#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <utility>

using namespace kiln::cuda;

TEST_CASE("a library without one of the functions is too old") {
  CHECK_THROWS_WITH_AS(open_cudnn(kiln::cuda::library(nullptr, "/old/libcudnn.so", "cuDNN")),
                       doctest::Contains("/old/libcudnn.so has no function cudnnGetVersion"), kiln::device_error);
}

TEST_CASE("a library without the deprecated batch norms is as good for all else") {
  if (emulate::skip_on_gpu("it builds a library")) return;
  const std::string path = "/tmp/kiln_cudnn_test_" + std::to_string(::getpid());
  {
    std::ofstream text(path + ".c");
    text << "unsigned long cudnnGetVersion(void) { return 91900; }\n";
    for (const char* name : {"GetErrorString",
                             "Create",
                             "SetStream",
                             "CreateTensorDescriptor",
                             "DestroyTensorDescriptor",
                             "SetTensor4dDescriptor",
                             "CreateFilterDescriptor",
                             "DestroyFilterDescriptor",
                             "SetFilter4dDescriptor",
                             "CreateConvolutionDescriptor",
                             "DestroyConvolutionDescriptor",
                             "SetConvolution2dDescriptor",
                             "SetConvolutionMathType",
                             "SetConvolutionGroupCount",
                             "GetConvolutionForwardAlgorithm_v7",
                             "GetConvolutionBackwardDataAlgorithm_v7",
                             "GetConvolutionBackwardFilterAlgorithm_v7",
                             "ConvolutionForward",
                             "ConvolutionBackwardData",
                             "ConvolutionBackwardFilter",
                             "AddTensor",
                             "CreatePoolingDescriptor",
                             "DestroyPoolingDescriptor",
                             "SetPooling2dDescriptor",
                             "PoolingForward",
                             "PoolingBackward",
                             "BatchNormalizationForwardTraining"})
      text << "int cudnn" << name << "(void) { return 0; }\n";
  }
  const std::string build =
      emulate::host_compiler() + " -x c -shared -fPIC -fno-builtin -w '" + path + ".c' -o '" + path + ".so'";
  REQUIRE(std::system(build.c_str()) == 0);
  void* const handle = ::dlopen((path + ".so").c_str(), RTLD_NOW | RTLD_LOCAL);
  std::remove((path + ".c").c_str());
  std::remove((path + ".so").c_str());
  REQUIRE(handle != nullptr);
  const auto api = open_cudnn(kiln::cuda::library(handle, path, "cuDNN"));
  CHECK((api->pooling_backward != nullptr));
  CHECK((api->batch_norm_training == nullptr));  // one of the two alone is of no use
  CHECK((api->batch_norm_backward == nullptr));
}

TEST_CASE("an open library tells its version and its file") {
  if (emulate::skip_on_gpu("it knows the stand-in's version")) return;
  const auto& device = emulate::stand_in();
  CHECK(cudnn_api().version == 91900);
  CHECK(cudnn_api().file.path() == device.path());
}

TEST_CASE("a library that opens but does not start on a device is as good as none there, and is asked once") {
  if (emulate::skip_on_gpu("it does not let cuDNN start")) return;
  const auto& device = emulate::stand_in();
  device.set("fail_cudnn_start", 1);
  CHECK_FALSE(has_cudnn({1}));
  CHECK_FALSE(has_cudnn({1}));
  CHECK(device.count("cudnnCreate") == 0);
  CHECK_FALSE(has_batch_norm({1}));
  CHECK(has_cudnn({0}));
  CHECK(has_batch_norm({0}));
  CHECK(device.count("cudnnCreate") == 1);
}

TEST_CASE("a status is said in words, with the way out") {
  if (emulate::skip_on_gpu("it knows the stand-in's words")) return;
  emulate::stand_in();
  CHECK_NOTHROW(check(cudnn_status::success, "nothing"));
  for (const auto& [status, words] :
       {std::pair{cudnn_status::device_allocation_failed, "free memory"},
        std::pair{cudnn_status::not_supported, "smaller sizes"}, std::pair{cudnn_status(3002), "smaller sizes"},
        std::pair{cudnn_status::execution_failed, "KILN_SYNC=1"},
        std::pair{cudnn_status(2002), "memory of this device"}})
    CHECK_THROWS_WITH_AS(check(status, "convolution"), doctest::Contains(words), kiln::device_error);
  CHECK_THROWS_WITH_AS(check(cudnn_status::bad_parameter, "this call"),
                       doctest::Contains("this call: CUDNN_STATUS_BAD_PARAM (2000), says "), kiln::device_error);
}

TEST_CASE("element types have cuDNN's numbers") {
  CHECK(cudnn_type_of(kiln::dtype::float16) == cudnn_type::float16);
  CHECK(static_cast<int>(cudnn_type_of(kiln::dtype::bfloat16)) == 9);
  CHECK_THROWS_AS(cudnn_type_of(kiln::dtype::int32), kiln::dtype_error);
}
