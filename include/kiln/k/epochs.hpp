// SPDX-License-Identifier: BSL-1.0
// Steps and epochs of training and testing a model, and the metrics that they give.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <kiln/dynamic/indexing.hpp>
#include <kiln/k/batches.hpp>
#include <kiln/k/losses.hpp>
#include <kiln/k/modules.hpp>
#include <kiln/k/optimizers.hpp>

namespace kiln::k {

struct model_body {
  std::shared_ptr<module_body> module;
  std::shared_ptr<loss_body> loss;
  std::shared_ptr<optimizer_body> optimizer;
  batches train, test;
};

namespace models {

/// The loss of inputs and targets, in training mode.
inline tensor loss_of(const model_body& m, const tensor& input, const tensor& target) {
  if (!input.defined() || !target.defined()) throw value_error("the model has no data; give inputs and targets");
  return m.loss->function(modules::pass(*m.module, {input}, true, true), target);
}

inline void clip_gradients(const model_body& m) {
  const double norm = read_number(m.train.get("clipnorm")).value_or(null_float);
  const double value = read_number(m.train.get("clipvalue")).value_or(null_float);
  if (norm != norm && value != value) return;  // no limit is set: most steps
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

}  // namespace kiln::k
