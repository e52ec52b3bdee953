// SPDX-License-Identifier: BSL-1.0
// The transformer of encoder and decoder as q takes it apart: modules with their names and parameters. It takes two
// inputs, which forward has no way to give yet.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <kiln/dynamic/modules.hpp>
#include <kiln/k/module_body.hpp>
#include <kiln/nn/layers/attention.hpp>

namespace kiln::k::modules {

/// Modules with names that are not one behind the other.
class structure final : public dynamic::module::held {
 public:
  structure(std::string type, dynamic::module parts) : type_(std::move(type)), parts_(std::move(parts)) {}
  tensor forward(const tensor&) const override {
    throw value_error(message(type_, ": is offered for its parts and parameters only; it has no forward pass"));
  }
  void train(bool on) override { parts_.train(on); }
  bool training() const override { return parts_.training(); }
  void parameters(const std::string& prefix, dynamic::module::named_tensors& into) const override {
    for (auto& [path, each] : parts_.named_parameters()) into.emplace_back(prefix + path, each);
  }
  void buffers(const std::string& prefix, dynamic::module::named_tensors& into) const override {
    for (auto& [path, each] : parts_.named_buffers()) into.emplace_back(prefix + path, each);
  }
  dynamic::module::named_modules children() const override { return parts_.children(); }

 private:
  std::string type_;
  dynamic::module parts_;
};

inline std::shared_ptr<module_body> leaf(std::string type, std::string name, dynamic::module module) {
  auto body = std::make_shared<module_body>();
  body->type = std::move(type);
  body->name = std::move(name);
  body->module = std::move(module);
  return body;
}

/// A body of parts, whose own module is only their structure.
inline std::shared_ptr<module_body> composed(std::string type, std::string shown, std::string name,
                                             std::vector<std::shared_ptr<module_body>> parts) {
  auto body = leaf(std::move(type), std::move(name), {});
  body->children = std::move(parts);
  body->assemble();
  body->module = {shown, std::make_shared<structure>(shown, body->module)};
  return body;
}

inline std::shared_ptr<module_body> transformer_layer(bool decoder, std::string name, std::int64_t dim,
                                                      std::int64_t heads, std::int64_t hidden, double p) {
  using attention_module = nn::MultiheadAttention<float>;
  const auto attention = [&](std::string called) {
    const auto no_forward = [](const attention_module&, const tensor& x) -> tensor {
      throw value_error(message("MultiheadAttention: is offered for its parameters only, given ", x.sizes()));
    };
    return leaf("attention", std::move(called),
                {"MultiheadAttention", std::make_shared<dynamic::graph::static_module<attention_module>>(
                                           attention_module{dim, heads}, no_forward)});
  };
  const auto linear = [&](std::string called, std::int64_t in, std::int64_t out) {
    return leaf("linear", std::move(called),
                dynamic::make_module("Linear", {{"in_features", in}, {"out_features", out}}));
  };
  const auto norm = [&](std::string called) {
    return leaf("layernorm", std::move(called), dynamic::make_module("LayerNorm", {{"normalized_shape", dim}}));
  };
  const auto drop = [&](std::string called) {
    return leaf("drop", std::move(called), dynamic::make_module("Dropout", {{"p", p}}));
  };
  std::vector<std::shared_ptr<module_body>> parts{attention("self_attn")};
  if (decoder) parts.push_back(attention("multihead_attn"));
  parts.insert(parts.end(), {linear("linear1", dim, hidden), drop("dropout"), linear("linear2", hidden, dim),
                             norm("norm1"), norm("norm2")});
  if (decoder) parts.push_back(norm("norm3"));
  parts.insert(parts.end(), {drop("dropout1"), drop("dropout2")});
  if (decoder) parts.push_back(drop("dropout3"));
  return decoder ? composed("decoderlayer", "TransformerDecoderLayer", std::move(name), std::move(parts))
                 : composed("encoderlayer", "TransformerEncoderLayer", std::move(name), std::move(parts));
}

/// Options: in, heads, elayers, dlayers, hidden, dropout.
inline std::shared_ptr<module_body> transformer(const dynamic::options& how) {
  dynamic::option_reader r{"transformer", how};
  const auto dim = r.get<std::int64_t>("in", 512), heads = r.get<std::int64_t>("heads", 8);
  const std::int64_t layers[] = {r.get<std::int64_t>("elayers", 6), r.get<std::int64_t>("dlayers", 6)};
  const auto hidden = r.get<std::int64_t>("hidden", 2048);
  const double p = r.get<double>("dropout", 0.1);
  r.finish();
  if (dim < 1 || heads < 1 || hidden < 1 || dim % heads != 0)
    throw value_error(message("transformer: ", dim, " features cannot be cut into ", heads, " heads"));
  std::vector<std::shared_ptr<module_body>> halves;
  for (const bool decoder : {false, true}) {
    if (layers[decoder] < 1 || layers[decoder] > 1000)
      throw value_error(message("transformer: ", layers[decoder], " layers"));
    std::vector<std::shared_ptr<module_body>> stack;
    for (std::int64_t i = 0; i < layers[decoder]; ++i)
      stack.push_back(transformer_layer(decoder, std::to_string(i), dim, heads, hidden, p));
    halves.push_back(
        composed(decoder ? "decoder" : "encoder", decoder ? "TransformerDecoder" : "TransformerEncoder",
                 decoder ? "decoder" : "encoder",
                 {composed("modulelist", "ModuleList", "layers", std::move(stack)),
                  leaf("layernorm", "norm", dynamic::make_module("LayerNorm", {{"normalized_shape", dim}}))}));
  }
  return composed("transformer", "Transformer", "", std::move(halves));
}

}  // namespace kiln::k::modules
