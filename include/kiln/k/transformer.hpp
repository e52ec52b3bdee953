// SPDX-License-Identifier: BSL-1.0
// The transformer of encoder and decoder, put together of modules with names, so that q can take it apart.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <kiln/dynamic/containers.hpp>
#include <kiln/dynamic/modules.hpp>
#include <kiln/k/module_body.hpp>
#include <kiln/nn/layers/attention.hpp>

namespace kiln::k::modules {

/// Attention with several inputs: queries, keys, values and, if given, a mask.
class attention_holder final : public dynamic::module::held {
 public:
  using attention = nn::MultiheadAttention<float>;
  explicit attention_holder(attention what)
      : inner_(std::move(what), [](const attention& m, const tensor& x) {
          return tensor(m(x.as<float>(), x.as<float>(), x.as<float>()));
        }) {}
  std::size_t most_inputs() const override { return 4; }
  tensor forward(const tensor& x) const override { return inner_.forward(x); }
  std::vector<tensor> run(const std::vector<tensor>& inputs) const override {
    if (inputs.size() == 1) return {forward(inputs[0])};
    if (inputs.size() < 3 || inputs.size() > 4)
      throw value_error(message("attention: takes queries, keys, values and a mask, given ", inputs.size(), " inputs"));
    const auto at = [&](std::size_t i) { return inputs[i].as<float>(); };
    nn::score_mask<float, Cpu> mask;
    if (inputs.size() > 3 && inputs[3].defined()) {
      if (inputs[3].type() == dtype::boolean)
        mask = inputs[3].as<bool>();
      else
        mask = inputs[3].to(dtype::float32).as<float>();
    }
    return {tensor(inner_.inner()(at(0), at(1), at(2), mask))};
  }
  void train(bool on) override { inner_.train(on); }
  bool training() const override { return inner_.training(); }
  std::string settings() const override { return inner_.settings(); }
  void parameters(const std::string& prefix, dynamic::module::named_tensors& into) const override {
    inner_.parameters(prefix, into);
  }
  void buffers(const std::string& prefix, dynamic::module::named_tensors& into) const override {
    inner_.buffers(prefix, into);
  }

