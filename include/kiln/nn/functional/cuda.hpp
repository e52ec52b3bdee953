// SPDX-License-Identifier: BSL-1.0
// Convolution, pooling and attention of Tensor<T, Cuda>: by cuDNN, and by kernels of our own where it has none, does
// not take the operands, or does not say which of several maxima gets the gradient.
#pragma once

#include <array>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <kiln/device/cuda/compile/registry.hpp>
#include <kiln/device/cuda/cudnn/attention.hpp>
#include <kiln/device/cuda/libraries/convolution.hpp>
#include <kiln/device/cuda/libraries/multiply_plan.hpp>
#include <kiln/device/cuda/libraries/pooling.hpp>
#include <kiln/device/cuda/run/attention.hpp>
#include <kiln/device/cuda/run/index.hpp>
#include <kiln/device/cuda/run/pooling_kernels.hpp>
#include <kiln/nn/functional/attention_kernels.hpp>
#include <kiln/nn/functional/conv2d.hpp>
#include <kiln/nn/functional/cuda_batch_norm.hpp>
#include <kiln/nn/functional/pool2d.hpp>
#include <kiln/tensor/cuda.hpp>

namespace kiln {

namespace detail {
/// Enters the kernels for elements of T among those that a bundle holds.
template <Element T>
inline const cuda::registration<cuda::registered_kernels> registered_pooling_kernels{{[] {
  using cuda::pooling_kernel;
  std::vector<cuda::source> all;
  for (const pooling_kernel which :
       {pooling_kernel::max, pooling_kernel::max_backward, pooling_kernel::average, pooling_kernel::average_backward})
    all.push_back(print_pooling(which, dtype_of<T>));
  return all;
}}};

template <Element T>
inline const cuda::registration<cuda::registered_kernels> registered_attention_kernels{{[] {
  std::vector<cuda::source> all;
  for (const cuda::attention_text& text : cuda::attention_texts(dtype_of<T>)) all.push_back(print_attention(text));
  return all;
}}};

inline const cuda::stream& stream_near(const storage& near) {
  return cuda::current_stream({near.device});
}
}  // namespace detail

template <>
struct convolution<Cuda> {
  template <class T>
  static void forward(const convolution_sizes& s, const T* x, const T* w, const T* bias, T* y, const storage& near) {
    cuda::convolve(s, dtype_of<T>, x, w, bias, y, cuda::allow_tf32(), detail::stream_near(near));
  }
  template <class T>
  static constexpr bool has_channels_last = !std::is_same_v<T, double>;
  template <class T>
  static void backward_input(const convolution_sizes& s, const T* dy, const T* w, T* dx, bool add,
                             const storage& near) {
    cuda::convolve_backward_input(s, dtype_of<T>, dy, w, dx, add, cuda::allow_tf32(), detail::stream_near(near));
  }
  template <class T>
  static void backward_weight(const convolution_sizes& s, const T* x, const T* dy, T* dw, bool add,
                              const storage& near) {
    cuda::convolve_backward_weight(s, dtype_of<T>, x, dy, dw, add, cuda::allow_tf32(), detail::stream_near(near));
  }
};

template <>
struct pooling<Cuda> {
  template <class T>
  static void max(const pooling_sizes& s, const T* x, T* y, const storage& near) {
    static_cast<void>(detail::registered_pooling_kernels<T>);
    cuda::own_max_pool(s, dtype_of<T>, x, y, detail::stream_near(near));
  }
  template <class T>
  static void max_backward(const pooling_sizes& s, const T* x, const T* y, const T* dy, T* dx, bool add,
                           const storage& near) {
    cuda::own_max_pool_backward(s, dtype_of<T>, x, y, dy, dx, add, detail::stream_near(near));
  }
  template <class T>
  static void average(const pooling_sizes& s, const average_divisor& divisor, const T* x, T* y, const storage& near) {
    static_cast<void>(detail::registered_pooling_kernels<T>);
    if (by_cudnn(s, divisor, near))
      cuda::average_pool(s, divisor, dtype_of<T>, x, y, detail::stream_near(near));
    else
      cuda::own_average_pool(s, divisor, dtype_of<T>, x, y, detail::stream_near(near));
  }
  template <class T>
  static void average_backward(const pooling_sizes& s, const average_divisor& divisor, const T* dy, T* dx, bool add,
                               const storage& near) {
    if (by_cudnn(s, divisor, near))
      cuda::average_pool_backward(s, divisor, dtype_of<T>, dy, dx, add, detail::stream_near(near));
    else
      cuda::own_average_pool_backward(s, divisor, dtype_of<T>, dy, dx, add, detail::stream_near(near));
  }

