// SPDX-License-Identifier: BSL-1.0
// Modules whose forward pass, and if wanted backward pass, is a function of q.
#pragma once

#include <cctype>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <kiln/dynamic/custom.hpp>
#include <kiln/k/module_body.hpp>
#include <kiln/k/objects.hpp>

namespace kiln::k {

object module_handle(std::shared_ptr<module_body> body);

namespace modules {

inline bool is_function(object x) {
  return x->type >= lambda_type && x->type <= foreign_type && !is_null(x);
}

/// Calls a function of q, or what a symbol names, with a list of arguments. What it signals becomes an exception.
inline owned applied(object f, const owned& arguments) {
  owned named;
  if (const auto symbol = read_symbol(f)) {
    named = owned(ee(k(0, std::string(*symbol).c_str(), nullptr)));
    if (named.get() && named.get()->type == error_type)
      throw value_error(message("callback: there is no function `", *symbol, " in q ('", named.get()->symbol, ")"));
    if (!named.get() || !is_function(named.get()))
      throw value_error(message("callback: `", *symbol, " is no function in q"));
    f = named.get();
  }
  owned result(ee(dot(f, arguments.get())));
  if (!result.get()) throw value_error("callback: the function of q gave nothing");
  if (result.get()->type == error_type)
    throw value_error(message("callback: the function of q signalled '", result.get()->symbol));
  return result;
}

/// The tensors of what a function of q gave: of a handle to a tensor or vector, of a list of handles, of an array.
inline std::vector<tensor> tensors_given(object x) {
  if (held* what = find_held(x)) {
    if (auto* one = dynamic_cast<held_tensor*>(what); one && one->value.defined()) return {one->value};
    if (auto* list = dynamic_cast<held_list*>(what); list && list->kind() == held_class::vector)
      return list->list->values;
    throw value_error(message("callback: the function of q gave a ", describe(x), ", expected tensors or arrays"));
  }
  if (x->type == mixed_type && x->count > 0 && handle_number(items<object>(x)[0])) return tensors_of(x).values;
  if (is_null(x)) throw value_error("callback: the function of q gave ::, expected tensors or arrays");
  return {to_tensor(x)};
}

/// Calls q: forward with the module's handle and the inputs, back with these and the gradient of the result. All
/// handles made meanwhile are freed when the call returns.
class callback_module final : public dynamic::module::held, public std::enable_shared_from_this<callback_module> {
 public:
  owned forward_function, back_function;
  bool values = false;  // q gets arrays and not handles
  tensor_list parameter_list, buffer_list;
  std::weak_ptr<module_body> body;

  tensor forward(const tensor& x) const override { return dynamic::only(run({x}), "callback", "result"); }
  std::vector<tensor> run(const std::vector<tensor>& inputs) const override {
    if (!back_function.get()) return forwarded(inputs);
    const std::vector<tensor> results = [&] {
      const no_grad quiet;
      std::vector<tensor> plain;
      for (const tensor& x : inputs) plain.push_back(x.detach());
      return forwarded(plain);
    }();
    const tensor& result = dynamic::only(results, "callback with a function for the gradient", "result");
    std::vector<tensor> all = inputs, plain;
    all.insert(all.end(), parameter_list.values.begin(), parameter_list.values.end());
    for (const tensor& x : inputs) plain.push_back(x.detach());
    const auto rule = [self = shared_from_this(), all, plain](const tensor& gradient) {
      return self->gradients(all, plain, gradient);
    };
    return {dynamic::with_gradient("callback", result, all, rule, plain)};
  }
  std::size_t most_inputs() const override { return 8; }
  void train(bool on) override { training_ = on; }
  bool training() const override { return training_; }
  void parameters(const std::string& prefix, dynamic::module::named_tensors& into) const override {
    add(parameter_list, prefix, into);
  }
  void buffers(const std::string& prefix, dynamic::module::named_tensors& into) const override {
    add(buffer_list, prefix, into);
  }

