// SPDX-License-Identifier: BSL-1.0
// Gradients: computing them, reading them, switching them on and off.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <kiln/k/arguments.hpp>
#include <kiln/k/objects.hpp>
#include <kiln/k/registry.hpp>

namespace kiln::k {

/// Objects with tensors that take gradients implement this beside `held`.
struct parameter_owner {
  /// The tensors, by name.
  virtual tensor_list parameters() const = 0;

 protected:
  ~parameter_owner() = default;
};

/// Objects whose gradients `backward` computes from inputs and targets implement this beside `held`.
struct trainable_object {
  /// The loss of one batch, whose gradients are computed.
  virtual tensor backward(const std::vector<tensor>& inputs, const tensor& target) = 0;

 protected:
  ~trainable_object() = default;
};

namespace autograd {

/// free, retain, create or createfree.
struct mode {
  bool retain = false, create = false;
};

inline mode mode_of(std::string_view name) {
  if (name == "free") return {};
  if (name == "retain") return {true, false};
  if (name == "create") return {true, true};
  if (name == "createfree") return {false, true};
  throw value_error(message("unrecognized mode `", name, ", expected one of free retain create createfree"));
}

inline object backward(std::string_view name, object x) {
  if (const auto* parts = x->type == mixed_type && x->count >= 1 ? items<object>(x) : nullptr) {
    held* first = handle_number(x) ? find_held(x) : find_held(parts[0]);
    // A pass may call q, which may free what it is about.
    const std::unique_ptr<held> kept = dynamic_cast<trainable_object*>(first) ? first->share() : nullptr;
    if (auto* model = dynamic_cast<trainable_object*>(kept.get())) {
      const arguments given(name, x, 1, 3);
      if (given.size() == 1) return to_value(model->backward({}, {}));
      if (given.size() != 3) throw value_error("a model takes inputs and targets");
      return to_value(model->backward({given.operand_at(1).value}, given.operand_at(2).value));
    }
  }
  arguments given(name, x, 1, 3);
  mode how;
  if (const auto symbols = given.take_symbols()) {
    if (symbols->size() != 1) throw value_error("expected one mode");
    how = mode_of((*symbols)[0]);
  }
  given.none_left(2);
  auto* t = find_held_as<held_tensor>(given[0]);
  if (!t) given.refuse(0, "a tensor's handle or a model");
  tensor gradient;
  if (given.size() == 2) {
    gradient = given.operand_at(1).value;
    if (gradient.type() != t->value.type()) gradient = gradient.to(t->value.type());
  }
  const tensor loss = t->value;  // a pass may call q, which may free the handle
  loss.backward(gradient, how.retain, how.create);
  return make_null();
}

/// A tensor's gradient as a value, or as a handle for a tensor in a list of its own.
inline object grad(std::string_view, object x) {
  const bool as_handle = x->type == mixed_type && x->count == 1 && !handle_number(x);
  auto* t = find_held_as<held_tensor>(as_handle ? items<object>(x)[0] : x);
  if (!t) throw value_error(message("expected a tensor, given ", describe(x)));
  const tensor found = t->value.grad();
  if (as_handle && !found.defined()) throw value_error("no gradient defined");
  return as_handle ? tensor_handle(found) : to_value(found);
}

inline object gradflag(std::string_view name, object x) {
  arguments given(name, x, 1, 2, flag_trailing);
  auto* t = find_held_as<held_tensor>(given[0]);
  if (!t) given.refuse(0, "a tensor's handle");
  if (given.size() == 1) return kb(t->value.requires_grad());
  const auto flag = read_flag(given[1]);
  if (!flag) given.refuse(1, "a boolean");
  t->value.requires_grad_(*flag);
  return make_null();
}

/// All tensors of an object; of these names, where names are given.
inline std::vector<tensor> tensors_in(const arguments& given) {
  held* what = find_held(given[0]);
  tensor_list all;
  if (auto* t = dynamic_cast<held_tensor*>(what))
    all.values.push_back(t->value);
  else if (auto* list = dynamic_cast<held_list*>(what))
    all = *list->list;
  else if (auto* owner = dynamic_cast<parameter_owner*>(what))
    all = owner->parameters();
  else
    given.refuse(0, "a tensor, vector, dict, module, optimizer or model");
  if (given.size() == 1) return all.values;
  const auto names = read_symbols(given[1]);
  if (!names) given.refuse(1, "a symbol or list of symbols");
  std::vector<tensor> chosen;
  for (const std::string& name : *names) {
    const auto place = all.find(name);
    if (!place) throw value_error(message("no parameter `", name));
    chosen.push_back(all.values[*place]);
  }
  return chosen;
}

/// zerograd and nograd: gradients as zeros, or none.
inline object forget(std::string_view name, object x) {
  const arguments given(name, x, 1, 2, symbol_trailing);
  for (tensor t : tensors_in(given)) {
    if (name == "nograd" || !t.grad().defined())
      t.zero_grad();
    else
      t.grad().fill_(0);
  }
  return make_null();
}

/// freeze and unfreeze.
inline object freeze(std::string_view name, object x) {
  const arguments given(name, x, 1, 2, symbol_trailing);
  for (tensor t : tensors_in(given)) t.requires_grad_(name == "unfreeze");
  return make_null();
}

}  // namespace autograd

inline void offer_autograd(registry& r) {
  r.offer("backward", autograd::backward);
  r.offer("grad", autograd::grad);
  r.offer("gradflag", autograd::gradflag);
  r.offer("zerograd", autograd::forget);
  r.offer("nograd", autograd::forget);
  r.offer("freeze", autograd::freeze);
  r.offer("unfreeze", autograd::freeze);
}

}  // namespace kiln::k
