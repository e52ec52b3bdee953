// SPDX-License-Identifier: BSL-1.0
// What optimizers of one element type and device have in common: groups of parameters in flat buffers, a count of steps
// for each parameter, and state by name. An optimizer adds its options and its formula.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <kiln/expr/reductions.hpp>
#include <kiln/ops/all.hpp>
#include <kiln/optim/flat_memory.hpp>
#include <kiln/optim/optimizer.hpp>
#include <kiln/tensor/assign.hpp>
#include <kiln/tensor/tensor.hpp>

namespace kiln::optim {

/// Parameters with options of their own: `{params, {.lr = 1e-4}}`.
template <Element T, class Device, class Options>
struct parameter_group {
  std::vector<Tensor<T, Device>> parameters;
  Options options = {};
};

namespace detail {

template <Element T, class Device>
std::vector<ref<tensor_state>> states_of(const std::vector<Tensor<T, Device>>& tensors) {
  std::vector<ref<tensor_state>> states;
  states.reserve(tensors.size());
  for (const Tensor<T, Device>& t : tensors) states.push_back(t.state());
  return states;
}

/// Elements [begin, begin + size) of a 1-D tensor.
template <Element T, class Device>
Tensor<T, Device> part_of_flat(const ref<tensor_state>& flat, std::int64_t begin, std::int64_t size) {
  if (begin == 0 && size == flat->sizes[0]) return Tensor<T, Device>(flat);
  ref<tensor_state> part = new_state(dtype_of<T>, {size}, {1});
  part->data = static_cast<T*>(flat->data) + begin;
  part->memory = flat->memory;
  return Tensor<T, Device>(std::move(part));
}

/// How often a parameter was changed, and a product over its steps for those who want one.
struct progress {
  std::int64_t steps = 0;
  double product = 1;
  friend bool operator==(const progress&, const progress&) = default;
};

/// State of a group by name: one flat buffer, laid out as the parameters are.
struct named_state {
  std::string name;
  ref<tensor_state> flat;
};

/// A group of one optimizer. State is of C: float for parameters of half types.
template <Element T, class Device>
struct group_memory {
  using C = compute_t<T>;
  flat_memory memory;
  std::vector<progress> done;
  std::vector<named_state> states;
  std::vector<std::uint32_t> seen;  ///< of half types: the version of each parameter that the master weights are of

  explicit group_memory(const std::vector<Tensor<T, Device>>& parameters)
      : memory(states_of(parameters), *kiln::detail::adding_kernel<T, Device>()), done(parameters.size()) {}

  const ref<tensor_state>* find(std::string_view name) const {
    for (const named_state& s : states)
      if (s.name == name) return &s.flat;
    return nullptr;
  }
  /// The state of this name; made of `value`s at the first step that asks for it.
  const ref<tensor_state>& state(std::string_view name, double value = 0) {
    if (const ref<tensor_state>* known = find(name)) return *known;
    const dims sizes{memory.layout().total()};
    ref<tensor_state> made = kiln::executor<Device>::new_tensor(dtype_of<C>, sizes, *memory.values()->memory);
    if (value == 0)
      kiln::executor<Device>::set_zero(*made);
    else
      kiln::executor<Device>::fill(*made, static_cast<C>(value));
    states.push_back({std::string(name), std::move(made)});
    return states.back().flat;
  }
};

/// Parameters next to each other that have all made the same steps: what one kernel changes.
template <Element T, class Device>
class parameter_run {
 public:
  using C = compute_t<T>;
  static constexpr int most_states = 3;
  parameter_run(group_memory<T, Device>& group, index_run which)
      : group_(group),
        which_(which),
        begin_(group.memory.layout().begins[static_cast<std::size_t>(which.first)]),
        size_(group.memory.layout().begins[static_cast<std::size_t>(which.last)] - begin_),
        values_(part_of_flat<T, Device>(group.memory.values(), begin_, size_)),
        gradients_(part_of_flat<T, Device>(group.memory.gradients(), begin_, size_)) {
    if constexpr (!std::is_same_v<T, C>) refresh_master();
    for (int i = which.first; i < which.last; ++i) ++group.done[static_cast<std::size_t>(i)].steps;
  }

