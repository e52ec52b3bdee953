// SPDX-License-Identifier: BSL-1.0
// What a handle to a model holds.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <kiln/k/epochs.hpp>

namespace kiln::k {

class held_model : public held,
                   public defined_object,
                   public printed_object,
                   public parameter_owner,
                   public trainable_object,
                   public module_holder,
                   public loss_holder,
                   public optimizer_holder,
                   public stepping_object,
                   public movable_object {
 public:
  explicit held_model(std::shared_ptr<model_body> what) : body(std::move(what)) {}
  held_class kind() const override { return held_class::model; }
  std::unique_ptr<held> share() const override { return std::make_unique<held_model>(body); }
  const void* identity() const override { return body.get(); }
  std::int64_t uses() const override { return body.use_count(); }
  std::string device() const override { return held_module(body->module).device(); }
  object size() const override { return held_module(body->module).size(); }
  std::int64_t elements() const override {
    return held_module(body->module).elements() + held_optimizer(body->optimizer).elements();
  }
  std::int64_t bytes() const override {
    return held_module(body->module).bytes() + held_optimizer(body->optimizer).bytes();
  }
  std::int64_t tensor_count() const override {
    return held_module(body->module).tensor_count() + held_optimizer(body->optimizer).tensor_count();
  }
  object definition(bool all) const override {
    const std::vector<std::string> names{"module", "loss", "optimizer", "train", "test"};
    return make_dictionary(names,
                           knk(5, held_module(body->module).definition(all), held_loss(body->loss).definition(all),
                               held_optimizer(body->optimizer).definition(all), options_value(body->train.options),
                               options_value(body->test.options)));
  }
  std::string text() const override { return held_module(body->module).text(); }
  tensor_list parameters() const override { return body->module->parameters(); }
  tensor backward(const std::vector<tensor>& inputs, const tensor& target) override {
    const bool own = inputs.empty();
    const tensor input = own ? usual_inputs(false).at(0) : inputs[0];
    const tensor wanted =
        own ? (body->train.batch_target.defined() ? body->train.batch_target : body->train.target) : target;
    const tensor loss = models::loss_of(*body, input, wanted);
    loss.backward();
    return loss.detach();
  }
  std::shared_ptr<module_body> held_body() const override { return body->module; }
  std::shared_ptr<loss_body> held_loss_body() const override { return body->loss; }
  std::shared_ptr<optimizer_body> held_optimizer_body() const override { return body->optimizer; }
  std::vector<tensor> usual_inputs(bool test) const override {
    const batches& data = test ? body->test : body->train;
    if (data.batch_input.defined()) return {data.batch_input};
    if (!data.input.defined()) throw value_error("the model has no data; give inputs");
    return {data.input};
  }
  void step() override {
    if (body->optimizer->type == "lbfgs")
      models::back_step(*body, usual_inputs(false).at(0),
                        body->train.batch_target.defined() ? body->train.batch_target : body->train.target);
    else
      optimizers::take_step(*body->optimizer);
  }
  void move_to(const tensor_options& options) override {
    const std::string now = device();
    if (options.where && !now.empty() && dynamic::name(*options.where) != now)
      throw value_error("a model stays where its optimizer's parameters are: move the module, then make opt and model");
    held_module(body->module).move_to(options);
  }

  std::shared_ptr<model_body> body;
};

}  // namespace kiln::k
