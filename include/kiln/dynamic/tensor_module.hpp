// SPDX-License-Identifier: BSL-1.0
// A module of dynamic functions: parameters and buffers with names, and what is done with them and the inputs. It
// computes wherever its tensors are.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include <kiln/dynamic/module.hpp>

namespace kiln::dynamic::graph {

/// How many inputs a module takes.
struct input_range {
  std::size_t least = 1, most = 1;
};

class tensor_module final : public module::held {
 public:
  /// `own` are the parameters, then the buffers, in their order.
  using function = std::function<tensor(const tensors& inputs, const tensors& own, bool training)>;
  tensor_module(std::string settings, module::named_tensors parameters, module::named_tensors buffers, function run,
                input_range inputs)
      : settings_(std::move(settings)),
        parameters_(std::move(parameters)),
        buffers_(std::move(buffers)),
        run_(std::move(run)),
        inputs_(inputs) {}

  tensor forward(const tensor& x) const override { return run({x})[0]; }
  tensors run(const tensors& inputs) const override {
    if (inputs.size() < inputs_.least || inputs.size() > inputs_.most)
      throw value_error(message("this layer (", settings_, "): takes ", inputs_.least,
                                inputs_.least == inputs_.most ? std::string() : message(" to ", inputs_.most),
                                " inputs, given ", inputs.size()));
    tensors own;
    for (const auto* all : {&parameters_, &buffers_})
      for (const auto& [name, each] : *all) own.push_back(each);
    return {run_(inputs, own, training_)};
  }
  std::size_t most_inputs() const override { return inputs_.most; }
  void train(bool on) override { training_ = on; }
  bool training() const override { return training_; }
  std::string settings() const override { return settings_; }
  void parameters(const std::string& prefix, module::named_tensors& into) const override {
    for (const auto& [name, each] : parameters_) into.emplace_back(prefix + name, each);
  }
  void buffers(const std::string& prefix, module::named_tensors& into) const override {
    for (const auto& [name, each] : buffers_) into.emplace_back(prefix + name, each);
  }
  void move(device where, bool really) override {
    if (!really) return;
    const no_grad quiet;
    for (auto* all : {&parameters_, &buffers_})
      for (auto& [name, each] : *all) {
        if (each.device() == where) continue;
        const bool wanted = each.requires_grad();
        each = each.detach().to(where);
        if (wanted) each.requires_grad_();
      }
  }

 private:
  std::string settings_;
  module::named_tensors parameters_, buffers_;
  function run_;
  input_range inputs_;
  bool training_ = true;
};

/// A layer of nn's settings, parameters and first values, computed by dynamic functions.
template <class M>
module tensor_layer(std::string type, const M& layer, tensor_module::function run, input_range inputs = {}) {
  module::named_tensors parameters, buffers;
  tensors_of_module all(parameters, buffers);
  nn::detail::walk("", layer, all);
  return {std::move(type), std::make_shared<tensor_module>(nn::detail::settings_of<M>(&layer), std::move(parameters),
                                                           std::move(buffers), std::move(run), inputs)};
}

/// Throws shape_error unless the input has one of two numbers of axes, and so many elements along one of them, which
/// counts from the end if it is negative.
inline void expect_input(std::string_view layer, const dims& sizes, int low, int high, int axis, std::int64_t n,
                         std::string_view expected) {
  const int at = axis < 0 ? sizes.rank() + axis : axis;
  if (sizes.rank() < low || sizes.rank() > high || at < 0 || at >= sizes.rank() || sizes[at] != n)
    throw shape_error(
        message(layer, ": got an input of shape ", sizes, "; expected ", expected, " with ", n, " along axis ", axis));
}

}  // namespace kiln::dynamic::graph
