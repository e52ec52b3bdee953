// SPDX-License-Identifier: BSL-1.0
// Convolutions on the device Cuda, by cuDNN, over contiguous memory in either layout; what poolings and batch norms
// share with them. Descriptors and the chosen algorithm are kept for each set of sizes; the workspace comes from the
// pool of the stream.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include <kiln/core/dims.hpp>
#include <kiln/core/version.hpp>
#include <kiln/core/window.hpp>
#include <kiln/device/cuda/driver/context.hpp>
#include <kiln/device/cuda/driver/forks.hpp>
#include <kiln/device/cuda/driver/stream.hpp>
#include <kiln/device/cuda/libraries/cudnn.hpp>
#include <kiln/device/cuda/memory/memory.hpp>
#include <kiln/device/cuda/memory/memory_copy.hpp>

namespace kiln::cuda {

namespace detail {

// What the library hands out and takes back.
template <class Handle>
struct cudnn_descriptor {
  Handle handle = nullptr;
  cudnn_status (*destroy)(Handle) = nullptr;
  cudnn_descriptor(cudnn_status (*create)(Handle*), cudnn_status (*destroy_)(Handle)) : destroy(destroy_) {
    check(create(&handle), "cuDNN descriptor");
  }
  cudnn_descriptor(const cudnn_descriptor&) = delete;
  cudnn_descriptor& operator=(const cudnn_descriptor&) = delete;
  ~cudnn_descriptor() {
    if (handle != nullptr && !lost_by_fork()) destroy(handle);
  }
};

constexpr cudnn_format format_of(image_layout layout) {
  return layout == image_layout::channels_last ? cudnn_format::nhwc : cudnn_format::nchw;
}

// Sizes stand in the same order for both layouts.
struct tensor_descriptor : cudnn_descriptor<cudnn_tensor> {
  tensor_descriptor(dtype type, std::int64_t n, std::int64_t c, pair2d image,
                    image_layout layout = image_layout::channels_first)
      : cudnn_descriptor(cudnn_api().tensor_create, cudnn_api().tensor_destroy) {
    check(cudnn_api().tensor_set(handle, format_of(layout), cudnn_type_of(type), static_cast<int>(n),
                                 static_cast<int>(c), static_cast<int>(image.height), static_cast<int>(image.width)),
          "cudnnSetTensor4dDescriptor");
  }
};

// The numbers 1, and 0 or 1, as cuDNN reads them for an element type.
class scaling {
 public:
  scaling(dtype type, bool add)
      : is_double_(type == dtype::float64), keep_(add ? 1 : 0), keep_single_(add ? 1.0F : 0) {}
  const void* one() const { return is_double_ ? static_cast<const void*>(&one_) : &one_single_; }
  const void* keep() const { return is_double_ ? static_cast<const void*>(&keep_) : &keep_single_; }

 private:
  bool is_double_;
  double one_ = 1, keep_;
  float one_single_ = 1, keep_single_;
};

enum class convolution_pass : int { forward, backward_input, backward_weight };

/// Descriptors of a convolution and the algorithm for one of its passes.
struct convolution_plan {
  // More is asked for by algorithms that are hardly faster.
  static constexpr std::size_t most_workspace_bytes = std::size_t{256} << 20;

  tensor_descriptor x, y;
  cudnn_descriptor<cudnn_filter> w;
  cudnn_descriptor<cudnn_convolution> how;
  cudnn_algorithm chosen{};

