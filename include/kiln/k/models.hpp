// SPDX-License-Identifier: BSL-1.0
// Models: a module, its loss and its optimizer with data in batches; training and testing epochs, metrics.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <kiln/dynamic/indexing.hpp>
#include <kiln/k/losses.hpp>
#include <kiln/k/modules.hpp>
#include <kiln/k/optimizers.hpp>

namespace kiln::k {

/// Data of a model, and how it is gone through.
struct batches {
  std::vector<option> options;  // as q gave them, or as they are at first
  tensor input, target;         // all of it
  longs order;                  // the rows when shuffled; else empty
  std::int64_t next = 0;        // row at which the next batch begins
  tensor batch_input, batch_target;

  std::int64_t rows() const { return input.defined() && input.dim() > 0 ? input.sizes()[0] : 0; }

  object get(std::string_view name) const {
    for (const option& each : options)
      if (each.name == name) return each.value.get();
    throw value_error(message("unrecognized option `", name));
  }
  std::int64_t batch_size() const { return *read_long(get("batchsize")); }
  bool flag(std::string_view name) const { return read_flag(get(name)).value_or(false); }
  std::int64_t count() const {
    const std::int64_t size = batch_size();
    return flag("droplast") ? rows() / size : (rows() + size - 1) / size;
  }

