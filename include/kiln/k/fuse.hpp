// SPDX-License-Identifier: BSL-1.0
// fuse: formulas as text on tensors, each one loop over memory.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <kiln/k/arguments.hpp>
#include <kiln/k/expression.hpp>
#include <kiln/k/registry.hpp>

namespace kiln::k::math {

/// Keeps calls pending while it lives, whatever the setting says.
class lazily {
 public:
  lazily() : before_(dynamic::set_lazy(true)) {}
  lazily(const lazily&) = delete;
  lazily& operator=(const lazily&) = delete;
  ~lazily() { dynamic::set_lazy(before_); }
  bool eager_otherwise() const { return !before_; }

 private:
  bool before_;
};

/// The operand of a formula of that name.
/// @throws value_error for what is no tensor, array or number
inline operand operand_named(std::string_view name, object x) {
  if (x->type < 0 && dtype_of_type(x->type)) return {number_of(x), false};
  const auto* held = find_held_as<held_tensor>(x);
  if (held ? !held->value.defined() : handle_number(x).has_value() || !is_list(x))
    throw value_error(message("operand ", name, " is a ", held ? "tensor without a value" : describe(x).c_str(),
                              ", expected a tensor, an array or a number"));
  return held ? operand{held->value, true} : operand{to_tensor(x), false};
}

/// Operands by name, of a dictionary, a table or a dict of tensors; none for anything else. Others may be in it.
/// @throws value_error for a name that is not there
inline std::optional<operands> operands_by_name(const expression& formula, object x) {
  operands found;
  const auto add = [&](operand each) {
    found.values.push_back(std::move(each.value));
    found.handle = found.handle || each.handle;
  };
  const auto missing = [](std::string_view name) { return value_error(message("no operand `", name, " is given")); };
  if (const auto* held = find_list(x, held_class::dict)) {
    for (const std::string& name : formula.names()) {
      const auto place = held->list->find(name);
      if (!place) throw missing(name);
      if (!held->list->values[*place].defined()) throw value_error(message("operand ", name, " has no value"));
      add({held->list->values[*place], true});
    }
    return found;
  }
  object pairs = x->type == table_type ? x->table : x;
  if (pairs->type != dictionary_type) return {};
  const auto names = read_symbols(keys_of(pairs));
  if (!names || !is_list(values_of(pairs)) || names->size() != static_cast<std::size_t>(values_of(pairs)->count))
    throw value_error("operands by name are a dictionary with a list of symbols as keys");
  for (const std::string& name : formula.names()) {
    const auto place = std::ranges::find(*names, name);
    if (place == names->end()) throw missing(name);
    add(operand_named(name, item_of(values_of(pairs), place - names->begin()).get()));
  }
  return found;
}

/// fuse text: reads the formula, and gives it as a symbol that stands for it; (formula;x;y;...[;out]) or
/// (formula;names!operands): its value.
inline object fuse(std::string_view, object x) {
  if (const auto text = read_text(x)) {
    expression_of(*text);
    return make_symbol(*text);
  }
  const auto text = x->type == mixed_type && x->count > 0 ? read_text(items<object>(x)[0]) : std::nullopt;
  if (!text)
    throw value_error(
        message("expected a formula as a string or symbol, alone or before its operands, given ", describe(x)));
  const auto formula = expression_of(*text);
  const std::vector<std::string>& names = formula->names();
  const auto given = span_of<object>(x).subspan(1);
  output out;
  auto found = given.size() == 1 ? operands_by_name(*formula, given[0]) : std::nullopt;
  if (!found) {
    if (given.size() == names.size() + 1) out.target = find_held_as<held_tensor>(given.back());
    if (given.size() != names.size() && !out.target) {
      std::string wanted;
      for (const std::string& name : names) wanted += (wanted.empty() ? ": " : ", ") + name;
      throw value_error(message("\"", text->substr(0, 200), "\" takes ", names.size(), " operand",
                                names.size() == 1 ? "" : "s", wanted, "; given ", given.size()));
    }
    found.emplace();
    for (std::size_t i = 0; i < names.size(); ++i) {
      operand each = operand_named(names[i], given[i]);
      found->values.push_back(std::move(each.value));
      found->handle = found->handle || each.handle;
    }
  }
  tensor result;
  {
    const lazily all;
    result = (*formula)(found->values);
    if (all.eager_otherwise()) result = result.eval();
  }
  return respond(std::move(result), found->handle, out);
}

}  // namespace kiln::k::math

namespace kiln::k {

inline void offer_fuse(registry& r) {
  r.offer("fuse", math::fuse);
}

}  // namespace kiln::k