  convolution_plan(const convolution_sizes& s, dtype type, convolution_pass pass, bool allow_tf32, cudnn_handle handle)
      : x(type, s.batch, s.channels, s.image, s.layout),
        y(type, s.batch, s.out_channels, s.places, s.layout),
        w(cudnn_api().filter_create, cudnn_api().filter_destroy),
        how(cudnn_api().convolution_create, cudnn_api().convolution_destroy) {
    const cudnn_functions& api = cudnn_api();
    auto number = [](std::int64_t v) { return static_cast<int>(v); };
    const window2d& p = s.window;
    check(api.filter_set(w.handle, cudnn_type_of(type), format_of(s.layout), number(s.out_channels),
                         number(s.group_inputs()), number(p.kernel.height), number(p.kernel.width)),
          "cudnnSetFilter4dDescriptor");
    check(api.convolution_set(how.handle, number(p.padding.height), number(p.padding.width), number(p.stride.height),
                              number(p.stride.width), number(p.dilation.height), number(p.dilation.width),
                              cudnn_mode::cross_correlation, cudnn_type_of(compute_type(type))),
          "cudnnSetConvolution2dDescriptor");
    check(api.convolution_set_groups(how.handle, number(s.groups)), "cudnnSetConvolutionGroupCount");
    const cudnn_math math = type == dtype::float32   ? (allow_tf32 ? cudnn_math::standard : cudnn_math::fma)
                            : type == dtype::float64 ? cudnn_math::standard
                                                     : cudnn_math::tensor_cores;
    check(api.convolution_set_math(how.handle, math), "cudnnSetConvolutionMathType");
    choose(pass, handle, math);
  }

 private:
  // The one that should be fastest among those that are deterministic and content with the workspace.
  void choose(convolution_pass pass, cudnn_handle handle, cudnn_math math) {
    const cudnn_functions& api = cudnn_api();
    std::array<cudnn_algorithm, 16> answers{};
    int found = 0;
    const int most = static_cast<int>(answers.size());
    if (pass == convolution_pass::forward)
      check(api.get_forward(handle, x.handle, w.handle, how.handle, y.handle, most, &found, answers.data()),
            "cudnnGetConvolutionForwardAlgorithm_v7");
    else if (pass == convolution_pass::backward_input)
      check(api.get_backward_data(handle, w.handle, y.handle, how.handle, x.handle, most, &found, answers.data()),
            "cudnnGetConvolutionBackwardDataAlgorithm_v7");
    else
      check(api.get_backward_filter(handle, x.handle, y.handle, how.handle, w.handle, most, &found, answers.data()),
            "cudnnGetConvolutionBackwardFilterAlgorithm_v7");
    const auto end = answers.begin() + std::min(found, most);
    const auto best = std::find_if(answers.begin(), end, [](const cudnn_algorithm& a) {
      return a.status == cudnn_status::success && a.deterministic == 1 && a.workspace_bytes <= most_workspace_bytes;
    });
    if (best == end)
      throw device_error(message("convolution: cuDNN (", api.file.path(), ") has no deterministic algorithm for it; ",
                                 way_out(cudnn_status::not_supported)));
    chosen = *best;
    // Where float32 must keep its bits, an answer must not loosen that.
    if (math != cudnn_math::fma)
      check(api.convolution_set_math(how.handle, chosen.math), "cudnnSetConvolutionMathType");
  }
};

/// cuDNN on one device: its handle, which one thread at a time may use, and the plans made so far.
class cudnn_library {
 public:
  static cudnn_library& of(Cuda device) {
    check_device(device);
    static std::vector<cudnn_library>& all = *new std::vector<cudnn_library>(
        static_cast<std::size_t>(cuda_device_count()));  // never destroyed: static tensors may be used late
    return all[static_cast<std::size_t>(device.index)];
  }

  /// Whether cuDNN starts on this device. A failure is found out once; while a graph is captured it is not tried, and
  /// true.
  bool starts(Cuda device) {
    const std::lock_guard lock(mutex_);
    if (handle_ != nullptr) return true;
    if (failed_) return false;
    if (capturing) return true;
    const device_scope scope(device);
    return start() == cudnn_status::success;
  }

  /// Calls f(handle) with the handle set to a stream, alone. The stream's device must be the current one.
  template <class F>
  void use(const stream& where, F&& f) {
    const std::lock_guard lock(mutex_);
    if (handle_ == nullptr) {
      if (capturing)
        throw device_error(
            "cuDNN: the first call on a device starts it, which cannot be done while a graph is captured; let "
            "capture() run the work once before (warm_ups)");
      check(start(), "cudnnCreate");
    }
    check(cudnn_api().set_stream(handle_, where.handle()), "cudnnSetStream");
    f(handle_);
  }

