// SPDX-License-Identifier: BSL-1.0
// Losses: as objects that q makes by name, and as functions.
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <kiln/dynamic/losses.hpp>
#include <kiln/k/arguments.hpp>
#include <kiln/k/loss_formulas.hpp>
#include <kiln/k/objects.hpp>
#include <kiln/k/options.hpp>
#include <kiln/k/registry.hpp>

namespace kiln::k {

/// A loss with what q said of it; a function of an output and a target, or of three tensors.
struct loss_body {
  std::string type;
  std::vector<option> options;
  dynamic::loss_function function;
  std::optional<losses::set_formula> of_three = {};
};

class held_loss : public held, public defined_object {
 public:
  explicit held_loss(std::shared_ptr<loss_body> what) : body(std::move(what)) {}
  held_class kind() const override { return held_class::loss; }
  std::unique_ptr<held> share() const override { return std::make_unique<held_loss>(body); }
  const void* identity() const override { return body.get(); }
  std::int64_t uses() const override { return body.use_count(); }
  std::string device() const override { return {}; }
  object size() const override { return kj(0); }
  std::int64_t elements() const override { return 0; }
  std::int64_t bytes() const override { return 0; }
  std::int64_t tensor_count() const override { return 0; }
  std::string type() const override { return body->type; }
  object definition(bool) const override {
    const std::vector<std::string> names{"loss", "options"};
    return make_dictionary(names, knk(2, make_symbol(body->type), options_value(body->options)));
  }

  std::shared_ptr<loss_body> body;
};

/// Objects that compute a loss of an output and a target implement this beside `held`.
struct loss_holder {
  /// Null where it has none.
  virtual std::shared_ptr<loss_body> held_loss_body() const = 0;

