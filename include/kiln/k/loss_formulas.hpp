// SPDX-License-Identifier: BSL-1.0
// Losses that are formulas of tensors: margins, rankings, several labels, Poisson. What PyTorch computes by their
// names.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <string_view>
#include <vector>

#include <kiln/dynamic/indexing.hpp>
#include <kiln/dynamic/operators.hpp>
#include <kiln/dynamic/shape.hpp>
#include <kiln/k/norms.hpp>

namespace kiln::k::losses {

/// A loss: what q calls it, how many tensors it takes, its options in order with what they are where none is given, and
/// the losses of the parts, of which the mean is taken.
struct formula {
  std::string_view name;
  std::size_t operands;
  std::array<std::string_view, 4> options;
  std::array<double, 4> otherwise;
  tensor (*parts)(const std::vector<tensor>& given, const std::array<double, 4>& numbers);
};

/// max(0, x), whose gradient at 0 is 0.
inline tensor hinge(const tensor& x) {
  return dynamic::call("relu", {x});
}
inline tensor chosen(const tensor& mask, const tensor& a, const tensor& b) {
  return dynamic::call("where", {mask, a, b});
}
inline tensor positive(const tensor& x) {
  return dynamic::call("gt", {x, dynamic::scalar(0)});
}
inline void expect_one_shape(const tensor& a, const tensor& b) {
  if (a.sizes() != b.sizes()) throw shape_error(message("sizes ", a.sizes(), " and ", b.sizes(), " are not the same"));
}
/// -(y log sigmoid(x) + (1 - y) log(1 - sigmoid(x))).
inline tensor logit_losses(const tensor& x, const tensor& y) {
  expect_one_shape(x, y);
  return (1 - y) * x - dynamic::call("logsigmoid", {x});
}

/// Numbers of classes as a column or row beside scores (N, C) or (C).
inline tensor class_numbers(const tensor& labels) {
  if (is_floating(labels.type())) throw dtype_error("expects numbers of classes, integers, as target");
  return labels.to(dtype::int64);
}
/// sum over other classes j of max(0, margin - x[y] + x[j])^p / C.
inline tensor multi_margin(const std::vector<tensor>& given, const std::array<double, 4>& how) {
  if (how[0] != 1 && how[0] != 2) throw value_error(message("a p of ", how[0], ": use 1 or 2"));
  const tensor& x = given[0];
  if (x.dim() < 1 || x.dim() > 2) throw shape_error(message("expects scores of 1 or 2 dimensions, given ", x.sizes()));
  const tensor own = dynamic::unsqueeze(class_numbers(given[1]), -1);
  if (own.dim() != x.dim() || (x.dim() == 2 && own.size(0) != x.size(0)))
    throw shape_error(message("targets of sizes ", given[1].sizes(), " for scores of sizes ", x.sizes()));
  const std::int64_t classes = x.size(-1);
  tensor over = hinge(how[1] - dynamic::gather(x, -1, own) + x);
  if (how[0] == 2) over = over * over;
  const tensor others = dynamic::call("ne", {dynamic::arange(classes), own});
  return dynamic::reduce("sum", chosen(others, over, dynamic::scalar(0.0)), {-1}) / static_cast<double>(classes);
}
/// sum over labels l of a row, those before the first -1, and classes j that are no labels of
/// max(0, 1 - (x[l] - x[j])) / C.
inline tensor multi_label(const std::vector<tensor>& given, const std::array<double, 4>&) {
  const tensor& x = given[0];
  expect_one_shape(x, given[1]);
  if (x.dim() < 1 || x.dim() > 2) throw shape_error(message("expects scores of 1 or 2 dimensions, given ", x.sizes()));
  const std::int64_t classes = x.size(-1);
  const tensor labels = class_numbers(given[1]).contiguous();
  const auto* label = static_cast<const std::int64_t*>(labels.data());
  longs at(static_cast<std::size_t>(x.numel()));
  std::vector<char> counts(at.size()), is_label(at.size());
  for (std::size_t start = 0; start < at.size(); start += static_cast<std::size_t>(classes))
    for (std::size_t j = start; j < start + static_cast<std::size_t>(classes) && label[j] != -1; ++j) {
      if (label[j] < 0 || label[j] >= classes)
        throw index_error(message("label ", label[j], " is not in 0 to ", classes - 1));
      at[j] = label[j];
      counts[j] = 1;
      is_label[start + static_cast<std::size_t>(label[j])] = 1;
    }
  const tensor right = dynamic::gather(x, -1, copied(dtype::int64, x.sizes(), at.data()));
  const tensor counted = copied(dtype::boolean, x.sizes(), counts.data());
  const tensor other = dynamic::call("logical_not", {copied(dtype::boolean, x.sizes(), is_label.data())});
  const tensor pairs = dynamic::call("logical_and", {dynamic::unsqueeze(counted, -1), dynamic::unsqueeze(other, -2)});
  const tensor over = hinge(1 - (dynamic::unsqueeze(right, -1) - dynamic::unsqueeze(x, -2)));
  return dynamic::reduce("sum", chosen(pairs, over, dynamic::scalar(0.0)), {-2, -1}) / static_cast<double>(classes);
}
inline tensor triplet_margin(const std::vector<tensor>& given, const std::array<double, 4>& how) {
  expect_one_shape(given[0], given[1]);
  expect_one_shape(given[0], given[2]);
  const auto between = [&](std::size_t a, std::size_t b) {
    return norms::power_norm(given[a] - given[b] + how[2], how[1], {-1});
  };
  tensor far = between(0, 2);
  if (how[3] != 0) far = dynamic::call("minimum", {far, between(1, 2)});
  return hinge(between(0, 1) - far + how[0]);
}
inline tensor cosine_embedding(const std::vector<tensor>& given, const std::array<double, 4>& how) {
  expect_one_shape(given[0], given[1]);
  const auto summed = [&](std::size_t a, std::size_t b) { return dynamic::reduce("sum", given[a] * given[b], {-1}); };
  constexpr double eps = 1e-12;  // PyTorch's, of this loss
  const tensor cosine = summed(0, 1) * dynamic::call("rsqrt", {(summed(0, 0) + eps) * (summed(1, 1) + eps)});
  expect_one_shape(cosine, given[2]);
  return chosen(positive(given[2]), 1 - cosine, hinge(cosine - how[0]));
}
/// x is the logarithm of the expected count where how[0] is not 0. The third option adds Stirling's log(y!).
inline tensor poisson(const std::vector<tensor>& given, const std::array<double, 4>& how) {
  const tensor &x = given[0], &y = given[1];
  expect_one_shape(x, y);
  const tensor loss = how[0] != 0 ? dynamic::call("exp", {x}) - y * x : x - y * dynamic::call("log", {x + how[2]});
  if (how[1] == 0) return loss;
  const auto log = [](const tensor& t) { return dynamic::call("log", {t}); };
  const tensor stirling = y * log(y) - y + 0.5 * log(2 * std::numbers::pi * y);
  return loss + chosen(dynamic::call("gt", {y, dynamic::scalar(1)}), stirling, dynamic::scalar(0.0));
}

inline constexpr auto formulas = std::to_array<formula>({
    {"hinge",
     2,
     {"margin"},
     {1},
     [](const std::vector<tensor>& t, const std::array<double, 4>& how) {
       expect_one_shape(t[0], t[1]);
       return chosen(positive(t[1]), t[0], hinge(how[0] - t[0]));
     }},
    {"softmargin",
     2,
     {},
     {},
     [](const std::vector<tensor>& t, const std::array<double, 4>&) {
       expect_one_shape(t[0], t[1]);
       return -dynamic::call("logsigmoid", {t[0] * t[1]});
     }},
    {"multisoft",
     2,
     {},
     {},
     [](const std::vector<tensor>& t, const std::array<double, 4>&) {
       return dynamic::reduce("mean", logit_losses(t[0], t[1]), {-1});
     }},
    {"multimargin", 2, {"p", "margin"}, {1, 1}, multi_margin},
    {"multilabel", 2, {}, {}, multi_label},
    {"poissonloss", 2, {"log", "full", "eps"}, {1, 0, 1e-8}, poisson},
    {"bcelogit2",
     3,
     {},
     {},
     [](const std::vector<tensor>& t, const std::array<double, 4>&) { return logit_losses(t[0], t[1]) * t[2]; }},
    {"cosineloss", 3, {"margin"}, {0}, cosine_embedding},
    {"margin",
     3,
     {"margin"},
     {0},
     [](const std::vector<tensor>& t, const std::array<double, 4>& how) {
       expect_one_shape(t[0], t[1]);
       return hinge(how[0] - t[2] * (t[0] - t[1]));
     }},
    {"triplet", 3, {"margin", "p", "eps", "swap"}, {1, 2, 1e-6, 0}, triplet_margin},
});

inline const formula* find_formula(std::string_view name) {
  const auto found = std::ranges::find(formulas, name, &formula::name);
  return found == formulas.end() ? nullptr : &*found;
}

/// A formula with its options set: of tensors to a loss.
struct set_formula {
  const formula* what;
  std::array<double, 4> numbers;
  std::string_view reduction = "mean";

  tensor operator()(std::vector<tensor> given) const {
    if (given.size() != what->operands)
      throw value_error(message("expects ", what->operands, " tensors, given ", given.size()));
    given[0] = norms::floating(given[0]);
    const bool labels = what->name == "multimargin" || what->name == "multilabel";
    for (std::size_t i = 1; i < given.size() && !labels; ++i) given[i] = given[i].to(given[0].type());
    const tensor parts = what->parts(given, numbers);
    return reduction == "none" ? parts : dynamic::reduce(reduction, parts);
  }
};

}  // namespace kiln::k::losses
