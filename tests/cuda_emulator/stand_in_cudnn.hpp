// SPDX-License-Identifier: BSL-1.0
// What the parts of the stand-in for libcudnn share: its handle, its tensors, and what every call checks.
#pragma once

#include <kiln/device/cuda/libraries/cudnn.hpp>

#include "stand_in_elements.hpp"
#include "stand_in_state.hpp"

extern "C" kiln::cuda::driver_result cuCtxGetCurrent(kiln::cuda::context_handle*);

namespace kiln::cuda {

struct cudnn_object {
  context_object* context = nullptr;
  stream_object* stream = nullptr;
};
struct cudnn_tensor_object {
  cudnn_type type{};
  long n = 0, c = 0, h = 0, w = 0;
  cudnn_format format = cudnn_format::nchw;
  long count() const { return n * c * h * w; }
  bool channels_last() const { return format == cudnn_format::nhwc; }
  long place(long i, long channel, long row, long column) const {
    return channels_last() ? ((i * h + row) * w + column) * c + channel : ((i * c + channel) * h + row) * w + column;
  }
  bool operator==(const cudnn_tensor_object&) const = default;
};

namespace stand_in {

/// Counts a call; the answer is what the library says after the device has failed.
inline cudnn_status enter_cudnn(const char* name) {
  auto& all = state::instance();
  ++all.counts[name];
  return all.final_error == driver_result::success ? cudnn_status::success : cudnn_status::execution_failed;
}
inline bool is_ready(const cudnn_object* handle) {
  context_handle current = nullptr;
  cuCtxGetCurrent(&current);
  return handle != nullptr && handle->stream != nullptr && handle->context == current;
}
inline bool is_memory(const cudnn_object* handle, const void* start, const cudnn_tensor_object& t) {
  const auto address = reinterpret_cast<std::uint64_t>(start);
  const auto bytes = static_cast<std::size_t>(t.count()) * size_of(t.type);
  const allocation* block = state::instance().block_of(address, bytes);
  return block != nullptr && block->context == handle->context;
}
/// Alpha and beta are doubles for double, else floats.
inline double number(cudnn_type type, const void* scalar) {
  return load(type == cudnn_type::float64 ? cudnn_type::float64 : cudnn_type::float32, scalar, 0);
}

}  // namespace stand_in
}  // namespace kiln::cuda
