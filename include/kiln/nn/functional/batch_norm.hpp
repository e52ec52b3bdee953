// SPDX-License-Identifier: BSL-1.0
// batch_norm: each channel shifted and scaled to mean 0 and variance 1 (Ioffe and Szegedy 2015), with PyTorch's running
// statistics. All of it is fused expressions, so it works wherever tensors do. Training has a graph node of its own:
// mean, variance and result are a kernel each that reads the input once or twice, where the one kernel of a row program
// over axes that are not neighbours took two to three times as long, forward and back. A device may have a library for
// training: `batch_normalizer<Device>`. Evaluation is one kernel that joins the graph as any expression does; a
// library's would be one too.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <type_traits>
#include <utility>

#include <kiln/autograd/node.hpp>
#include <kiln/expr/reductions.hpp>
#include <kiln/nn/functional/window.hpp>
#include <kiln/ops/all.hpp>

namespace kiln {

/// What batch_norm may be told.
struct batch_norm_options {
  bool training = false;  ///< use the mean and variance of this batch, and update the running ones
  double momentum = 0.1;  ///< how much of the running statistics is replaced by those of this batch
  double eps = 1e-5;      ///< added to the variance
};

/// What a device has for batch_norm in training besides the expressions here: if `has_library`, then
/// `train(x, weight, bias, running_mean, running_var, options)` gives the result, joined to the graph, and updates the
/// running statistics; or an undefined tensor, with nothing done, if it does not take these operands. Operands have
/// been checked; weight and bias have values.
template <class Device>
struct batch_normalizer {
  static constexpr bool has_library = false;
};

namespace detail {

/// A tensor of n equal elements on the device of x.
template <Element T, Element X, class Device>
Tensor<T, Device> constant(const Tensor<X, Device>& x, std::int64_t n, float value) {
  auto out = executor<Device>::new_tensor(dtype_of<T>, {n}, *x.state()->memory);
  executor<Device>::fill(*out, static_cast<T>(value));
  return Tensor<T, Device>(std::move(out));
}

/// What a saved value was, as a tensor without history.
template <Element T, class Device>
Tensor<T, Device> restored(const saved_value& v) {
  auto state = new_state(v.type, v.sizes, v.strides);
  state->data = v.data;
  state->memory = v.memory;
  return Tensor<T, Device>(std::move(state));
}

/// The elements of a contiguous result in other sizes, as a tensor and not as a view of it: views of a view lead back
/// to the first tensor, which has no gradient here.
template <Element T, class Device>
Tensor<T, Device> in_sizes(const Tensor<T, Device>& result, const dims& sizes) {
  auto state = new_state(dtype_of<T>, sizes, contiguous_strides(sizes));
  state->data = result.state()->data;
  state->memory = result.state()->memory;
  return Tensor<T, Device>(std::move(state));
}

/// What the parts of a batch norm look like: x as (batch, channels, elements of an image), numbers of a channel as
/// (channels, 1).
struct batch_norm_sizes {
  dims x, rows, channel;
  double per_channel;

