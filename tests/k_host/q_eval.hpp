// SPDX-License-Identifier: BSL-1.0
// The interpreter: names, functions, queries, and libraries loaded with 2:. One at a time lives in a process, because
// the C interface has no name for one.
#pragma once

#include "q_parse.hpp"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace k_host {

class interpreter {
 public:
  interpreter();
  ~interpreter();
  interpreter(const interpreter&) = delete;
  interpreter& operator=(const interpreter&) = delete;

  /// What a console shows after a line: output, the last value, an error with its place.
  std::string console(const std::string& line);
  /// The value of a text's last statement, null for none; throws q_error.
  value run(const std::string& text);
  /// Runs the lines of a script, those that begin with white space being parts of the lines before them; throws
  /// q_error.
  void run_script(const std::string& text);

  /// The library that 2: opens whatever name it is given; empty for the one of that name.
  std::string library;
  /// The script that runs, .z.f.
  std::string script;

  value get(const std::string& name) const;
  void set(const std::string& name, value x);
  /// What 0N!, show, -1 and -2 have written since this was last cleared.
  std::string output;

  value apply(const value& function, const values& arguments);
  value query(const node& tree);

 private:
  friend class evaluation;
  struct scope;

  value evaluate(const node& tree);
  value evaluate_part(const branch& part);
  value evaluate_apply(const node& tree);
  value evaluate_assign(const node& tree);
  value evaluate_table(const node& tree);
  value evaluate_block(const std::vector<branch>& parts, std::size_t from);
  value call_lambda(const value& function, const values& arguments);
  value lookup(const node& tree);
  value command(const std::string& line);
  value whole_query(const node& tree);
  std::vector<integer> chosen_rows(const node& tree, const value& table);
  value with_columns(const value& table, const std::vector<integer>& rows, const node& tree);
  [[noreturn]] void placed(q_error& error, int column) const;

  std::map<std::string, value> globals_;
  std::vector<std::unique_ptr<node>> trees_;  // lambdas point into them
  scope* scope_ = nullptr;
};

/// Of the interpreter that lives.
interpreter& current();
value applied(const value& function, const values& arguments);

// Parts of apply, each in a file of its own.

/// What takes one index for each argument; an empty value leaves an axis whole.
value index(const value& x, const values& indices);
/// f' f/ f\ f': f/: f\: applied.
value iterate(const value& derived, const values& arguments);
/// What dl has wrapped, called as a library expects; throws q_error for its errors, and for breaches of the interface.
value call_library(const value& function, const values& arguments);
/// @ and . with three and four arguments.
value amend_or_trap(bool deep, const values& arguments);
/// x with what stands at a path of indices replaced by function of it, or of it and y if there is one.
value amended(const value& x, const values& path, const value& function, const value& y);
/// How many arguments a function waits for; 0 if any number will do.
integer rank_of(const value& function);
/// A derived function, for the iterators ' / \ ': /: \: .
value derived(const value& function, const std::string& iterator);

}  // namespace k_host
