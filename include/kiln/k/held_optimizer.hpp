// SPDX-License-Identifier: BSL-1.0
// What a handle to an optimizer holds: parameters in groups, each with an optimizer of kiln's, and their state.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <kiln/dynamic/creation.hpp>
#include <kiln/dynamic/optimizers.hpp>
#include <kiln/k/held_module.hpp>

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
  std::string device() const override {
    const tensor_list all = parameters();
    return all.values.empty() ? "" : device_of(all.values[0]);
  }
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
  std::string type() const override { return body->type; }
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

}  // namespace kiln::k
