// SPDX-License-Identifier: BSL-1.0
// cuBLASLt is found, its functions are there, and what it says in numbers is said in words. tests/cuda_headers
// compares our declarations with NVIDIA's.
#include <kiln/device/cuda/libraries/cublaslt.hpp>

#include <kiln/device/cuda/libraries/multiply.hpp>

#include <cuda_emulator/stand_in.hpp>

#include <doctest/doctest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

using namespace kiln::cuda;

namespace {

// Runs `f` in a process of its own, since a library is looked for once. True if it returned true.
template <class F>
bool in_own_process(F f) {
  const ::pid_t child = ::fork();
  if (child == 0) ::_exit(f() ? 0 : 1);
  int status = -1;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace

TEST_CASE("without cuBLASLt a product is an error that says where it was looked for, every time") {
  if (emulate::skip_on_gpu("it needs a machine without cuBLASLt")) return;
  emulate::stand_in();
  CHECK(in_own_process([] {
    ::setenv("KILN_LIBCUBLASLT", "/nowhere/libcublasLt.so", 1);
    product_task task;
    task.a = task.b = {&task, 1, 1, 1, 1, {}};
    task.out = &task;
    task.out_row_stride = 1;
    for (int i = 0; i < 2; ++i) {
      try {
        multiply(task, current_stream(kiln::Cuda{0}));
        return false;
      } catch (const kiln::device_error& caught) {
        if (std::string(caught.what()).find("KILN_LIBCUBLASLT names /nowhere/libcublasLt.so") == std::string::npos)
          return false;
      }
    }
    return true;
  }));
}

TEST_CASE("a library without one of the functions is too old") {
  CHECK_THROWS_WITH_AS(open_cublaslt(kiln::cuda::library(nullptr, "/old/libcublasLt.so", "cuBLASLt")),
                       doctest::Contains("/old/libcublasLt.so has no function cublasLtGetVersion"), kiln::device_error);
}

TEST_CASE("an open library tells its version and its file") {
  if (emulate::skip_on_gpu("it knows the stand-in's version")) return;
  const auto& device = emulate::stand_in();
  CHECK(cublaslt_api().version == 130000);
  CHECK(cublaslt_api().file.path() == device.path());
}

TEST_CASE("a status is said in words, with the way out") {
  if (emulate::skip_on_gpu("it knows the stand-in's words")) return;
  emulate::stand_in();
  CHECK(describe(cublas_status::not_supported) == "CUBLAS_STATUS_NOT_SUPPORTED (15): words of the stand-in");
  CHECK_NOTHROW(check(cublas_status::success, "nothing"));
  for (const auto& [status, words] : {std::pair{cublas_status::allocation_failed, "free memory"},
                                      std::pair{cublas_status::not_supported, "contiguous"},
                                      std::pair{cublas_status::execution_failed, "KILN_SYNC=1"},
                                      std::pair{cublas_status::invalid_value, "memory of this device"}}) {
    CHECK_THROWS_WITH_AS(check(status, "multiply"), doctest::Contains(words), kiln::device_error);
  }
  CHECK_THROWS_WITH_AS(check(cublas_status::internal_error, "this call"), doctest::Contains("this call: CUBLAS_STATUS"),
                       kiln::device_error);
}