 private:
  static void add(const tensor_list& from, const std::string& prefix, dynamic::module::named_tensors& into) {
    for (std::size_t i = 0; i < from.values.size(); ++i) into.emplace_back(prefix + from.names[i], from.values[i]);
  }
  /// Calls a function with the module and tensors, and reads its result while the handles made meanwhile are there.
  template <class Read>
  std::vector<tensor> called(object f, const std::vector<tensor>& with, Read read) const {
    if (!on_main_thread())
      throw value_error("callback: calls q, which is for q's main thread only: train this module there");
    const auto owner = body.lock();
    if (!owner) throw value_error("callback: the module is gone");
    const objects::handle_scope within;
    std::vector<owned> arguments;
    arguments.emplace_back(module_handle(owner));
    for (const tensor& x : with) arguments.emplace_back(values ? to_value(x) : tensor_handle(x));
    const owned list(make_list(std::move(arguments)));
    const owned result = applied(f, list);
    return read(result.get());
  }
  std::vector<tensor> forwarded(const std::vector<tensor>& inputs) const {
    return called(forward_function.get(), inputs, [&](object result) {
      std::vector<tensor> found = tensors_given(result);
      for (tensor& t : found)
        if (is_floating(t.type()) && !handle_number(result)) t = t.to(type_for(inputs));
      return found;
    });
  }
  /// Arrays of q become what the module computes in.
  dtype type_for(const std::vector<tensor>& inputs) const {
    for (const auto* list : {&parameter_list.values, &inputs})
      for (const tensor& t : *list)
        if (t.defined() && is_floating(t.type())) return t.type();
    return dtype::float32;
  }
  /// `plain` are the inputs without history; one gradient for each of `all`, which are inputs and parameters.
  std::vector<tensor> gradients(const std::vector<tensor>& all, std::vector<tensor> plain,
                                const tensor& gradient) const {
    plain.push_back(gradient.detach());
    const std::vector<tensor> found = called(back_function.get(), plain, [&](object result) {
      if (all.size() == 1 || handle_number(result)) return tensors_given(result);
      if (result->type != mixed_type)
        throw value_error(message("callback: the gradients are a ", describe(result), ", expected a list of ",
                                  all.size(), ", of inputs and parameters"));
      return tensors_of(result).values;
    });
    if (found.size() != all.size())
      throw value_error(message("callback: ", found.size(), " gradients for ", all.size(), " inputs and parameters"));
    for (std::size_t i = 0; i < all.size(); ++i)
      if (found[i].defined() && found[i].sizes() != all[i].sizes())
        throw shape_error(
            message("callback: the gradient ", i, " has sizes ", found[i].sizes(), ", expected ", all[i].sizes()));
    return found;
  }

  bool training_ = true;
};

/// Makes the module of a body by its options: fn, and if given back, in, parms and buffers.
inline void make_callback(const std::shared_ptr<module_body>& of) {
  auto made = std::make_shared<callback_module>();
  const auto function = [](const option& o) {
    const auto symbol = read_symbol(o.value.get());
    bool name = symbol && !symbol->empty() && std::isalpha(static_cast<unsigned char>((*symbol)[0]));
    if (symbol)
      for (const char c : *symbol) name = name && (std::isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_');
    if (!name && !is_function(o.value.get()))
      throw value_error(message("callback: option `", o.name, " is a ", describe(o.value.get()),
                                ", expected a function or its name"));
    return owned::share(o.value.get());
  };
  const auto tensors = [](const option& o, bool learned) {
    if (o.value.get()->type != dictionary_type)
      throw value_error(message("callback: option `", o.name, " is a ", describe(o.value.get()),
                                ", expected a dictionary of arrays"));
    tensor_list all = tensors_of(o.value.get());
    for (tensor& t : all.values) {
      if (!t.defined()) throw value_error(message("callback: `", o.name, " has an undefined tensor"));
      t = t.detach().clone().eval();
      if (learned) t.requires_grad_();
    }
    for (const std::string& name : all.names)
      if (name.empty() || name.find('.') != std::string::npos)
        throw value_error(message("callback: `", name, " is no name of a parameter"));
    return all;
  };
  for (const option& each : of->options) {
    if (each.name == "fn") {
      made->forward_function = function(each);
    } else if (each.name == "back") {
      made->back_function = function(each);
    } else if (each.name == "in") {
      const auto kind = read_symbol(each.value.get());
      if (!kind || (*kind != "tensor" && *kind != "value"))
        throw value_error("callback: option `in is `tensor for handles or `value for arrays");
      made->values = *kind == "value";
    } else if (each.name == "out") {  // results say themselves what they are
      if (!read_symbol(each.value.get())) throw value_error("callback: option `out is a symbol");
    } else if (each.name == "parms") {
      made->parameter_list = tensors(each, true);
    } else if (each.name == "buffers") {
      made->buffer_list = tensors(each, false);
    } else {
      throw value_error(
          message("callback: unrecognized option `", each.name, ", expected fn back in out parms buffers"));
    }
  }
  if (!made->forward_function.get()) throw value_error("callback: needs the option `fn, a function or its name");
  made->body = of;
  of->module = {"Callback", std::move(made)};
}

}  // namespace modules

}  // namespace kiln::k
