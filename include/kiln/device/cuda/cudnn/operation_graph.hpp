// SPDX-License-Identifier: BSL-1.0
// Graphs of operations for cuDNN, and the execution plans that its heuristics propose for them. What cuDNN refuses is a
// plan without a handle that says why: the caller has other kernels, so this is no exception.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <kiln/core/version.hpp>
#include <kiln/device/cuda/cudnn/backend.hpp>
#include <kiln/device/cuda/driver/forks.hpp>
#include <kiln/device/cuda/driver/stream.hpp>
#include <kiln/device/cuda/memory/memory.hpp>

namespace kiln::cuda {

namespace detail {
/// What cuDNN says of the last failure on this thread.
std::string last_backend_error();
}  // namespace detail

/// Owns one backend descriptor.
class backend_descriptor {
 public:
  backend_descriptor() = default;
  explicit backend_descriptor(backend_handle handle) : handle_(handle) {}
  backend_descriptor(backend_descriptor&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  backend_descriptor& operator=(backend_descriptor&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~backend_descriptor() {
    if (handle_ != nullptr && !detail::lost_by_fork()) cudnn_backend().destroy(handle_);
  }
  backend_handle handle() const { return handle_; }
  explicit operator bool() const { return handle_ != nullptr; }

 private:
  backend_handle handle_ = nullptr;
};

/// Sizes or strides of a tensor in a graph, of up to five axes.
struct graph_dims {
  std::array<std::int64_t, 5> values{};
  int rank = 0;
  graph_dims() = default;
  graph_dims(std::initializer_list<std::int64_t> of) {
    for (const std::int64_t v : of) values[static_cast<std::size_t>(rank++)] = v;
  }
  std::int64_t& operator[](int i) { return values[static_cast<std::size_t>(i)]; }
  std::int64_t operator[](int i) const { return values[static_cast<std::size_t>(i)]; }
  bool operator==(const graph_dims&) const = default;
};
/// Strides of a contiguous tensor.
graph_dims contiguous_strides(const graph_dims& sizes);

/// A tensor of a graph, by its unique id (1, 2, ... in the order in which they are added); 0 is none.
using graph_tensor = std::int64_t;

enum class graph_memory : std::uint8_t {
  device,  ///< the caller's memory
  none,    ///< virtual: exists within the kernel alone
  host     ///< a single number, given by value at each execution
};

/// The device that a plan is for: the one of a handle, or one that is described by a finalized device_properties
/// descriptor, for which no GPU is needed.
struct graph_target {
  cudnn_handle handle = nullptr;
  backend_handle properties = nullptr;
};

/// What an engine may do.
struct plan_limits {
  std::size_t workspace_bytes = std::size_t{256} << 20;
  bool deterministic = true;
};

/// A plan that cuDNN accepted, with everything that it refers to; or the reason why there is none.
class graph_plan {
 public:
  graph_plan() = default;
  explicit operator bool() const { return static_cast<bool>(plan_); }
  std::size_t workspace_bytes() const { return workspace_bytes_; }
  std::int64_t engine() const { return engine_; }
  const std::string& refusal() const { return refusal_; }

  /// Where a tensor lies: memory of the device, or the host's for a number by value.
  struct binding {
    graph_tensor tensor;
    const void* data;
  };
  /// Queues the work in the handle's stream. Throws device_error if cuDNN fails.
  void run(cudnn_handle handle, std::span<const binding> tensors, void* workspace, const char* name) const;

 private:
  friend class operation_graph;
  std::vector<backend_descriptor> parts_;  // what the plan may refer to
  backend_descriptor plan_;
  std::size_t workspace_bytes_ = 0;
  std::int64_t engine_ = -1;
  std::string refusal_;
};

/// Collects tensors and operations. The first failure is kept: all that follows does nothing, and plan() reports it.
class operation_graph {
 public:
  operation_graph() : api_(cudnn_backend()) {
    if (!api_.complete) refusal_ = "this cuDNN has no backend API";
  }

  graph_tensor tensor(cudnn_type type, const graph_dims& sizes, const graph_dims& strides,
                      graph_memory memory = graph_memory::device);
  graph_tensor tensor(cudnn_type type, const graph_dims& sizes, graph_memory memory = graph_memory::device) {
    return tensor(type, sizes, contiguous_strides(sizes), memory);
  }
  /// A float by value, for graphs of tensors of some rank.
  graph_tensor number(int rank);

  /// c = a b, matrix by matrix.
  void matmul(graph_tensor a, graph_tensor b, graph_tensor c);
  /// y = mode(x, b, t), computed in `compute`.
  void pointwise(backend_pointwise mode, graph_tensor x, graph_tensor b, graph_tensor t, graph_tensor y,
                 cudnn_type compute = cudnn_type::float32, int axis = -1);
  void pointwise(backend_pointwise mode, graph_tensor x, graph_tensor b, graph_tensor y) {
    pointwise(mode, x, b, 0, y);
  }
  /// y = x reduced over the axes along which y has one element.
  void reduce(backend_reduction by, graph_tensor x, graph_tensor y);
  /// y = the elements of x in another shape, or with other strides.
  void reshape(graph_tensor x, graph_tensor y);

  struct norm_forward {
    graph_tensor x, scale, bias, epsilon, y, mean, inverse;
    graph_tensor momentum = 0, running_mean = 0, running_variance = 0, new_running_mean = 0, new_running_variance = 0;
  };
  /// A batch norm in training: see CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR.
  void batch_norm(const norm_forward& n);
  struct norm_backward {
    graph_tensor x, dy, scale, mean, inverse, dx, dscale, dbias;
  };
  void batch_norm_backward(const norm_backward& n);

  /// The first plan that cuDNN's heuristics propose within the limits and that can be finalized. The graph is used up.
  graph_plan plan(const graph_target& target, const plan_limits& limits);

 private:
  struct value_array {
    backend_value kind;
    std::int64_t count;
    const void* data;
  };
  bool good(cudnn_status status, const char* what);
  backend_descriptor create(backend_kind kind);
  void set(const backend_descriptor& of, backend_attribute which, const value_array& values);
  template <class T>
  void set(const backend_descriptor& of, backend_attribute which, backend_value kind, const T& value) {
    set(of, which, {kind, 1, &value});
  }
  void set_tensor(const backend_descriptor& of, backend_attribute which, graph_tensor tensor);
  void set_descriptor(const backend_descriptor& of, backend_attribute which, const backend_descriptor& value);
  void finalize(const backend_descriptor& of, const char* what);
  void add_operation(backend_descriptor operation, const char* what);
  bool take_plan(const graph_target& target, backend_handle config, const plan_limits& limits, graph_plan& out,
                 std::string& why);

  const cudnn_backend_functions& api_;
  std::vector<backend_descriptor> tensors_, parts_, operations_;
  std::string refusal_;
};

}  // namespace kiln::cuda

#ifndef KILN_COMPILED
#include <kiln/device/cuda/cudnn/operation_graph_impl.hpp>
#endif
