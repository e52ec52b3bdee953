// SPDX-License-Identifier: BSL-1.0
// The definitions of custom.hpp.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <kiln/dynamic/custom.hpp>
#include <kiln/dynamic/kernels.hpp>
#include <kiln/tensor/custom_node.hpp>

namespace kiln::dynamic {

namespace graph {

/// A node by a rule that is known while the program runs.
class custom_node final : public detail::custom_node {
 public:
  custom_node(std::string name, std::vector<ref<gradient_record>> records, std::vector<detail::saved_value> kept,
              gradient_rule rule, dynamic::device where)
      : detail::custom_node(std::move(name), functions_of(where)),
        where_(where),
        records_(std::move(records)),
        kept_(std::move(kept)),
        rule_(std::move(rule)) {
    set_inputs(records_.data(), static_cast<int>(records_.size()));
    set_saved(kept_.data(), static_cast<int>(kept_.size()));
  }

 private:
  void apply(const ref<tensor_state>& gradient, const ref<gradient_record>&) override {
    const std::vector<tensor> gradients = rule_(tensor::of(gradient, where_));
    if (gradients.size() != records_.size())
      throw graph_error(message("backward: the rule of ", name(), " gave ", gradients.size(), " gradients for ",
                                records_.size(), " inputs"));
    for (std::size_t i = 0; i < gradients.size(); ++i)
      if (wants(static_cast<int>(i)) && gradients[i].defined())
        give(static_cast<int>(i), gradients[i].to(where_).to(records_[i]->type).contiguous().eval().state(), false);
  }
  const detail::runnable& adding(int input) const override {
    return *adding_kernel(records_[static_cast<std::size_t>(input)]->type, where_);
  }
  void forget() override { rule_ = nullptr; }

  dynamic::device where_;  // of the result, the inputs and what is kept
  std::vector<ref<gradient_record>> records_;
  std::vector<detail::saved_value> kept_;
  gradient_rule rule_;
};

}  // namespace graph

KILN_INLINE tensor with_gradient(std::string name, const tensor& result, const std::vector<tensor>& inputs,
                                 gradient_rule rule, const std::vector<tensor>& kept) {
  if (!grad_enabled()) return result;
  std::vector<ref<gradient_record>> records;
  bool wanted = false;
  for (const tensor& x : inputs) {
    records.push_back(x.requires_grad() ? x.state()->autograd_metadata : nullptr);
    wanted = wanted || records.back();
  }
  if (!wanted) return result;
  if (!is_floating(result.type()))
    throw dtype_error(message(name, ": a result of ", kiln::name(result.type()), " has no gradient"));
  for (const std::vector<tensor>* all : {&inputs, &kept})
    for (const tensor& x : *all)
      if (x.device() != result.device())
        throw device_error(message(name, ": the result is on ", dynamic::name(result.device()), ", an input on ",
                                   dynamic::name(x.device()), ": bring them together with to()"));
  std::vector<detail::saved_value> saved(kept.size());
  for (std::size_t i = 0; i < kept.size(); ++i) saved[i].save(*kept[i].state());
  const tensor made = result.detach();
  detail::set_producer(*made.state(), new graph::custom_node(std::move(name), std::move(records), std::move(saved),
                                                             std::move(rule), made.device()));
  return made;
}

}  // namespace kiln::dynamic
