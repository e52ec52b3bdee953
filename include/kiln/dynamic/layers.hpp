// SPDX-License-Identifier: BSL-1.0
// Layers by name that are no images' and not recurrent: products, norms, tables, and functions of elements, which stay
// pending and run with what is around them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <kiln/dynamic/images.hpp>
#include <kiln/dynamic/indexing.hpp>
#include <kiln/dynamic/module.hpp>
#include <kiln/dynamic/options.hpp>
#include <kiln/dynamic/products.hpp>
#include <kiln/dynamic/shape.hpp>
#include <kiln/dynamic/tensor_module.hpp>
#include <kiln/nn/layers/embedding.hpp>
#include <kiln/nn/layers/linear.hpp>
#include <kiln/nn/layers/normalization.hpp>

namespace kiln::dynamic::graph {

/// A function of elements with numbers for parameters: the name of a layer, of its op, of its options and what these
/// are if not given.
struct element_layer {
  std::string_view layer, op;
  struct parameter {
    std::string_view name;
    double value;
  };
  std::vector<parameter> parameters = {};
};
inline const std::vector<element_layer>& element_layers() {
  // The parameters are those of nn/layers/activation.hpp.
  static const auto* const all =
      new std::vector<element_layer>{{"ReLU", "relu"},
                                     {"ReLU6", "relu6"},
                                     {"SELU", "selu"},
                                     {"SiLU", "silu"},
                                     {"Mish", "mish"},
                                     {"Softsign", "softsign"},
                                     {"Sigmoid", "sigmoid"},
                                     {"LogSigmoid", "logsigmoid"},
                                     {"Tanh", "tanh"},
                                     {"Tanhshrink", "tanhshrink"},
                                     {"Hardsigmoid", "hardsigmoid"},
                                     {"Hardswish", "hardswish"},
                                     {"LeakyReLU", "leaky_relu", {{"negative_slope", 0.01}}},
                                     {"ELU", "elu", {{"alpha", 1}}},
                                     {"CELU", "celu", {{"alpha", 1}}},
                                     {"Softshrink", "softshrink", {{"lambd", 0.5}}},
                                     {"Hardshrink", "hardshrink", {{"lambd", 0.5}}},
                                     {"Softplus", "softplus", {{"beta", 1}, {"threshold", 20}}},
                                     {"Hardtanh", "hardtanh", {{"min_val", -1}, {"max_val", 1}}},
                                     {"Threshold", "threshold", {{"threshold", 0}, {"value", 0}}}};
  return *all;
}
inline module element_layer_module(const element_layer& layer, option_reader& r) {
  std::vector<tensor> numbers;
  std::string settings;
  for (const auto& p : layer.parameters) {
    const double value = r.get<double>(p.name, p.value);
    numbers.push_back(scalar(value));
    settings += message(settings.empty() ? "" : ", ", p.name, "=", value);
  }
  return function_of(
      std::string(layer.layer),
      [op = layer.op, numbers](const tensor& x, bool) {
        std::vector<tensor> operands{x};
        operands.insert(operands.end(), numbers.begin(), numbers.end());
        return call(op, operands);
      },
      std::move(settings));
}

template <Element T>
module linear_layer(option_reader& r) {
  using M = nn::Linear<T>;
  return module_of<T>(
      "Linear",
      M{r.need<std::int64_t>("in_features"), r.need<std::int64_t>("out_features"), {.bias = r.get<bool>("bias", true)}},
      [](const M&, const tensor& x, const tensors& parameters, const tensors&) {
        return linear(x, parameters[0], parameters.size() > 1 ? parameters[1] : tensor());
      });
}
/// x1^T W x2 + b of two inputs.
template <Element T>
module bilinear_layer(option_reader& r) {
  const nn::Bilinear<T> layer{r.need<std::int64_t>("in1_features"),
                              r.need<std::int64_t>("in2_features"),
                              r.need<std::int64_t>("out_features"),
                              {.bias = r.get<bool>("bias", true)}};
  return tensor_layer("Bilinear", layer,
                      [](const tensors& in, const tensors& own, bool) {
                        const dims sizes = own[0].sizes();
                        expect_input("Bilinear", in[0].sizes(), 1, max_rank - 2, -1, sizes[1], "a first input");
                        expect_input("Bilinear", in[1].sizes(), 1, max_rank - 2, -1, sizes[2], "a second input");
                        // (..., 1, in1) (out, in1, in2) = (..., out, 1, in2), whose rows meet the second input's.
                        const tensor left = matmul(unsqueeze(unsqueeze(in[0], -2), -2), own[0]);
                        const tensor both = call("mul", {squeeze(left, -2), unsqueeze(in[1], -2)});
                        const tensor y = reduce("sum", both, {-1});
                        return own.size() > 1 ? call("add", {y, own[1]}) : y;
                      },
                      {2, 2});
}
/// The first half along an axis by the sigmoid of the second. Throws shape_error for an odd size.
inline tensor glu(const tensor& x, std::int64_t axis) {
  const std::int64_t n = x.size(axis);
  if (n % 2 != 0)
    throw shape_error(message("GLU: got an input of shape ", x.sizes(), ", whose axis ", axis, " has the odd size ", n,
                              "; expected an even one"));
  return call("mul", {narrow(x, axis, 0, n / 2), call("sigmoid", {narrow(x, axis, n / 2, n / 2)})});
}
template <Element T>
module layer_norm_layer(option_reader& r) {
  using M = nn::LayerNorm<T>;
  return module_of<T>("LayerNorm",
                      M{r.need<dims>("normalized_shape"),
                        {.eps = r.get<double>("eps", 1e-5),
                         .elementwise_affine = r.get<bool>("elementwise_affine", true),
                         .bias = r.get<bool>("bias", true)}},
                      [](const M& m, const tensor& x, const tensors& parameters, const tensors&) {
                        static_cast<void>(nn::detail::last_axes(m, x.sizes(), m.normalized_shape));
                        std::vector<std::int64_t> over;
                        for (int i = 1; i <= m.normalized_shape.rank(); ++i) over.push_back(-i);
                        tensor y = layer_norm(x, over, m.options.eps);
                        if (parameters.size() > 0) y = call("mul", {y, parameters[0]});
                        return parameters.size() > 1 ? call("add", {y, parameters[1]}) : y;
                      });
}
template <Element T>
module embedding_layer(option_reader& r) {
  using M = nn::Embedding<T>;
  nn::embedding_options how;
  if (r.has("padding_idx")) how.padding_idx = r.need<std::int64_t>("padding_idx");
  return {"Embedding", std::make_shared<static_module<M>>(
                           M{r.need<std::int64_t>("num_embeddings"), r.need<std::int64_t>("embedding_dim"), how},
                           [](const M& m, const tensor& x) { return tensor(m(as_index(x, "Embedding"))); },
                           [](const M& m, const tensor& x, const tensors& parameters, const tensors&) {
                             const tensor at = reshape(x, {x.numel()});
                             tensor rows = index_select(parameters[0], 0, at);
                             // The padding's rows go through without their history.
                             if (m.options.padding_idx)
                               rows = call("where", {unsqueeze(call("eq", {at, scalar(*m.options.padding_idx)}), 1),
                                                     rows.detach(), rows});
                             dims sizes = x.sizes();
                             sizes.push_back(m.embedding_dim);
                             return reshape(rows, sizes);
                           })};
}

/// The layer of this name, or one without a value if there is none here.
inline module plain_layer(std::string_view type, option_reader& r) {
  for (const element_layer& layer : element_layers())
    if (layer.layer == type) return element_layer_module(layer, r);
  const auto of_type = [&](auto make) { return with_float_or_double(r.type(), type, make); };
  if (type == "Linear") return of_type([&]<class T>(std::type_identity<T>) { return linear_layer<T>(r); });
  if (type == "Bilinear") return of_type([&]<class T>(std::type_identity<T>) { return bilinear_layer<T>(r); });
  if (type == "LayerNorm") return of_type([&]<class T>(std::type_identity<T>) { return layer_norm_layer<T>(r); });
  if (type == "Embedding") return of_type([&]<class T>(std::type_identity<T>) { return embedding_layer<T>(r); });
  if (type == "GELU") {
    const std::string how = r.get<std::string>("approximate", "none");
    if (how != "none" && how != "tanh") r.refuse("approximate", "is \"none\" or \"tanh\"");
    const std::string_view op = how == "none" ? "gelu" : "gelu_tanh";
    return function_of(
        "GELU", [op](const tensor& x, bool) { return call(op, {x}); }, message("approximate='", how, "'"));
  }
  if (type == "Softmax" || type == "LogSoftmax" || type == "Softmin") {
    const auto dim = r.get<std::int64_t>("dim", -1);
    const bool log = type == "LogSoftmax", least = type == "Softmin";
    return function_of(
        std::string(type),
        [=](const tensor& x, bool) { return log ? log_softmax(x, dim) : softmax(least ? call("neg", {x}) : x, dim); },
        message("dim=", dim));
  }
  if (type == "GLU") {
    const auto dim = r.get<std::int64_t>("dim", -1);
    return function_of(
        "GLU", [dim](const tensor& x, bool) { return glu(x, dim); }, message("dim=", dim));
  }
  if (type == "Dropout") {
    const double p = r.get<double>("p", 0.5);
    if (!(p >= 0 && p <= 1)) r.refuse("p", "is a probability: use one from 0 to 1");
    return function_of(
        "Dropout", [p](const tensor& x, bool training) { return dropout(x, p, training); }, message("p=", p));
  }
  if (type == "Flatten") {
    const auto begin = r.get<std::int64_t>("start_dim", 1), end = r.get<std::int64_t>("end_dim", -1);
    return function_of(
        "Flatten", [=](const tensor& x, bool) { return flatten(x, begin, end); },
        message("start_dim=", begin, ", end_dim=", end));
  }
  if (type == "Identity") return function_of("Identity", [](const tensor& x, bool) { return x; });
  return {};
}

}  // namespace kiln::dynamic::graph
