// SPDX-License-Identifier: BSL-1.0
// Optimizers of dynamic tensors that are on one device: those of optim over Tensor<T, Device>.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <kiln/dynamic/optimizer.hpp>
#include <kiln/dynamic/options.hpp>
#include <kiln/io/state_visitor.hpp>
#include <kiln/optim/adagrad.hpp>
#include <kiln/optim/adam.hpp>
#include <kiln/optim/lamb.hpp>
#include <kiln/optim/lbfgs.hpp>
#include <kiln/optim/rmsprop.hpp>
#include <kiln/optim/sgd.hpp>

namespace kiln::dynamic::graph {

template <Element T, class Device>
std::vector<Tensor<T, Device>> as_all(const std::vector<tensor>& parameters) {
  std::vector<Tensor<T, Device>> all;
  for (const tensor& p : parameters) {
    if (!p.requires_grad() || !p.is_leaf())
      throw value_error(message("make_optimizer: parameter ", all.size(), ", of shape ", p.sizes(),
                                ", is no leaf that requires grad: call requires_grad_() on what is to be learned"));
    check_together("make_optimizer", parameters[0], p);
    all.push_back(p.as<T, Device>());
  }
  return all;
}

template <class Optimizer, class Device>
class static_optimizer final : public optimizer::held {
 public:
  template <class Options>
  static_optimizer(const std::vector<tensor>& parameters, const Options& how)
      : optimizer_(as_all<typename Optimizer::value_type, Device>(parameters), how) {}
  void step() override { optimizer_.step(); }
  double step(const optimizer::closure& loss) override {
    optimizer_.zero_grad();
    const double value = loss().item();
    optimizer_.step();
    return value;
  }
  void zero_grad() override { optimizer_.zero_grad(); }
  double& lr() override { return optimizer_.lr(); }
  std::vector<optimizer::state_tensor> state() const override {
    std::vector<optimizer::state_tensor> all;
    const auto parameters = optimizer_.parameters();
    for (const std::string& name : optimizer_.state_names())
      for (std::size_t i = 0; i < parameters.size(); ++i)
        all.push_back({name, i, optimizer_.state(parameters[i], name)});
    return all;
  }
  void visit_state(io::detail::state_visitor& v) override { optimizer_.visit_state(v); }

 private:
  Optimizer optimizer_;
};

template <Element T, class Device>
class lbfgs_optimizer final : public optimizer::held {
 public:
  lbfgs_optimizer(const std::vector<tensor>& parameters, const optim::lbfgs_options& how)
      : optimizer_(as_all<T, Device>(parameters), how) {}
  void step() override {
    throw value_error("LBFGS: asks for the loss several times: give step() a function that computes it");
  }
  double step(const optimizer::closure& loss) override {
    return optimizer_.step([&] { return loss().item(); });
  }
  void zero_grad() override { optimizer_.zero_grad(); }
  double& lr() override { return optimizer_.options().lr; }
  std::vector<optimizer::state_tensor> state() const override { return {}; }
  void visit_state(io::detail::state_visitor& v) override { optimizer_.visit_state(v); }

