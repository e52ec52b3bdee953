// SPDX-License-Identifier: BSL-1.0
// NCCL is opened, or an error says what to install; what it says in numbers is said in words. Where NVIDIA's header is,
// our declarations are compared with it. What runs needs a GPU for each rank, and is compiled here.
#include <kiln/distributed/nccl.hpp>

#include <kiln/cuda.hpp>
#include <kiln/distributed/collectives.hpp>
#include <kiln/distributed/data_parallel.hpp>
#include <kiln/distributed/nccl_group.hpp>
#if __has_include(<nccl.h>) && __has_include(<cuda_runtime.h>)
#include <nccl.h>
#define KILN_TEST_NCCL_HEADER
#endif

#include <doctest/doctest.h>

#include <cstdlib>
#include <type_traits>

using namespace kiln;
using distributed::nccl_status;

template class kiln::distributed::DistributedDataParallel<float, Cuda>;

#ifdef KILN_TEST_NCCL_HEADER
namespace {

// Two functions with the same number of parameters, of the same sizes, pointers where the other has pointers.
template <class A, class B>
constexpr bool same_kind = sizeof(A) == sizeof(B) && std::is_pointer_v<A> == std::is_pointer_v<B>;
template <class F, class G>
constexpr bool alike = false;
template <class R, class... A, class S, class... B>
constexpr bool alike<R (*)(A...), S (*)(B...)> = [] {
  if constexpr (sizeof...(A) == sizeof...(B)) return (same_kind<R, S> && ... && same_kind<A, B>);
  return false;
}();
using functions = distributed::nccl_functions;
static_assert(alike<decltype(functions::get_version), decltype(&ncclGetVersion)>);
static_assert(alike<decltype(functions::get_error_string), decltype(&ncclGetErrorString)>);
static_assert(alike<decltype(functions::get_unique_id), decltype(&ncclGetUniqueId)>);
static_assert(alike<decltype(functions::comm_init_rank), decltype(&ncclCommInitRank)>);
static_assert(alike<decltype(functions::comm_destroy), decltype(&ncclCommDestroy)>);
static_assert(alike<decltype(functions::comm_abort), decltype(&ncclCommAbort)>);
static_assert(alike<decltype(functions::comm_get_async_error), decltype(&ncclCommGetAsyncError)>);
static_assert(alike<decltype(functions::all_reduce), decltype(&ncclAllReduce)>);
static_assert(alike<decltype(functions::broadcast), decltype(&ncclBroadcast)>);
static_assert(alike<decltype(functions::all_gather), decltype(&ncclAllGather)>);
static_assert(!alike<decltype(functions::all_gather), decltype(&ncclAllReduce)>);
static_assert(sizeof(distributed::nccl_id) == sizeof(ncclUniqueId));

template <class Ours, class Theirs>
constexpr bool equal(Ours ours, Theirs theirs) {
  return static_cast<int>(ours) == static_cast<int>(theirs);
}
using type = distributed::nccl_type;
static_assert(equal(type::int8, ncclInt8) && equal(type::uint8, ncclUint8) && equal(type::int32, ncclInt32) &&
              equal(type::int64, ncclInt64) && equal(type::float16, ncclFloat16) && equal(type::float32, ncclFloat32) &&
              equal(type::float64, ncclFloat64) && equal(type::bfloat16, ncclBfloat16));
using reduction = distributed::nccl_reduction;
static_assert(equal(reduction::sum, ncclSum) && equal(reduction::product, ncclProd) && equal(reduction::max, ncclMax) &&
              equal(reduction::min, ncclMin) && equal(reduction::mean, ncclAvg));
static_assert(equal(nccl_status::success, ncclSuccess) && equal(nccl_status::remote_error, ncclRemoteError) &&
              equal(nccl_status::in_progress, ncclInProgress));

}  // namespace
#endif

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
