// SPDX-License-Identifier: BSL-1.0
// Optimizers: made by name over parameters in groups, their steps, rates and state, limits for gradients.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <kiln/dynamic/optimizers.hpp>
#include <kiln/k/held_module.hpp>
#include <kiln/k/tensors.hpp>
#include <kiln/optim/gradients.hpp>

namespace kiln::k {

/// Parameters that share options. Each group has an optimizer of kiln's; none as long as it has no parameters.
struct parameter_group {
  std::vector<option> options;
  tensor_list parameters;
  std::shared_ptr<module_body> module;  // of which they are, if so
  dynamic::optimizer optimizer;
};

struct optimizer_body {
  std::string type;
  std::vector<parameter_group> groups;
};

namespace optimizers {

/// An optimizer of q's, what kiln calls it, its options in order and in both languages, whether it counts its steps.
struct optimizer_row {
  std::string_view name, optimizer, options;
  bool counts;
};

inline constexpr auto optimizer_rows = std::to_array<optimizer_row>({
    {"sgd", "SGD", "lr momentum dampening decay=weight_decay nesterov", false},
    {"adam", "Adam", "lr beta1 beta2 eps decay=weight_decay amsgrad", true},
    {"adamw", "AdamW", "lr beta1 beta2 eps decay=weight_decay amsgrad", true},
    {"lamb", "Lamb", "lr beta1 beta2 eps decay=weight_decay unbiased=- globalnorm=- trustclip=- trustmin=- trustmax=-",
     true},
    {"lbfgs", "LBFGS",
     "lr iter=max_iter eval=max_eval gradtol=tolerance_grad changetol=tolerance_change history=history_size "
     "search=line_search_fn",
     false},
    {"adagrad", "Adagrad", "lr lrdecay=lr_decay decay=weight_decay init=initial_accumulator_value eps", true},
    {"rmsprop", "RMSprop", "lr alpha eps decay=weight_decay momentum centered", false},
});

inline const optimizer_row& row_of(std::string_view name) {
  for (const optimizer_row& row : optimizer_rows)
    if (row.name == name) return row;
  throw value_error(message("unrecognized or not offered optimizer `", name,
                            ", expected one of sgd adam adamw lamb lbfgs adagrad rmsprop"));
}

/// The name of the option in a place.
inline std::string_view positional(std::string_view options, std::size_t place) {
  for (std::size_t i = 0; !options.empty(); ++i) {
    const std::size_t end = std::min(options.find(' '), options.size());
    if (i == place) return options.substr(0, std::min(options.find('='), end));
    options.remove_prefix(std::min(end + 1, options.size()));
  }
  throw value_error("more options by position than the optimizer has");
}

/// Makes the optimizer of a group of its options and parameters.
inline void make(std::string_view type, parameter_group& group) {
  const optimizer_row& row = row_of(type);
  dynamic::options how = translated(type, row.options, group.options);
  if (type == "sgd" && !how.find("lr")) how.set("lr", 0.01);
  if (const auto* search = how.find("line_search_fn"))
    if (const auto* text = std::get_if<std::string>(&search->value()); text && *text == "wolfe")
      how.set("line_search_fn", "strong_wolfe");
  if (group.parameters.values.empty()) {  // names and kinds of options are checked now all the same
    dynamic::tensor stand_in = dynamic::zeros({1});
    stand_in.requires_grad_();
    dynamic::make_optimizer(row.optimizer, {stand_in}, how);
    return;
  }
  group.optimizer = dynamic::make_optimizer(row.optimizer, group.parameters.values, how);
}

}  // namespace optimizers

class held_optimizer : public held, public defined_object, public parameter_owner, public module_holder {
 public:
  explicit held_optimizer(std::shared_ptr<optimizer_body> what) : body(std::move(what)) {}
  held_class kind() const override { return held_class::optimizer; }
  std::unique_ptr<held> share() const override { return std::make_unique<held_optimizer>(body); }
  const void* identity() const override { return body.get(); }
  std::int64_t uses() const override { return body.use_count(); }
  std::string device() const override { return parameters().values.empty() ? "" : "cpu"; }
  object size() const override { return kj(static_cast<std::int64_t>(parameters().values.size())); }
  std::int64_t elements() const override { return totals().elements; }
  std::int64_t bytes() const override { return totals().bytes; }
  std::int64_t tensor_count() const override { return totals().tensors; }
  tensor_list parameters() const override {
    tensor_list all;
    for (const parameter_group& group : body->groups) {
      all.names.insert(all.names.end(), group.parameters.names.begin(), group.parameters.names.end());
      all.values.insert(all.values.end(), group.parameters.values.begin(), group.parameters.values.end());
    }
    return all;
  }
  std::shared_ptr<module_body> held_body() const override {
    for (const parameter_group& group : body->groups)
      if (group.module) return group.module;
    return nullptr;
  }
  std::vector<tensor> usual_inputs(bool) const override { return {}; }