  /// One of these parameters alone, without what stands between it and the next.
  parameter_run only(int i) const { return parameter_run(*this, i); }
  // Leaves look at the tensors of this object.
  parameter_run(const parameter_run&) = delete;
  parameter_run& operator=(const parameter_run&) = delete;

  /// Which step this is of these parameters, from 1 on.
  std::int64_t step() const { return progress().steps; }
  /// A number that all of them share, 1 before their first step.
  double product() const { return progress().product; }
  void set_product(double product) {
    for (int i = which_.first; i < which_.last; ++i) group_.done[static_cast<std::size_t>(i)].product = product;
  }
  index_run which() const { return which_; }

  /// The weights, in C. Leaves are placed: formulas with a part in common compute it once (tensor/assign.hpp).
  auto weights() const {
    if constexpr (std::is_same_v<T, C>)
      return placed<0>(values_);
    else
      return placed<0>(master_);
  }
  /// The gradients as an expression of C.
  auto gradients() const { return kiln::detail::converted<C>(placed<1>(gradients_)); }
  /// The part of a state for these parameters, number Which of those that set() writes.
  template <int Which>
  auto state(std::integral_constant<int, Which>, std::string_view name, double value = 0) {
    static_assert(Which < most_states);
    Tensor<C, Device>& kept = states_[Which];
    kept = part_of_flat<C, Device>(group_.state(name, value), begin_, size_);
    return placed<2 + Which>(kept);
  }
  /// New states, by expressions of the old ones.
  template <class... E>
  void set_states(const E&... values) {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      assign(std::tie(states_[I]...), values...);
    }
    (std::index_sequence_for<E...>{});
  }
  /// New weights and states, by expressions of the old ones: one kernel, which for half types writes the master weights
  /// and what they are rounded to.
  template <class W, class... E>
  void set(const W& weights, const E&... values) {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      if constexpr (std::is_same_v<T, C>)
        assign(std::tie(values_, states_[I]...), weights, values...);
      else
        assign(std::tie(values_, master_, states_[I]...), cast<T>(weights), weights, values...);
    }
    (std::index_sequence_for<E...>{});
    group_.memory.values_changed(which_);
    if constexpr (!std::is_same_v<T, C>)
      for (int i = which_.first; i < which_.last; ++i)
        group_.seen[static_cast<std::size_t>(i)] = group_.memory.version(i);
  }
  template <class... E>
  void set(const std::tuple<E...>& values) {
    std::apply([&](const auto&... each) { set(each...); }, values);
  }

 private:
  parameter_run(const parameter_run& of, int i)
      : group_(of.group_),
        which_{i, i + 1},
        begin_(group_.memory.layout().begins[static_cast<std::size_t>(i)]),
        size_(count(group_.memory.parameter(i)->sizes)),
        values_(part_of_flat<T, Device>(group_.memory.values(), begin_, size_)),
        gradients_(part_of_flat<T, Device>(group_.memory.gradients(), begin_, size_)) {
    if constexpr (!std::is_same_v<T, C>) master_ = part_of_flat<C, Device>(group_.state("master"), begin_, size_);
  }
  template <int Place, class X>
  static kiln::detail::placed_tensor<Place, X, Device> placed(const Tensor<X, Device>& x) {
    return {&x};
  }
  const detail::progress& progress() const { return group_.done[static_cast<std::size_t>(which_.first)]; }
  // What was written to a parameter since the last step, such as the weights of a file, is what counts.
  void refresh_master() {
    const bool first = !group_.find("master");
    master_ = part_of_flat<C, Device>(group_.state("master"), begin_, size_);
    if (first) group_.seen.assign(group_.done.size(), ~std::uint32_t{0});
    for (int i = which_.first; i < which_.last; ++i) {
      const std::size_t at = static_cast<std::size_t>(i);
      if (group_.seen[at] == group_.memory.version(i)) continue;
      const std::int64_t from = group_.memory.layout().begins[at], n = group_.memory.layout().begins[at + 1] - from;
      part_of_flat<C, Device>(group_.state("master"), from, n)
          .copy_(kiln::detail::converted<C>(part_of_flat<T, Device>(group_.memory.values(), from, n)));
    }
  }