  explicit batch_norm_sizes(const dims& sizes) : x(sizes) {
    std::int64_t image = holds_nothing(sizes) ? 0 : 1;  // of nothing, axes may be huge
    for (int i = 2; i < sizes.rank(); ++i) image *= sizes[i];
    rows = {sizes[0], sizes[1], image};
    channel = {sizes[1], 1};
    per_channel = static_cast<double>(sizes[0]) * static_cast<double>(image);
  }
};

/// The gradients of a training by its statistics, handed to give(i, gradient) for those of x, weight and bias (0, 1, 2)
/// that wants(i). With d = x - mean, r = 1 / sqrt(variance + eps) and averages over the n elements of a channel: the
/// gradient of the bias is n average(g), that of the weight is n r average(g d), that of x is
/// weight r (g - average(g) - d r^2 average(g d)). x and g are (batch, channels, image), the mean and r (1, channels,
/// 1).
template <Element T, class Device, class Mean, class Inverse, class Wants, class Give>
void batch_norm_gradients(const batch_norm_sizes& s, const Tensor<T, Device>& x, const Tensor<T, Device>& weight,
                          const Mean& mean_of_x, const Inverse& inverse, const Tensor<T, Device>& g, const Wants& wants,
                          const Give& give) {
  using C = compute_t<T>;
  const double n = s.per_channel;
  const auto wide = converted<C>(g);
  const auto distance = converted<C>(x) - mean_of_x;
  const auto average = untracked(mean(wide, {0, 2}, true));
  if (wants(2)) give(2, untracked(converted<T>(average * n)).reshape({s.rows[1]}));
  if (!wants(0) && !wants(1)) return;
  // Along an image the mean stands still, which makes two steps faster than one.
  const bool two_steps = s.rows[2] > 1;
  auto product = untracked(mean(wide * distance, two_steps ? axes(2) : axes{0, 2}, true));
  if (two_steps) product = untracked(mean(product, 0, true));
  if (wants(1)) give(1, untracked(converted<T>(product * inverse * n)).reshape({s.rows[1]}));
  if (!wants(0)) return;
  const auto dx = untracked(
      converted<T>((wide - average - distance * (square(inverse) * product)) * (converted<C>(weight) * inverse)));
  give(0, dx.reshape(s.x));
}

/// The result of training, given the statistics of each channel, and its gradients.
template <Element T, class Device>
class batch_norm_node final : public op_node_of<3, 2> {
  using C = compute_t<T>;

 public:
  batch_norm_node(const batch_norm_sizes& s, double eps, const Tensor<T, Device>& x, const Tensor<T, Device>& weight,
                  Tensor<C, Device> mean, Tensor<C, Device> variance, std::array<ref<gradient_record>, 3> records)
      : op_node_of(functions_of<Device>), sizes_(s), eps_(eps), mean_(std::move(mean)), variance_(std::move(variance)) {
    for (std::size_t i = 0; i < 3; ++i) input[i] = std::move(records[i]);
    saved[0].save(*x.state());
    saved[1].save(*weight.state());
  }
  const char* name() const override { return "batch_norm in training"; }

  void backward(const ref<tensor_state>& gradient) override {
    const no_grad quiet;
    check_saved(*gradient->memory);
    const Tensor<T, Device> x = restored<T, Device>(saved[0]),
                            weight = restored<T, Device>(saved[1]).reshape(sizes_.channel),
                            g = Tensor<T, Device>(gradient).reshape(sizes_.rows);
    batch_norm_gradients(
        sizes_, x, weight, mean_, rsqrt(variance_ + eps_), g, [&](int i) { return wants(i); },
        [&](int i, const Tensor<T, Device>& made) {
          hand_over_gradient(*adding_kernel<T, Device>(), made.state(), *input[i]);
        });
  }

 private:
  void forget() override { mean_ = {}, variance_ = {}; }

