// SPDX-License-Identifier: BSL-1.0
// Layers with tensors of their own that only q names: embeddings of sequences and given ones, attention of a sequence
// to itself, standardising by given numbers.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <kiln/dynamic/creation.hpp>
#include <kiln/dynamic/modules.hpp>
#include <kiln/dynamic/operators.hpp>
#include <kiln/dynamic/products.hpp>
#include <kiln/dynamic/shape.hpp>
#include <kiln/dynamic/tensor_module.hpp>
#include <kiln/k/convert.hpp>
#include <kiln/k/module_body.hpp>
#include <kiln/k/norms.hpp>
#include <kiln/k/options.hpp>
#include <kiln/k/transformer.hpp>

namespace kiln::k::modules {

inline std::int64_t positive(dynamic::option_reader& r, std::string_view name) {
  const auto n = r.need<std::int64_t>(name);
  if (n < 1 || n > (std::int64_t{1} << 40)) r.refuse(name, message("is ", n, ": use 1 or more"));
  return n;
}

/// The rows of an embedding, if they are given: as the option weight, or in the place of how many there are.
inline object given_rows(const std::vector<option>& options) {
  for (const option& each : options)
    if (each.name == "weight" || (each.name == "rows" && each.value.get()->type >= mixed_type)) return each.value.get();
  return nullptr;
}
/// An embedding of given rows, a matrix or a handle to one; behind these stands whether they stay as they are.
inline dynamic::module given_embedding(const std::vector<option>& options, object rows) {
  const auto* const held_rows = find_held_as<held_tensor>(rows);
  const tensor weight = held_rows ? held_rows->value.detach() : to_tensor(rows);
  if (!weight.defined() || weight.dim() != 2 || !is_floating(weight.type()))
    throw value_error(weight.defined() && is_floating(weight.type())
                          ? message("embed: the weight has sizes ", weight.sizes(), ", expected rows and columns")
                          : message("embed: the weight is a ", describe(rows), ", expected a matrix of numbers"));
  dynamic::options how{{"num_embeddings", weight.size(0)}, {"embedding_dim", weight.size(1)}};
  if (weight.type() == dtype::float64) how.set("dtype", "float64");
  bool frozen = false;
  for (const option& each : options) {
    const auto flag = read_flag(each.value.get());
    const auto n = read_long(each.value.get());
    if (each.value.get() == rows) continue;
    if (each.name == "padindex" && n)
      how.set("padding_idx", *n);
    else if ((each.name == "freeze" || each.name == "cols") && flag)
      frozen = *flag;
    else if (!n || (each.name != "rows" && each.name != "cols") || *n != weight.size(each.name == "rows" ? 0 : 1))
      throw value_error(message("embed: option `", each.name, " does not go with a weight of sizes ", weight.sizes()));
  }
  dynamic::module made = dynamic::make_module("Embedding", how);
  const no_grad quiet;
  tensor to = made.named_parameters()[0].second;
  to.assign_(weight);
  if (frozen) to.requires_grad_(false);
  return made;
}

/// A row for each position, learned, beginning with zeros: (1, length, cols) for inputs (..., length).
inline dynamic::module position_embedding(std::int64_t rows, std::int64_t cols) {
  tensor all = dynamic::zeros({1, rows, cols});
  all.requires_grad_();
  const auto run = [rows](const std::vector<tensor>& in, const std::vector<tensor>& own, bool) {
    if (in[0].dim() < 1) throw shape_error("embedpos: got one number; expected a list of tokens, or lists of them");
    const std::int64_t length = in[0].size(-1);
    if (length > rows)
      throw shape_error(message("embedpos: got an input of shape ", in[0].sizes(), " with ", length,
                                " positions; expected ", rows, " at most"));
    return dynamic::narrow(own[0], 1, 0, length);
  };
  return {"EmbedPosition", std::make_shared<dynamic::graph::tensor_module>(
                               message("rows=", rows, ", cols=", cols), dynamic::module::named_tensors{{"pos", all}},
                               dynamic::module::named_tensors{}, run, dynamic::graph::input_range{})};
}

/// Attention of a sequence (batch, length, dim) to itself, and a mask of its scores if one is given: numbers to add, or
/// truth values, true for what is not seen; of a longer sequence its first part.
inline tensor attended(const dynamic::module::named_modules& of, const std::vector<tensor>& inputs,
                       std::int64_t heads) {
  const tensor& x = inputs[0];
  const std::int64_t dim = part(of, "out").named_parameters()[0].second.size(0);
  dynamic::graph::expect_input("selfattention", x.sizes(), 3, 3, 2, dim, "sequences (batch, length, dim)");
  const std::int64_t batch = x.size(0), length = x.size(1);
  const bool normed = of[0].first == "norm";
  const tensor all = dynamic::permute(
      dynamic::reshape(part(of, "in")(normed ? part(of, "norm")(x) : x), {batch, length, 3, heads, dim / heads}),
      {2, 0, 3, 1, 4});
  const tensor queries = dynamic::select(all, 0, 0), keys = dynamic::select(all, 0, 1),
               values = dynamic::select(all, 0, 2);
  tensor scores =
      dynamic::matmul(queries, dynamic::transpose(keys, -2, -1)) * (1 / std::sqrt(static_cast<double>(dim / heads)));
  if (inputs.size() > 1 && inputs[1].defined()) {
    tensor mask = inputs[1];
    for (const int axis : {-2, -1})
      if (mask.dim() >= 2 && mask.size(axis) > length) mask = dynamic::narrow(mask, axis, 0, length);
    scores = mask.type() == dtype::boolean
                 ? dynamic::call("where", {mask, dynamic::scalar(-std::numeric_limits<double>::infinity()), scores})
                 : scores + mask.to(scores.type());
  }
  const tensor mixed = dynamic::matmul(part(of, "drop")(dynamic::softmax(scores, -1)), values);
  return part(of, "out")(dynamic::reshape(dynamic::transpose(mixed, 1, 2), {batch, length, dim}));
}

inline void make_self_attention(module_body& body) {
  const dynamic::options how = translated(body.type, "dim heads dropout norm", body.options);
  dynamic::option_reader r{body.type, how};
  const std::int64_t dim = positive(r, "dim"), heads = positive(r, "heads");
  const double p = r.get<double>("dropout", 0);
  const bool norm = r.get<bool>("norm", false);
  if (dim % heads != 0) r.refuse("heads", message("is ", heads, ", which does not divide ", dim, " dimensions"));
  std::vector<std::shared_ptr<module_body>> parts;
  if (norm) parts.push_back(leaf("layernorm", "norm", dynamic::make_module("LayerNorm", {{"normalized_shape", dim}})));
  const auto linear = [dim](std::int64_t out, bool bias) {
    return dynamic::make_module("Linear", {{"in_features", dim}, {"out_features", out}, {"bias", bias}});
  };
  parts.push_back(leaf("linear", "in", linear(3 * dim, !norm)));
  parts.push_back(leaf("drop", "drop", dynamic::make_module("Dropout", {{"p", p}})));
  parts.push_back(leaf("linear", "out", linear(dim, true)));
  const auto run = [heads](const dynamic::module::named_modules& of, const std::vector<tensor>& inputs, bool) {
    if (inputs.empty() || inputs.size() > 2)
      throw value_error(message("selfattention: takes a sequence and a mask, given ", inputs.size(), " inputs"));
    return std::vector<tensor>{attended(of, inputs, heads)};
  };
  auto made = composed(body.type, "SelfAttention", body.name, std::move(parts), run, 2);
  made->options = std::move(body.options);
  body = std::move(*made);
}

/// What tokens stand for, and where they stand, added up.
inline void make_sequence_embedding(module_body& body) {
  const dynamic::options how = translated(body.type, "rows cols length", body.options);
  dynamic::option_reader r{body.type, how};
  const std::int64_t rows = positive(r, "rows"), cols = positive(r, "cols"), length = positive(r, "length");
  const auto run = [](const dynamic::module::named_modules& of, const std::vector<tensor>& inputs, bool) {
    const tensor& x = dynamic::only(inputs, "embedseq", "input");
    return std::vector<tensor>{part(of, "tok")(x) + part(of, "pos")(x)};
  };
  auto made = composed(
      body.type, "EmbedSequence", body.name,
      {leaf("embed", "tok", dynamic::make_module("Embedding", {{"num_embeddings", rows}, {"embedding_dim", cols}})),
       leaf("embedpos", "pos", position_embedding(length, cols))},
      run, 1);
  made->options = std::move(body.options);
  body = std::move(*made);
}

/// (x - mean) / std by numbers that are no parameters.
inline dynamic::module standardising_layer(const std::vector<option>& given) {
  tensor mean, deviation;
  for (const option& each : given) {
    const bool known = each.name == "mean" || each.name == "std";
    if (!known && each.name != "inplace") throw value_error(message("zscore: unrecognized option `", each.name));
    if (!known) continue;
    const tensor value = to_tensor(each.value.get());
    if (!value.defined() || value.numel() == 0 || value.dim() > 3)
      throw value_error(message("zscore: option `", each.name, " is a ", describe(each.value.get()),
                                ", expected a number or one for each channel"));
    (each.name == "mean" ? mean : deviation) = norms::floating(value);
  }
  if (!mean.defined() || !deviation.defined()) throw value_error("zscore: needs the options `mean and `std");
  const auto run = [](const std::vector<tensor>& in, const std::vector<tensor>& own, bool) {
    return norms::standardised(norms::floating(in[0]), own[0], own[1]);
  };
  return {"Zscore", std::make_shared<dynamic::graph::tensor_module>(
                        "", dynamic::module::named_tensors{},
                        dynamic::module::named_tensors{{"mean", mean}, {"stddev", deviation}}, run,
                        dynamic::graph::input_range{})};
}

/// Makes the layer of a body whose type is one of these; false for others.
/// @throws value_error for options that it does not have
inline bool make_sequence_layer(module_body& body) {
  if (body.type == "embedpos") {
    const dynamic::options how = translated(body.type, "rows cols", body.options);
    dynamic::option_reader r{body.type, how};
    const std::int64_t rows = positive(r, "rows");
    body.module = position_embedding(rows, positive(r, "cols"));
  } else if (object rows = body.type == "embed" ? given_rows(body.options) : nullptr) {
    body.module = given_embedding(body.options, rows);
  } else if (body.type == "zscore") {
    body.module = standardising_layer(body.options);
  } else if (body.type == "embedseq") {
    make_sequence_embedding(body);
  } else if (body.type == "selfattention") {
    make_self_attention(body);
  } else {
    return false;
  }
  return true;
}

}  // namespace kiln::k::modules