  /// Cuts the next batch; false when there is none.
  bool advance() {
    const std::int64_t size = std::min(batch_size(), rows() - next);
    if (size <= 0 || (size < batch_size() && flag("droplast"))) {
      restore();
      return false;
    }
    const auto part = [&](const tensor& all) {
      if (!all.defined()) return all;
      if (order.empty()) return dynamic::narrow(all, 0, next, size);
      return dynamic::index_select(all, 0, copied(dtype::int64, {size}, order.data() + next));
    };
    batch_input = part(input);
    batch_target = part(target);
    next += size;
    return true;
  }
  void restore() {
    next = 0;
    batch_input = batch_target = {};
  }
  void shuffle() {
    order.resize(static_cast<std::size_t>(rows()));
    std::iota(order.begin(), order.end(), 0);
    for (std::size_t i = 0; i + 1 < order.size(); ++i)
      std::swap(
          order[i],
          order[i + static_cast<std::size_t>(session().random.below(static_cast<std::int64_t>(order.size() - i)))]);
  }
};

struct model_body {
  std::shared_ptr<module_body> module;
  std::shared_ptr<loss_body> loss;
  std::shared_ptr<optimizer_body> optimizer;
  batches train, test;
};

namespace models {

inline std::vector<option> first_options(bool train) {
  std::vector<option> all;
  const auto add = [&](std::string_view name, object value) { all.push_back({std::string(name), owned(value)}); };
  add("batchsize", kj(train ? 32 : 100));
  for (std::string_view name : {"droplast", "hidden", "tensor", "dictionary"}) add(name, kb(0));
  add("metrics", make_symbol("loss"));
  add("task", kj(0));
  add("tasks", kj(1));
  if (!train) return all;
  for (std::string_view name : {"shuffle", "shufflecuda"}) add(name, kb(0));
  add("shuffleseed", kj(0));
  add("sync", kb(0));
  add("clipgroup", kb(0));
  add("clipnorm", kf(null_float));
  add("clipvalue", kf(null_float));
  return all;
}

/// Sets an option of the same kind of value.
inline void set(batches& data, std::string_view name, object value) {
  for (option& each : data.options) {
    if (each.name != name) continue;
    owned kept = owned::share(value);
    if (name == "batchsize") {
      const auto size = read_long(value);
      if (!size || *size < 1) throw value_error(message("`batchsize is a ", describe(value), ", expected 1 or more"));
    } else if (name == "metrics") {
      const auto names = read_symbols(value);
      if (!names) throw value_error("`metrics are symbols");
      for (const std::string& metric : *names) {
        bool known = false;
        for (std::string_view one : {"loss", "batchloss", "accuracy", "matches", "predict", "output"})
          known = known || one == metric;
        if (!known)
          throw value_error(message("unrecognized or not offered metric `", metric,
                                    ", expected some of loss batchloss accuracy matches predict output"));
      }
    } else if (name.starts_with("clip") && name != "clipgroup") {
      const auto limit = read_number(value);
      if (!limit) throw value_error(message("`", name, " is a ", describe(value), ", expected a number"));
      kept = owned(kf(*limit));
    } else if (value->type != each.value.get()->type) {
      throw value_error(message("`", name, " is a ", describe(value), ", expected a ", kind_name(each.value.get())));
    }
    each.value = std::move(kept);
    return;
  }
  throw value_error(message("unrecognized option `", name));
}

/// The loss of inputs and targets, in training mode.
inline tensor loss_of(const model_body& m, const tensor& input, const tensor& target) {
  if (!input.defined() || !target.defined()) throw value_error("the model has no data; give inputs and targets");
  return m.loss->function(modules::pass(*m.module, {input}, true, true), target);
}

inline void clip_gradients(const model_body& m) {
  const double norm = read_number(m.train.get("clipnorm")).value_or(null_float);
  const double value = read_number(m.train.get("clipvalue")).value_or(null_float);
  optimizers::with_all(m.module->parameters().values, [&](const auto& parameters) {
    if (norm == norm) optim::clip_grad_norm(parameters, norm);
    if (value == value) optim::clip_grad_value(parameters, value);
  });
}

/// One step of training: gradients forgotten, loss, backward, limits, step.
inline tensor back_step(const model_body& m, const tensor& input, const tensor& target) {
  if (m.optimizer->type == "lbfgs") {
    tensor first;
    for (const parameter_group& group : m.optimizer->groups)
      if (group.optimizer.defined())
        group.optimizer.step([&] {
          const tensor loss = loss_of(m, input, target);
          loss.backward();
          if (!first.defined()) first = loss.detach();
          return loss;
        });
    return first;
  }
  m.module->module.zero_grad();
  const tensor loss = loss_of(m, input, target);
  loss.backward();
  clip_gradients(m);
  optimizers::take_step(*m.optimizer);
  return loss.detach();
}

/// What an epoch has seen, for the metrics.
struct record {
  std::vector<double> losses;
  std::int64_t rows = 0, matches = 0;
  std::vector<tensor> outputs;
};

inline tensor predicted(const tensor& output) {
  return dynamic::argmax(output, longs{-1});
}

inline void note(record& seen, const std::vector<std::string>& metrics, const tensor& output, const tensor& target) {
  const auto wants = [&](std::string_view name) { return std::ranges::find(metrics, name) != metrics.end(); };
  seen.rows += output.sizes()[0];
  if (wants("accuracy") || wants("matches")) {
    const tensor same = dynamic::call("eq", {predicted(output), target.to(dtype::int64)});
    seen.matches += static_cast<std::int64_t>(dynamic::reduce("sum", same.to(dtype::int64)).item());
  }
  if (wants("output") || wants("predict")) seen.outputs.push_back(output);
}

/// One metric by itself, several as a list, or a dictionary where the options ask for one.
inline object metrics_value(const batches& data, const record& seen) {
  const std::vector<std::string> metrics = *read_symbols(data.get("metrics"));
  const bool handles_wanted = data.flag("tensor");
  std::vector<owned> values;
  for (const std::string& metric : metrics) {
    const double n = static_cast<double>(seen.losses.size());
    if (metric == "loss") {
      values.emplace_back(kf(n > 0 ? std::accumulate(seen.losses.begin(), seen.losses.end(), 0.0) / n : null_float));
    } else if (metric == "batchloss") {
      values.emplace_back(make_floats(seen.losses));
    } else if (metric == "accuracy") {
      values.emplace_back(kf(100.0 * static_cast<double>(seen.matches) / static_cast<double>(seen.rows)));
    } else if (metric == "matches") {
      values.emplace_back(make_longs(longs{seen.matches, seen.rows}));
    } else {
      if (seen.outputs.empty()) throw value_error(message("no batch for the metric `", metric));
      tensor all = dynamic::cat(seen.outputs, 0);
      if (metric == "predict") all = predicted(all);
      values.emplace_back(handles_wanted ? tensor_handle(std::move(all)) : to_value(all));
    }
  }
  if (data.flag("dictionary")) return make_dictionary(metrics, collapse(std::move(values)));
  if (data.get("metrics")->type < 0) return values.at(0).release();
  return collapse(std::move(values));
}

inline object run_epoch(model_body& m) {
  if (m.train.flag("shuffle")) m.train.shuffle();
  m.train.restore();
  const std::vector<std::string> metrics = *read_symbols(m.train.get("metrics"));
  if (m.train.rows() == 0) throw value_error("the model has no training data; give it with train(m;x;y)");
  record seen;
  const bool outputs = metrics.size() > 1 || (metrics[0] != "loss" && metrics[0] != "batchloss");
  while (m.train.advance()) {
    seen.losses.push_back(back_step(m, m.train.batch_input, m.train.batch_target).item());
    if (outputs)
      note(seen, metrics, modules::pass(*m.module, {m.train.batch_input}, true, false), m.train.batch_target);
  }
  return metrics_value(m.train, seen);
}

inline object test_epoch(model_body& m) {
  m.test.restore();
  if (m.test.rows() == 0) throw value_error("the model has no test data; give it with test(m;x;y)");
  const std::vector<std::string> metrics = *read_symbols(m.test.get("metrics"));
  record seen;
  while (m.test.advance()) {
    const tensor output = modules::pass(*m.module, {m.test.batch_input}, false, false);
    if (m.test.batch_target.defined()) {
      const no_grad quiet;
      seen.losses.push_back(m.loss->function(output, m.test.batch_target).item());
      note(seen, metrics, output, m.test.batch_target);
    } else {
      seen.rows += output.sizes()[0];
      seen.outputs.push_back(output);
    }
  }
  return metrics_value(m.test, seen);
}

}  // namespace models

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
  void move_to(const tensor_options& options) override { held_module(body->module).move_to(options); }

