// SPDX-License-Identifier: BSL-1.0
// A module whose type is forgotten: what takes a dynamic tensor and gives one, with parameters, buffers and parts that
// have names. Around a module of nn, around a function, or several one after the other.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <kiln/dynamic/tensor.hpp>
#include <kiln/nn/module.hpp>

namespace kiln::dynamic {

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
    virtual void train(bool on) = 0;
    virtual bool training() const = 0;
    virtual std::string settings() const { return {}; }
    virtual void parameters(const std::string& prefix, named_tensors& into) const = 0;
    virtual void buffers(const std::string& prefix, named_tensors& into) const = 0;
    virtual named_modules children() const { return {}; }
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
  static_module(M what, function run) : module_(std::move(what)), run_(run) {}
  tensor forward(const tensor& x) const override { return run_(module_, x); }
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

class sequence_module final : public module::held {
 public:
  explicit sequence_module(module::named_modules parts) : parts_(std::move(parts)) {}
  tensor forward(const tensor& x) const override {
    tensor y = x;
    for (const auto& [name, part] : parts_) y = part.forward(y);
    return y;
  }
  void train(bool on) override {
    for (const auto& [name, part] : parts_) part.train(on);
    training_ = on;
  }
  bool training() const override { return training_; }
  void parameters(const std::string& prefix, module::named_tensors& into) const override {
    for (const auto& [name, part] : parts_)
      for (auto& [path, each] : part.named_parameters()) into.emplace_back(prefix + name + '.' + path, each);
  }
  void buffers(const std::string& prefix, module::named_tensors& into) const override {
    for (const auto& [name, part] : parts_)
      for (auto& [path, each] : part.named_buffers()) into.emplace_back(prefix + name + '.' + path, each);
  }
  module::named_modules children() const override { return parts_; }

 private:
  module::named_modules parts_;
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

/// Modules one after the other. Throws value_error for a name that stands twice, is empty or has a dot, or a module
/// without a value.
inline module sequential(module::named_modules parts) {
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::string& name = parts[i].first;
    if (!parts[i].second.defined()) throw value_error(message("Sequential: part \"", name, "\" has no value"));
    if (name.empty() || name.find('.') != std::string::npos)
      throw value_error(message("Sequential: \"", name, "\" is no name of a part: use one without dots"));
    for (std::size_t k = 0; k < i; ++k)
      if (parts[k].first == name) throw value_error(message("Sequential: two parts have the name \"", name, "\""));
  }
  return {"Sequential", std::make_shared<graph::sequence_module>(std::move(parts))};
}
/// The same with numbers for names: "0", "1", ...
inline module sequential(const std::vector<module>& parts) {
  module::named_modules named;
  for (std::size_t i = 0; i < parts.size(); ++i) named.emplace_back(std::to_string(i), parts[i]);
  return sequential(std::move(named));
}

}  // namespace kiln::dynamic
