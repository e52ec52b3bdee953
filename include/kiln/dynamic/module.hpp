// SPDX-License-Identifier: BSL-1.0
// A module whose type is forgotten: what takes dynamic tensors and gives some, mostly one of each, with parameters,
// buffers and parts that have names. Around a module of nn, or around a function; containers.hpp puts several together.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <kiln/dynamic/tensor.hpp>
#include <kiln/nn/module.hpp>

namespace kiln::dynamic {

/// Several tensors: what goes into a module and comes out of it, where it is not one.
using tensors = std::vector<tensor>;

/// The only one of several. Throws value_error for another number of them.
inline const tensor& only(const tensors& all, std::string_view where, std::string_view what) {
  if (all.size() != 1) throw value_error(message(where, ": one ", what, " is expected, there are ", all.size()));
  return all[0];
}

/// A handle: copies share the module.
class module {
 public:
  using named_tensors = std::vector<std::pair<std::string, tensor>>;
  using named_modules = std::vector<std::pair<std::string, module>>;

  /// What a kind of module defines.
  class held {
   public:
    virtual ~held() = default;
    virtual tensor forward(const tensor& x) const = 0;
    /// Several inputs or results; by default one of each.
    virtual tensors run(const tensors& inputs) const {
      return {forward(only(inputs, "a module of one input", "input"))};
    }
    virtual void train(bool on) = 0;
    virtual bool training() const = 0;
    virtual std::string settings() const { return {}; }
    virtual void parameters(const std::string& prefix, named_tensors& into) const = 0;
    virtual void buffers(const std::string& prefix, named_tensors& into) const = 0;
    virtual named_modules children() const { return {}; }
    /// Other parts in place of the present ones.
    virtual void set_children(named_modules) { throw value_error("this module has no parts that could be set"); }
  };

  module() = default;
  module(std::string type, std::shared_ptr<held> what) :type_(std::move(type)), held_(std::move(what)) {}

  bool defined() const { return static_cast<bool>(held_); }
  /// The name that it was made by: "Linear".
  const std::string& type() const { return type_; }
  /// Its settings as torch prints them: "in_features=2, out_features=3, bias=True".
  std::string settings() const { return get().settings(); }
  /// The result for an input. Throws as the module does; dtype_error for an input of another type than its parameters.
  tensor forward(const tensor& x) const { return get().forward(x); }
  tensor operator()(const tensor& x) const { return forward(x); }
  /// The results for several inputs. Throws value_error for another number of them than the module takes.
  tensors run(const tensors& inputs) const { return get().run(inputs); }
  /// The parameters with their paths, "0.weight"; they share elements with the module, and gradients.
  named_tensors named_parameters() const {
    named_tensors all;
    get().parameters("", all);
    return all;
  }
  std::vector<tensor> parameters() const {
    std::vector<tensor> all;
    for (auto& [name, each] : named_parameters()) all.push_back(each);
    return all;
  }
  /// The tensors that are not learned, such as running statistics.
  named_tensors named_buffers() const {
    named_tensors all;
    get().buffers("", all);
    return all;
  }
  /// The modules within, with their names.
  named_modules children() const { return get().children(); }
  /// Puts other parts into a container, for all that share it. Throws value_error for names that stand twice, are empty
  /// or have a dot, for parts without a value, for a container that would be a part of itself, and for other modules.
  const module& set_children(named_modules parts) const {
    get().set_children(std::move(parts));
    return *this;
  }
  /// Whether this is a handle to that module.
  bool is(const held* other) const { return held_.get() == other; }
  /// Puts all of it in training, or not. A module is in training when it is made.
  const module& train(bool on = true) const {
    get().train(on);
    return *this;
  }
  bool training() const { return get().training(); }
  /// Forgets the gradients of all parameters.
  void zero_grad() const {
    for (auto& [name, each] : named_parameters()) tensor(each).zero_grad();
  }

 private:
  held& get() const {
    if (!held_) throw value_error("this dynamic module has no value: make one with make_module first");
    return *held_;
  }
  std::string type_;
  std::shared_ptr<held> held_;
};

namespace graph {

/// A function of the input, and of whether it is in training.
class function_module final : public module::held {
 public:
  using function = std::function<tensor(const tensor& x, bool training)>;
  function_module(function f, std::string settings) : function_(std::move(f)), settings_(std::move(settings)) {}
  tensor forward(const tensor& x) const override { return function_(x, training_); }
  void train(bool on) override { training_ = on; }
  bool training() const override { return training_; }
  std::string settings() const override { return settings_; }
  void parameters(const std::string&, module::named_tensors&) const override {}
  void buffers(const std::string&, module::named_tensors&) const override {}

 private:
  function function_;
  std::string settings_;
  bool training_ = true;
};
inline module function_of(std::string type, function_module::function f, std::string settings = {}) {
  return {std::move(type), std::make_shared<function_module>(std::move(f), std::move(settings))};
}

class tensors_of_module final : public nn::detail::path_visitor {
 public:
  tensors_of_module(const std::string& prefix, module::named_tensors& into, bool buffers)
      : prefix_(prefix), into_(into), buffers_(buffers) {}
  void parameter(std::string_view name, const nn::detail::tensor_slot& slot) override {
    if (!buffers_) add(name, slot);
  }
  void buffer(std::string_view name, const nn::detail::tensor_slot& slot) override {
    if (buffers_) add(name, slot);
  }

 private:
  void add(std::string_view name, const nn::detail::tensor_slot& slot) {
    if (slot.now) into_.emplace_back(prefix_ + path_of(name), tensor::of(slot.now));
  }
  const std::string& prefix_;
  module::named_tensors& into_;
  bool buffers_;
};

/// A module of nn; `run` says how it takes a dynamic tensor.
template <class M>
class static_module final : public module::held {
 public:
  using function = tensor (*)(const M& module, const tensor& x);
  static_module(M what, function how) : module_(std::move(what)), run_(how) {}
  tensor forward(const tensor& x) const override { return run_(module_, x); }
  const M& inner() const { return module_; }
  void train(bool on) override {
    nn::train(module_, on);
    training_ = on;
  }
  bool training() const override { return training_; }
  std::string settings() const override { return nn::detail::settings_of<M>(&module_); }
  void parameters(const std::string& prefix, module::named_tensors& into) const override {
    tensors_of_module all(prefix, into, false);
    nn::detail::walk("", module_, all);
  }
  void buffers(const std::string& prefix, module::named_tensors& into) const override {
    tensors_of_module all(prefix, into, true);
    nn::detail::walk("", module_, all);
  }

 private:
  M module_;
  function run_;
  bool training_ = true;
};

}  // namespace graph

/// A module of nn, with parameters of T, as a dynamic one: `module_of<float>("Linear", nn::Linear<float>{2, 3})`.
template <Element T, class M>
module module_of(std::string type, M what) {
  return {std::move(type), std::make_shared<graph::static_module<M>>(std::move(what), [](const M& m, const tensor& x) {
            return tensor(Tensor<T>(m(x.as<T>())));
          })};
}

}  // namespace kiln::dynamic