  std::shared_ptr<model_body> body;
};

namespace models {

inline held_model& model_at(const arguments& given) {
  auto* found = find_held_as<held_model>(given[0]);
  if (!found) given.refuse(0, "a model");
  return *found;
}

/// Puts the parts that handles stand for into a model; all are looked at first.
inline void place(model_body& into, const arguments& given, std::size_t first) {
  std::vector<std::int64_t> consumed;
  model_body parts;
  for (std::size_t i = first; i < given.size(); ++i) {
    held* what = find_held(given[i]);
    if (auto* m = dynamic_cast<held_module*>(what))
      parts.module = m->body;
    else if (auto* l = dynamic_cast<held_loss*>(what))
      parts.loss = l->body;
    else if (auto* o = dynamic_cast<held_optimizer*>(what))
      parts.optimizer = o->body;
    else
      given.refuse(i, "a module, loss or optimizer");
    consumed.push_back(*handle_number(given[i]));
  }
  if ((!into.module && !parts.module) || (!into.loss && !parts.loss) || (!into.optimizer && !parts.optimizer))
    throw value_error("a model needs a module, a loss and an optimizer");
  if (parts.module) into.module = parts.module;
  if (parts.loss) into.loss = parts.loss;
  if (parts.optimizer) into.optimizer = parts.optimizer;
  tensors::consume(consumed);
}

inline object model(std::string_view name, object x) {
  if (handle_number(x)) {
    if (const auto* m = find_held_as<held_model>(x)) return m->definition(false);
    throw value_error(message("expected a model, or a module, loss and optimizer, given ", describe(x)));
  }
  const arguments given(name, x, 2, 4);
  if (auto* m = find_held_as<held_model>(given[0])) {
    place(*m->body, given, 1);
    return make_null();
  }
  auto body = std::make_shared<model_body>();
  body->train.options = first_options(true);
  body->test.options = first_options(false);
  place(*body, given, 0);
  return make_handle(std::make_unique<held_model>(std::move(body)));
}

inline tensor data_from(const arguments& given, std::size_t i, const model_body& m, bool input) {
  const operand found = given.operand_at(i);
  if (found.value.dim() == 0) given.refuse(i, "a tensor or array with rows");
  return input ? modules::as_input(found, *m.module) : found.value;
}

inline std::int64_t set_data(const arguments& given, std::size_t first, const model_body& m, batches& data) {
  tensor input = data_from(given, first, m, true);
  tensor target = given.size() > first + 1 ? data_from(given, first + 1, m, false) : tensor{};
  if (target.defined() && target.sizes()[0] != input.sizes()[0])
    throw value_error(message(input.sizes()[0], " rows of inputs, ", target.sizes()[0], " of targets"));
  data.input = std::move(input);
  data.target = std::move(target);
  data.order.clear();
  data.restore();
  return data.count();
}

/// train and test: options read or set, or data set.
inline object options(std::string_view name, object x) {
  const arguments given(name, x, 1, 3);
  held_model& m = model_at(given);
  batches& data = name == "train" ? m.body->train : m.body->test;
  if (given.size() == 1) return options_value(data.options);
  const auto names = given[1]->type == mixed_type ? std::nullopt : read_symbols(given[1]);
  if (given.size() == 2 && names) {
    std::vector<owned> values;
    for (const std::string& each : *names) values.push_back(owned::share(data.get(each)));
    return given[1]->type < 0 ? values.at(0).release() : collapse(std::move(values));
  }
  if ((given.size() == 2 && given[1]->type == dictionary_type) || names) {
    std::vector<option> wanted;
    if (given.size() == 2) {
      auto found = read_options(given[1]);
      if (!found) given.refuse(1, "a dictionary with symbols as keys");
      wanted = std::move(*found);
    } else if (given[1]->type < 0) {
      wanted.push_back({(*names)[0], owned::share(given[2])});
    } else {
      if (!is_list(given[2]) || given[2]->count != static_cast<std::int64_t>(names->size()))
        throw value_error(message(names->size(), " options need as many values"));
      for (std::size_t i = 0; i < names->size(); ++i)
        wanted.push_back({(*names)[i], item_of(given[2], static_cast<std::int64_t>(i))});
    }
    batches changed = data;  // nothing is set unless all can be
    for (const option& each : wanted) set(changed, each.name, each.value.get());
    data = std::move(changed);
    return make_null();
  }
  return kj(set_data(given, 1, *m.body, data));
}

inline bool is_test(std::string_view name) {
  return name.starts_with("test");
}

/// run and testrun: (m) or (m;x;y).
inline object run(std::string_view name, object x) {
  const arguments given(name, x, 1, 3);
  held_model& m = model_at(given);
  batches& data = is_test(name) ? m.body->test : m.body->train;
  if (given.size() > 1) set_data(given, 1, *m.body, data);
  return is_test(name) ? test_epoch(*m.body) : run_epoch(*m.body);
}

inline object backstep(std::string_view name, object x) {
  const arguments given(name, x, 1, 3);
  held_model& m = model_at(given);
  const batches& data = m.body->train;
  if (given.size() == 2) throw value_error("expects inputs and targets");
  const tensor input = given.size() == 3 ? data_from(given, 1, *m.body, true) : m.usual_inputs(false).at(0);
  const tensor target = given.size() == 3             ? data_from(given, 2, *m.body, false)
                        : data.batch_target.defined() ? data.batch_target
                                                      : data.target;
  return to_value(back_step(*m.body, input, target));
}

/// batch, batchinit, restore, datasize, shuffle, unshuffle, and those of the test data.
inline object go_through(std::string_view name, object x) {
  const arguments given(name, x, 1, 1);
  model_body& m = *model_at(given).body;
  const bool test = is_test(name);
  batches& data = test ? m.test : m.train;
  if (name == "batch" || name == "testbatch") return kb(data.advance());
  if (name == "datasize" || name == "testsize") return kj(data.rows());
  if (name == "unshuffle") {
    data.order.clear();
    return make_null();
  }
  if (name == "shuffle") {
    data.shuffle();
    return make_null();
  }
  data.restore();
  if (name == "batchinit" && data.flag("shuffle")) data.shuffle();
  return name == "batchinit" || name == "testinit" ? kj(data.count()) : kj(data.rows());
}

/// data, input, target and those of the test data: handles, or set anew.
inline object data(std::string_view name, object x) {
  const arguments given(name, x, 1, 2);
  model_body& m = *model_at(given).body;
  const bool test = is_test(name);
  batches& from = test ? m.test : m.train;
  const std::string_view what = test ? name.substr(4) : name;
  const tensor& input = from.batch_input.defined() ? from.batch_input : from.input;
  const tensor& target = from.batch_input.defined() ? from.batch_target : from.target;
  if (given.size() == 2) {
    if (what == "data") throw value_error("set inputs and targets with train or test");
    tensor value = data_from(given, 1, m, what == "input");
    (what == "input" ? from.input : from.target) = std::move(value);
    from.restore();
    return make_null();
  }
  if (what == "input") return tensor_handle(input);
  if (what == "target") return tensor_handle(target);
  return knk(2, tensor_handle(input), tensor_handle(target));
}

inline object copyparms(std::string_view name, object x) {
  const arguments given(name, x, 1, 2);
  const auto body = modules::module_at(given);
  const tensor_list own = body->parameters();
  if (given.size() == 1) {
    tensor_list copy{own.names, {}};
    for (const tensor& t : own.values) copy.values.push_back(t.detach().clone().eval());
    return make_handle(std::make_unique<held_list>(held_class::dict, std::make_shared<tensor_list>(std::move(copy))));
  }
  auto* from = find_list(given[1], held_class::dict);
  if (!from) given.refuse(1, "a dict");
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < own.names.size(); ++i) {
    const auto place = from->list->find(own.names[i]);
    if (!place || from->list->values[*place].sizes() != own.values[i].sizes())
      throw value_error(message("the dict has no `", own.names[i], " of sizes ", own.values[i].sizes()));
    places.push_back(*place);
  }
  owned copied_flags(ktn(boolean_type, static_cast<std::int64_t>(places.size())));
  std::ranges::fill(span_of<std::uint8_t>(copied_flags.get()), std::uint8_t{1});
  settle();
  const no_grad quiet;
  for (std::size_t i = 0; i < places.size(); ++i) {
    tensor target = own.values[i];
    target.assign_(from->list->values[places[i]]);
  }
  return make_dictionary(own.names, copied_flags.release());
}

}  // namespace models

inline void offer_models(registry& r) {
  r.offer("model", models::model);
  r.offer("train", models::options);
  r.offer("test", models::options);
  r.offer("run", models::run);
  r.offer("testrun", models::run);
  r.offer("backstep", models::backstep);
  for (std::string_view name : {"batch", "testbatch", "batchinit", "testinit", "restore", "testrestore", "datasize",
                                "testsize", "shuffle", "unshuffle"})
    r.offer(name, models::go_through);
  for (std::string_view name : {"data", "testdata", "input", "testinput", "target", "testtarget"})
    r.offer(name, models::data);
  r.offer("copyparms", models::copyparms);
}

}  // namespace kiln::k
