// SPDX-License-Identifier: BSL-1.0
// Losses of dynamic tensors that are on one device: those of nn on Tensor<T, Device>.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include <kiln/dynamic/options.hpp>
#include <kiln/dynamic/tensor.hpp>
#include <kiln/nn/loss/cross_entropy.hpp>
#include <kiln/nn/loss/distribution.hpp>
#include <kiln/nn/loss/regression.hpp>

namespace kiln::dynamic::graph {

using loss_function = std::function<tensor(const tensor& input, const tensor& target)>;

inline nn::reduction reduction_of(option_reader& r) {
  const std::string how = r.get<std::string>("reduction", "mean");
  if (how == "mean") return nn::reduction::mean;
  if (how == "sum") return nn::reduction::sum;
  if (how == "none") return nn::reduction::none;
  r.refuse("reduction", "is \"mean\", \"sum\" or \"none\"");
}
/// A loss of two tensors of one type.
template <class Device, class F>
loss_function of_two(std::string name, F f) {
  return [name = std::move(name), f](const tensor& input, const tensor& target) {
    return with_float_or_double(input.type(), name, [&]<class T>(std::type_identity<T>) {
      return tensor(f(input.as<T, Device>(), target.to(input.type()).template as<T, Device>()));
    });
  };
}
/// A loss of scores, or logarithms of probabilities, and numbers of classes.
template <class Device, class F>
loss_function of_classes(std::string name, F f) {
  return [name = std::move(name), f](const tensor& input, const tensor& target) {
    if (is_floating(target.type()) || target.type() == dtype::boolean)
      throw dtype_error(message(name, ": a target of ", kiln::name(target.type()), target.sizes(),
                                " holds no numbers of classes: convert it with to(kiln::dtype::int64)"));
    return with_float_or_double(input.type(), name, [&]<class T>(std::type_identity<T>) {
      return tensor(f(input.as<T, Device>(), target.to(dtype::int64).template as<std::int64_t, Device>()));
    });
  };
}

/// The loss of this name, for tensors on one device.
template <class Device>
loss_function loss_on(std::string_view name, const options& how) {
  option_reader r{std::string(name), how};
  const std::string called(name);
  const nn::reduction reduction = reduction_of(r);
  const auto plain = [&](auto f) {
    r.finish();
    return of_two<Device>(called, f);
  };
  if (name == "mse")
    return plain([=](const auto& x, const auto& y) { return nn::mse_loss(x, y, {.reduction = reduction}); });
  if (name == "l1")
    return plain([=](const auto& x, const auto& y) { return nn::l1_loss(x, y, {.reduction = reduction}); });
  if (name == "smoothl1")
    return plain([=, beta = r.get<double>("beta", 1)](const auto& x, const auto& y) {
      return nn::smooth_l1_loss(x, y, {.reduction = reduction, .beta = beta});
    });
  if (name == "huber")
    return plain([=, delta = r.get<double>("delta", 1)](const auto& x, const auto& y) {
      return nn::huber_loss(x, y, {.reduction = reduction, .delta = delta});
    });
  if (name == "bce")
    return plain(
        [=](const auto& x, const auto& y) { return nn::binary_cross_entropy(x, y, {.reduction = reduction}); });
  if (name == "bcelogits")
    return plain([=](const auto& x, const auto& y) {
      return nn::binary_cross_entropy_with_logits(x, y, {.reduction = reduction});
    });
  if (name == "kl")
    return plain([=, logs = r.get<bool>("log_target", false), batch = r.get<bool>("batchmean", false)](const auto& x,
                                                                                                       const auto& y) {
      return nn::kl_div(x, y, {.reduction = reduction, .log_target = logs, .batchmean = batch});
    });
  if (name == "nll") {
    const nn::class_loss_options options{.reduction = reduction,
                                         .ignore_index = r.get<std::int64_t>("ignore_index", -100)};
    r.finish();
    return of_classes<Device>(called, [=](const auto& x, const auto& y) { return nn::nll_loss(x, y, options); });
  }
  if (name == "ce") {
    const nn::class_loss_options options{.reduction = reduction,
                                         .ignore_index = r.get<std::int64_t>("ignore_index", -100),
                                         .label_smoothing = r.get<double>("label_smoothing", 0)};
    r.finish();
    const auto both = [=](const auto& x, const auto& y) { return nn::cross_entropy(x, y, options); };
    return [numbers = of_classes<Device>(called, both), probabilities = of_two<Device>(called, both)](
               const tensor& input, const tensor& target) {
      return is_floating(target.type()) ? probabilities(input, target) : numbers(input, target);
    };
  }
  throw value_error(message("make_loss: there is no \"", name,
                            "\": known are mse, l1, smoothl1, huber, bce, bcelogits, ce, nll and kl"));
}

}  // namespace kiln::dynamic::graph
