// SPDX-License-Identifier: BSL-1.0
// Modules made of others: one after the other, beside each other, around each other. A container's parts can be changed
// after it was made, and all that share it see that; none can become a part of itself.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <kiln/dynamic/module.hpp>
#include <kiln/dynamic/products.hpp>
#include <kiln/dynamic/shape.hpp>

namespace kiln::dynamic {

namespace graph {

/// Parts with names, and a rule that runs them.
class container_module final : public module::held {
 public:
  using parts = module::named_modules;
  using rule = std::function<tensors(const parts& of, const tensors& inputs, bool training)>;
  container_module(std::string type, rule run, std::string settings)
      : type_(std::move(type)), settings_(std::move(settings)), rule_(std::move(run)) {}

  tensor forward(const tensor& x) const override { return only(run({x}), type_, "result"); }
  tensors run(const tensors& inputs) const override { return rule_(parts_, inputs, training_); }
  void train(bool on) override {
    for (const auto& [name, part] : parts_) part.train(on);
    training_ = on;
  }
  bool training() const override { return training_; }
  std::string settings() const override { return settings_; }
  void parameters(const std::string& prefix, module::named_tensors& into) const override {
    for (const auto& [name, part] : parts_)
      for (auto& [path, each] : part.named_parameters()) into.emplace_back(prefix + name + '.' + path, each);
  }
  void buffers(const std::string& prefix, module::named_tensors& into) const override {
    for (const auto& [name, part] : parts_)
      for (auto& [path, each] : part.named_buffers()) into.emplace_back(prefix + name + '.' + path, each);
  }
  void move(device, bool) override {}  // its parts are moved by themselves
  void forget_gradients() const override {}
  parts children() const override { return parts_; }
  void set_children(parts now) override {
    for (std::size_t i = 0; i < now.size(); ++i) {
      const auto& [name, part] = now[i];
      if (!part.defined()) throw value_error(message(type_, ": part \"", name, "\" has no value"));
      if (name.empty() || name.find('.') != std::string::npos)
        throw value_error(message(type_, ": \"", name, "\" is no name of a part: use one without dots"));
      for (std::size_t k = 0; k < i; ++k)
        if (now[k].first == name) throw value_error(message(type_, ": two parts have the name \"", name, "\""));
      if (contains_this(part)) throw value_error(message(type_, ": a module cannot become a part of itself"));
    }
    parts_ = std::move(now);
  }