 private:
  dynamic::graph::static_module<attention> inner_;
};

/// A part by its name.
inline const dynamic::module& part(const dynamic::module::named_modules& of, std::string_view name) {
  for (const auto& [called, each] : of)
    if (called == name) return each;
  throw value_error(message("transformer: the part ", name, " is gone"));
}

/// Inputs x and memory (of a decoder), then masks of their scores, undefined ones for none.
inline std::vector<tensor> run_transformer_layer(const dynamic::module::named_modules& of,
                                                 const std::vector<tensor>& inputs, bool decoder) {
  if (inputs.empty() || inputs.size() > (decoder ? 4 : 2) || (decoder && inputs.size() < 2))
    throw value_error(message("a transformer layer: takes ",
                              decoder ? "an input, memory and two masks" : "an input and a mask", ", given ",
                              inputs.size()));
  const auto mask = [&](std::size_t i) { return i < inputs.size() ? inputs[i] : tensor{}; };
  const auto run = [&](std::string_view name, const tensor& x) { return part(of, name).forward(x); };
  const auto attended = [&](std::string_view name, const tensor& x, const tensor& to, const tensor& hidden) {
    return part(of, name).run({x, to, to, hidden})[0];
  };
  const auto normed = [&](std::string_view norm, const tensor& x, std::string_view drop, const tensor& change) {
    return run(norm, dynamic::call("add", {x, run(drop, change)}).eval());
  };
  const tensor& x = inputs[0];
  tensor y = normed("norm1", x, "dropout1", attended("self_attn", x, x, mask(decoder ? 2 : 1)));
  if (decoder) y = normed("norm2", y, "dropout2", attended("multihead_attn", y, inputs[1], mask(3)));
  const tensor wide = run("dropout", dynamic::call("relu", {run("linear1", y)}));
  return {normed(decoder ? "norm3" : "norm2", y, decoder ? "dropout3" : "dropout2", run("linear2", wide))};
}

/// All layers, one after the other, with the same further inputs, and the norm behind them.
inline std::vector<tensor> run_transformer_stack(const dynamic::module::named_modules& of,
                                                 const std::vector<tensor>& inputs) {
  std::vector<tensor> now = inputs;
  if (now.empty()) throw value_error("a transformer's stack: takes an input at least");
  for (const auto& [name, layer] : part(of, "layers").children()) now[0] = layer.run(now)[0];
  return {part(of, "norm").forward(now[0])};
}

/// (source; target; masks of the source, of the target, of what the target sees of the source).
inline std::vector<tensor> run_transformer(const dynamic::module::named_modules& of,
                                           const std::vector<tensor>& inputs) {
  if (inputs.size() < 2 || inputs.size() > 5)
    throw value_error(
        message("transformer: takes a source, a target and up to three masks, given ", inputs.size(), " inputs"));
  const auto mask = [&](std::size_t i) { return i < inputs.size() ? inputs[i] : tensor{}; };
  const tensor memory = part(of, "encoder").run({inputs[0], mask(2)})[0];
  return part(of, "decoder").run({inputs[1], memory, mask(3), mask(4)});
}

inline std::shared_ptr<module_body> leaf(std::string type, std::string name, dynamic::module module) {
  auto body = std::make_shared<module_body>();
  body->type = std::move(type);
  body->name = std::move(name);
  body->module = std::move(module);
  return body;
}

/// A body of parts with names and a way to run them on so many inputs at most, which cannot be extended.
inline std::shared_ptr<module_body> composed(std::string type, std::string shown, std::string name,
                                             std::vector<std::shared_ptr<module_body>> parts,
                                             dynamic::graph::container_module::rule run, std::size_t inputs) {
  auto body =
      leaf(std::move(type), std::move(name), dynamic::container_of(std::move(shown), std::move(run), {}, {}, inputs));
  body->composed = true;
  body->children = std::move(parts);
  body->assemble();
  return body;
}

inline std::shared_ptr<module_body> transformer_layer(bool decoder, std::string name, std::int64_t dim,
                                                      std::int64_t heads, std::int64_t hidden, double p) {
  const auto attention = [&](std::string called) {
    return leaf("attention", std::move(called),
                {"MultiheadAttention", std::make_shared<attention_holder>(attention_holder::attention{dim, heads})});
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
  return composed(
      decoder ? "decoderlayer" : "encoderlayer", decoder ? "TransformerDecoderLayer" : "TransformerEncoderLayer",
      std::move(name), std::move(parts),
      [decoder](const dynamic::module::named_modules& of, const std::vector<tensor>& inputs, bool) {
        return run_transformer_layer(of, inputs, decoder);
      },
      decoder ? 4 : 2);
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
    const auto list = [](const dynamic::module::named_modules&, const std::vector<tensor>&,
                         bool) -> std::vector<tensor> {
      throw value_error("ModuleList: keeps modules; it has no forward pass");
    };
    const std::string half = decoder ? "decoder" : "encoder";
    halves.push_back(composed(
        half, decoder ? "TransformerDecoder" : "TransformerEncoder", half,
        {composed("modulelist", "ModuleList", "layers", std::move(stack), list, 1),
         leaf("layernorm", "norm", dynamic::make_module("LayerNorm", {{"normalized_shape", dim}}))},
        [](const dynamic::module::named_modules& of, const std::vector<tensor>& inputs, bool) {
          return run_transformer_stack(of, inputs);
        },
        decoder ? 4 : 2));
  }
  auto made = composed(
      "transformer", "Transformer", "", std::move(halves),
      [](const dynamic::module::named_modules& of, const std::vector<tensor>& inputs, bool) {
        return run_transformer(of, inputs);
      },
      5);
  const no_grad quiet;
  for (tensor t : made->parameters().values)  // matrices begin as Glorot's uniform numbers
    if (t.dim() > 1) t.assign_(tensor(nn::init::xavier_uniform<float>(t.sizes())));
  return made;
}

}  // namespace kiln::k::modules
