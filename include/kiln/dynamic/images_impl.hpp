// SPDX-License-Identifier: BSL-1.0
// The definitions of images.hpp.
#pragma once

#include <kiln/autograd/node.hpp>
#include <kiln/dynamic/images.hpp>
#include <kiln/nn/functional/dropout.hpp>

namespace kiln::dynamic {

namespace graph {
template <Element T>
Tensor<T> or_none(const tensor& x) {
  return x.defined() ? x.as<T>() : Tensor<T>{};
}
}  // namespace graph

KILN_INLINE tensor conv2d(const tensor& x, const tensor& weight, const tensor& bias, const conv2d_options& how) {
  return with_float_or_double(x.type(), "conv2d", [&]<class T>(std::type_identity<T>) {
    return tensor(Tensor<T>(kiln::conv2d(x.as<T>(), weight.as<T>(), graph::or_none<T>(bias), how)));
  });
}
KILN_INLINE tensor max_pool2d(const tensor& x, pair2d kernel, const max_pool2d_options& how) {
  return with_float_or_double(x.type(), "max_pool2d", [&]<class T>(std::type_identity<T>) {
    return tensor(Tensor<T>(kiln::max_pool2d(x.as<T>(), kernel, how)));
  });
}
KILN_INLINE tensor avg_pool2d(const tensor& x, pair2d kernel, const avg_pool2d_options& how) {
  return with_float_or_double(x.type(), "avg_pool2d", [&]<class T>(std::type_identity<T>) {
    return tensor(Tensor<T>(kiln::avg_pool2d(x.as<T>(), kernel, how)));
  });
}
KILN_INLINE tensor batch_norm(const tensor& x, const tensor& running_mean, const tensor& running_var,
                         const tensor& weight, const tensor& bias, const batch_norm_options& how) {
  return with_float_or_double(x.type(), "batch_norm", [&]<class T>(std::type_identity<T>) {
    return tensor(Tensor<T>(kiln::batch_norm(x.as<T>(), graph::or_none<T>(running_mean), graph::or_none<T>(running_var),
                                             graph::or_none<T>(weight), graph::or_none<T>(bias), how)));
  });
}
KILN_INLINE tensor dropout(const tensor& x, double p, bool training, generator& from) {
  if (!training && p >= 0 && p <= 1) return x;
  return with_float_or_double(x.type(), "dropout", [&]<class T>(std::type_identity<T>) {
    return tensor(Tensor<T>(kiln::dropout(x.as<T>(), p, training, from)));
  });
}

}  // namespace kiln::dynamic