 private:
  static bool by_cudnn(const pooling_sizes& s, const average_divisor& divisor, const storage& near) {
    return cuda::can_pool(s, divisor) && cuda::has_cudnn(executor<Cuda>::device_of(near));
  }
};

template <>
struct attention_kernels<Cuda> {
  static constexpr bool any = true;
  template <class T>
  static constexpr bool takes() {
    return true;
  }
  static bool fits(const attention_job& job, const storage& near) {
    return cuda::can_attend(job, executor<Cuda>::device_of(near));
  }
  /// By cuDNN where it takes the job, else by kiln's kernels. Both leave the same logsumexp.
  template <class T>
  static void forward(const attention_job& job, T* out, compute_t<T>* logsumexp, const storage& near) {
    static_cast<void>(detail::registered_attention_kernels<T>);
    const cuda::stream& where = detail::stream_near(near);
    if (cuda::cudnn_attends(job, where.device()))
      cuda::cudnn_attention(job, out, logsumexp, where);
    else
      cuda::attention(job, out, logsumexp, where);
  }
  template <class T>
  static void backward(const attention_job& job, const T* out, const compute_t<T>* logsumexp, const T* dout,
                       attention_targets& targets, const storage& near) {
    const cuda::stream& where = detail::stream_near(near);
    if constexpr (!std::is_same_v<T, compute_t<T>>)
      if (detail::is_aligned(out) && detail::is_aligned(dout) && cuda::cudnn_attends_backward(job, where.device()))
        return by_cudnn(job, out, logsumexp, dout, targets, near);
    const auto place = [&](std::size_t i) {
      return targets[i] ? cuda::attention_target{targets[i]->tensor->data, targets[i]->add} : cuda::attention_target{};
    };
    cuda::attention_backward(job, out, logsumexp, dout, place(0), place(1), place(2), where);
  }

 private:
  /// cuDNN computes all three gradients, and writes them: what is added to, or not wanted, is made elsewhere.
  template <class T>
  static void by_cudnn(const attention_job& job, const T* out, const compute_t<T>* logsumexp, const T* dout,
                       attention_targets& targets, const storage& near) {
    const dims sizes[] = {{job.matrices, job.queries, job.width},
                          {job.matrices, job.keys, job.width},
                          {job.matrices, job.keys, job.value_width}};
    std::array<ref<tensor_state>, 3> made;
    std::array<void*, 3> places{};
    for (std::size_t i = 0; i < 3; ++i) {
      if (targets[i] && !targets[i]->add && detail::is_aligned(targets[i]->tensor->data)) {
        places[i] = targets[i]->tensor->data;
        continue;
      }
      made[i] = executor<Cuda>::new_tensor(dtype_of<T>, sizes[i], near);
      places[i] = made[i]->data;
    }
    cuda::cudnn_attention_backward(job, cuda::deterministic(), out, logsumexp, dout, places[0], places[1], places[2],
                                   detail::stream_near(near));
    for (std::size_t i = 0; i < 3; ++i) {
      if (!made[i] || !targets[i]) continue;
      // Targets are contiguous, so the gradient's matrices may count as one stack.
      const ref<tensor_state>& to = targets[i]->tensor;
      made[i]->sizes = to->sizes, made[i]->strides = to->strides;
      detail::store_values(*detail::adding_kernel<T, Cuda>(), *made[i], *to, targets[i]->add);
    }
  }
};

}  // namespace kiln
