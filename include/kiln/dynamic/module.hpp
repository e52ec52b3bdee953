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
    /// How many inputs it takes at most.
    virtual std::size_t most_inputs() const { return 1; }
    virtual void train(bool on) = 0;
    virtual bool training() const = 0;
    virtual std::string settings() const { return {}; }
    virtual void parameters(const std::string& prefix, named_tensors& into) const = 0;
    virtual void buffers(const std::string& prefix, named_tensors& into) const = 0;
    virtual named_modules children() const { return {}; }
    /// Puts its parameters and buffers on a device, those of its parts not; `really` not: only says whether it can, by
    /// throwing device_error or not.
    virtual void move(device where, bool /*really*/) {
      named_tensors own;
      parameters("", own), buffers("", own);
      if (!own.empty() && !where.on_host())
        throw device_error("to: this layer computes on the processor only: leave it there");
    }
    /// Forgets the gradients of its own parameters, of those of its parts not.
    virtual void forget_gradients() const {
      named_tensors own;
      parameters("", own);
      for (auto& [name, each] : own) each.zero_grad();
    }
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
  /// How many inputs it takes at most; a container's first part says that for it.
  std::size_t most_inputs() const { return get().most_inputs(); }
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
  /// Moves all parameters and buffers to a device, for all that share the module, and forgets gradients: its tensors
  /// are others afterwards, so optimizers are made after it. Throws device_error for a device that is not there, and
  /// for a layer that computes on the processor only; nothing has moved then.
  const module& to(device where) const {
    check_device(where);
    for (const bool really : {false, true}) each_part([&](held& part) { part.move(where, really); });
    return *this;
  }
  /// Whether this is a handle to that module.
  bool is(const held* other) const { return held_.get() == other; }
  /// Whether no other handle has the module.
  bool alone() const { return held_.use_count() == 1; }
  /// What it is, to look at.
  held* what() const { return held_.get(); }
  /// Puts all of it in training, or not. A module is in training when it is made.
  const module& train(bool on = true) const {
    get().train(on);
    return *this;
  }
  bool training() const { return get().training(); }
  /// Forgets the gradients of all parameters.
  void zero_grad() const {
    each_part([](held& part) { part.forget_gradients(); });
  }

 private:
  template <class F>
  void each_part(const F& f) const {
    for (const auto& [name, part] : children()) part.each_part(f);
    f(get());
  }
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
  tensors_of_module(module::named_tensors& parameters, module::named_tensors& buffers, std::string prefix = {})
      : prefix_(std::move(prefix)), parameters_(parameters), buffers_(buffers) {}
  void parameter(std::string_view name, const nn::detail::tensor_slot& slot) override { add(parameters_, name, slot); }
  void buffer(std::string_view name, const nn::detail::tensor_slot& slot) override { add(buffers_, name, slot); }

 private:
  void add(module::named_tensors& into, std::string_view name, const nn::detail::tensor_slot& slot) {
    if (slot.now) into.emplace_back(prefix_ + path_of(name), tensor::of(slot.now));
  }
  std::string prefix_;
  module::named_tensors &parameters_, &buffers_;
};

/// Forgets gradients where they lie: a step of training does that, and needs no names.
class gradients_of_module final : public nn::detail::visitor {
 public:
  void parameter(std::string_view, const nn::detail::tensor_slot& slot) override {
    if (slot.now && slot.now->autograd_metadata) slot.now->autograd_metadata->gradient = nullptr;
  }
};

/// A module of nn; `run` says how it takes a dynamic tensor. `elsewhere`, if there is one, says what it does of dynamic
/// functions with its parameters and buffers, in their order, on another device than the processor.
template <class M>
class static_module final : public module::held {
 public:
  using function = tensor (*)(const M& module, const tensor& x);
  using elsewhere = tensor (*)(const M& module, const tensor& x, const tensors& parameters, const tensors& buffers);
  static_module(M what, function how, elsewhere there = nullptr)
      : module_(std::move(what)), run_(how), elsewhere_(there) {}
  tensor forward(const tensor& x) const override {
    if (where_.on_host() && (x.device().on_host() || !elsewhere_ || has_tensors())) return run_(module_, x);
    return elsewhere_(module_, x, values_of(parameters_), values_of(buffers_));
  }
  const M& inner() const { return module_; }
  void forget_gradients() const override {
    if (!where_.on_host()) return held::forget_gradients();
    gradients_of_module all;
    nn::detail::walk("", module_, all);
  }
  void move(device where, bool really) override {
    if (where == where_) return;
    if (!where.on_host() && !elsewhere_ && has_tensors())
      throw device_error(message("to: this layer (", settings(),
                                 ") computes on the processor only: leave it there, or ",
                                 "use kiln::nn with Tensor<T, Cuda>"));
    if (!really) return;
    const no_grad quiet;
    module::named_tensors now[2], host[2];
    parameters("", now[0]), buffers("", now[1]);
    if (where.on_host()) {
      tensors_of_module of_host(host[0], host[1]);
      nn::detail::walk("", module_, of_host);
      for (int which : {0, 1})
        for (std::size_t i = 0; i < now[which].size(); ++i)
          host[which][i].second.detach().assign_(now[which][i].second.detach().to(where));
      parameters_.clear(), buffers_.clear();
    } else if (elsewhere_) {
      for (auto& all : now)
        for (auto& [name, each] : all) {
          const bool wanted = each.requires_grad();
          each = each.detach().to(where);
          if (wanted) each.requires_grad_();
        }
      parameters_ = std::move(now[0]), buffers_ = std::move(now[1]);
    }
    where_ = where;
  }
  void train(bool on) override {
    nn::train(module_, on);
    training_ = on;
  }
  bool training() const override { return training_; }
  std::string settings() const override { return nn::detail::settings_of<M>(&module_); }
  void parameters(const std::string& prefix, module::named_tensors& into) const override {
    if (!where_.on_host()) return with_prefix(prefix, parameters_, into);
    module::named_tensors unused;
    tensors_of_module all(into, unused, prefix);
    nn::detail::walk("", module_, all);
  }
  void buffers(const std::string& prefix, module::named_tensors& into) const override {
    if (!where_.on_host()) return with_prefix(prefix, buffers_, into);
    module::named_tensors unused;
    tensors_of_module all(unused, into, prefix);
    nn::detail::walk("", module_, all);
  }

 private:
  bool has_tensors() const {
    module::named_tensors own;
    parameters("", own), buffers("", own);
    return !own.empty();
  }
  static tensors values_of(const module::named_tensors& all) {
    tensors values;
    for (const auto& [name, each] : all) values.push_back(each);
    return values;
  }
  static void with_prefix(const std::string& prefix, const module::named_tensors& from, module::named_tensors& into) {
    for (const auto& [name, each] : from) into.emplace_back(prefix + name, each);
  }
  M module_;
  function run_;
  elsewhere elsewhere_;
  bool training_ = true;
  device where_;
  module::named_tensors parameters_, buffers_;  // on another device than the processor
};

}  // namespace graph

/// A module of nn, with parameters of T, as a dynamic one: `module_of<float>("Linear", nn::Linear<float>{2, 3})`. It
/// can be moved to a GPU if `elsewhere` says what it does there.
template <Element T, class M>
module module_of(std::string type, M what, typename graph::static_module<M>::elsewhere elsewhere = nullptr) {
  return {std::move(type),
          std::make_shared<graph::static_module<M>>(
              std::move(what), [](const M& m, const tensor& x) { return tensor(Tensor<T>(m(x.as<T>()))); }, elsewhere)};
}

}  // namespace kiln::dynamic
