// SPDX-License-Identifier: BSL-1.0
// Functions on optimizers: making them by name over parameters, steps, rates, limits for gradients.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <kiln/k/held_optimizer.hpp>
#include <kiln/k/tensors.hpp>
#include <kiln/optim/gradients.hpp>

namespace kiln::k {

/// Objects that take a whole training step themselves implement this beside `held`.
struct stepping_object {
  virtual void step() = 0;

 protected:
  ~stepping_object() = default;
};

namespace optimizers {

/// The parameters that an argument stands for: a module, tensor, vector or dict, one of the last two or a module with
/// indices or names, or `()`.
inline parameter_group parameters_from(object x) {
  parameter_group group;
  if (is_null(x) || (x->type == mixed_type && x->count == 0)) return group;
  object chosen = nullptr;
  object from = x;
  if (!handle_number(x)) {
    if (x->type != mixed_type || x->count != 2)
      throw value_error(message("parameters are a module, tensor, vector or dict, given ", describe(x)));
    from = items<object>(x)[0];
    chosen = items<object>(x)[1];
  }
  held* what = find_held(from);
  tensor_list all;
  if (auto* t = dynamic_cast<held_tensor*>(what)) {
    all.values.push_back(t->value);
    all.names.emplace_back();
  } else if (auto* list = dynamic_cast<held_list*>(what)) {
    all = *list->list;
    all.names.resize(all.values.size());
  } else if (const auto body = what ? find_module(from) : nullptr) {
    all = body->parameters();
    group.module = body;
  } else {
    throw value_error(message("parameters are a module, tensor, vector or dict, given ", describe(from)));
  }
  if (!chosen) {
    group.parameters = std::move(all);
    return group;
  }
  if (const auto names = read_symbols(chosen)) {
    for (const std::string& name : *names) {
      const auto place = all.find(name);
      if (!place) throw value_error(message("no parameter `", name));
      group.parameters.names.push_back(name);
      group.parameters.values.push_back(all.values[*place]);
    }
  } else {
    for (std::int64_t i : tensors::positions(chosen, static_cast<std::int64_t>(all.values.size()))) {
      group.parameters.names.push_back(all.names[static_cast<std::size_t>(i)]);
      group.parameters.values.push_back(all.values[static_cast<std::size_t>(i)]);
    }
  }
  return group;
}

/// Options from the argument `first` on: by position, then by name.
inline std::vector<option> read_group_options(const arguments& given, std::size_t first, std::string_view type) {
  std::vector<option> found;
  for (std::size_t i = first; i < given.size(); ++i) {
    if (i + 1 == given.size())
      if (auto named = read_options(given[i])) {
        for (option& each : *named) found.push_back(std::move(each));
        break;
      }
    found.push_back({std::string(positional(row_of(type).options, i - first)), owned::share(given[i])});
  }
  return found;
}

inline held_optimizer& optimizer_at(const arguments& given) {
  auto* found = find_held_as<held_optimizer>(given[0]);
  if (!found) given.refuse(0, "an optimizer");
  return *found;
}

inline object opt(std::string_view name, object x) {
  if (handle_number(x)) {
    if (const auto* o = find_held_as<held_optimizer>(x)) return o->definition(false);
    throw value_error(message("expected an optimizer, given ", describe(x)));
  }
  const arguments given(name, x, 1, 14);
  const auto names = given[0]->type == mixed_type ? std::nullopt : read_symbols(given[0]);
  if (names && !names->empty()) {
    auto body = std::make_shared<optimizer_body>();
    body->type = (*names)[0];
    row_of(body->type);
    parameter_group group = given.size() > 1 ? parameters_from(given[1]) : parameter_group{};
    group.options = read_group_options(given, 2, body->type);
    make(body->type, group);
    body->groups.push_back(std::move(group));
    return make_handle(std::make_unique<held_optimizer>(std::move(body)));
  }
  // (o;group;parameters[;options]): a group more, or parameters and options for one that is there
  held_optimizer& o = optimizer_at(given);
  if (given.size() < 3) throw value_error("expects an optimizer, a group and parameters");
  const std::int64_t place = given.long_at(1);
  auto& groups = o.body->groups;
  if (place < 0 || place > static_cast<std::int64_t>(groups.size()))
    throw index_error(message("group ", place, " of ", groups.size()));
  parameter_group group = parameters_from(given[2]);
  group.options = read_group_options(given, 3, o.body->type);
  if (place == static_cast<std::int64_t>(groups.size())) {
    make(o.body->type, group);
    groups.push_back(std::move(group));
    return make_null();
  }
  parameter_group& old = groups[static_cast<std::size_t>(place)];
  for (std::size_t i = 0; i < old.parameters.values.size(); ++i) {
    group.parameters.names.insert(group.parameters.names.begin() + static_cast<std::ptrdiff_t>(i),
                                  old.parameters.names[i]);
    group.parameters.values.insert(group.parameters.values.begin() + static_cast<std::ptrdiff_t>(i),
                                   old.parameters.values[i]);
  }
  if (!group.module) group.module = old.module;
  if (group.options.empty()) group.options = old.options;
  make(o.body->type, group);
  old = std::move(group);
  return make_null();
}

inline void take_step(const optimizer_body& body) {
  settle();
  for (const parameter_group& group : body.groups)
    if (group.optimizer.defined()) group.optimizer.step();
}

inline object step(std::string_view name, object x) {
  const arguments given(name, x, 1, 1);
  held* const what = find_held(given[0]);
  // A step of lbfgs may call q, which may free what it is about.
  const std::unique_ptr<held> kept = dynamic_cast<stepping_object*>(what) ? what->share() : nullptr;
  if (auto* stepping = dynamic_cast<stepping_object*>(kept.get()))
    stepping->step();
  else
    take_step(*optimizer_at(given).body);
  return make_null();
}

/// The groups of an optimizer, or of that of a model.
inline std::vector<parameter_group>& groups_of(const arguments& given);

inline object lr(std::string_view name, object x) {
  const arguments given(name, x, 1, 2);
  std::vector<parameter_group>& groups = groups_of(given);
  if (given.size() == 1) {
    std::vector<double> rates;
    for (const parameter_group& group : groups)
      rates.push_back(group.optimizer.defined() ? group.optimizer.lr() : null_float);  // without parameters: none
    return make_floats(rates);
  }
  std::vector<double> rates;
  if (const auto one = read_number(given[1]))
    rates.assign(groups.size(), *one);
  else if (given[1]->type == float_type)
    rates.assign(span_of<double>(given[1]).begin(), span_of<double>(given[1]).end());
  else
    given.refuse(1, "a double or a list of them");
  if (rates.size() != groups.size())
    throw value_error(message(rates.size(), " learning rates for ", groups.size(), " groups"));
  for (double rate : rates)
    if (!(rate >= 0)) throw value_error(message("a learning rate of ", rate, "; use 0 or more"));
  for (std::size_t i = 0; i < groups.size(); ++i)
    if (groups[i].optimizer.defined()) groups[i].optimizer.set_lr(rates[i]);
  return make_null();
}

/// Calls f(parameters as Tensor<T>) with tensors that are all of one floating type.
template <class F>
void with_all(const std::vector<tensor>& parameters, F&& f) {
  if (parameters.empty()) return;
  dynamic::with_float_or_double(parameters[0].type(), "clip", [&]<class T>(std::type_identity<T>) {
    std::vector<Tensor<T>> all;
    for (const tensor& t : parameters) all.push_back(t.as<T>());
    f(all);
  });
}

/// clip and clipv: gradients of an object limited together by a norm, or each by a value.
inline object clip(std::string_view name, object x) {
  const arguments given(name, x, 2, 4);
  const double limit = given.number_at(1);
  const auto* owner = dynamic_cast<const parameter_owner*>(find_held(given[0]));
  std::vector<tensor> all;
  if (owner)
    all = owner->parameters().values;
  else if (auto* t = find_held_as<held_tensor>(given[0]))
    all.push_back(t->value);
  else if (auto* list = find_held_as<held_list>(given[0]))
    all = list->list->values;
  else
    given.refuse(0, "a tensor, vector, dict, module, optimizer or model");
  const double p = given.size() > 2 ? given.number_at(2) : 2;
  double norm = 0;
  with_all(all, [&](const auto& parameters) {
    if (name == "clip")
      norm = optim::clip_grad_norm(parameters, limit, p);
    else
      optim::clip_grad_value(parameters, limit);
  });
  return name == "clip" ? kf(norm) : make_null();
}

}  // namespace optimizers

/// Objects with an optimizer in them implement this beside `held`.
struct optimizer_holder {
  virtual std::shared_ptr<optimizer_body> held_optimizer_body() const = 0;

 protected:
  ~optimizer_holder() = default;
};

inline std::vector<parameter_group>& optimizers::groups_of(const arguments& given) {
  if (auto* holder = dynamic_cast<optimizer_holder*>(find_held(given[0]))) return holder->held_optimizer_body()->groups;
  return optimizer_at(given).body->groups;
}

inline void offer_optimizers(registry& r) {
  r.offer("opt", optimizers::opt);
  r.offer("step", optimizers::step);
  r.offer("lr", optimizers::lr);
  r.offer("clip", optimizers::clip);
  r.offer("clipv", optimizers::clip);
}

}  // namespace kiln::k
