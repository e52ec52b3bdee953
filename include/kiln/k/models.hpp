// SPDX-License-Identifier: BSL-1.0
// Functions on models: a module, its loss and its optimizer with data, trained and tested in batches.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <kiln/k/held_model.hpp>

namespace kiln::k {

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
  const std::shared_ptr<model_body> body = model_at(given).body;  // a pass may call q, which may free the handle
  batches& data = is_test(name) ? body->test : body->train;
  if (given.size() > 1) set_data(given, 1, *body, data);
  return is_test(name) ? test_epoch(*body) : run_epoch(*body);
}

inline object backstep(std::string_view name, object x) {
  const arguments given(name, x, 1, 3);
  held_model& m = model_at(given);
  const std::shared_ptr<model_body> body = m.body;  // a pass may call q, which may free the handle
  const batches& data = body->train;
  if (given.size() == 2) throw value_error("expects inputs and targets");
  const tensor input = given.size() == 3 ? data_from(given, 1, *body, true) : m.usual_inputs(false).at(0);
  const tensor target = given.size() == 3             ? data_from(given, 2, *body, false)
                        : data.batch_target.defined() ? data.batch_target
                                                      : data.target;
  return to_value(back_step(*body, input, target));
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

/// The means of a dict taken one set of parameters further; how many sets it is the mean of.
inline object avgparms(std::string_view name, object x) {
  const arguments given(name, x, 2, 2);
  const tensor_list own = modules::module_at(given)->parameters();
  auto* means = find_list(given[1], held_class::dict);
  if (!means) given.refuse(1, "a dict");
  tensor_list next = *means->list;
  const double part = 1 / static_cast<double>(next.averaged + 1);
  const no_grad quiet;
  for (std::size_t i = 0; i < own.names.size(); ++i) {
    const auto place = next.find(own.names[i]);
    if (!place || next.values[*place].sizes() != own.values[i].sizes())
      throw value_error(message("the dict has no `", own.names[i], " of sizes ", own.values[i].sizes()));
    tensor& mean = next.values[*place];
    const tensor step = dynamic::call("mul", {dynamic::call("sub", {own.values[i], mean}), dynamic::scalar(part)});
    mean = dynamic::call("add", {mean, step}).eval();
  }
  ++next.averaged;
  *means->list = std::move(next);
  return kj(means->list->averaged);
}

/// The running statistics of batch norms as the mean over all batches of the training data; how many layers have some.
inline object batchnorm(std::string_view name, object x) {
  const arguments given(name, x, 1, 1);
  const std::shared_ptr<model_body> body = model_at(given).body;
  struct statistic {
    tensor running;
    std::vector<double> sum;
    double momentum;
  };
  std::vector<statistic> all;
  std::int64_t layers = 0;
  std::vector<std::pair<std::string, std::shared_ptr<module_body>>> parts;
  modules::all_within(body->module, "", parts);
  for (const auto& [path, part] : parts) {
    if (!part->type.starts_with("batchnorm")) continue;
    double momentum = 0.1;
    for (const option& each : part->options)
      if (each.name == "momentum") momentum = read_number(each.value.get()).value_or(0);
    const tensor_list buffers = part->buffers();
    if (buffers.values.empty()) continue;
    if (!(momentum > 0)) throw value_error(message("`", path, " has no momentum, from which statistics are taken"));
    for (std::string_view which : {"running_mean", "running_var"})
      if (const auto place = buffers.find(which)) all.push_back({buffers.values[*place], {}, momentum});
    ++layers;
  }
  if (body->train.rows() == 0) throw value_error("the model has no training data; give it with train(m;x;y)");
  if (all.empty()) return kj(0);
  settle();
  const no_grad quiet;
  body->train.restore();
  double batches = 0;
  for (; body->train.advance(); ++batches) {
    for (statistic& each : all) each.running.fill_(0);  // then what the layer leaves is momentum times the batch's own
    modules::pass(*body->module, {body->train.batch_input}, true, false);
    for (statistic& each : all) {
      const tensor seen = each.running.to(dtype::float64).contiguous();
      const auto* at = static_cast<const double*>(seen.data());
      each.sum.resize(static_cast<std::size_t>(seen.numel()));
      for (std::size_t i = 0; i < each.sum.size(); ++i) each.sum[i] += at[i] / each.momentum;
    }
  }
  for (statistic& each : all) {
    for (double& sum : each.sum) sum /= batches;
    each.running.assign_(copied(dtype::float64, each.running.sizes(), each.sum.data()).to(each.running.type()));
  }
  return kj(layers);
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
  r.offer("batchnorm", models::batchnorm);
  r.offer("copyparms", models::copyparms);
  r.offer("avgparms", models::avgparms);
}

}  // namespace kiln::k
