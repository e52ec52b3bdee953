// SPDX-License-Identifier: BSL-1.0
// Linear and Bilinear: x W^T + b, and x1^T W x2 + b. A layer is an aggregate: its settings, then the parameters that
// follow from them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <kiln/nn/init.hpp>
#include <kiln/nn/layers/layer.hpp>
#include <kiln/tensor/products.hpp>
#include <kiln/tensor/turned.hpp>

namespace kiln::nn {

/// What Linear and Bilinear may be told.
struct linear_options {
  bool bias = true;  ///< add a number for each output
};

/// x W^T + b for inputs (..., in_features): torch.nn.Linear. `weight` is (out_features, in_features).
template <Element T = float, class D = Cpu>
struct Linear {
  std::int64_t in_features = 0, out_features = 0;
  linear_options options{};
  Tensor<T, D> weight = init::fan_in<T, D>({out_features, in_features}, in_features);
  Tensor<T, D> bias = options.bias ? init::fan_in<T, D>({out_features}, in_features) : Tensor<T, D>();

  /// (..., out_features), lazily. Throws shape_error for another width.
  template <Expression X>
  auto operator()(const X& x) const {
    detail::expect_size(*this, shape_of(x), -1, in_features);
    return detail::watched(this, matmul(x, kiln::detail::turned(weight)) + detail::or_number(bias, weight, 0));
  }
  std::string settings() const {
    return detail::settings_text("in_features", in_features, "out_features", out_features, "bias", bias.defined());
  }
};

/// x1^T W x2 + b for inputs (..., in1_features) and (..., in2_features): torch.nn.Bilinear. `weight` is (out_features,
/// in1_features, in2_features).
template <Element T = float, class D = Cpu>
struct Bilinear {
  std::int64_t in1_features = 0, in2_features = 0, out_features = 0;
  linear_options options{};
  Tensor<T, D> weight = init::fan_in<T, D>({out_features, in1_features, in2_features}, in1_features);
  Tensor<T, D> bias = options.bias ? init::fan_in<T, D>({out_features}, in1_features) : Tensor<T, D>();

  /// (..., out_features), lazily. Throws shape_error for other widths.
  template <Expression A, Expression B>
  auto operator()(const A& first, const B& second) const {
    detail::expect_size(*this, shape_of(first), -1, in1_features);
    detail::expect_size(*this, shape_of(second), -1, in2_features);
    // (..., 1, in1) (out, in1, in2) = (..., out, 1, in2), whose rows are multiplied by the second input's.
    const auto a = unsqueeze(unsqueeze(first, -2), -2), b = unsqueeze(unsqueeze(second, -2), -1);
    const auto products = squeeze(squeeze(kiln::detail::as_tensor(matmul(matmul(a, weight), b)), -1), -1);
    return detail::watched(this, products + detail::or_number(bias, weight, 0));
  }
  std::string settings() const {
    return detail::settings_text("in1_features", in1_features, "in2_features", in2_features, "out_features",
                                 out_features, "bias", bias.defined());
  }
};

}  // namespace kiln::nn

#ifdef KILN_COMPILED  // in src/models.cpp
extern template struct kiln::nn::Linear<float, kiln::Cpu>;
extern template void kiln::nn::detail::walk(std::string_view, const kiln::nn::Linear<float>&, visitor&);

namespace kiln::detail {

/// What a linear layer gives, as it is evaluated by itself or under relu.
using linear_result = node<add_op, product<Tensor<float>, Tensor<float>>, Tensor<float>>;
extern template ref<tensor_state> compute<true, false>(const linear_result&);
extern template ref<tensor_state> compute<true, false>(const node<relu_op, linear_result>&);

}  // namespace kiln::detail
#endif