 private:
  bool contains_this(const module& part) const {
    if (part.is(this)) return true;
    for (const auto& [name, each] : part.children())
      if (contains_this(each)) return true;
    return false;
  }
  std::string type_, settings_;
  rule rule_;
  parts parts_;
  bool training_ = true;
};

/// From one part to the next; a part that gives several results gives them all to the next.
inline tensors run_chain(const module::named_modules& of, const tensors& inputs, bool = true) {
  tensors now = inputs;
  for (const auto& [name, part] : of) now = part.run(now);
  return now;
}
inline void expect_parts(std::string_view what, const module::named_modules& of, std::size_t least, std::size_t most) {
  if (of.size() < least || of.size() > most)
    throw value_error(message(what, ": has ", of.size(), " parts, needs ", least,
                              least == most ? std::string() : message(" to ", most)));
}
inline tensors run_fork(const module::named_modules& of, const tensors& inputs, bool) {
  expect_parts("Fork", of, 2, 2);
  tensors all = of[0].second.run(inputs);
  for (tensor& each : of[1].second.run(inputs)) all.push_back(std::move(each));
  return all;
}
inline tensors run_residual(const module::named_modules& of, const tensors& inputs, bool) {
  expect_parts("Residual", of, 1, 3);
  const tensor& x = only(inputs, "Residual", "input");
  const tensor main = of[0].second(x), beside = of.size() > 1 ? of[1].second(x) : x;
  if (main.sizes() != beside.sizes())
    throw shape_error(message("Residual: the parts give ", main.sizes(), " and ", beside.sizes(),
                              ": both must be of one shape; a second part may bring the input into that of the first"));
  const tensor sum = call("add", {main, beside});
  return {of.size() > 2 ? of[2].second(sum) : sum};
}
inline tensors run_join(const module::named_modules& of, const tensors& inputs, bool) {
  expect_parts("SeqJoin", of, 3, 3);
  if (inputs.empty() || inputs.size() > 2)
    throw value_error(message("SeqJoin: takes one input for both parts or one for each, given ", inputs.size()));
  tensors both = of[0].second.run({inputs[0]});
  for (tensor& each : of[1].second.run({inputs.back()})) both.push_back(std::move(each));
  return of[2].second.run(both);
}
inline tensors run_transform(const module::named_modules& of, const tensors& inputs, bool training) {
  expect_parts("Transform", of, 2, 3);
  const tensors changed = of[training ? 0 : 1].second.run(inputs);
  return of.size() > 2 ? of[2].second.run(changed) : changed;
}
/// Always with the states at the end: an input without states begins with zeros.
inline tensors run_recur(const module::named_modules& of, const tensors& inputs, bool detached) {
  expect_parts("Recur", of, 1, 2);
  tensors given = inputs;
  if (given.size() < 2) given.resize(2);
  tensors all = of[0].second.run(given);
  if (all.size() < 2)
    throw value_error(message("Recur: its first part is ", of[0].second.type(), ", expected RNN, LSTM or GRU"));
  if (detached)
    for (std::size_t i = 1; i < all.size(); ++i) all[i] = all[i].detach();
  if (of.size() > 1) all[0] = of[1].second(all[0]);
  return all;
}

}  // namespace graph

/// A container by its own rule.
inline module container_of(std::string type, graph::container_module::rule run, module::named_modules parts,
                           std::string settings = {}) {
  module made(type, std::make_shared<graph::container_module>(type, std::move(run), std::move(settings)));
  made.set_children(std::move(parts));
  return made;
}

/// Modules one after the other. Throws value_error for a name that stands twice, is empty or has a dot, or a module
/// without a value.
inline module sequential(module::named_modules parts) {
  return container_of("Sequential", graph::run_chain, std::move(parts));
}
/// The same with numbers for names: "0", "1", ...
inline module sequential(const std::vector<module>& parts) {
  module::named_modules named;
  for (std::size_t i = 0; i < parts.size(); ++i) named.emplace_back(std::to_string(i), parts[i]);
  return sequential(std::move(named));
}

/// Containers by name; how many parts each has is looked at when it runs, so that they may be added one by one.
///   Sequential, SeqNest  one after the other; the first part says how many inputs there are
///   SeqJoin              two beside each other, of one input or one each, and a third that takes both results
///   Fork                 two beside each other; the results of both
///   Residual             the first's result plus the input, or plus the second's result; a third takes the sum
///   Transform            the first in training, else the second; a third takes the result
///   Recur                a recurrent layer, and what its output goes through; results are that and the states
///   ModuleList           parts without a way through them
/// Throws value_error for another name, and as set_children.
inline module make_container(std::string_view type, module::named_modules parts, bool detach = false) {
  struct row {
    std::string_view name;
    graph::container_module::rule run;
  };
  const std::string name(type);
  const auto list = [](const module::named_modules&, const tensors&, bool) -> tensors {
    throw value_error("ModuleList: keeps modules; it has no forward pass");
  };
  const auto recur = [detach](const module::named_modules& of, const tensors& inputs, bool) {
    return graph::run_recur(of, inputs, detach);
  };
  const auto rows = std::to_array<row>({{"Sequential", graph::run_chain},
                                        {"SeqNest", graph::run_chain},
                                        {"SeqJoin", graph::run_join},
                                        {"Fork", graph::run_fork},
                                        {"Residual", graph::run_residual},
                                        {"Transform", graph::run_transform},
                                        {"Recur", recur},
                                        {"ModuleList", list}});
  for (const row& each : rows)
    if (each.name == type) return container_of(name, each.run, std::move(parts), detach ? "detach=True" : "");
  throw value_error(message("make_container: there is no \"", type, "\""));
}

/// What takes two inputs, or more where that makes sense, to one result: Add, Mul, Matmul, or Cat along an axis. Throws
/// value_error for another name, and when it runs for one input.
inline module joining_layer(std::string_view type, std::int64_t axis = 1) {
  const bool cat = type == "Cat", product = type == "Matmul";
  if (!cat && !product && type != "Add" && type != "Mul")
    throw value_error(message("joining_layer: there is no \"", type, "\": those are Add, Mul, Matmul and Cat"));
  const std::string name(type);
  const auto run = [=](const module::named_modules&, const tensors& inputs, bool) -> tensors {
    if (inputs.size() < 2) throw value_error(message(name, ": takes two inputs or more, given ", inputs.size()));
    if (cat) return {dynamic::cat(inputs, axis)};
    tensor all = inputs[0];
    for (std::size_t i = 1; i < inputs.size(); ++i)
      all = product ? matmul(all, inputs[i]) : call(name == "Add" ? "add" : "mul", {all, inputs[i]});
    return {all};
  };
  return container_of(name, run, {}, cat ? message("dim=", axis) : "");
}

}  // namespace kiln::dynamic
