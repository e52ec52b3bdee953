// SPDX-License-Identifier: BSL-1.0
// What optimizers of one element type and device have in common: groups of parameters in flat buffers, a count of steps
// for each parameter, and state by name. An optimizer adds its options and its formula.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <kiln/expr/reductions.hpp>
#include <kiln/optim/optimizer.hpp>
#include <kiln/optim/parameter_run.hpp>

namespace kiln::optim {

/// Parameters with options of their own: `{params, {.lr = 1e-4}}`.
template <Element T, class Device, class Options>
struct parameter_group {
  std::vector<Tensor<T, Device>> parameters;
  Options options = {};
};
/// An optimizer over parameters of T on Device: groups, steps and state. Formulas come from the classes derived of it.
template <Element T, class Device, class Options>
class parameter_groups : public optimizer {
  static_assert(is_floating(dtype_of<T>), "kiln: an optimizer's parameters are of a floating type");

 public:
  using value_type = T;
  using device_type = Device;
  using param_group = parameter_group<T, Device, Options>;
  /// What state is kept in: float for parameters of half types.
  using state_type = compute_t<T>;

  parameter_groups() = default;
  // What derived classes inherit: other arguments than they take are refused by a sentence.
  template <class... X>
  explicit parameter_groups(const X&...) {
    detail::takes_parameters_and_options<X...>();
  }
  template <class X>
  parameter_groups(const X&, const Options&) {
    detail::takes_parameters_and_options<X>();
  }

  /// One more group, with options of its own. Throws as the constructor, and value_error for a parameter that another
  /// group has.
  [[gnu::cold]] void add_param_group(const std::vector<Tensor<T, Device>>& parameters, const Options& options = {}) {
    check(options);
    for (std::size_t i = 0; i < parameters.size(); ++i)
      for (std::size_t g = 0; g < groups_.size(); ++g)
        if (groups_[g].memory->memory.index_of(*parameters[i].state()) >= 0)
          throw value_error(message("add_param_group: parameter ", i, ", of shape ", parameters[i].sizes(),
                                    ", is in group ", g, " already: a step would change it twice"));
    groups_.push_back({options, std::make_unique<detail::group_memory<T, Device>>(parameters)});
  }
  /// The options of a group, to be read and set: they hold from the next step on. Throws index_error.
  Options& options(int group = 0) { return at(group).options; }
  /// The parameters of a group, sharing their elements. Throws index_error.
  std::vector<Tensor<T, Device>> parameters(int group = 0) const {
    std::vector<Tensor<T, Device>> all;
    for (const ref<tensor_state>& p : const_cast<parameter_groups*>(this)->at(group).memory->memory.parameters())
      all.push_back(Tensor<T, Device>(p));
    return all;
  }
  /// Those of all groups.
  std::vector<Tensor<T, Device>> all_parameters() const {
    std::vector<Tensor<T, Device>> all;
    for (int g = 0; g < group_count(); ++g)
      for (Tensor<T, Device>& p : parameters(g)) all.push_back(std::move(p));
    return all;
  }
  /// How many steps have changed a parameter. Throws value_error for a tensor that is none.
  std::int64_t steps(const Tensor<T, Device>& parameter) const {
    const auto [group, i] = find(parameter, "steps");
    return group->done[static_cast<std::size_t>(i)].steps;
  }
  /// The names of the state that there is: none before the first step.
  std::vector<std::string> state_names(int group = 0) const {
    std::vector<std::string> names;
    for (const auto& s : const_cast<parameter_groups*>(this)->at(group).memory->states) names.push_back(s.name);
    return names;
  }
  /// What is kept for a parameter under a name, such as "exp_avg", in its shape: the elements themselves, not a copy.
  /// Throws value_error for a tensor that is no parameter, and for a name that there is not.
  Tensor<state_type, Device> state(const Tensor<T, Device>& parameter, std::string_view name) const {
    const auto [group, i] = find(parameter, "state");
    if (!group->find(name)) {
      std::string known;
      for (const auto& s : group->states) known += (known.empty() ? "" : ", ") + s.name;
      throw value_error(message("state: there is no \"", name, "\" (", known.empty() ? "nothing" : known,
                                "); what an optimizer keeps is made at its first step"));
    }
    return group->state_of(i, name);
  }

  /// For checkpoints: shows all that a later step depends on, beside the parameters themselves, to `v`, which keeps it,
  /// compares it with what was kept (`reads()`), or also writes that here (`writes()`). v(name, number) is for numbers,
  /// v.counter for those that count, v.checked for those with another property, v.list for vectors of them, which it
  /// also fills when it compares, v.members for structs of options, v.part for tensors, and v.names(prefix) says which
  /// state was kept. Whatever else is written is by v.set(what, value), which can be undone, or in v.then(f), after the
  /// tensors have their values. Parameters are visited before.
  template <class V>
  void visit_state(V& v) {
    std::vector<double> initial = this->initial_lrs();
    v.list("initial_lr", initial);
    if (!initial.empty() && initial.size() != groups_.size()) return v.misfit("initial_lr", "another number of groups");
    if (v.writes()) v.set(this->initial_lrs(), initial);
    for (int g = 0; g < group_count(); ++g) {
      group_of& group = at(g);
      detail::group_memory<T, Device>& memory = *group.memory;
      const std::string prefix = "groups." + std::to_string(g) + ".";
      v.members(prefix + "options.", group.options);
      for (std::size_t i = 0; i < memory.done.size(); ++i) {
        v.counter(prefix + "steps." + std::to_string(i), memory.done[i].steps);
        v.checked(
            prefix + "product." + std::to_string(i), memory.done[i].product, [](double x) { return x >= 0 && x <= 1; },
            "from 0 to 1");
      }
      if (v.writes()) {
        v.set(memory.states, {});
        for (const std::string& name : v.names(prefix + "state.")) memory.state(name);
      }
      std::vector<std::string> names;
      for (const auto& s : memory.states) names.push_back(s.name);
      if (v.reads()) names = v.names(prefix + "state.");
      for (const std::string& name : names)
        for (int i = 0; i < memory.memory.size(); ++i) {
          const dims& sizes = memory.memory.parameter(i)->sizes;
          Tensor<state_type, Device> part = memory.state_of(i, name);
          v.part(prefix + "state." + name + "." + std::to_string(i), part, sizes, dtype_of<state_type>);
        }
      // The master weights of half types are those of the parameters as they are now.
      if (v.writes()) {
        v.set(memory.seen, std::vector<std::uint32_t>(static_cast<std::size_t>(memory.memory.size())));
        v.then([&memory] {
          for (std::size_t i = 0; i < memory.seen.size(); ++i)
            memory.seen[i] = memory.memory.version(static_cast<int>(i));
        });
      }
    }
  }