  /// The plan of these sizes, made if there is none yet. To be called inside of use().
  const convolution_plan& plan(const convolution_sizes& s, dtype type, convolution_pass pass, bool allow_tf32) {
    const window2d& w = s.window;
    const std::array<std::int64_t, 20> key{s.batch,
                                           s.channels,
                                           s.out_channels,
                                           s.groups,
                                           s.image.height,
                                           s.image.width,
                                           s.places.height,
                                           s.places.width,
                                           w.kernel.height,
                                           w.kernel.width,
                                           w.stride.height,
                                           w.stride.width,
                                           w.padding.height,
                                           w.padding.width,
                                           w.dilation.height,
                                           w.dilation.width,
                                           static_cast<std::int64_t>(type),
                                           static_cast<std::int64_t>(pass),
                                           static_cast<std::int64_t>(s.layout),
                                           allow_tf32};
    if (const auto found = plans_.find(key); found != plans_.end()) return *found->second;
    auto made = std::make_unique<convolution_plan>(s, type, pass, allow_tf32, handle_);
    // A program that meets this many sizes meets new ones all the time; those in use are soon back.
    if (plans_.size() >= most_plans) plans_.clear();
    return *(plans_[key] = std::move(made));
  }

 private:
  cudnn_status start() {
    cudnn_handle made = nullptr;
    const cudnn_status status = cudnn_api().create(&made);
    failed_ = status != cudnn_status::success;
    if (!failed_) handle_ = made;
    return status;
  }

  static constexpr std::size_t most_plans = 1024;
  device_lock mutex_;
  cudnn_handle handle_ = nullptr;
  bool failed_ = false;
  std::map<std::array<std::int64_t, 20>, std::unique_ptr<convolution_plan>> plans_;
};

/// Throws shape_error if cuDNN, which counts in 32 bits, cannot address the elements.
void check_counts(std::initializer_list<dims> shapes, const char* where);
void check_counts(const convolution_sizes& s);

bool has_products(const convolution_sizes& s);
void set_zero(void* to, std::int64_t elements, dtype type, bool add, const stream& where);

// Calls f(handle, plan, workspace) for one pass.
template <class F>
void run_convolution(const convolution_sizes& s, dtype type, convolution_pass pass, bool allow_tf32,
                     const stream& where, const char* name, F&& f) {
  cudnn_library& library = cudnn_library::of(where.device());
  library.use(where, [&](cudnn_handle handle) {
    const convolution_plan& plan = library.plan(s, type, pass, allow_tf32);
    const std::size_t bytes = plan.chosen.workspace_bytes;
    const ref<storage> workspace = bytes == 0 ? ref<storage>() : new_storage(bytes, where);
    check(f(handle, plan, workspace ? workspace->data : nullptr), name);
  });
}

}  // namespace detail

/// Whether cuDNN can be opened and starts on a device. If not, the operations that kiln has kernels for run those.
bool has_cudnn(Cuda device);

/// Queues y = x * w + bias in a stream, with x (batch, channels, image), w (out_channels, channels / groups, kernel),
/// bias (out_channels) or null, y (batch, out_channels, places), all contiguous and of one floating type, or x, w and y
/// with their second axis as the last (s.layout), of a type other than float64 and without a bias. float32 is
/// rounded to TF32 only if that is allowed; half types are summed in float32. Throws shape_error for 2^31 elements or
/// more, dtype_error, device_error where cuDNN is missing or fails.
void convolve(const convolution_sizes& s, dtype type, const void* x, const void* w, const void* bias, void* y,
              bool allow_tf32, const stream& where);

/// Queues the gradient by x, given that by y, to be written to dx or added to it. As convolve().
void convolve_backward_input(const convolution_sizes& s, dtype type, const void* dy, const void* w, void* dx, bool add,
                             bool allow_tf32, const stream& where);

/// Queues the gradient by w, given that by y, to be written to dw or added to it. As convolve().
void convolve_backward_weight(const convolution_sizes& s, dtype type, const void* x, const void* dy, void* dw, bool add,
                              bool allow_tf32, const stream& where);

}  // namespace kiln::cuda

#ifndef KILN_COMPILED
#include <kiln/device/cuda/libraries/convolution_impl.hpp>
#endif
