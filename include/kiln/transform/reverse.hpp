// SPDX-License-Identifier: BSL-1.0
// Reverse mode of functions of tensors, within any transforms: the inputs become leaves of a graph of their own, and
// the graph is walked back from what the function returned.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <kiln/autograd/grad.hpp>
#include <kiln/transform/batched.hpp>
#include <kiln/transform/dual.hpp>

namespace kiln::detail {

/// A value and the gradient that arrives at it.
template <class Y, class G>
struct seeded {
  Y y;
  G g;
};
// clang++ before 17 deduces no aggregates by itself.
template <class Y, class G>
seeded(Y, G) -> seeded<Y, G>;

/// Whether a tensor was computed from others that require grad than the inputs of the function: then somebody may want
/// to differentiate what is made here.
inline bool leads_elsewhere(const tensor_state& y, const std::vector<const gradient_record*>& inputs) {
  std::vector<const graph_node*> seen;
  std::vector<const gradient_record*> walk{y.autograd_metadata.get()};
  while (!walk.empty()) {
    const gradient_record* const record = walk.back();
    walk.pop_back();
    if (!record) continue;
    if (std::find(inputs.begin(), inputs.end(), record) != inputs.end()) {
      if (record->producer) return true;  // an input that comes of something else
      continue;
    }
    const graph_node* const node = record->producer.get();
    if (!node) return true;
    const auto place = std::lower_bound(seen.begin(), seen.end(), node);
    if (place != seen.end() && *place == node) continue;
    seen.insert(place, node);
    for (int i = 0; i < node->input_count; ++i) walk.push_back(node->inputs[i].get());
  }
  return false;
}

/// On a device: `input(x)` makes of x what the function gets, with a history of its own; `back(seeds, inputs)` gives
/// the gradients of inputs as a tuple; `result(y, inputs)` is y as it is seen from outside. `outside` says whether
/// evaluations are recorded there.
template <class Device>
struct reverse {
  template <Element T>
  static Tensor<T, Device> input(const Tensor<T, Device>& x, bool outside) {
    static_assert(is_floating(dtype_of<T>), "kiln: only tensors of a floating type have gradients");
    // Where x is being differentiated itself, the input is another tensor that comes of it: what the function brings
    // along may be x too, and is a constant here.
    if (x.needs_grad() && outside) return x.clone();
    Tensor<T, Device> leaf = x.detach();
    leaf.requires_grad();
    return leaf;
  }
  template <class... Y, class... G, class... X>
  static std::tuple<X...> back(const std::tuple<seeded<Y, G>...>& seeds, const std::tuple<X...>& inputs, bool outside) {
    auto total = std::apply([](const auto&... x) { return std::tuple<X...>{zeros_of(x)...}; }, inputs);
    bool any = false;
    auto add = [&](const auto& y, const auto& g) {
      if (!y.needs_grad()) return;
      const bool recorded = outside && (g.needs_grad() || leads_elsewhere(*y.state(), records_of(inputs)));
      const recording_scope on(true);
      auto more = kiln::grad(y, inputs, g, {.retain_graph = true, .create_graph = recorded, .allow_unused = true});
      if (any) [&]<std::size_t... I>(std::index_sequence<I...>) {
          ((std::get<I>(total) = X(std::get<I>(total) + std::get<I>(more))), ...);
        }
      (std::index_sequence_for<X...>{});
      else total = std::move(more);
      any = true;
    };
    std::apply([&](const auto&... s) { (add(s.y, s.g), ...); }, seeds);
    return total;
  }
  template <Element T, class... X>
  static Tensor<T, Device> result(const Tensor<T, Device>& y, const std::tuple<X...>& inputs, bool outside) {
    return outside && leads_elsewhere(*y.state(), records_of(inputs)) ? y : y.detach();
  }

 private:
  template <class... X>
  static std::vector<const gradient_record*> records_of(const std::tuple<X...>& inputs) {
    return std::apply(
        [](const auto&... x) { return std::vector<const gradient_record*>{x.state()->autograd_metadata.get()...}; },
        inputs);
  }
};

template <class Device>
struct reverse<batched<Device>> {
  template <Element T>
  static Tensor<T, batched<Device>> input(const Tensor<T, batched<Device>>& x, bool outside) {
    return {reverse<Device>::input(x.all(), outside), x.transform()};
  }
  template <class... Y, class... G, class... X>
  static std::tuple<X...> back(const std::tuple<seeded<Y, G>...>& seeds, const std::tuple<X...>& inputs, bool outside) {
    const auto below = std::apply([](const auto&... s) { return std::tuple{seeded{s.y.all(), s.g.all()}...}; }, seeds);
    const auto gradients = reverse<Device>::back(below, below_of_inputs(inputs), outside);
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return std::tuple<X...>{X(std::get<I>(gradients), std::get<I>(inputs).transform())...};
    }
    (std::index_sequence_for<X...>{});
  }
  template <Element T, class... X>
  static Tensor<T, batched<Device>> result(const Tensor<T, batched<Device>>& y, const std::tuple<X...>& inputs,
                                           bool outside) {
    return {reverse<Device>::result(y.all(), below_of_inputs(inputs), outside), y.transform()};
  }

