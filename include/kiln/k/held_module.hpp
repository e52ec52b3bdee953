// SPDX-License-Identifier: BSL-1.0
// What a handle to a module holds, and how one is made of a definition.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <kiln/dynamic/modules.hpp>
#include <kiln/dynamic/shape.hpp>
#include <kiln/k/autograd.hpp>
#include <kiln/k/callback.hpp>
#include <kiln/k/definition.hpp>
#include <kiln/k/layer_table.hpp>
#include <kiln/k/module_body.hpp>
#include <kiln/k/objects.hpp>
#include <kiln/k/options.hpp>
#include <kiln/k/sequence_layers.hpp>
#include <kiln/k/session.hpp>
#include <kiln/k/settings.hpp>
#include <kiln/k/transformer.hpp>

namespace kiln::k {

namespace modules {

inline std::shared_ptr<module_body> build(const definition& from) {
  auto body = std::make_shared<module_body>();
  body->type = from.type;
  body->name = from.name;
  body->options = options_by_name(from);
  if (body->container()) {
    const dynamic::options how = translated(from.type, from.type == "recur" ? "detach" : "", body->options);
    body->module = dynamic::make_container(container_type(from.type), {},
                                           dynamic::option_reader{from.type, how}.get<bool>("detach", false));
    for (const definition& child : from.children) body->children.push_back(build(child));
    body->assemble();
    return body;
  }
  if (from.type == "transformer" && from.children.empty()) {
    auto made = transformer(translated(from.type, "in heads elayers dlayers hidden dropout", body->options));
    made->name = body->name;
    made->options = std::move(body->options);
    return made;
  }
  if (!from.children.empty()) throw value_error(message(from.type, " takes no modules within it"));
  if (from.type == "callback") {
    make_callback(body);
    return body;
  }
  for (const auto& [name, layer] : {std::pair{"cat", "Cat"}, {"mul", "Mul"}, {"add", "Add"}, {"matmul", "Matmul"}})
    if (from.type == name) {
      const dynamic::options how = translated(from.type, from.type == "cat" ? "dim" : "", body->options);
      body->module = dynamic::joining_layer(layer, dynamic::option_reader{from.type, how}.get<std::int64_t>("dim", 0));
      return body;
    }
  if (make_sequence_layer(*body)) return body;
  body->module = make_layer(from.type, body->options);
  if (!body->module.defined())
    throw value_error(message("unrecognized or not offered module `", from.type,
                              "; kiln has sequential, linear, "
                              "conv2d, batchnorm1d, relu and others, which docs/q/README.md lists"));
  return body;
}

/// The text in the style that users know.
inline void write(const module_body& body, const std::string& indent, std::string& out) {
  std::string settings = body.module.settings();
  for (const auto& [from, to] : {std::pair{"True", "true"}, std::pair{"False", "false"}})
    for (std::size_t at = 0; (at = settings.find(from, at)) != std::string::npos;)
      settings.replace(at, std::string_view(from).size(), to);
  out += "torch::nn::" + body.module.type() + "(" + (body.children.empty() && !body.container() ? settings : "");
  if (!body.children.empty()) {
    out += "\n";
    for (std::size_t i = 0; i < body.children.size(); ++i) {
      out += indent + "  (" + body.child_name(i) + "): ";
      write(*body.children[i], indent + "  ", out);
      out += "\n";
    }
    out += indent;
  }
  out += ")";
}

/// Rows of a definition, parents first.
struct row {
  std::int64_t depth;
  const module_body* body;
};
inline void rows_of(const module_body& body, std::int64_t depth, std::vector<row>& into) {
  into.push_back({depth, &body});
  if (body.container())  // what is made as a whole is described as a whole
    for (const auto& child : body.children) rows_of(*child, depth + 1, into);
}

inline object tensors_value(const tensor_list& list) {
  std::vector<owned> values;
  for (const tensor& t : list.values) values.emplace_back(to_value(t));
  return make_dictionary(list.names, make_list(std::move(values)));
}

/// The definition: a dictionary for one layer, a table for a container; with tensors where they are asked for.
inline object describe_module(const module_body& body, bool with_tensors) {
  std::vector<row> rows;
  rows_of(body, 0, rows);
  std::vector<std::string> types, names;
  longs depths;
  std::vector<owned> options, parms, buffers;
  for (const row& r : rows) {
    depths.push_back(r.depth);
    types.push_back(r.body->type);
    names.push_back(r.body->name);
    options.emplace_back(options_value(r.body->options));
    if (!with_tensors) continue;
    parms.emplace_back(r.body->container() ? tensors_value({}) : tensors_value(r.body->parameters()));
    buffers.emplace_back(r.body->container() ? tensors_value({}) : tensors_value(r.body->buffers()));
  }
  std::vector<std::string> columns{"depth", "module", "name", "options"};
  std::vector<owned> values;
  if (body.container()) {
    values.emplace_back(make_longs(depths));
    values.emplace_back(make_symbols(types));
    values.emplace_back(make_symbols(names));
    values.emplace_back(make_list(std::move(options)));
    if (with_tensors) {
      values.emplace_back(make_list(std::move(parms)));
      values.emplace_back(make_list(std::move(buffers)));
    }
  } else {
    columns.erase(columns.begin());
    values.emplace_back(make_symbol(types[0]));
    values.emplace_back(make_symbol(names[0]));
    values.push_back(std::move(options[0]));
    if (with_tensors) {
      values.push_back(std::move(parms[0]));
      values.push_back(std::move(buffers[0]));
    }
  }
  if (with_tensors) columns.insert(columns.end(), {"parms", "buffers"});
  object dictionary = make_dictionary(columns, make_list(std::move(values)));
  return body.container() ? xT(dictionary) : dictionary;
}

}  // namespace modules

class held_module : public held,
                    public printed_object,
                    public defined_object,
                    public movable_object,
                    public parameter_owner {
 public:
  explicit held_module(std::shared_ptr<module_body> what) : body(std::move(what)) {}
  held_class kind() const override { return held_class::module; }
  std::unique_ptr<held> share() const override { return std::make_unique<held_module>(body); }
  const void* identity() const override { return body.get(); }
  std::int64_t uses() const override { return body.use_count(); }
  std::string device() const override {
    const tensor_list all = body->parameters();
    return all.values.empty() ? "" : device_of(all.values[0]);
  }
  object size() const override { return kj(static_cast<std::int64_t>(body->parameters().values.size())); }
  std::int64_t elements() const override { return all().elements(); }
  std::int64_t bytes() const override { return all().bytes(); }
  std::int64_t tensor_count() const override { return all().tensor_count(); }
  std::string text() const override {
    std::string out;
    modules::write(*body, "", out);
    return out;
  }
  std::string type() const override { return body->type; }
  object definition(bool all_options) const override { return modules::describe_module(*body, all_options); }
  tensor_list parameters() const override { return body->parameters(); }
  void move_to(const tensor_options& options) override {
    for (const tensor& t : body->parameters().values)
      if (options.type && *options.type != t.type())
        throw value_error(message("a module of ", symbol_of(t.type()),
                                  " parameters does not change its dtype; make "
                                  "one anew"));
    if (options.where) body->module.to(*options.where);
  }

  std::shared_ptr<module_body> body;

 private:
  held_list all() const {
    auto list = std::make_shared<tensor_list>(body->parameters());
    for (const tensor& t : body->buffers().values) list->values.push_back(t);
    return {held_class::vector, std::move(list)};
  }
};

inline object module_handle(std::shared_ptr<module_body> body) {
  return make_handle(std::make_unique<held_module>(std::move(body)));
}

/// Objects that have a module in them, and perhaps data for it, implement this beside `held`.
struct module_holder {
  /// Null where it has none.
  virtual std::shared_ptr<module_body> held_body() const = 0;
  /// What the module is given where a call names no inputs.
  virtual std::vector<tensor> usual_inputs(bool test) const = 0;

 protected:
  ~module_holder() = default;
};

/// The module that a value stands for, by itself or within a model or optimizer; null for anything else.
inline std::shared_ptr<module_body> find_module(object x) {
  held* what = find_held(x);
  if (auto* m = dynamic_cast<held_module*>(what)) return m->body;
  if (auto* holder = dynamic_cast<module_holder*>(what)) return holder->held_body();
  return nullptr;
}

}  // namespace kiln::k
