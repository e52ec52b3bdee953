// SPDX-License-Identifier: BSL-1.0
// Functions of images and of batches, of float32 and float64: convolution, poolings, batch norm, dropout.
#pragma once

#include <utility>

#include <kiln/dynamic/tensor.hpp>
#include <kiln/nn/functional/batch_norm.hpp>
#include <kiln/nn/functional/conv2d.hpp>
#include <kiln/nn/functional/pool2d.hpp>

namespace kiln::dynamic {

/// Images (batch, channels, height, width) by kernels (out_channels, channels / groups, height, width), plus a bias
/// (out_channels) if there is one. Throws shape_error, value_error, dtype_error for operands of different types.
tensor conv2d(const tensor& x, const tensor& weight, const tensor& bias = {}, const conv2d_options& how = {});
/// The largest element under each window. Throws shape_error, value_error.
tensor max_pool2d(const tensor& x, pair2d kernel, const max_pool2d_options& how = {});
/// The mean of the elements under each window. Throws shape_error, value_error.
tensor avg_pool2d(const tensor& x, pair2d kernel, const avg_pool2d_options& how = {});
/// Each channel normalised by the statistics of this batch (training; the running ones, if given, are updated) or by
/// the running ones, then scaled and shifted. All but x may be without a value. Throws shape_error, value_error.
tensor batch_norm(const tensor& x, const tensor& running_mean, const tensor& running_var,
                         const tensor& weight = {}, const tensor& bias = {}, const batch_norm_options& how = {});
/// Each element 0 with probability p, else x / (1 - p); x itself if not `training`. Throws value_error for a p outside
/// [0, 1].
tensor dropout(const tensor& x, double p = 0.5, bool training = true, generator& from = default_generator());

}  // namespace kiln::dynamic

#ifndef KILN_COMPILED
#include <kiln/dynamic/images_impl.hpp>
#endif
