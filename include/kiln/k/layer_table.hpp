// SPDX-License-Identifier: BSL-1.0
// The layers that q can name, what kiln calls them, and their options in both languages; containers, and layers made of
// others, are elsewhere.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <kiln/dynamic/indexing.hpp>
#include <kiln/dynamic/modules.hpp>
#include <kiln/dynamic/shape.hpp>
#include <kiln/k/convert.hpp>
#include <kiln/k/numerics.hpp>
#include <kiln/k/options.hpp>

namespace kiln::k::modules {

/// A layer of q's, what kiln calls it, and its options in both languages.
struct layer_row {
  std::string_view name, layer, options;
};

inline constexpr auto layer_rows = std::to_array<layer_row>({
    {"linear", "Linear", "in=in_features out=out_features bias dtype"},
    {"bilinear", "Bilinear", "in1=in1_features in2=in2_features out=out_features bias"},
    {"conv1d", "Conv1d",
     "in=in_channels out=out_channels size=kernel_size stride pad=padding dilate=dilation groups bias "
     "padmode=padding_mode"},
    {"conv2d", "Conv2d",
     "in=in_channels out=out_channels size=kernel_size stride pad=padding dilate=dilation groups bias "
     "padmode=padding_mode"},
    {"convtranspose2d", "ConvTranspose2d",
     "in=in_channels out=out_channels size=kernel_size stride pad=padding outpad=output_padding groups bias "
     "dilate=dilation"},
    {"batchnorm1d", "BatchNorm1d", "in=num_features eps momentum affine track=track_running_stats"},
    {"batchnorm2d", "BatchNorm2d", "in=num_features eps momentum affine track=track_running_stats"},
    {"instancenorm1d", "InstanceNorm1d", "in=num_features eps momentum affine track=track_running_stats"},
    {"instancenorm2d", "InstanceNorm2d", "in=num_features eps momentum affine track=track_running_stats"},
    {"groupnorm", "GroupNorm", "groups=num_groups channels=num_channels eps affine"},
    {"layernorm", "LayerNorm", "shape=normalized_shape eps affine=elementwise_affine"},
    {"drop", "Dropout", "p inplace=-"},
    {"drop2d", "Dropout2d", "p inplace=-"},
    {"drop3d", "Dropout3d", "p inplace=-"},
    {"droppath", "DropPath", "p"},
    {"maxpool1d", "MaxPool1d", "size=kernel_size stride pad=padding dilate=dilation ceiling=ceil_mode"},
    {"maxpool2d", "MaxPool2d", "size=kernel_size stride pad=padding dilate=dilation ceiling=ceil_mode"},
    {"avgpool1d", "AvgPool1d", "size=kernel_size stride pad=padding ceiling=ceil_mode countpad=count_include_pad"},
    {"avgpool2d", "AvgPool2d",
     "size=kernel_size stride pad=padding ceiling=ceil_mode countpad=count_include_pad divisor=divisor_override"},
    {"adaptavg2d", "AdaptiveAvgPool2d", "size=output_size"},
    {"flatten", "Flatten", "start=start_dim end=end_dim"},
    {"embed", "Embedding", "rows=num_embeddings cols=embedding_dim padindex=padding_idx"},
    {"rnn", "RNN",
     "in=input_size hidden=hidden_size layers=num_layers fn=nonlinearity bias batchfirst=batch_first dropout "
     "bi=bidirectional"},
    {"lstm", "LSTM",
     "in=input_size hidden=hidden_size layers=num_layers bias batchfirst=batch_first dropout bi=bidirectional"},
    {"gru", "GRU",
     "in=input_size hidden=hidden_size layers=num_layers bias batchfirst=batch_first dropout bi=bidirectional"},
    {"relu", "ReLU", "inplace=-"},
    {"relu6", "ReLU6", "inplace=-"},
    {"selu", "SELU", "inplace=-"},
    {"silu", "SiLU", "inplace=-"},
    {"mish", "Mish", "inplace=-"},
    {"gelu", "GELU", ""},
    {"sigmoid", "Sigmoid", ""},
    {"logsigmoid", "LogSigmoid", ""},
    {"softsign", "Softsign", ""},
    {"tanh", "Tanh", ""},
    {"tanhshrink", "Tanhshrink", ""},
    {"leakyrelu", "LeakyReLU", "slope=negative_slope inplace=-"},
    {"elu", "ELU", "alpha inplace=-"},
    {"celu", "CELU", "alpha inplace=-"},
    {"softshrink", "Softshrink", "lambda=lambd"},
    {"hardshrink", "Hardshrink", "lambda=lambd"},
    {"softplus", "Softplus", "beta threshold"},
    {"hardtanh", "Hardtanh", "min=min_val max=max_val inplace=-"},
    {"hardsigmoid", "Hardsigmoid", ""},
    {"hardswish", "Hardswish", ""},
    {"threshold", "Threshold", "threshold value inplace=-"},
    {"prelu", "PReLU", "in=num_parameters init"},
    {"glu", "GLU", "dim"},
    {"softmin", "Softmin", "dim"},
    {"softmax", "Softmax", "dim"},
    {"logsoftmax", "LogSoftmax", "dim"},
    {"identity", "Identity", ""},
});

/// Layers of q's that only change a shape, which kiln has as functions; no value for other names.
inline dynamic::module shape_layer(std::string_view type, const std::vector<option>& given) {
  static constexpr auto rows = std::to_array<layer_row>({{"reshape", "Reshape", "size"},
                                                         {"squeeze", "Squeeze", "dim"},
                                                         {"unsqueeze", "Unsqueeze", "dim"},
                                                         {"transpose", "Transpose", "dim0 dim1"},
                                                         {"select", "Select", "dim ind"},
                                                         {"indexselect", "IndexSelect", "dim ind"},
                                                         {"expand", "Expand", "size"},
                                                         {"onehot", "OneHot", "classes"}});
  for (const layer_row& row : rows) {
    if (row.name != type) continue;
    const dynamic::options how = translated(type, row.options, given);
    dynamic::option_reader r{std::string(type), how};
    if (type == "reshape")
      return dynamic::graph::function_of(
          "Reshape", [size = r.need<dims>("size")](const tensor& x, bool) { return dynamic::reshape(x, size); });
    if (type == "expand")
      return dynamic::graph::function_of(
          "Expand", [size = r.need<dims>("size")](const tensor& x, bool) { return dynamic::expand(x, size); });
    if (type == "onehot")
      return dynamic::graph::function_of(
          "OneHot", [n = r.get<std::int64_t>("classes", -1)](const tensor& x, bool) { return dynamic::one_hot(x, n); });
    if (type == "indexselect") {
      const dims at = r.need<dims>("ind");
      const tensor index = copied(dtype::int64, {at.rank()}, at.begin());
      const auto run = [index, dim = r.need<std::int64_t>("dim")](const tensor& x, bool) {
        return dynamic::index_select(x, dim, index.to(x.device()));
      };
      return dynamic::graph::function_of("IndexSelect", run);
    }
    if (type == "squeeze" && !r.has("dim"))
      return dynamic::graph::function_of("Squeeze", [](const tensor& x, bool) { return dynamic::squeeze(x); });
    const bool two = type == "transpose" || type == "select";
    const auto first = r.need<std::int64_t>(type == "transpose" ? "dim0" : "dim");
    const auto second = two ? r.need<std::int64_t>(type == "transpose" ? "dim1" : "ind") : 0;
    return dynamic::graph::function_of(std::string(row.layer), [=, t = std::string(type)](const tensor& x, bool) {
      if (t == "squeeze") return dynamic::squeeze(x, first);
      if (t == "unsqueeze") return dynamic::unsqueeze(x, first);
      return t == "transpose" ? dynamic::transpose(x, first, second) : dynamic::select(x, first, second);
    });
  }
  return {};
}

/// The layer of this name, or one without a value if there is none here.
/// @throws value_error for options that it does not have
inline dynamic::module make_layer(std::string_view type, const std::vector<option>& given) {
  for (const layer_row& row : layer_rows)
    if (row.name == type) return dynamic::make_module(row.layer, translated(type, row.options, given));
  const dynamic::module shaped = shape_layer(type, given);
  return shaped.defined() ? shaped : function_layer(type, given);
}

}  // namespace kiln::k::modules