 protected:
  ~loss_holder() = default;
};

namespace losses {

/// A formula with named options, and numbers by position.
inline set_formula set(const formula& what, const std::vector<option>& named,
                       const std::vector<double>& positional = {}) {
  set_formula made{&what, what.otherwise};
  if (positional.size() > what.options.size() || (!positional.empty() && what.options[positional.size() - 1].empty()))
    throw value_error(message(what.name, ": ", positional.size(), " options given by position, more than there are"));
  std::ranges::copy(positional, made.numbers.begin());
  for (const option& each : named) {
    const auto place = std::ranges::find(what.options, each.name);
    const auto number = read_value(each.value.get());
    const auto word = read_symbol(each.value.get());
    if (each.name == "reduce" && word) {
      static constexpr std::array<std::string_view, 3> known{"mean", "sum", "none"};
      const auto found = std::ranges::find(known, *word);
      if (found == known.end())
        throw value_error(message(what.name, ": reduce is `mean, `sum or `none, given `", *word));
      made.reduction = *found;
    } else if (!each.name.empty() && place != what.options.end() && number) {
      made.numbers[static_cast<std::size_t>(place - what.options.begin())] = *number;
    } else {
      throw value_error(message(what.name, ": unrecognized option `", each.name));
    }
  }
  return made;
}

/// A loss by name. `reduce` may stand as a symbol by itself.
inline std::shared_ptr<loss_body> build(std::string_view type, std::vector<option> given,
                                        const std::vector<double>& positional = {}) {
  static constexpr std::string_view names =
      "reduce=reduction ignore=ignore_index smoothing=label_smoothing beta delta log=log_target weight";
  auto body = std::make_shared<loss_body>();
  body->type = type;
  if (const formula* what = find_formula(type)) {
    const set_formula made = set(*what, given, positional);
    for (std::size_t i = 0; i < positional.size(); ++i)
      body->options.push_back({std::string(what->options[i]), owned(kf(positional[i]))});
    for (option& each : given) body->options.push_back(std::move(each));
    if (what->operands == 3) body->of_three = made;
    body->function = [made](const tensor& output, const tensor& target) { return made({output, target}); };
    return body;
  }
  if (!positional.empty()) throw value_error(message(type, ": give its options by name"));
  dynamic::options how;
  for (const option& each : given) {
    if (each.name == "weight" && is_null(each.value.get())) continue;
    const auto text = read_symbol(each.value.get());
    if (each.name == "reduce" && type == "kl" && text == "batchmean")
      how.set("batchmean", true);
    else if (const std::string_view called = renamed(names, each.name); !called.empty())
      how.set(std::string(called), option_value(each.name, each.value.get()));
    else
      throw value_error(message(type, ": unrecognized option `", each.name));
  }
  bool known = false;
  for (std::string_view each : {"mse", "l1", "smoothl1", "huber", "bce", "bcelogits", "ce", "nll", "kl"})
    known = known || each == type;
  if (!known)
    throw value_error(message("unrecognized or not offered loss `", type,
                              ", expected one of mse l1 smoothl1 huber bce "
                              "bcelogits ce nll kl hinge softmargin multisoft multimargin multilabel poissonloss "
                              "cosineloss margin triplet"));
  // A target on another device than the output comes to it.
  body->function = [f = dynamic::make_loss(type, how)](const tensor& output, const tensor& target) {
    return f(output, target.to(output.device()));
  };
  body->options = std::move(given);
  return body;
}

/// Options behind the operands, from the right: named ones, or the reduction as a symbol; numbers by position stay.
inline std::vector<option> read(arguments& given, std::size_t operands) {
  std::vector<option> found;
  while (given.size() > operands) {
    object last = given[given.size() - 1];
    if (read_symbol(last)) {
      found.push_back({"reduce", owned::share(last)});
      given.take_symbols();
    } else if (auto named = given.take_options()) {
      for (option& each : *named) found.push_back(std::move(each));
    } else if (read_value(last)) {
      break;
    } else {
      given.refuse(given.size() - 1, "named options");
    }
  }
  return found;
}
/// Numbers and flags behind the operands.
inline std::vector<double> numbers_behind(const arguments& given, std::size_t operands) {
  std::vector<double> found;
  for (std::size_t i = operands; i < given.size(); ++i) found.push_back(given.value_at(i));
  return found;
}

inline object loss(std::string_view name, object x) {
  if (const auto type = read_symbol(x)) return make_handle(std::make_unique<held_loss>(build(*type, {})));
  if (handle_number(x)) {
    if (const auto* l = find_held_as<held_loss>(x)) return l->definition(false);
    throw value_error(message("expected a loss, given ", describe(x)));
  }
  if (x->type == dictionary_type) {  // what `loss l` gave
    const auto given = read_options(x);
    std::string type;
    std::vector<option> options;
    for (const option& each : given.value_or(std::vector<option>{})) {
      if (each.name == "loss") type = read_symbol(each.value.get()).value_or("");
      if (each.name == "options")
        if (auto named = read_options(each.value.get())) options = std::move(*named);
    }
    return make_handle(std::make_unique<held_loss>(build(type, std::move(options))));
  }
  arguments given(name, x, 1, 10);
  if (const auto type = read_symbol(given[0])) {
    const std::string chosen(*type);
    std::vector<option> named = read(given, 1);
    return make_handle(std::make_unique<held_loss>(build(chosen, std::move(named), numbers_behind(given, 1))));
  }
  held* what = find_held(given[0]);
  std::shared_ptr<loss_body> body;
  if (auto* l = dynamic_cast<held_loss*>(what)) body = l->body;
  if (auto* holder = dynamic_cast<loss_holder*>(what)) body = holder->held_loss_body();
  if (!body) given.refuse(0, "a loss, a model or the name of a loss");
  if (body->of_three && given.size() == 4)
    return tensor_handle((*body->of_three)({given.read_at(1).value, given.read_at(2).value, given.read_at(3).value}));
  if (given.size() != 3 || body->of_three)
    throw value_error(message("expects a loss, ", body->of_three ? "two outputs" : "an output", " and a target, given ",
                              given.size(), " arguments"));
  return tensor_handle(body->function(given.read_at(1).value, given.read_at(2).value));
}

/// A loss as a function of an output and a target.
inline object function(std::string_view name, object x) {
  arguments given(name, x, 2, 10);
  std::vector<option> options = read(given, 2);
  if (given.size() > 2) given.refuse(2, "named options");
  const operand output = given.read_at(0), target = given.read_at(1);
  const auto body = build(name == "bcelogit1" ? "bcelogits" : name, std::move(options));
  return respond(body->function(output.value, target.value), output.handle || target.handle);
}

/// A formula as a function of its tensors, with options by position, by name, or the reduction as a symbol.
inline object formula_function(std::string_view name, object x) {
  const formula& what = *find_formula(name);
  arguments given(name, x, what.operands, 10);
  const std::vector<option> named = read(given, what.operands);
  std::vector<tensor> values;
  bool handle = false;
  for (std::size_t i = 0; i < what.operands; ++i) {
    const operand each = given.read_at(i);
    values.push_back(each.value);
    handle = handle || each.handle;
  }
  return respond(set(what, named, numbers_behind(given, what.operands))(std::move(values)), handle);
}

/// (logarithms;labels;input lengths;label lengths[;blank][;options]): blank, reduce and zeroinf by name.
inline object ctc(std::string_view name, object x) {
  arguments given(name, x, 4, 7);
  dynamic::options how;
  for (const option& each : read(given, 4)) {
    const auto word = read_symbol(each.value.get());
    const auto number = read_long(each.value.get());
    const auto flag = read_flag(each.value.get());
    if (each.name == "reduce" && word)
      how.set("reduction", std::string(*word));
    else if (each.name == "blank" && number)
      how.set("blank", *number);
    else if (each.name == "zeroinf" && flag)
      how.set("zero_infinity", *flag);
    else
      throw value_error(message("unrecognized option `", each.name));
  }
  if (given.size() > 4) how.set("blank", given.long_at(4));
  given.none_left(5);
  const operand output = given.read_at(0);
  return respond(
      dynamic::ctc_loss(output.value, given.read_at(1).value, given.read_at(2).value, given.read_at(3).value, how),
      output.handle);
}

}  // namespace losses

inline void offer_losses(registry& r) {
  r.offer("loss", losses::loss);
  for (std::string_view name : {"mse", "l1", "smoothl1", "huber", "bce", "bcelogit1", "ce", "nll", "kl"})
    r.offer(name, losses::function);
  r.offer("ctc", losses::ctc);
  for (const losses::formula& each : losses::formulas) r.offer(each.name, losses::formula_function);
}

}  // namespace kiln::k