 private:
  template <class... X>
  static auto below_of_inputs(const std::tuple<X...>& inputs) {
    return std::apply([](const auto&... x) { return std::tuple{x.all()...}; }, inputs);
  }
};

// The tangent of a gradient: with f(x) and its tangent f'(x, dx) at hand, that of the gradient of f by x is the
// gradient of f' by x.
template <class Device>
struct reverse<dual<Device>> {
  template <Element T>
  static Tensor<T, dual<Device>> input(const Tensor<T, dual<Device>>& x, bool outside) {
    return {reverse<Device>::input(x.value(), outside), x.tangent(), x.transform()};
  }
  template <class... Y, class... G, class... X>
  static std::tuple<X...> back(const std::tuple<seeded<Y, G>...>& seeds, const std::tuple<X...>& inputs, bool outside) {
    const auto values = std::apply(
        [](const auto&... s) {
          return std::tuple{seeded{s.y.value(), s.g.value()}...};
        },
        seeds);
    const auto tangents = std::apply(
        [](const auto&... s) {
          return std::tuple_cat(std::tuple{seeded{s.y.tangent(), s.g.value()}, seeded{s.y.value(), s.g.tangent()}}...);
        },
        seeds);
    const auto below = below_of_inputs(inputs);
    const auto gradients = reverse<Device>::back(values, below, outside),
               moved = reverse<Device>::back(tangents, below, outside);
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return std::tuple<X...>{X(std::get<I>(gradients), std::get<I>(moved), std::get<I>(inputs).transform())...};
    }
    (std::index_sequence_for<X...>{});
  }
  template <Element T, class... X>
  static Tensor<T, dual<Device>> result(const Tensor<T, dual<Device>>& y, const std::tuple<X...>& inputs,
                                        bool outside) {
    const auto below = below_of_inputs(inputs);
    return {reverse<Device>::result(y.value(), below, outside), reverse<Device>::result(y.tangent(), below, outside),
            y.transform()};
  }

 private:
  template <class... X>
  static auto below_of_inputs(const std::tuple<X...>& inputs) {
    return std::apply([](const auto&... x) { return std::tuple{x.value()...}; }, inputs);
  }
};

/// 1 of the type and at the place of y, as the function sees it.
template <class Y>
auto ones_of(const Y& y) {
  return Y(zeros_of(y) + 1);
}

/// An argument as the function gets it: of those that are differentiated, an input on `Device`.
template <bool Wanted, class Device, class X>
auto reverse_argument(const X& x, bool outside) {
  if constexpr (Wanted)
    return reverse<Device>::input(lifted<Device, Device>(as_tensor(x)), outside);
  else
    return x;
}

template <class R>
struct is_tuple : std::false_type {};
template <class... R>
struct is_tuple<std::tuple<R...>> : std::true_type {};

/// The results of a function, evaluated, as a tuple.
template <class Device, class R>
auto evaluated_results(const R& r) {
  if constexpr (is_tuple<R>::value)
    return std::apply([](const auto&... each) { return std::tuple_cat(evaluated_results<Device>(each)...); }, r);
  else if constexpr (Number<R>)
    return std::tuple{lifted<Device, Device>(Tensor<std::conditional_t<std::is_floating_point_v<R>, R, float>>(
        static_cast<std::conditional_t<std::is_floating_point_v<R>, R, float>>(r)))};
  else
    return std::tuple{lifted<Device, Device>(as_tensor(r))};
}

/// The device on which a function's inputs must be for its results: what it brings along may be within more transforms
/// than its arguments.
template <class R>
struct device_of_results : device_of_argument<R> {};
template <class... R>
struct device_of_results<std::tuple<R...>> : joint_device<R...> {};

/// A function run with `Wanted` of its arguments as inputs: what it returned, evaluated, and the inputs.
template <class F, class Wanted, class... X>
class reverse_run;
template <class F, int... Wanted, class... X>
class reverse_run<F, std::integer_sequence<int, Wanted...>, X...> {
  static constexpr bool wants(std::size_t i) { return ((static_cast<int>(i) == Wanted) || ...); }
  template <class Device, std::size_t... I>
  static auto arguments_on(std::index_sequence<I...>, bool outside, const X&... x) {
    const recording_scope on(true);
    return std::tuple{reverse_argument<wants(I), Device>(x, outside)...};
  }
  template <class Device>
  using arguments_t =
      decltype(arguments_on<Device>(std::index_sequence_for<X...>{}, true, std::declval<const X&>()...));
  template <class Device>
  using results_t = decltype(std::apply(std::declval<const F&>(), std::declval<const arguments_t<Device>&>()));
  using given = typename joint_device<X...>::type;
  static_assert(!std::is_void_v<results_t<given>>,
                "kiln: the function to be differentiated returns nothing: write return before its value");

 public:
  using device = typename common_device<given, typename device_of_results<results_t<given>>::type>::type;

