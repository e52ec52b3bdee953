// SPDX-License-Identifier: BSL-1.0
// Products of dynamic tensors that are on one device: those of Tensor<T, Device>.
#pragma once

#include <kiln/autograd/node.hpp>
#include <kiln/dynamic/tensor.hpp>
#include <kiln/ops/all.hpp>
#include <kiln/tensor/products.hpp>
#include <kiln/tensor/turned.hpp>

namespace kiln::dynamic::graph {

template <class Device>
tensor matmul_on(dtype type, const tensor& a, const tensor& b) {
  return with_float_or_double(type, "matmul", [&]<class T>(std::type_identity<T>) {
    using own = Tensor<T, Device>;
    return tensor(own(kiln::matmul(a.to(type).as<T, Device>(), b.to(type).as<T, Device>())));
  });
}
template <class Device>
tensor linear_on(dtype type, const tensor& x, const tensor& weight, const tensor& bias) {
  return with_float_or_double(type, "linear", [&]<class T>(std::type_identity<T>) {
    using own = Tensor<T, Device>;
    const auto in = x.to(type).as<T, Device>();
    const auto turned = detail::turned(weight.to(type).as<T, Device>());
    if (!bias.defined()) return tensor(own(kiln::matmul(in, turned)));
    return tensor(own(kiln::matmul(in, turned) + bias.to(type).as<T, Device>()));
  });
}

}  // namespace kiln::dynamic::graph