  group_memory<T, Device>& group_;
  index_run which_;
  std::int64_t begin_, size_;
  Tensor<T, Device> values_, gradients_;
  Tensor<C, Device> master_;
  std::array<Tensor<C, Device>, most_states> states_;
};
/// Which of the states that a step writes.
inline constexpr std::integral_constant<int, 0> first_state{};
inline constexpr std::integral_constant<int, 1> second_state{};
inline constexpr std::integral_constant<int, 2> third_state{};

}  // namespace detail

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
  void add_param_group(const std::vector<Tensor<T, Device>>& parameters, const Options& options = {}) {
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
    const ref<tensor_state>* const flat = group->find(name);
    if (!flat) {
      std::string known;
      for (const auto& s : group->states) known += (known.empty() ? "" : ", ") + s.name;
      throw value_error(message("state: there is no \"", name, "\" (", known.empty() ? "nothing" : known,
                                "); what an optimizer keeps is made at its first step"));
    }
    const std::int64_t begin = group->memory.layout().begins[static_cast<std::size_t>(i)];
    ref<tensor_state> shaped =
        new_state(dtype_of<state_type>, parameter.sizes(), contiguous_strides(parameter.sizes()));
    shaped->data = static_cast<state_type*>((*flat)->data) + begin;
    shaped->memory = (*flat)->memory;
    return Tensor<state_type, Device>(std::move(shaped));
  }

  /// For checkpoints: shows all that a later step depends on, beside the parameters themselves, to `v`, which keeps it,
  /// compares it with what was kept (`reads()`), or also writes that here (`writes()`). v(name, number) is for numbers,
  /// v.list for vectors of them, which it also fills when it compares, v.members for structs of options, v.part for
  /// tensors, and v.names(prefix) says which state was kept. Parameters must have their values before it writes.
  template <class V>
  void visit_state(V& v) {
    std::vector<double> initial = this->initial_lrs();
    v.list("initial_lr", initial);
    if (v.writes()) this->initial_lrs() = initial;
    for (int g = 0; g < group_count(); ++g) {
      group_of& group = at(g);
      detail::group_memory<T, Device>& memory = *group.memory;
      const std::string prefix = "groups." + std::to_string(g) + ".";
      v.members(prefix + "options.", group.options);
      for (std::size_t i = 0; i < memory.done.size(); ++i) {
        v(prefix + "steps." + std::to_string(i), memory.done[i].steps);
        v(prefix + "product." + std::to_string(i), memory.done[i].product);
      }
      if (v.writes()) {
        memory.states.clear();
        for (const std::string& name : v.names(prefix + "state.")) memory.state(name);
      }
      std::vector<std::string> names;
      for (const auto& s : memory.states) names.push_back(s.name);
      if (v.reads()) names = v.names(prefix + "state.");
      for (const std::string& name : names)
        for (int i = 0; i < memory.memory.size(); ++i) {
          const dims& sizes = memory.memory.parameter(i)->sizes;
          const std::int64_t begin = memory.memory.layout().begins[static_cast<std::size_t>(i)];
          Tensor<state_type, Device> part;
          if (memory.find(name)) {
            ref<tensor_state> shaped = new_state(dtype_of<state_type>, sizes, contiguous_strides(sizes));
            shaped->data = static_cast<state_type*>((*memory.find(name))->data) + begin;
            shaped->memory = (*memory.find(name))->memory;
            part = Tensor<state_type, Device>(std::move(shaped));
          }
          v.part(prefix + "state." + name + "." + std::to_string(i), part, sizes, dtype_of<state_type>);
        }
      // The master weights of half types are those of the parameters as they are now.
      if (v.writes()) {
        memory.seen.clear();
        for (int i = 0; i < memory.memory.size(); ++i) memory.seen.push_back(memory.memory.version(i));
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
        const std::int64_t begin = begins[static_cast<std::size_t>(which.first)];
        auto gradients = detail::part_of_flat<T, Device>(g.memory->memory.gradients(), begin,
                                                         begins[static_cast<std::size_t>(which.last)] - begin);
        // Zeros stay: between tensors there is nothing else.
        const auto wide = kiln::detail::converted<state_type>(gradients);
        assign(std::tie(gradients), cast<T>(where(wide == 0, 0, wide * by)));
        g.memory->memory.gradients_changed(which);
        finite = finite && all(isfinite(gradients)).item();
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
