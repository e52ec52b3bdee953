// SPDX-License-Identifier: BSL-1.0
// Modules made of others: one after the other, beside each other, around each other. A container's parts can be changed
// after it was made, and all that share it see that; none can become a part of itself.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <unordered_set>
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
  /// `inputs`: how many it takes at most, 0 for as many as its first part.
  container_module(std::string type, rule run, std::string settings, std::size_t inputs)
      : type_(std::move(type)), settings_(std::move(settings)), rule_(std::move(run)), inputs_(inputs) {}
  container_module(const container_module&) = delete;
  container_module& operator=(const container_module&) = delete;
  /// However deep parts are within parts, they end one after the other.
  ~container_module() override {
    try {
      for (parts ended = std::move(parts_); !ended.empty();) {
        const module last = std::move(ended.back().second);
        ended.pop_back();
        if (auto* const inner = last.alone() ? dynamic_cast<container_module*>(last.what()) : nullptr)
          for (auto& each : std::exchange(inner->parts_, {})) ended.push_back(std::move(each));
      }
    } catch (const std::bad_alloc&) {  // those that are left end within each other
    }
  }

  tensor forward(const tensor& x) const override { return only(run({x}), type_, "result"); }
  tensors run(const tensors& inputs) const override { return rule_(parts_, inputs, training_); }
  std::size_t most_inputs() const override {
    return inputs_ ? inputs_ : parts_.empty() ? 1 : parts_[0].second.most_inputs();
  }
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
    check(now);
    if (contains_this(now)) throw value_error(message(type_, ": a module cannot become a part of itself"));
    parts_ = std::move(now);
  }
  /// set_children of a new container, which nothing can contain yet.
  void begin_with(parts now) {
    check(now);
    parts_ = std::move(now);
  }

 private:
  void check(const parts& now) const {
    for (std::size_t i = 0; i < now.size(); ++i) {
      const auto& [name, part] = now[i];
      if (!part.defined()) throw value_error(message(type_, ": part \"", name, "\" has no value"));
      if (name.empty() || name.find('.') != std::string::npos)
        throw value_error(message(type_, ": \"", name, "\" is no name of a part: use one without dots"));
      for (std::size_t k = 0; k < i; ++k)
        if (now[k].first == name) throw value_error(message(type_, ": two parts have the name \"", name, "\""));
    }
  }
  // Looks at each module once, however many have it as a part and however deep.
  bool contains_this(const parts& now) const {
    std::unordered_set<const held*> seen;
    std::vector<module> left;
    const auto add = [&](const parts& some) {
      for (const auto& [name, part] : some)
        if (seen.insert(part.what()).second) left.push_back(part);
    };
    for (add(now); !left.empty();) {
      const module part = std::move(left.back());
      left.pop_back();
      if (part.is(this)) return true;
      add(part.children());
    }
    return false;
  }
  std::string type_, settings_;
  rule rule_;
  std::size_t inputs_;
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
  if (inputs.empty()) throw value_error("Residual: needs an input");
  const auto result = [&](std::size_t i) { return only(of[i].second.run(inputs), "Residual", "result of a part"); };
  const tensor main = result(0), beside = of.size() > 1 ? result(1) : inputs[0];
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
/// Through the parts in turn; each sees the further inputs that it takes, and none changes these.
inline tensors run_list(const module::named_modules& of, const tensors& inputs, bool) {
  if (inputs.empty()) throw value_error("SeqList: needs an input");
  tensors now = inputs;
  for (const auto& [name, part] : of) {
    const std::size_t takes = std::min(now.size(), part.most_inputs());
    now[0] =
        only(part.run({now.begin(), now.begin() + static_cast<std::ptrdiff_t>(takes)}), "SeqList", "result of a part");
  }
  return {now[0]};
}
/// Blocks of two results each (Oreshkin et al. 2019): the first is taken away from what the next block sees, the second
/// is the block's share of the sum, which is the result. Lists of blocks stand for these.
inline void run_block(const module& block, tensor& left, tensor& sum) {
  if (block.type() == "ModuleList") {
    for (const auto& [name, each] : block.children()) run_block(each, left, sum);
    return;
  }
  const tensors both = block.run({left});
  if (both.size() != 2)
    throw value_error(message("NBeats: a block gives ", both.size(), " results, needs 2: what it explains of its ",
                              "input, and its forecast"));
  if (both[0].sizes() != left.sizes())
    throw shape_error(message("NBeats: a block explains ", both[0].sizes(), " of an input of ", left.sizes()));
  left = call("sub", {left, both[0]});
  sum = sum.defined() ? call("add", {sum, both[1]}) : both[1];
}
inline tensors run_blocks(const module::named_modules& of, const tensors& inputs, bool) {
  tensor left = only(inputs, "NBeats", "input"), sum;
  for (const auto& [name, each] : of) run_block(each, left, sum);
  if (!sum.defined()) throw value_error("NBeats: has no blocks");
  return {sum};
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

/// A container by its own rule, of so many inputs at most, 0 for as many as its first part takes.
inline module container_of(std::string type, graph::container_module::rule run, module::named_modules parts,
                           std::string settings = {}, std::size_t inputs = 0) {
  const auto made = std::make_shared<graph::container_module>(type, std::move(run), std::move(settings), inputs);
  made->begin_with(std::move(parts));
  return module(std::move(type), made);
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
///   Residual             the first's result plus the first input, or plus the second's result; a third takes the sum
///   SeqList, SeqDict     one after the other, each with the further inputs as well, as many as it takes
///   NBeats               blocks that give what they explain of their input, and a forecast; the sum of forecasts
///   Transform            the first in training, else the second; a third takes the result
///   Recur                a recurrent layer, and what its output goes through; results are that and the states
///   ModuleList, ModuleDict  parts without a way through them
/// Throws value_error for another name, and as set_children.
inline module make_container(std::string_view type, module::named_modules parts, bool detach = false) {
  struct row {
    std::string_view name;
    graph::container_module::rule run;
    std::size_t inputs = 0;
  };
  const std::string name(type);
  const auto list = [name](const module::named_modules&, const tensors&, bool) -> tensors {
    throw value_error(message(name, ": keeps modules; it has no forward pass"));
  };
  const auto recur = [detach](const module::named_modules& of, const tensors& inputs, bool) {
    return graph::run_recur(of, inputs, detach);
  };
  const auto rows = std::to_array<row>({{"Sequential", graph::run_chain},
                                        {"SeqNest", graph::run_chain},
                                        {"SeqList", graph::run_list},
                                        {"SeqDict", graph::run_list},
                                        {"SeqJoin", graph::run_join, 2},
                                        {"Fork", graph::run_fork},
                                        {"Residual", graph::run_residual},
                                        {"Transform", graph::run_transform},
                                        {"Recur", recur},
                                        {"NBeats", graph::run_blocks, 1},
                                        {"ModuleList", list},
                                        {"ModuleDict", list}});
  for (const row& each : rows)
    if (each.name == type)
      return container_of(name, each.run, std::move(parts), detach ? "detach=True" : "", each.inputs);
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
  return container_of(name, run, {}, cat ? message("dim=", axis) : "", 8);
}

}  // namespace kiln::dynamic
