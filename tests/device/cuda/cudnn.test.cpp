// SPDX-License-Identifier: BSL-1.0
// cuDNN is found, its functions are there, and what it says in numbers is said in words. Our declarations were compared
// with NVIDIA's header by hand.
#include <kiln/device/cuda/cudnn.hpp>

#include <cuda_emulator/stand_in.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <string>
#include <utility>

using namespace kiln::cuda;

TEST_CASE("a library without one of the functions is too old") {
  CHECK_THROWS_WITH_AS(open_cudnn(kiln::cuda::library(nullptr, "/old/libcudnn.so", "cuDNN")),
                       doctest::Contains("/old/libcudnn.so has no function cudnnGetVersion"), kiln::device_error);
}

TEST_CASE("an open library tells its version and its file") {
  if (emulate::skip_on_gpu("it knows the stand-in's version")) return;
  const auto& device = emulate::stand_in();
  CHECK(cudnn_api().version == 91900);
  CHECK(cudnn_api().file.path() == device.path());
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

TEST_CASE("the answer about an algorithm has the library's form") {
  CHECK(sizeof(cudnn_algorithm) == 48);
  CHECK(offsetof(cudnn_algorithm, workspace_bytes) == 16);
  CHECK(offsetof(cudnn_algorithm, math) == 28);
}
