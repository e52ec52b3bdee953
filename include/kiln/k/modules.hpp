// SPDX-License-Identifier: BSL-1.0
// Functions on modules: making and extending them, their parts and parameters, running them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <kiln/autograd/node.hpp>
#include <kiln/k/held_module.hpp>
#include <kiln/k/tensors.hpp>

namespace kiln::k::modules {

/// Puts the values of a dictionary into tensors of the same names.
inline void assign_named(const tensor_list& to, object from) {
  if (from->type != dictionary_type) return;
  const auto names = read_symbols(keys_of(from));
  if (!names) throw value_error("parameters need names");
  for (std::size_t i = 0; i < names->size(); ++i) {
    const auto place = to.find((*names)[i]);
    if (!place) throw value_error(message("no parameter or buffer `", (*names)[i]));
    const no_grad quiet;
    tensor target = to.values[*place];
    const tensor value = to_tensor(item_of(values_of(from), static_cast<std::int64_t>(i)).get());
    target.assign_(value.to(target.type()));
  }
}

/// Tensors that a table of `state` has beside the definition.
inline void read_tensors(object x, const module_body& body) {
  if (x->type != table_type && x->type != dictionary_type) return;
  object columns = x->type == table_type ? x->table : x;
  const auto names = read_symbols(keys_of(columns));
  std::vector<row> rows;
  rows_of(body, 0, rows);
  for (std::size_t c = 0; c < names->size(); ++c) {
    const bool parms = (*names)[c] == "parms";
    if (!parms && (*names)[c] != "buffers") continue;
    const owned column = item_of(values_of(columns), static_cast<std::int64_t>(c));
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const owned cell =
          x->type == table_type ? item_of(column.get(), static_cast<std::int64_t>(i)) : owned::share(column.get());
      if (!rows[i].body->container())
        assign_named(parms ? rows[i].body->parameters() : rows[i].body->buffers(), cell.get());
    }
  }
}

inline std::shared_ptr<module_body> made(object x) {
  auto body = build(read_definition(x));
  read_tensors(x, *body);
  return body;
}

/// Adds a module to the last container at a depth below `to`.
inline void append(const std::shared_ptr<module_body>& to, std::int64_t depth, std::shared_ptr<module_body> part) {
  module_body* place = to.get();
  for (std::int64_t level = 1; level < depth; ++level) {
    if (place->children.empty()) throw value_error(message("nothing to append to at depth ", depth));
    place = place->children.back().get();
  }
  if (depth < 1 || !place->container())
    throw value_error(message("cannot append to ", place->type, " at depth ", depth));
  place->children.push_back(std::move(part));
  try {
    place->assemble();
  } catch (...) {
    place->children.pop_back();
    throw;
  }
}

inline object module(std::string_view name, object x) {
  if (held* what = find_held(x)) {
    if (auto* m = dynamic_cast<held_module*>(what)) return m->definition(false);
    if (const auto body = find_module(x)) return module_handle(body);
    throw value_error(message("expected a definition, module, optimizer or model, given ", describe(x)));
  }
  if (x->type == mixed_type && x->count >= 2 && x->count <= 3)
    if (auto* m = find_held_as<held_module>(items<object>(x)[0])) {
      const arguments given(name, x, 2, 3);
      if (given.size() == 2)
        if (const auto flag = read_flag(given[1])) return m->definition(*flag);
      const std::int64_t depth = given.size() == 3 ? given.long_at(1) : 1;
      object part = given[given.size() - 1];
      if (auto* other = find_held_as<held_module>(part)) {
        append(m->body, depth, other->body);
        handles().erase(*handle_number(part));
      } else {
        append(m->body, depth, made(part));
      }
      return make_null();
    }
  return module_handle(made(x));
}

/// Keeps the first item and enlists the others.
inline object seq(std::string_view, object x) {
  if (!is_list(x) || x->count == 0 || (x->type != mixed_type && x->type != symbol_type))
    throw value_error(message("expected a list of layers, given ", describe(x)));
  std::vector<owned> tree;
  for (std::int64_t i = 0; i < x->count; ++i) {
    owned item = item_of(x, i);
    if (item.get()->type < 0 && item.get()->type != -symbol_type)
      throw value_error(message("item ", i, " is a ", describe(item.get()), ", expected a layer"));
    if (i == 0 || item.get()->type == -symbol_type) {
      if (i == 0) {
        tree.push_back(std::move(item));
      } else {
        tree.emplace_back(make_symbols(std::vector<std::string>{item.get()->symbol}));
      }
    } else {
      tree.emplace_back(knk(1, item.release()));
    }
  }
  return make_list(std::move(tree));
}

