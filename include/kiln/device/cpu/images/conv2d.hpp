// SPDX-License-Identifier: BSL-1.0
// Convolutions of images of any floating type: half types are computed in float.
#pragma once

#include <kiln/device/cpu/images/convolution.hpp>
#include <kiln/device/cpu/processor/isa.hpp>
#include <kiln/device/cpu/products/compute_copy.hpp>

namespace kiln::cpu::inline KILN_VERSION_ISA {

/// y = x convolved with w, plus the bias, which may be null.
template <class T>
void conv2d(const convolution_sizes& s, const T* x, const T* w, const T* bias, T* y) {
  const compute_copy images(x, s.batch * s.channels * s.image.area()), kernels(w, s.weights()),
      added(bias, s.out_channels);
  compute_result result(y, s.batch * s.out_channels * s.places.area(), false);
  convolve(s, images.data(), kernels.data(), added.data(), result.data());
  result.finish();
}

/// The gradient of x, given that of y; with `add`, added to what is there. So for the others.
template <class T>
void conv2d_backward_input(const convolution_sizes& s, const T* dy, const T* w, T* dx, bool add) {
  const compute_copy gradient(dy, s.batch * s.out_channels * s.places.area()), kernels(w, s.weights());
  compute_result result(dx, s.batch * s.channels * s.image.area(), add);
  convolve_backward_input(s, gradient.data(), kernels.data(), result.data(), result.add());
  result.finish();
}

/// The gradient of w.
template <class T>
void conv2d_backward_weight(const convolution_sizes& s, const T* x, const T* dy, T* dw, bool add) {
  const compute_copy images(x, s.batch * s.channels * s.image.area()),
      gradient(dy, s.batch * s.out_channels * s.places.area());
  compute_result result(dw, s.weights(), add);
  convolve_backward_weight(s, images.data(), gradient.data(), result.data(), result.add());
  result.finish();
}

/// The gradient of the bias.
template <class T>
void conv2d_backward_bias(const convolution_sizes& s, const T* dy, T* db, bool add) {
  const compute_copy gradient(dy, s.batch * s.out_channels * s.places.area());
  compute_result result(db, s.out_channels, add);
  convolve_backward_bias(s, gradient.data(), result.data(), result.add());
  result.finish();
}

}  // namespace kiln::cpu::inline KILN_VERSION_ISA
