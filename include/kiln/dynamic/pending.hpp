// SPDX-License-Identifier: BSL-1.0
// Makes pending cells: checks operands, finds the type and the sizes of what a call gives, and evaluates operands
// before a tape would become too long.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include <kiln/dynamic/cell.hpp>
#include <kiln/dynamic/op_facts.hpp>
#include <kiln/expr/shape.hpp>

namespace kiln::dynamic::graph {

using cell_ref = std::shared_ptr<cell>;

inline thread_local constinit bool stays_lazy = true;

/// 0 bool, 1 integer, 2 floating.
inline int category_of(dtype type) {
  return type == dtype::boolean ? 0 : is_floating(type) ? 2 : 1;
}
/// The type of a tensor beside a number of this category.
inline dtype beside_number(dtype type, int category) {
  if (category <= category_of(type)) return type;
  return category == 2 ? dtype::float32 : dtype::int64;
}

inline bool requires_grad(const cell& x) {
  if (x.is == form::value) return static_cast<bool>(x.value->autograd_metadata);
  return x.pending() && x.tracked;
}

/// A cell as an operand, as it is now.
inline operand captured(const cell_ref& x) {
  operand o;
  if (x->is != form::value) {
    o.of = x;
    o.tracked = x->pending() && x->tracked && grad_enabled();
    return o;
  }
  o.state = state_of(*x);
  if (grad_enabled()) o.autograd_metadata = o.state->autograd_metadata;
  o.wanted = moment(*o.state->memory);
  o.tracked = static_cast<bool>(o.autograd_metadata);
  return o;
}

/// What is pending from some cells down, each counted once.
struct load {
  int weight = 0, leaves = 0;
};
inline void add_load(const cell& x, load& all, std::unordered_set<const void*>& seen) {
  if (!x.pending() || !seen.insert(&x).second) return;
  all.weight += x.cost;
  for (int i = 0; i < x.arity; ++i) {
    const operand& o = x.in[static_cast<std::size_t>(i)];
    if (o.state) {
      all.leaves += seen.insert(o.state.get()).second;
    } else if (o.of->pending()) {
      add_load(*o.of, all, seen);
    } else if (o.of->value) {
      all.leaves += seen.insert(o.of.get()).second;
    }
  }
}

/// Finishes a pending cell: what it reads, how much it stands for. Operands are evaluated where that would be too much.
inline cell_ref with_operands(cell_ref made, std::span<const cell_ref> operands, int cost) {
  auto sum = [&] {
    load all{cost, 0};
    for (const cell_ref& x : operands) {
      if (x->pending()) {
        all.weight += x->weight;
        all.leaves += x->leaves;
      } else if (x->value) {
        all.leaves += 1;
      }
    }
    return all;
  };
  auto exact = [&] {
    std::unordered_set<const void*> seen;
    load all{cost, 0};
    for (const cell_ref& x : operands) {
      if (x->pending())
        add_load(*x, all, seen);
      else if (x->value)
        all.leaves += seen.insert(x->value.get()).second;
    }
    return all;
  };
  auto too_much = [](const load& l) { return l.weight > most_instructions || l.leaves > most_leaves; };
  load all = sum();
  if (too_much(all)) all = exact();
  while (too_much(all)) {
    cell* heaviest = nullptr;
    for (const cell_ref& x : operands)
      if (x->pending() && (!heaviest || x->weight > heaviest->weight)) heaviest = x.get();
    if (!heaviest) break;
    evaluate(*heaviest);
    all = exact();
  }
  made->arity = static_cast<int>(operands.size());
  made->cost = cost;
  made->weight = all.weight;
  made->leaves = all.leaves;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    made->in[i] = captured(operands[i]);
    made->tracked |= made->in[i].tracked && is_floating(made->type);
  }
  if (!stays_lazy) evaluate(*made);
  return made;
}

/// A number as a tensor of one element.
inline cell_ref materialised(const cell& number) {
  ref<tensor_state> state = new_tensor(number.type, {});
  visit_dtype(number.type, [&]<class T>(std::type_identity<T>) {
    *static_cast<T*>(state->data) = number.whole ? static_cast<T>(static_cast<compute_t<T>>(number.integer))
                                                 : static_cast<T>(static_cast<compute_t<T>>(number.real));
  });
  return cell_of(std::move(state));
}

/// The device that tensors are on; numbers go with any. Throws device_error for tensors on several.
inline device device_of(std::string_view op, std::span<const cell_ref> operands) {
  const cell* first = nullptr;
  for (const cell_ref& x : operands) {
    if (x->is == form::number) continue;
    if (!first) first = x.get();
    if (x->where != first->where)
      throw device_error(message(op, ": operands are on ", name(first->where), " and ", name(x->where),
                                 ": bring them together with to()"));
  }
  return first ? first->where : device{};
}

