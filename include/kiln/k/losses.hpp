// SPDX-License-Identifier: BSL-1.0
// Losses: as objects that q makes by name, and as functions.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <kiln/dynamic/losses.hpp>
#include <kiln/k/arguments.hpp>
#include <kiln/k/objects.hpp>
#include <kiln/k/options.hpp>
#include <kiln/k/registry.hpp>

namespace kiln::k {

/// A loss with what q said of it.
struct loss_body {
  std::string type;
  std::vector<option> options;
  dynamic::loss_function function;
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

/// A loss by name. `reduce` may stand as a symbol by itself.
inline std::shared_ptr<loss_body> build(std::string_view type, std::vector<option> given) {
  static constexpr std::string_view names =
      "reduce=reduction ignore=ignore_index smoothing=label_smoothing beta delta log=log_target weight";
  auto body = std::make_shared<loss_body>();
  body->type = type;
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
                              "bcelogits ce nll kl"));
  body->function = dynamic::make_loss(type, how);
  body->options = std::move(given);
  return body;
}

/// Options behind the operands: named ones, or the reduction as a symbol.
inline std::vector<option> read(arguments& given, std::size_t operands) {
  std::vector<option> found;
  while (given.size() > operands) {
    object last = given[given.size() - 1];
    if (read_symbol(last)) {
      found.push_back({"reduce", owned::share(last)});
      given.take_symbols();
    } else if (auto named = given.take_options()) {
      for (option& each : *named) found.push_back(std::move(each));
    } else {
      given.refuse(given.size() - 1, "named options");
    }
  }
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
    return make_handle(std::make_unique<held_loss>(build(chosen, read(given, 1))));
  }
  held* what = find_held(given[0]);
  std::shared_ptr<loss_body> body;
  if (auto* l = dynamic_cast<held_loss*>(what)) body = l->body;
  if (auto* holder = dynamic_cast<loss_holder*>(what)) body = holder->held_loss_body();
  if (!body) given.refuse(0, "a loss, a model or the name of a loss");
  if (given.size() != 3)
    throw value_error(message("expects a loss, an output and a target, given ", given.size(), " arguments"));
  return tensor_handle(body->function(given.read_at(1).value, given.read_at(2).value));
}

/// A loss as a function of an output and a target.
inline object function(std::string_view name, object x) {
  arguments given(name, x, 2, 10);
  std::vector<option> options = read(given, 2);
  const operand output = given.read_at(0), target = given.read_at(1);
  const auto body = build(name == "bcelogit1" ? "bcelogits" : name, std::move(options));
  return respond(body->function(output.value, target.value), output.handle || target.handle);
}

}  // namespace losses

inline void offer_losses(registry& r) {
  r.offer("loss", losses::loss);
  for (std::string_view name : {"mse", "l1", "smoothl1", "huber", "bce", "bcelogit1", "ce", "nll", "kl"})
    r.offer(name, losses::function);
}

}  // namespace kiln::k