  reverse_run(const F& f, const X&... x)
      : arguments_(arguments_on<device>(std::index_sequence_for<X...>{}, outside_, x...)),
        results(run(f, arguments_)) {}

 private:
  static auto run(const F& f, const arguments_t<device>& arguments) {
    const recording_scope on(true);
    return evaluated_results<device>(std::apply(f, arguments));
  }
  auto inputs() const { return std::tuple{std::get<static_cast<std::size_t>(Wanted)>(arguments_)...}; }

  bool outside_ = recording;
  arguments_t<device> arguments_;

 public:
  decltype(run(std::declval<const F&>(), std::declval<const arguments_t<device>&>())) results;

  /// The results as they are seen from outside.
  auto values() const {
    return std::apply(
        [this](const auto&... y) { return std::tuple{reverse<device>::result(y, inputs(), outside_)...}; }, results);
  }
  /// The gradients of the wanted arguments, given those of the results.
  template <class... G>
  auto back(const G&... g) const {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return reverse<device>::back(
          std::tuple{seeded<std::remove_cvref_t<decltype(std::get<I>(results))>, G>{std::get<I>(results), g}...},
          inputs(), recording);
    }
    (std::index_sequence_for<G...>{});
  }
};

template <class Tuple>
auto one_or_all(const Tuple& t) {
  if constexpr (std::tuple_size_v<Tuple> == 1)
    return std::get<0>(t);
  else
    return t;
}

template <int I, class... X>
constexpr bool check_argument() {
  static_assert(I >= 0 && I < static_cast<int>(sizeof...(X)),
                "kiln: there is no such argument: grad<0> means the first one, and so on");
  if constexpr (I >= 0 && I < static_cast<int>(sizeof...(X))) {
    using A = std::tuple_element_t<static_cast<std::size_t>(I), std::tuple<X...>>;
    static_assert(TensorInput<A>, "kiln: beside tensors only arguments that are tensors can be differentiated");
  }
  return true;
}

template <bool WithValue, int... Wanted, class F, class... X>
  requires(TensorInput<X> || ...)
auto gradient_call(const F& f, const X&... x) {
  static_assert((check_argument<Wanted, X...>() && ...));
  const reverse_run<F, std::integer_sequence<int, Wanted...>, X...> run(f, x...);
  static_assert(std::tuple_size_v<decltype(run.results)> == 1,
                "kiln: grad differentiates functions with one result: use vjp or jacobian for several");
  const auto& y = std::get<0>(run.results);
  if (count(y.sizes()) != 1)
    throw graph_error(message("grad: the function's value has shape ", y.sizes(),
                              ", not one element: reduce it with sum() or mean(), or use vjp or jacobian"));
  const auto gradients = one_or_all(run.back(ones_of(y)));
  if constexpr (WithValue)
    return std::pair{std::get<0>(run.values()), gradients};
  else
    return gradients;
}

/// What vjp() of tensors returns beside the value.
template <class Run>
struct pullback {
  std::shared_ptr<const Run> run;
  template <class... G>
  auto operator()(const G&... g) const {
    using Y = decltype(run->results);
    if constexpr (sizeof...(G) == 1 && (is_tuple<G>::value && ...)) {
      return std::apply([this](const auto&... each) { return (*this)(each...); }, g...);
    } else {
      static_assert(sizeof...(G) == std::tuple_size_v<Y>,
                    "kiln: the pullback needs one cotangent for each result of the function");
      if constexpr (sizeof...(G) == std::tuple_size_v<Y>) return [&]<std::size_t... I>(std::index_sequence<I...>) {
          return one_or_all(run->back(checked(g, std::get<I>(run->results), static_cast<int>(I))...));
        }
      (std::index_sequence_for<G...>{});
    }
  }

 private:
  template <class G, class Y>
  static auto checked(const G& g, const Y& y, int i) {
    static_assert(Expression<G>, "kiln: a cotangent is a tensor of the shape of the function's result");
    static_assert(std::same_as<typename G::value_type, typename Y::value_type>,
                  "kiln: a cotangent has the element type of the function's result: cast<T>() it");
    const auto tensor = as_tensor(g);
    if (tensor.sizes() != y.sizes())
      throw shape_error(message("vjp: cotangent ", i, " has shape ", tensor.sizes(), " but the function's result has ",
                                y.sizes(), ": they must be equal"));
    return lifted<typename Y::device_type, typename Y::device_type>(tensor);
  }
};

template <class F, class... X>
auto vjp_call(const F& f, const X&... x) {
  return [&]<int... I>(std::integer_sequence<int, I...>) {
    static_assert((check_argument<I, X...>() && ...));
    using Run = reverse_run<F, std::integer_sequence<int, I...>, X...>;
    auto run = std::make_shared<const Run>(f, x...);
    auto values = one_or_all(run->values());
    return std::pair{std::move(values), pullback<Run>{std::move(run)}};
  }
  (std::make_integer_sequence<int, static_cast<int>(sizeof...(X))>{});
}

}  // namespace kiln::detail