  /// Name, options of the groups, parameters; with the state's tensors where all is asked for.
  object definition(bool all) const override {
    longs group_of, numbers;
    std::vector<std::string> names, kinds;
    std::vector<owned> sizes, options, ptrs, states;
    for (std::size_t g = 0; g < body->groups.size(); ++g) {
      const parameter_group& group = body->groups[g];
      numbers.push_back(static_cast<std::int64_t>(g));
      options.emplace_back(options_value(group.options));
      const auto state =
          group.optimizer.defined() ? group.optimizer.state() : std::vector<dynamic::optimizer::state_tensor>{};
      for (std::size_t i = 0; i < group.parameters.values.size(); ++i) {
        group_of.push_back(static_cast<std::int64_t>(g));
        names.push_back(i < group.parameters.names.size() ? group.parameters.names[i] : "");
        kinds.push_back(group.module ? group.module->type : "");
        sizes.emplace_back(make_longs(group.parameters.values[i].sizes()));
        ptrs.emplace_back(
            kj(static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(group.parameters.values[i].state().get()))));
        std::vector<std::string> state_names;
        std::vector<owned> state_values;
        for (const auto& each : state)
          if (each.parameter == i) {
            state_names.push_back(each.name);
            state_values.emplace_back(to_value(each.value));
          }
        states.emplace_back(make_dictionary(state_names, make_list(std::move(state_values))));
      }
    }
    const std::vector<std::string> option_columns{"parmgroup", "options"};
    object option_table =
        xT(make_dictionary(option_columns, knk(2, make_longs(numbers), make_list(std::move(options)))));
    std::vector<std::string> columns{"parmgroup", "pointer", "module", "name", "size"};
    std::vector<owned> values;
    values.emplace_back(make_longs(group_of));
    values.emplace_back(collapse(std::move(ptrs)));
    values.emplace_back(make_symbols(kinds));
    values.emplace_back(make_symbols(names));
    values.emplace_back(make_list(std::move(sizes)));
    if (all) {
      columns.emplace_back("state");
      values.emplace_back(make_list(std::move(states)));
    }
    object parameter_table = xT(make_dictionary(columns, make_list(std::move(values))));
    const std::vector<std::string> parts{"optimizer", "options", "parms"};
    return make_dictionary(parts, knk(3, make_symbol(body->type), option_table, parameter_table));
  }

  std::shared_ptr<optimizer_body> body;

 private:
  struct sums {
    std::int64_t elements = 0, bytes = 0, tensors = 0;
  };
  /// Of the state, which is made by the first step; a counter of steps is one long for each parameter.
  sums totals() const {
    sums all;
    for (const parameter_group& group : body->groups) {
      if (!group.optimizer.defined()) continue;
      const auto state = group.optimizer.state();
      for (const auto& each : state) {
        all.elements += each.value.numel();
        all.bytes += bytes_of(each.value);
        ++all.tensors;
      }
      if (state.empty() || !optimizers::row_of(body->type).counts) continue;
      const auto counters = static_cast<std::int64_t>(group.parameters.values.size());
      all.elements += counters;
      all.bytes += 8 * counters;
    }
    return all;
  }
};

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
  if (auto* stepping = dynamic_cast<stepping_object*>(find_held(given[0])))
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
      rates.push_back(group.optimizer.defined() ? group.optimizer.lr() : null_float);
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
