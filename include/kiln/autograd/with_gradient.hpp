// SPDX-License-Identifier: BSL-1.0
// with_gradient(name, result, inputs, rule): a function with a gradient of the user's own, as torch.autograd.Function
// and jax.custom_vjp have it: for what kiln did not compute, or what is to have another gradient than its own.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include <kiln/autograd/backward.hpp>
#include <kiln/tensor/custom_node.hpp>

namespace kiln {

namespace detail {

template <class, class Device>
inline constexpr bool is_tensor_on = false;
template <class T, class Device>
inline constexpr bool is_tensor_on<Tensor<T, Device>, Device> = true;

// What a rule returns: a tuple, or of one input its gradient alone.
template <class... G>
std::tuple<G...> as_tuple(std::tuple<G...> gradients) {
  return gradients;
}
template <class G>
std::tuple<G> as_tuple(G gradient) {
  return {std::move(gradient)};
}

template <class Rule, class Result, class Inputs, class Kept>
class rule_node;
template <class Rule, class T, class Device, class... X, class... K>
class rule_node<Rule, Tensor<T, Device>, std::tuple<X...>, std::tuple<K...>> final : public custom_node {
 public:
  rule_node(std::string name, Rule rule, const tensor_state& result, const std::tuple<const X&...>& of,
            const std::tuple<const K&...>& kept)
      : custom_node(std::move(name), functions_of<Device>),
        rule_(std::move(rule)),
        records_(std::apply([](const X&... x) { return decltype(records_){x.state()->autograd_metadata...}; }, of)) {
    this->set_inputs(records_.data(), static_cast<int>(sizeof...(X)));
    std::size_t i = 0;
    [[maybe_unused]] auto keep = [&](const tensor_state& x) {
      saved_[i].save(x);
      // The record of the result holds this node: holding it here would keep both forever.
      is_result_[i] =
          !x.autograd_metadata && x.data == result.data && x.sizes == result.sizes && x.strides == result.strides;
      if (!is_result_[i]) histories_[i] = x.autograd_metadata;
      ++i;
    };
    std::apply([&](const K&... x) { (keep(*x.state()), ...); }, kept);
    this->set_saved(saved_.data(), static_cast<int>(sizeof...(K)));
  }

 private:
  [[gnu::cold]] void backward_recorded(const ref<tensor_state>& g, const ref<gradient_record>& output) override {
    this->check_saved(*g->memory);
    apply(g, output);
  }
  void apply(const ref<tensor_state>& gradient, const ref<gradient_record>& output) override {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      take(as_tuple((*rule_)(Tensor<T, Device>(gradient),
                             K(remembered(saved_[I], is_result_[I] ? output : histories_[I]))...)),
           std::index_sequence_for<X...>{});
    }
    (std::index_sequence_for<K...>{});
  }
  // Expressions are evaluated only where somebody asks for the gradient.
  template <class Gradients, std::size_t... I>
  void take(const Gradients& gradients, std::index_sequence<I...>) {
    constexpr bool one_each = std::tuple_size_v<Gradients> == sizeof...(X);
    static_assert(one_each,
                  "kiln: the rule of with_gradient has to return a gradient for each input, in a std::tuple if there "
                  "are several, and std::nullopt for an input without one");
    if constexpr (one_each) (take_one<X>(std::get<I>(gradients), static_cast<int>(I)), ...);
  }
  template <class Input, class G>
  void take_one(const G& gradient, int input) {
    using V = typename Input::value_type;
    if constexpr (std::same_as<G, std::nullopt_t>) {
      return;
    } else if constexpr (!Expression<G> || !is_floating(dtype_of<V>)) {
      static_assert(Expression<G>,
                    "kiln: a gradient that the rule of with_gradient returns is a tensor or expression of the input's "
                    "shape: for a number c write full_like(x, c)");
      static_assert(is_floating(dtype_of<V>),
                    "kiln: the rule of with_gradient gives a gradient for an input of an integer type: return "
                    "std::nullopt for it");
    } else if (this->wants(input)) {
      if constexpr (std::same_as<typename G::value_type, V>)
        this->give(input, Input(gradient).state(), !std::same_as<G, Input>);
      else
        this->give(input, Input(cast<V>(gradient)).state(), true);
    }
  }
  const runnable& adding(int input) const override {
    static constexpr const runnable* all[] = {adding_kernel<typename X::value_type, Device>()...};
    return *all[input];
  }
  void forget() override { rule_.reset(); }