/// The elements as another type.
inline cell_ref converted(const cell_ref& x, dtype to) {
  if (x->type == to && x->is != form::number) return x;
  auto made = std::make_shared<cell>();
  made->is = form::cast;
  made->code = op_facts_table.cast;
  made->name = "cast";
  made->type = to;
  made->where = x->where;
  made->sizes = x->sizes;
  const cell_ref operands[] = {x->is == form::number ? materialised(*x) : x};
  return with_operands(std::move(made), operands, 1);
}

/// The common type of operands of which at least one is a tensor: tensors among each other, then numbers.
inline dtype promoted(std::span<const cell_ref> operands) {
  bool any = false;
  dtype type = dtype::boolean;
  for (const cell_ref& x : operands)
    if (x->is != form::number) {
      type = any ? promote(type, x->type) : x->type;
      any = true;
    }
  for (const cell_ref& x : operands)
    if (x->is == form::number) type = any ? beside_number(type, category_of(x->type)) : (any = true, x->type);
  return type;
}

inline std::string shapes_of(std::span<const cell_ref> operands) {
  std::string text;
  for (const cell_ref& x : operands)
    text += text.empty() ? message(name(x->type), x->sizes) : message(", ", name(x->type), x->sizes);
  return text;
}

[[noreturn, gnu::cold]] inline void unknown_op(std::string_view op) {
  throw value_error(message("call: there is no pointwise op \"", op,
                            "\": those of kiln/ops/all.hpp go by their names there, reductions through reduce()"));
}

/// A pointwise op on operands.
inline cell_ref pointwise(const op_facts& f, std::span<const cell_ref> given) {
  const op_rules& rules = *f.rules;
  const std::string op(rules.name);
  if (static_cast<int>(given.size()) != rules.arity)
    throw value_error(message(op, ": takes ", rules.arity, " operands, got ", given.size(), " (", shapes_of(given),
                              "): give as many as the op has"));
  std::array<cell_ref, 3> operands;
  bool tensors = false;
  for (std::size_t i = 0; i < given.size(); ++i) {
    operands[i] = given[i];
    tensors |= given[i]->is != form::number;
    if (i > 0 && f.rest_are_numbers && given[i]->is != form::number)
      throw value_error(message(op, ": operand ", i + 1, " is a parameter of the op, not a tensor (", shapes_of(given),
                                "): give a number made by scalar()"));
  }
  const std::span<cell_ref> all(operands.data(), given.size());
  if (!tensors) operands[0] = materialised(*operands[0]);
  const bool choice = rules.code == op_facts_table.where;
  const dtype type = promoted(all.subspan(choice ? 1 : 0));
  if (!rules.accepts(type))
    throw dtype_error(message(op, ": is not defined for ", name(type), " (operands ", shapes_of(given),
                              "): convert them with to() first"));
  const dtype common = rules.common(type);
  auto made = std::make_shared<cell>();
  made->is = form::pointwise;
  made->code = rules.code;
  made->name = rules.name;
  made->type = rules.result(common);
  made->where = device_of(op, all);
  for (const cell_ref& x : all) broadcast_into(made->sizes, x->sizes, op.c_str());
  for (std::size_t i = 0; i < all.size(); ++i)
    if (all[i]->is != form::number) all[i] = converted(all[i], choice && i == 0 ? dtype::boolean : common);
  return with_operands(std::move(made), all, weight_of(f));
}

/// A reduction or a function of rows by the name of its op.
inline cell_ref over_rows(std::string_view op, const cell_ref& given, std::uint32_t axes, bool keepdim,
                          std::array<double, 2> numbers = {}) {
  const op_facts& f = *find_op(op);
  const op_rules& rules = *f.rules;
  const cell_ref x = given->is == form::number ? materialised(*given) : given;
  if (!rules.accepts(x->type))
    throw dtype_error(message(op, ": is not defined for ", name(x->type), x->sizes, ": convert it with to() first"));
  const dtype common = rules.common(x->type);
  auto made = std::make_shared<cell>();
  made->is = form::row;
  made->code = rules.code;
  made->name = rules.name;
  made->type = rules.result(common);
  made->where = x->where;
  made->reduces = rules.reduces;
  made->axes = axes;
  made->keepdim = keepdim;
  made->numbers = numbers;
  made->sizes = rules.reduces ? reduced_sizes(x->sizes, axes, keepdim) : x->sizes;
  const cell_ref operands[] = {converted(x, common)};
  return with_operands(std::move(made), operands, weight_of(f));
}

inline cell_ref number_cell(double real, std::int64_t integer, bool whole, dtype type) {
  auto made = std::make_shared<cell>();
  made->is = form::number;
  made->type = type;
  made->real = real;
  made->integer = integer;
  made->whole = whole;
  return made;
}

}  // namespace kiln::dynamic::graph