inline std::shared_ptr<module_body> module_at(const arguments& given, std::size_t i = 0) {
  auto body = find_module(given[i]);
  if (!body) given.refuse(i, "a module");
  return body;
}

/// The module within `from` at a path of names with dots between them.
inline std::shared_ptr<module_body> within(std::shared_ptr<module_body> from, std::string_view path) {
  std::string_view rest = path;
  while (!rest.empty()) {
    std::shared_ptr<module_body> next;
    for (std::size_t i = 0; i < from->children.size() && !next; ++i) {
      const std::string child = from->child_name(i);
      if (rest == child || (rest.starts_with(child) && rest[child.size()] == '.')) {
        next = from->children[i];
        rest.remove_prefix(std::min(child.size() + 1, rest.size()));
      }
    }
    if (!next) throw value_error(message("no module `", path));
    from = std::move(next);
  }
  return from;
}

inline object handles_value(const std::vector<std::pair<std::string, std::shared_ptr<module_body>>>& all) {
  std::vector<std::string> names;
  std::vector<owned> made_handles;
  for (const auto& [path, body] : all) {
    names.push_back(path);
    made_handles.emplace_back(module_handle(body));
  }
  return make_dictionary(names, make_list(std::move(made_handles)));
}

inline object children(std::string_view name, object x) {
  const arguments given(name, x, 1, 2, symbol_trailing);
  auto body = module_at(given);
  if (given.size() == 2) body = within(body, read_symbol(given[1]).value_or(""));
  std::vector<std::pair<std::string, std::shared_ptr<module_body>>> all;
  for (std::size_t i = 0; i < body->children.size(); ++i) all.emplace_back(body->child_name(i), body->children[i]);
  return handles_value(all);
}

inline void all_within(const std::shared_ptr<module_body>& body, const std::string& path,
                       std::vector<std::pair<std::string, std::shared_ptr<module_body>>>& into) {
  into.emplace_back(path, body);
  for (std::size_t i = 0; i < body->children.size(); ++i)
    all_within(body->children[i], (path.empty() ? "" : path + ".") + body->child_name(i), into);
}

inline object all_modules(std::string_view name, object x) {
  const arguments given(name, x, 1, 1);
  std::vector<std::pair<std::string, std::shared_ptr<module_body>>> all;
  all_within(module_at(given), "", all);
  if (name == "modules") return handles_value(all);
  std::vector<std::string> names, types;
  for (const auto& [path, body] : all) {
    names.push_back(path);
    types.push_back(body->type);
  }
  return make_dictionary(names, make_symbols(types));
}

inline object child(std::string_view name, object x) {
  const arguments given(name, x, 2, 2);
  const auto body = module_at(given);
  if (const auto path = read_symbol(given[1])) return module_handle(within(body, *path));
  const std::int64_t i = given.long_at(1);
  if (i < 0 || i >= static_cast<std::int64_t>(body->children.size()))
    throw index_error(message("child ", i, " of ", body->children.size()));
  return module_handle(body->children[static_cast<std::size_t>(i)]);
}

/// parmnames, buffernames, childnames and names.
inline object names_of(std::string_view name, object x) {
  const arguments given(name, x, 1, 1);
  if (name == "names")
    if (auto* d = find_list(given[0], held_class::dict)) return make_symbols(d->list->names);
  const auto body = module_at(given);
  if (name == "parmnames") return make_symbols(body->parameters().names);
  if (name == "buffernames") return make_symbols(body->buffers().names);
  std::vector<std::string> all;
  for (std::size_t i = 0; i < body->children.size(); ++i) all.push_back(body->child_name(i));
  return make_symbols(all);
}

inline object tensors_within(std::string_view name, object x) {
  const arguments given(name, x, 1, 1);
  const auto body = module_at(given);
  return make_handle(std::make_unique<held_list>(
      held_class::dict, std::make_shared<tensor_list>(name == "parms" ? body->parameters() : body->buffers())));
}

/// parm and buffer: one tensor by name, read as a handle or written.
inline object tensor_within(std::string_view name, object x) {
  const arguments given(name, x, 2, 3);
  const auto body = module_at(given);
  const tensor_list all = name == "parm" ? body->parameters() : body->buffers();
  const auto wanted = read_symbol(given[1]);
  if (!wanted) given.refuse(1, "a symbol");
  const auto place = all.find(*wanted);
  if (!place) throw value_error(message("no ", name == "parm" ? "parameter" : "buffer", " `", *wanted));
  if (given.size() == 2) return tensor_handle(all.values[*place]);
  tensor target = all.values[*place];
  const tensor value = given.operand_at(2).value.detach().to(target.type()).eval();
  settle();
  const no_grad quiet;
  target.assign_(value);
  return make_null();
}