  batch_norm_sizes sizes_;
  double eps_;
  Tensor<C, Device> mean_, variance_;  ///< (1, channels, 1)
};

/// Writes the values of an expression over a tensor's.
template <Element R, class Device, class E>
void overwrite(const Tensor<R, Device>& running, const E& e) {
  collected<E> c(e);
  ++running.state()->memory->version;
  operand_workspace<E> in;
  run_program(*facts_of<E>.values, c.view(), {.domain = running.sizes()}, *running.state(), in.data());
}

/// running = (1 - momentum) running + momentum factor value, in place.
template <Element R, Element C, class Device>
void update_running(const Tensor<R, Device>& running, const Tensor<C, Device>& value, double momentum, double factor) {
  overwrite(running, converted<R>(running * (1 - momentum) + value * (momentum * factor)));
}

/// The batch norm by given statistics.
template <Element T, class Device, Element R>
Tensor<T, Device> normalized(const Tensor<T, Device>& x, const Tensor<R, Device>& mean,
                             const Tensor<R, Device>& variance, const Tensor<T, Device>& scale,
                             const Tensor<T, Device>& shift, double eps) {
  using C = compute_t<T>;
  dims beside = dims::filled(x.dim() - 1, 1);  // a channel's numbers beside all the axes of x
  beside[0] = x.sizes()[1];
  return converted<T>((converted<C>(x) - converted<C>(mean.reshape(beside))) *
                          (converted<C>(scale.reshape(beside)) * rsqrt(converted<C>(variance.reshape(beside)) + eps)) +
                      converted<C>(shift.reshape(beside)));
}

/// Throws shape_error and value_error as batch_norm. Parameters without sizes are not given.
inline void check_batch_norm(const dims& x, const batch_norm_options& how, bool has_statistics,
                             std::initializer_list<std::pair<const char*, const dims*>> parameters) {
  if (x.rank() < 2)
    throw shape_error(message("batch_norm: a tensor of shape ", x,
                              " needs two axes or more: batch, channel, then those of an image (unsqueeze it)"));
  for (const auto& [name, sizes] : parameters)
    if (sizes && *sizes != dims{x[1]})
      throw shape_error(message("batch_norm: a tensor of shape ", x, " and a ", name, " of shape ", *sizes, ": the ",
                                name, " must be [", x[1], "], one number for each channel (axis 1)"));
  if (!(how.eps >= 0)) throw value_error(message("batch_norm: an eps of ", how.eps, ": use 0 or more"));
  if (!has_statistics && !how.training)
    throw value_error(
        "batch_norm: no running_mean and running_var to use: give both, or set training to use those of the batch");
}

#ifdef KILN_COMPILED  // in src/models.cpp
extern template class batch_norm_node<float, Cpu>;
extern template Tensor<float> normalized(const Tensor<float>&, const Tensor<float>&, const Tensor<float>&,
                                         const Tensor<float>&, const Tensor<float>&, double);
#endif

}  // namespace detail

/// (x - mean) / sqrt(variance + eps) * weight + bias for each channel of x (N, C) or (N, C, ...). In training, mean and
/// variance (the biased one) are those of the channel over all other axes, and the running ones, if given, become
/// (1 - momentum) running + momentum new, with the unbiased variance; otherwise the running ones are used. All of
/// running_mean, running_var, weight and bias are (C); any may be a tensor without a value, `Tensor<float>{}`, but
/// running_mean and running_var only both. half and bfloat16 are computed in float, and their running statistics may be
/// float. Throws shape_error where sizes do not fit or, in training, for one element per channel, value_error for bad
/// options.
template <Expression X, Element R, class Device, Expression W, Expression B>
auto batch_norm(const X& x, const Tensor<R, Device>& running_mean, const Tensor<R, Device>& running_var,
                const W& weight, const B& bias, const batch_norm_options& options = {}) {
  if constexpr (detail::any_transformed<X, W, B>) {
    static_assert(detail::never<X, W, B>,
                  "kiln: batch_norm takes a batch itself: call it on the whole batch, not within vmap; its derivatives "
                  "are grad's and vjp's, not jvp's");
    return x;
  } else {
    using T = typename X::value_type;
    using C = compute_t<T>;
    using Result = Tensor<T, Device>;
    static_assert(is_floating(dtype_of<T>) && is_floating(dtype_of<R>),
                  "kiln: batch_norm needs floating element types: cast<float>() the operands");
    static_assert(std::is_same_v<T, typename W::value_type> && std::is_same_v<T, typename B::value_type>,
                  "kiln: batch_norm needs an input, a weight and a bias of one element type: cast<T>() the others");
    const Result input = detail::as_tensor(x), given_weight = detail::as_tensor(weight),
                 given_bias = detail::as_tensor(bias);
    auto sizes_of = [](const auto& t) { return t.defined() ? &t.sizes() : nullptr; };
    const bool has_statistics = running_mean.defined() && running_var.defined();
    if (running_mean.defined() != running_var.defined())
      throw value_error("batch_norm: one of running_mean and running_var without the other: give both or none");
    detail::check_batch_norm(input.sizes(), options, has_statistics,
                             {{"running_mean", sizes_of(running_mean)},
                              {"running_var", sizes_of(running_var)},
                              {"weight", sizes_of(given_weight)},
                              {"bias", sizes_of(given_bias)}});
    const detail::batch_norm_sizes s(input.sizes());
    const std::int64_t channels = input.sizes()[1];
    for (const auto* running : {&running_mean, &running_var})
      if (options.training && has_statistics && channels > 1 && running->strides()[0] == 0)
        throw shape_error(message("batch_norm: all elements of the running statistics, of shape ", running->sizes(),
                                  ", are one and the same, as expand() makes them: clone() them first"));
    const Result scale = given_weight.defined() ? given_weight : detail::constant<T>(input, channels, 1);
    const Result shift = given_bias.defined() ? given_bias : detail::constant<T>(input, channels, 0);

    if (!options.training) return detail::normalized(input, running_mean, running_var, scale, shift, options.eps);
    if (input.numel() == 0) {  // nothing to learn from, but the graph goes on
      const auto any = detail::constant<R>(input, channels, 1);
      return detail::normalized(input, any, any, scale, shift, options.eps);
    }
    if (s.per_channel < 2)
      throw shape_error(
          message("batch_norm: a tensor of shape ", input.sizes(),
                  " has one element per channel, which has no variance: use a larger batch for training"));
    if constexpr (batch_normalizer<Device>::has_library) {
      const Result made = batch_normalizer<Device>::train(input, scale, shift, running_mean, running_var, options);
      if (made.defined()) return made;
    }

    std::array<ref<gradient_record>, 3> records{input.state()->autograd_metadata, scale.state()->autograd_metadata,
                                                shift.state()->autograd_metadata};
    const bool recorded = grad_enabled() && (records[0] || records[1] || records[2]);
    const no_grad quiet;
    const Result rows = input.detach().reshape(s.rows);
    const auto wide = detail::converted<C>(rows);
    const auto mean = detail::untracked(kiln::mean(wide, {0, 2}, true));
    const auto variance = detail::untracked(var(wide, {0, 2}, true, 0));
    const auto weights = scale.detach().reshape(s.channel), biases = shift.detach().reshape(s.channel);
    const auto y = detail::untracked(
        detail::converted<T>((wide - mean) * (detail::converted<C>(weights) * rsqrt(variance + options.eps)) +
                             detail::converted<C>(biases)));
    if (has_statistics) {
      detail::update_running(running_mean, mean.reshape({channels}), options.momentum, 1);
      detail::update_running(running_var, variance.reshape({channels}), options.momentum,
                             s.per_channel / (s.per_channel - 1));
    }
    const Result out = detail::in_sizes(y, s.x);
    if (!recorded) return out;
    return detail::with_producer<T, Device>(
        out.state(),
        new detail::batch_norm_node<T, Device>(s, options.eps, rows, weights, mean, variance, std::move(records)));
  }
}
/// The same without weight and bias.
template <Expression X, Element R, class Device>
auto batch_norm(const X& x, const Tensor<R, Device>& running_mean, const Tensor<R, Device>& running_var,
                const batch_norm_options& options = {}) {
  if constexpr (detail::is_transformed<X>) {
    static_assert(detail::never<X>,
                  "kiln: batch_norm takes a batch itself: call it on the whole batch, not within vmap; its derivatives "
                  "are grad's and vjp's, not jvp's");
    return x;
  } else {
    const Tensor<typename X::value_type, Device> none;
    return batch_norm(x, running_mean, running_var, none, none, options);
  }
}

}  // namespace kiln