  std::optional<Rule> rule_;
  std::array<ref<gradient_record>, sizeof...(X)> records_;
  std::array<saved_value, sizeof...(K)> saved_;
  std::array<ref<gradient_record>, sizeof...(K)> histories_;
  std::array<bool, sizeof...(K)> is_result_{};
};

}  // namespace detail

/// `result`, a tensor or expression that was computed of `inputs` in any way, so that backward passes go through it by
/// a rule: rule(gradient, kept...) gets the gradient of some loss by the result, and returns that by the input; where
/// there are several inputs, a std::tuple with one for each, std::nullopt for one without. They are tensors or
/// expressions, of which only those are evaluated that somebody asks for. `kept` are tensors that the rule reads,
/// mostly inputs or the result: a pass notices if one was changed in place since, as it doesn't with one that the rule
/// captures.
///
///     const Tensor<float> y = with_gradient("round", round(x), std::tie(x), [](const auto& g) { return g; });
///     const Tensor<float> y = with_gradient("cube", x * x * x, std::tie(x), std::tie(x),
///                                           [](const auto& g, const auto& x) { return 3 * square(x) * g; });
///
/// A pass that is recorded (create_graph) calls the rule with tensors that have histories: it is differentiated itself.
/// `name` is what errors call the function. The pass throws graph_error for a gradient of another shape than its
/// input's, and what the rule throws. Where no gradient is wanted or recorded, the result as it is.
template <Expression Result, class... X, class... K, class Rule>
auto with_gradient(std::string name, const Result& result, const std::tuple<X&...>& inputs,
                   const std::tuple<K&...>& kept, Rule rule) {
  using T = typename Result::value_type;
  using Device = typename Result::device_type;
  using made = Tensor<T, Device>;
  constexpr bool transformed = detail::any_transformed<Result>, differentiable = is_floating(dtype_of<T>);
  constexpr bool tensors = (detail::is_tensor_on<std::remove_const_t<X>, Device> && ...) &&
                           (detail::is_tensor_on<std::remove_const_t<K>, Device> && ...);
  static_assert(!transformed,
                "kiln: with_gradient has no meaning within vmap and jvp yet: write the function of ops, or call "
                "with_gradient on the whole batch");
  static_assert(differentiable, "kiln: with_gradient: a result of an integer type has no gradient");
  static_assert(tensors || transformed,
                "kiln: with_gradient needs tensors of the result's device as inputs and to keep: evaluate expressions, "
                "Tensor<float> h = ..., before");
  static_assert(sizeof...(X) > 0, "kiln: with_gradient needs an input, std::tie(x), whose gradient the rule returns");
  if constexpr (transformed || !differentiable || !tensors || sizeof...(X) == 0) {
    return result;
  } else {
    const made y = [&] {
      const no_grad quiet;
      return made(result).detach();  // it may be one of the inputs
    }();
    const bool wanted =
        std::apply([](const X&... x) { return (static_cast<bool>(x.state()->autograd_metadata) || ...); }, inputs);
    if (!grad_enabled() || !wanted) return y;
    using node =
        detail::rule_node<Rule, made, std::tuple<std::remove_const_t<X>...>, std::tuple<std::remove_const_t<K>...>>;
    detail::set_producer(*y.state(), new node(std::move(name), std::move(rule), *y.state(), inputs, kept));
    return y;
  }
}
/// The same of a rule that reads nothing but the gradient.
template <Expression Result, class... X, class Rule>
auto with_gradient(std::string name, const Result& result, const std::tuple<X&...>& inputs, Rule rule) {
  return with_gradient(std::move(name), result, inputs, std::tuple<>(), std::move(rule));
}

}  // namespace kiln
