// SPDX-License-Identifier: BSL-1.0
// NCCL is opened, or an error says what to install; what it says in numbers is said in words. What runs
// needs a GPU for each rank, and is compiled here. tests/cuda_headers compares our declarations with NVIDIA's.
#include <kiln/distributed/nccl.hpp>

#include <kiln/cuda.hpp>
#include <kiln/distributed/collectives.hpp>
#include <kiln/distributed/data_parallel.hpp>
#include <kiln/distributed/nccl_group.hpp>

#include <doctest/doctest.h>

#include <cstdlib>

using namespace kiln;
using distributed::nccl_status;

template class kiln::distributed::DistributedDataParallel<float, Cuda>;

TEST_CASE("a library without one of the functions is too old") {
  CHECK_THROWS_WITH_AS(distributed::open_nccl(cuda::library(nullptr, "/old/libnccl.so", "NCCL")),
                       doctest::Contains("/old/libnccl.so has no function ncclGetVersion"), device_error);
}

TEST_CASE("a variable that names no library is an error, as is every other place where there is none") {
  ::setenv("KILN_LIBNCCL", "/nowhere/libnccl.so.2", 1);
  CHECK_THROWS_WITH_AS(cuda::open_library(distributed::nccl_library()),
                       doctest::Contains("KILN_LIBNCCL names /nowhere/libnccl.so.2"), device_error);
  ::unsetenv("KILN_LIBNCCL");
  cuda::library_description nowhere = distributed::nccl_library();
  static constexpr std::array other{"libnccl_of_nobody.so.2"};
  nowhere.files = other;
  CHECK_THROWS_WITH_AS(cuda::open_library(nowhere), doctest::Contains("pip install nvidia-nccl-cu13"), device_error);
}

TEST_CASE("NCCL tells its version and its words, or where it was looked for") {
  try {
    const distributed::nccl_functions& api = distributed::nccl_api();
    CHECK(api.version >= 21000);
    CHECK_THROWS_WITH_AS(distributed::check(nccl_status::invalid_usage, "all_reduce", api),
                         doctest::Contains("distributed::all_reduce: invalid usage"), device_error);
    distributed::check(nccl_status::success, "all_reduce", api);
  } catch (const device_error& e) {
    const std::string words = e.what();
    CHECK(words.find("NCCL not found") != std::string::npos);
    CHECK(words.find("install NCCL 2") != std::string::npos);
  }
}

TEST_CASE("a group of GPUs needs one") {
  if (cuda_available()) return;
  CHECK_THROWS_AS(distributed::nccl_group{distributed::world()}, device_error);
}

TEST_CASE("types and reductions have NCCL's numbers") {
  CHECK(distributed::nccl_type_of(dtype::bfloat16) == distributed::nccl_type::bfloat16);
  CHECK(distributed::nccl_type_of(dtype::boolean) == distributed::nccl_type::uint8);
  CHECK_THROWS_WITH_AS(distributed::nccl_type_of(dtype::int16), doctest::Contains("cast<std::int32_t>()"), dtype_error);
  using distributed::reduce_op, distributed::nccl_reduction_of, distributed::nccl_reduction;
  CHECK(nccl_reduction_of(dtype::boolean, reduce_op::sum) == nccl_reduction::max);
  CHECK(nccl_reduction_of(dtype::boolean, reduce_op::product) == nccl_reduction::min);
  CHECK(nccl_reduction_of(dtype::float32, reduce_op::mean) == nccl_reduction::mean);
}