  void step() override {
    bool any = false;
    for (group_of& g : groups_) {
      check(g.options);
      g.memory->memory.gather("step");
      for (int i = 0; i < g.memory->memory.size() && !any; ++i) any = g.memory->memory.has_gradient(i);
    }
    if (!any)
      throw graph_error(
          "step: no parameter has a gradient: call backward() on a loss computed from them before, and zero_grad() "
          "after the step or before the next backward()");
    const no_grad quiet;
    for (group_of& g : groups_)
      each_run(*g.memory, true, [&](index_run which) {
        const detail::progress before = g.memory->done[static_cast<std::size_t>(which.first)];
        try {
          detail::parameter_run<T, Device> run(*g.memory, which);
          update(run, g.options);
        } catch (...) {  // what was not changed has made no step
          for (int i = which.first; i < which.last; ++i) g.memory->done[static_cast<std::size_t>(i)] = before;
          throw;
        }
      });
  }
  void zero_grad(bool set_to_none = true) override {
    for (group_of& g : groups_) g.memory->memory.zero_gradients(set_to_none);
  }
  int group_count() const override { return static_cast<int>(groups_.size()); }
  double& lr(int group = 0) override { return at(group).options.lr; }
  double* momentum_of(int group) override {
    Options& o = at(group).options;
    if constexpr (requires { o.momentum; })
      return &o.momentum;
    else if constexpr (requires { o.betas; })
      return &o.betas[0];
    else
      return nullptr;
  }
  bool scale_gradients(double by) override {
    const no_grad quiet;
    bool finite = true;
    for (group_of& g : groups_) {
      g.memory->memory.gather("scale_gradients");
      each_run(*g.memory, false, [&](index_run which) {
        const auto& begins = g.memory->memory.layout().begins;
        const std::int64_t begin = begins[static_cast<std::size_t>(which.first)],
                           size = begins[static_cast<std::size_t>(which.last)] - begin;
        const ref<tensor_state>& flat = g.memory->memory.gradients();
        // Zeros stay: between tensors there is nothing else.
        if constexpr (requires(T * p) { kiln::executor<Device>::scale(p, size, by); }) {
          finite &= kiln::executor<Device>::scale(static_cast<T*>(flat->data) + begin, size, by);
        } else {
          auto gradients = detail::part_of_flat<T, Device>(flat, begin, size);
          const auto wide = kiln::detail::converted<state_type>(gradients);
          assign(std::tie(gradients), cast<T>(where(wide == 0, 0, wide * by)));
          finite = finite && all(isfinite(gradients)).item();
        }
        g.memory->memory.gradients_changed(which);
      });
    }
    return finite;
  }

 protected:
  using index_run = detail::index_run;
  using parameter_run = detail::parameter_run<T, Device>;

  /// Changes parameters that have all made the same steps.
  virtual void update(parameter_run& run, Options& options) = 0;
  /// Throws value_error for options that are none.
  virtual void check(const Options& options) const = 0;

 private:
  struct group_of {
    Options options;
    std::unique_ptr<detail::group_memory<T, Device>> memory;
  };
  using index_run_list = std::vector<index_run>;

  // Calls f for parameters with gradients, as many at a time as lie next to each other and, if asked, have made the
  // same steps.
  template <class F>
  static void each_run(const detail::group_memory<T, Device>& g, bool same_steps, F f) {
    const int n = g.memory.size();
    for (int first = 0; first < n;) {
      if (!g.memory.has_gradient(first)) {
        ++first;
        continue;
      }
      int last = first + 1;
      while (last < n && g.memory.has_gradient(last) &&
             (!same_steps || g.done[static_cast<std::size_t>(last)] == g.done[static_cast<std::size_t>(first)]))
        ++last;
      f(index_run{first, last});
      first = last;
    }
  }
  group_of& at(int group) {
    if (group < 0 || group >= group_count())
      throw index_error(message("optimizer: there is no group ", group, ": there are ", group_count()));
    return groups_[static_cast<std::size_t>(group)];
  }
  std::pair<const detail::group_memory<T, Device>*, int> find(const Tensor<T, Device>& parameter,
                                                              const char* where) const {
    for (const group_of& g : groups_)
      if (const int i = g.memory->memory.index_of(*parameter.state()); i >= 0) return {g.memory.get(), i};
    throw value_error(message(where, ": the tensor, of shape ", parameter.sizes(),
                              ", is no parameter of this optimizer: ask for one that it was given"));
  }

  std::vector<group_of> groups_;
};

}  // namespace kiln::optim
