// SPDX-License-Identifier: BSL-1.0
// What a formula of an optimizer sees: the weights, gradients and states of parameters that one kernel changes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include <kiln/ops/all.hpp>
#include <kiln/optim/group_memory.hpp>
#include <kiln/tensor/assign.hpp>

namespace kiln::optim::detail {

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

}  // namespace kiln::optim::detail