 private:
  optim::LBFGS<T, Device> optimizer_;
};

/// Two numbers below 1 as the options "beta1" and "beta2".
inline std::array<double, 2> betas(option_reader& r) {
  return {r.get<double>("beta1", 0.9), r.get<double>("beta2", 0.999)};
}

template <class Options>
Options adam_options(option_reader& r) {
  const Options usual;
  return {.lr = r.get<double>("lr", usual.lr),
          .betas = betas(r),
          .eps = r.get<double>("eps", usual.eps),
          .weight_decay = r.get<double>("weight_decay", usual.weight_decay),
          .amsgrad = r.get<bool>("amsgrad", false),
          .maximize = r.get<bool>("maximize", false)};
}

template <Element T, class Device>
std::shared_ptr<optimizer::held> optimizer_of(std::string_view name, const std::vector<tensor>& parameters,
                                              option_reader& r) {
  const auto make = [&]<class O>(std::type_identity<O>, const auto& how) -> std::shared_ptr<optimizer::held> {
    r.finish();
    return std::make_shared<static_optimizer<O, Device>>(parameters, how);
  };
  if (name == "SGD") {
    const optim::sgd_options how{.lr = r.get<double>("lr", 1e-3),
                                 .momentum = r.get<double>("momentum", 0),
                                 .dampening = r.get<double>("dampening", 0),
                                 .weight_decay = r.get<double>("weight_decay", 0),
                                 .nesterov = r.get<bool>("nesterov", false),
                                 .maximize = r.get<bool>("maximize", false)};
    return make(std::type_identity<optim::SGD<T, Device>>{}, how);
  }
  if (name == "Adam") return make(std::type_identity<optim::Adam<T, Device>>{}, adam_options<optim::adam_options>(r));
  if (name == "AdamW")
    return make(std::type_identity<optim::AdamW<T, Device>>{}, adam_options<optim::adamw_options>(r));
  if (name == "RMSprop") {
    const optim::rmsprop_options how{.lr = r.get<double>("lr", 1e-2),
                                     .alpha = r.get<double>("alpha", 0.99),
                                     .eps = r.get<double>("eps", 1e-8),
                                     .weight_decay = r.get<double>("weight_decay", 0),
                                     .momentum = r.get<double>("momentum", 0),
                                     .centered = r.get<bool>("centered", false),
                                     .maximize = r.get<bool>("maximize", false)};
    return make(std::type_identity<optim::RMSprop<T, Device>>{}, how);
  }
  if (name == "Adagrad") {
    const optim::adagrad_options how{.lr = r.get<double>("lr", 1e-2),
                                     .lr_decay = r.get<double>("lr_decay", 0),
                                     .weight_decay = r.get<double>("weight_decay", 0),
                                     .initial_accumulator_value = r.get<double>("initial_accumulator_value", 0),
                                     .eps = r.get<double>("eps", 1e-10),
                                     .maximize = r.get<bool>("maximize", false)};
    return make(std::type_identity<optim::Adagrad<T, Device>>{}, how);
  }
  if (name == "Lamb") {
    const optim::lamb_options how{.lr = r.get<double>("lr", 1e-3),
                                  .betas = betas(r),
                                  .eps = r.get<double>("eps", 1e-6),
                                  .weight_decay = r.get<double>("weight_decay", 0),
                                  .maximize = r.get<bool>("maximize", false)};
    return make(std::type_identity<optim::Lamb<T, Device>>{}, how);
  }
  if (name == "LBFGS") {
    const std::string search = r.get<std::string>("line_search_fn", "none");
    if (search != "none" && search != "strong_wolfe") r.refuse("line_search_fn", "is \"none\" or \"strong_wolfe\"");
    const optim::lbfgs_options how{
        .lr = r.get<double>("lr", 1),
        .max_iter = r.get<std::int64_t>("max_iter", 20),
        .max_eval = r.get<std::int64_t>("max_eval", -1),
        .tolerance_grad = r.get<double>("tolerance_grad", 1e-7),
        .tolerance_change = r.get<double>("tolerance_change", 1e-9),
        .history_size = r.get<std::int64_t>("history_size", 100),
        .line_search_fn = search == "none" ? optim::line_search::none : optim::line_search::strong_wolfe};
    r.finish();
    return std::make_shared<lbfgs_optimizer<T, Device>>(parameters, how);
  }
  throw value_error(message("make_optimizer: there is no \"", name,
                            "\": known are SGD, Adam, AdamW, RMSprop, Adagrad, Lamb and LBFGS"));
}

/// The optimizer of this name over parameters on one device.
template <class Device>
std::shared_ptr<optimizer::held> optimizer_on(std::string_view name, const std::vector<tensor>& parameters,
                                              const options& how) {
  option_reader r{std::string(name), how};
  return with_float_or_double(parameters[0].type(), "make_optimizer", [&]<class T>(std::type_identity<T>) {
    return optimizer_of<T, Device>(name, parameters, r);
  });
}

}  // namespace kiln::dynamic::graph
