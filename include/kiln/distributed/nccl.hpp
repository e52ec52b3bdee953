// SPDX-License-Identifier: BSL-1.0
// NCCL 2, NVIDIA's collectives between GPUs: its types and functions, as far as kiln calls them, opened at the first
// use. Values are those of NVIDIA's documented binary interface, the same in all versions 2 from 2.10 on.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <string_view>

#include <kiln/core/dtype.hpp>
#include <kiln/core/error.hpp>
#include <kiln/device/cuda/driver/driver_types.hpp>
#include <kiln/device/cuda/driver/library.hpp>
#include <kiln/device/cuda/libraries/library_products.hpp>
#include <kiln/distributed/process_group.hpp>

namespace kiln::distributed {

struct nccl_object;
using nccl_communicator = nccl_object*;

/// What every function of NCCL returns.
enum class nccl_status : int {
  success = 0,
  cuda_error = 1,
  system_error = 2,
  internal_error = 3,
  invalid_argument = 4,
  invalid_usage = 5,
  remote_error = 6,
  in_progress = 7
};
enum class nccl_type : int {
  int8 = 0,
  uint8 = 1,
  int32 = 2,
  int64 = 4,
  float16 = 6,
  float32 = 7,
  float64 = 8,
  bfloat16 = 9
};
enum class nccl_reduction : int { sum = 0, product = 1, max = 2, min = 3, mean = 4 };

/// What ranks have to share to find each other.
struct nccl_id {
  char bytes[128];
};

/// The functions of NCCL that kiln calls.
struct nccl_functions {
  nccl_status (*get_version)(int*);
  const char* (*get_error_string)(nccl_status);
  nccl_status (*get_unique_id)(nccl_id*);
  nccl_status (*comm_init_rank)(nccl_communicator*, int ranks, nccl_id, int rank);
  nccl_status (*comm_destroy)(nccl_communicator);
  nccl_status (*comm_abort)(nccl_communicator);
  nccl_status (*comm_get_async_error)(nccl_communicator, nccl_status*);
  nccl_status (*all_reduce)(const void* from, void* to, std::size_t count, nccl_type, nccl_reduction, nccl_communicator,
                            cuda::stream_handle);
  nccl_status (*broadcast)(const void* from, void* to, std::size_t count, nccl_type, int root, nccl_communicator,
                           cuda::stream_handle);
  nccl_status (*all_gather)(const void* from, void* to, std::size_t count, nccl_type, nccl_communicator,
                            cuda::stream_handle);

  cuda::library file;  ///< where all of these are from
  int version = 0;     ///< 22809 is 2.28.9
};

namespace detail {
inline constexpr std::array nccl_files{"libnccl.so.2"};
inline constexpr std::array nccl_wheels{"nvidia/nccl/lib"};
inline constexpr const char* install_nccl =
    "install NCCL 2 (NVIDIA's packages have it as libnccl2), or `pip install nvidia-nccl-cu13`";
}  // namespace detail

/// What to look for as NCCL.
inline cuda::library_description nccl_library() {
  return {"NCCL", "KILN_LIBNCCL", detail::nccl_files, detail::nccl_wheels, detail::install_nccl};
}

/// Looks up all functions in an open library. Throws device_error if one is missing or the library is too old.
inline std::unique_ptr<nccl_functions> open_nccl(const cuda::library& from) {
  auto api = std::make_unique<nccl_functions>();
  api->file = from;
  from.get(api->get_version, "ncclGetVersion");
  if (api->get_version(&api->version) != nccl_status::success || api->version < 21000 || api->version >= 30000)
    throw device_error(message("NCCL: ", from.path(), " has version ", api->version,
                               ", kiln needs 2.10 (21000) or a later 2; ", detail::install_nccl));
  from.get(api->get_error_string, "ncclGetErrorString");
  from.get(api->get_unique_id, "ncclGetUniqueId");
  from.get(api->comm_init_rank, "ncclCommInitRank");
  from.get(api->comm_destroy, "ncclCommDestroy");
  from.get(api->comm_abort, "ncclCommAbort");
  from.get(api->comm_get_async_error, "ncclCommGetAsyncError");
  from.get(api->all_reduce, "ncclAllReduce");
  from.get(api->broadcast, "ncclBroadcast");
  from.get(api->all_gather, "ncclAllGather");
  return api;
}

/// The functions of NCCL, looked up at the first call. Throws device_error that says where the library was looked for
/// and what to install.
inline const nccl_functions& nccl_api() {
  static const cuda::detail::opened_library& file = *new cuda::detail::opened_library(nccl_library());
  static const nccl_functions& opened = *open_nccl(file.get()).release();  // tried again if it throws
  return opened;
}

/// Throws device_error that names the operation, NCCL's words and the way out, unless `status` is success.
inline void check(nccl_status status, std::string_view operation, const nccl_functions& api) {
  if (status == nccl_status::success) return;
  const char* const words = api.get_error_string(status);
  throw device_error(message("distributed::", operation, ": ", words ? words : "NCCL error", " (",
                             static_cast<int>(status), "), says ", api.file.path(),
                             "; NCCL_DEBUG=INFO makes it say more; give each rank a GPU of its own"));
}

/// NCCL's number of an element type. Throws dtype_error for one that it does not know.
inline nccl_type nccl_type_of(dtype type) {
  switch (type) {
    case dtype::boolean:
    case dtype::uint8:
      return nccl_type::uint8;
    case dtype::int8:
      return nccl_type::int8;
    case dtype::int32:
      return nccl_type::int32;
    case dtype::int64:
      return nccl_type::int64;
    case dtype::float16:
      return nccl_type::float16;
    case dtype::bfloat16:
      return nccl_type::bfloat16;
    case dtype::float32:
      return nccl_type::float32;
    case dtype::float64:
      return nccl_type::float64;
    default:
      throw dtype_error(
          message("NCCL: ", kiln::name(type), " elements; it knows none of 16 bits: cast<std::int32_t>() them"));
  }
}
/// NCCL's number of a reduction; of booleans, 0 and 1, a sum is "any", a product "all".
inline nccl_reduction nccl_reduction_of(dtype type, reduce_op op) {
  if (type == dtype::boolean)
    return op == reduce_op::sum || op == reduce_op::max ? nccl_reduction::max : nccl_reduction::min;
  switch (op) {
    case reduce_op::mean:
      return nccl_reduction::mean;
    case reduce_op::min:
      return nccl_reduction::min;
    case reduce_op::max:
      return nccl_reduction::max;
    case reduce_op::product:
      return nccl_reduction::product;
    default:
      return nccl_reduction::sum;
  }
}

}  // namespace kiln::distributed
