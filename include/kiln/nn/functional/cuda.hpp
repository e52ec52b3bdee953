// SPDX-License-Identifier: BSL-1.0
// Convolution and pooling of Tensor<T, Cuda>: by cuDNN, and by kernels of our own where it has none or does not say
// which of several maxima gets the gradient.
#pragma once

#include <kiln/device/cuda/convolution.hpp>
#include <kiln/device/cuda/multiply_plan.hpp>
#include <kiln/device/cuda/pool.hpp>
#include <kiln/device/cuda/pooling.hpp>
#include <kiln/device/cuda/registry.hpp>
#include <kiln/nn/functional/conv2d.hpp>
#include <kiln/nn/functional/pool2d.hpp>

namespace kiln {

namespace detail {
/// Enters the kernels for elements of T among those that a bundle holds.
template <Element T>
inline const cuda::registration<cuda::registered_kernels> registered_pool_kernels{{[] {
  using cuda::pool_kernel;
  std::vector<cuda::source> all;
  for (const pool_kernel which :
       {pool_kernel::max, pool_kernel::max_backward, pool_kernel::average, pool_kernel::average_backward})
    all.push_back(print_pool(which, dtype_of<T>));
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
  static void backward_input(const convolution_sizes& s, const T* dy, const T* w, T* dx, bool add,
                             const storage& near) {
    cuda::convolve_backward_input(s, dtype_of<T>, dy, w, dx, add, cuda::allow_tf32(), detail::stream_near(near));
  }
  template <class T>
  static void backward_weight(const convolution_sizes& s, const T* x, const T* dy, T* dw, bool add,
                              const storage& near) {
    cuda::convolve_backward_weight(s, dtype_of<T>, x, dy, dw, add, cuda::allow_tf32(), detail::stream_near(near));
  }
  template <class T>
  static void backward_bias(const convolution_sizes& s, const T* dy, T* db, bool add, const storage& near) {
    cuda::convolve_backward_bias(s, dtype_of<T>, dy, db, add, detail::stream_near(near));
  }
};

template <>
struct pooling<Cuda> {
  template <class T>
  static void max(const pooling_sizes& s, const T* x, T* y, const storage& near) {
    static_cast<void>(detail::registered_pool_kernels<T>);
    cuda::pool_max(s, dtype_of<T>, x, y, detail::stream_near(near));
  }
  template <class T>
  static void max_backward(const pooling_sizes& s, const T* x, const T* y, const T* dy, T* dx, bool add,
                           const storage& near) {
    cuda::pool_max_backward(s, dtype_of<T>, x, y, dy, dx, add, detail::stream_near(near));
  }
  template <class T>
  static void average(const pooling_sizes& s, const average_divisor& divisor, const T* x, T* y, const storage& near) {
    static_cast<void>(detail::registered_pool_kernels<T>);
    if (cuda::can_pool(s, divisor))
      cuda::average_pool(s, divisor, dtype_of<T>, x, y, detail::stream_near(near));
    else
      cuda::pool_average(s, divisor, dtype_of<T>, x, y, detail::stream_near(near));
  }
  template <class T>
  static void average_backward(const pooling_sizes& s, const average_divisor& divisor, const T* dy, T* dx, bool add,
                               const storage& near) {
    if (cuda::can_pool(s, divisor))
      cuda::average_pool_backward(s, divisor, dtype_of<T>, dy, dx, add, detail::stream_near(near));
    else
      cuda::pool_average_backward(s, divisor, dtype_of<T>, dy, dx, add, detail::stream_near(near));
  }
};

}  // namespace kiln
