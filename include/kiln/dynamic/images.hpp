// SPDX-License-Identifier: BSL-1.0
// Functions of images and of batches, of float32 and float64: convolution, poolings, batch norm, dropout.
#pragma once

#include <utility>

#include <kiln/autograd/node.hpp>
#include <kiln/dynamic/tensor.hpp>
#include <kiln/nn/functional/batch_norm.hpp>
#include <kiln/nn/functional/conv2d.hpp>
#include <kiln/nn/functional/dropout.hpp>
#include <kiln/nn/functional/pool2d.hpp>

namespace kiln::dynamic {

namespace graph {
template <Element T>
Tensor<T> or_none(const tensor& x) {
  return x.defined() ? x.as<T>() : Tensor<T>{};
}
}  // namespace graph

/// Images (batch, channels, height, width) by kernels (out_channels, channels / groups, height, width), plus a bias
/// (out_channels) if there is one. Throws shape_error, value_error, dtype_error for operands of different types.
inline tensor conv2d(const tensor& x, const tensor& weight, const tensor& bias = {}, const conv2d_options& how = {}) {
  return with_float_or_double(x.type(), "conv2d", [&]<class T>(std::type_identity<T>) {
    return tensor(Tensor<T>(kiln::conv2d(x.as<T>(), weight.as<T>(), graph::or_none<T>(bias), how)));
  });
}
/// The largest element under each window. Throws shape_error, value_error.
inline tensor max_pool2d(const tensor& x, pair2d kernel, const max_pool2d_options& how = {}) {
  return with_float_or_double(x.type(), "max_pool2d", [&]<class T>(std::type_identity<T>) {
    return tensor(Tensor<T>(kiln::max_pool2d(x.as<T>(), kernel, how)));
  });
}
/// The mean of the elements under each window. Throws shape_error, value_error.
inline tensor avg_pool2d(const tensor& x, pair2d kernel, const avg_pool2d_options& how = {}) {
  return with_float_or_double(x.type(), "avg_pool2d", [&]<class T>(std::type_identity<T>) {
    return tensor(Tensor<T>(kiln::avg_pool2d(x.as<T>(), kernel, how)));
  });
}
/// Each channel normalised by the statistics of this batch (training; the running ones, if given, are updated) or by
/// the running ones, then scaled and shifted. All but x may be without a value. Throws shape_error, value_error.
inline tensor batch_norm(const tensor& x, const tensor& running_mean, const tensor& running_var,
                         const tensor& weight = {}, const tensor& bias = {}, const batch_norm_options& how = {}) {
  return with_float_or_double(x.type(), "batch_norm", [&]<class T>(std::type_identity<T>) {
    return tensor(Tensor<T>(kiln::batch_norm(x.as<T>(), graph::or_none<T>(running_mean), graph::or_none<T>(running_var),
                                             graph::or_none<T>(weight), graph::or_none<T>(bias), how)));
  });
}
/// Each element 0 with probability p, else x / (1 - p); x itself if not `training`. Throws value_error for a p outside
/// [0, 1].
inline tensor dropout(const tensor& x, double p = 0.5, bool training = true, generator& from = default_generator()) {
  if (!training && p >= 0 && p <= 1) return x;
  return with_float_or_double(x.type(), "dropout", [&]<class T>(std::type_identity<T>) {
    return tensor(Tensor<T>(kiln::dropout(x.as<T>(), p, training, from)));
  });
}

}  // namespace kiln::dynamic