inline object parmtypes(std::string_view name, object x) {
  const arguments given(name, x, 1, 1);
  std::vector<std::pair<std::string, std::shared_ptr<module_body>>> all;
  all_within(module_at(given), "", all);
  std::vector<std::string> names, types;
  for (const auto& [path, body] : all) {
    if (!body->children.empty()) continue;
    for (const std::string& each : body->parameters().names) {
      names.push_back((path.empty() ? "" : path + ".") + each);
      types.push_back(body->type);
    }
  }
  return make_dictionary(names, make_symbols(types));
}

inline object training(std::string_view name, object x) {
  const arguments given(name, x, 1, 2, flag_trailing);
  const auto body = module_at(given);
  if (given.size() == 1) return kb(body->module.training());
  body->module.train(*read_flag(given[1]));
  return make_null();
}

/// The dtype that a module computes in: its first parameter's.
inline dtype type_of_module(const module_body& body) {
  for (const tensor& t : body.parameters().values) return t.type();
  return session().default_type;
}

/// An input as a module takes it: arrays of q become the module's dtype and go to where it is, handles stay.
inline tensor as_input(const operand& given, const module_body& body) {
  if (given.handle) return given.value;
  const tensor value = is_floating(given.value.type()) ? given.value.to(type_of_module(body)) : given.value;
  if (dynamic::cuda_devices() == 0) return value;
  const auto all = body.module.named_parameters();
  return all.empty() ? value : value.to(all[0].second.device());
}

/// The results of one pass in training or evaluation mode, which is what it was before when this returns.
inline std::vector<tensor> passed(const module_body& body, const std::vector<tensor>& inputs, bool training,
                                  bool graph) {
  if (inputs.empty()) throw value_error("the module needs an input");
  const dynamic::module running = body.module;
  const bool before = running.training();
  struct restore {
    const dynamic::module& module;
    bool before;
    ~restore() { module.train(before); }
  } const mode{running, before};
  if (before != training) running.train(training);
  if (graph) return running.run(inputs);
  const no_grad quiet;
  std::vector<tensor> results = running.run(inputs);
  for (tensor& t : results) t.eval();
  return results;
}

/// The result of a module that has one.
inline tensor pass(const module_body& body, const std::vector<tensor>& inputs, bool training, bool graph) {
  return dynamic::only(passed(body, inputs, training, graph), "the module", "result");
}

inline object forward(std::string_view name, object x) {
  const arguments given(name, x, 1, 10);
  auto body = module_at(given);
  std::size_t next = 1;
  if (next < given.size())
    if (const auto path = read_symbol(given[next])) {
      body = within(body, *path);
      ++next;
    }
  const bool train = name == "forward" || name == "nforward";
  std::vector<tensor> inputs;
  for (const std::size_t first = next; next < given.size(); ++next) {
    if (next > first && is_null(given[next]))
      inputs.emplace_back();  // a state or mask that is left out
    else
      inputs.push_back(as_input(given.operand_at(next), *body));
  }
  if (inputs.empty())
    if (const auto* holder = dynamic_cast<const module_holder*>(find_held(given[0])))
      inputs = holder->usual_inputs(!train);
  std::vector<tensor> results = passed(*body, inputs, train, name == "forward");
  const bool handle = name != "evaluate" && name != "kforward";
  return results.size() == 1 ? respond(std::move(results[0]), handle) : respond(std::move(results), handle);
}

inline object clone(std::string_view name, object x) {
  const arguments given(name, x, 1, 1);
  if (auto* t = find_held_as<held_tensor>(given[0])) return tensor_handle(t->value.clone());
  const owned all(describe_module(*module_at(given), true));
  return module_handle(made(all.get()));
}

}  // namespace kiln::k::modules

namespace kiln::k {

inline void offer_modules(registry& r) {
  r.offer("module", modules::module);
  r.offer("seq", modules::seq);
  r.offer("children", modules::children);
  r.offer("child", modules::child);
  r.offer("modules", modules::all_modules);
  r.offer("moduletypes", modules::all_modules);
  for (std::string_view name : {"parmnames", "buffernames", "childnames", "names"}) r.offer(name, modules::names_of);
  r.offer("parms", modules::tensors_within);
  r.offer("buffers", modules::tensors_within);
  r.offer("parm", modules::tensor_within);
  r.offer("buffer", modules::tensor_within);
  r.offer("parmtypes", modules::parmtypes);
  r.offer("training", modules::training);
  for (std::string_view name : {"forward", "nforward", "eforward", "evaluate", "kforward"})
    r.offer(name, modules::forward);
  r.offer("clone", modules::clone);
}

}  // namespace kiln::k
