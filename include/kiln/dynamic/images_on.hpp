// SPDX-License-Identifier: BSL-1.0
// Functions of images of dynamic tensors that are on one device: those of Tensor<T, Device>.
#pragma once

#include <kiln/autograd/node.hpp>
#include <kiln/dynamic/tensor.hpp>
#include <kiln/nn/functional/batch_norm.hpp>
#include <kiln/nn/functional/conv2d.hpp>
#include <kiln/nn/functional/dropout.hpp>
#include <kiln/nn/functional/pool2d.hpp>

namespace kiln::dynamic::graph {

template <Element T, class Device>
Tensor<T, Device> or_none(const tensor& x) {
  return x.defined() ? x.as<T, Device>() : Tensor<T, Device>{};
}

template <class Device>
tensor conv2d_on(const tensor& x, const tensor& weight, const tensor& bias, const conv2d_options& how) {
  return with_float_or_double(x.type(), "conv2d", [&]<class T>(std::type_identity<T>) {
    using own = Tensor<T, Device>;
    return tensor(own(kiln::conv2d(x.as<T, Device>(), weight.as<T, Device>(), or_none<T, Device>(bias), how)));
  });
}
template <class Device>
tensor max_pool2d_on(const tensor& x, pair2d kernel, const max_pool2d_options& how) {
  return with_float_or_double(x.type(), "max_pool2d", [&]<class T>(std::type_identity<T>) {
    using own = Tensor<T, Device>;
    return tensor(own(kiln::max_pool2d(x.as<T, Device>(), kernel, how)));
  });
}
template <class Device>
tensor avg_pool2d_on(const tensor& x, pair2d kernel, const avg_pool2d_options& how) {
  return with_float_or_double(x.type(), "avg_pool2d", [&]<class T>(std::type_identity<T>) {
    using own = Tensor<T, Device>;
    return tensor(own(kiln::avg_pool2d(x.as<T, Device>(), kernel, how)));
  });
}
template <class Device>
tensor batch_norm_on(const tensor& x, const tensor& running_mean, const tensor& running_var, const tensor& weight,
                     const tensor& bias, const batch_norm_options& how) {
  return with_float_or_double(x.type(), "batch_norm", [&]<class T>(std::type_identity<T>) {
    using own = Tensor<T, Device>;
    return tensor(
        own(kiln::batch_norm(x.as<T, Device>(), or_none<T, Device>(running_mean), or_none<T, Device>(running_var),
                             or_none<T, Device>(weight), or_none<T, Device>(bias), how)));
  });
}
template <class Device>
tensor dropout_on(const tensor& x, double p, bool training, generator& from) {
  return with_float_or_double(x.type(), "dropout", [&]<class T>(std::type_identity<T>) {
    using own = Tensor<T, Device>;
    return tensor(own(kiln::dropout(x.as<T, Device>(), p, training, from)));
  });
}

}  // namespace kiln::dynamic::graph
