// SPDX-License-Identifier: BSL-1.0
// The syntax of q, as much of it as scripts that call a library use: text becomes a tree, whose nodes know where in the
// text they begin. Temporal literals are dates, minutes, seconds and times.
#pragma once

#include "q_value.hpp"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace k_host {

enum class form {
  constant,  // leaf
  name,      // text
  list,      // (a;b): parts
  apply,     // parts[0] applied to the others; a null part is a gap
  assign,    // text gets parts[0]; parts[1], if not null, is the verb of x+:y; the rest is an index
  lambda,    // parameters, parts; text is its source
  cond,      // $[a;b;c]
  when,      // if[a;b;...]
  repeat,    // do[a;b;...]
  loop,      // while[a;b;...]
  derive,    // parts[0] with the iterator text
  query,     // text (select, exec, update, delete) from parts[0] by groups, where conditions
  table,     // ([groups] columns)
  block,     // [a;b;c], its last value
  give,      // :x, return
  signal     // 'x
};

struct node;
using branch = std::unique_ptr<node>;
/// A column or a group of a query, or of a table literal; the name is empty where none is written.
using named = std::pair<std::string, branch>;

struct node {
  form kind{};
  int column = 0;  // in the text that was parsed
  std::string text;
  value constant;
  std::vector<branch> parts;
  std::vector<std::string> parameters;
  std::vector<named> columns, groups;
  bool global = false;  // x::y
  std::string label;    // of a lambda, the name that it is assigned to; of a query, the column that orders its rows
  bool descending = false;
  branch limit;  // of a query: how many rows
};

/// The statements of a text, null where one is empty (so a text that ends with `;` has a null last).
/// Throws q_error, with source and column, for what is not understood.
std::vector<branch> parse(const std::string& text);

/// Whether a name may stand between its arguments, as `in` and `each`.
bool is_infix(const std::string& name);

}  // namespace k_host
