// SPDX-License-Identifier: BSL-1.0
// Walks trees: names, assignment, functions, control. Queries stand in q_query.cpp, application in q_apply.cpp.
#include "q_eval.hpp"

#include "q_scope.hpp"
#include "q_show.hpp"
#include "q_verbs.hpp"

#include <chrono>
#include <fstream>
#include <sstream>

namespace k_host {

namespace {

interpreter* active = nullptr;
thread_local std::string hook_error;

struct returned {
  value x;
};

/// A result, or null and the error for the C interface.
template <class Work>
object for_library(Work work) {
  try {
    return work().release();
  } catch (const q_error& error) {
    hook_error = error.what();
    return k::krr(hook_error.c_str());
  }
}

object apply_hook(object function, object arguments) {
  return for_library([&] { return applied(value::of(function), items_of(value::of(arguments))); });
}

object evaluate_hook(const char* expression, object arguments) {
  return for_library([&] {
    value result = current().run(expression);
    if (result && arguments->count > 0) result = applied(result, items_of(value::of(arguments)));
    return result ? result : general_null();
  });
}

const node* tree_of(const value& lambda) {
  return k::items<const node*>(lambda.get())[1];
}

value lambda_value(const node& tree) {
  value x(allocate(k::lambda_type, 2 * sizeof(object)));
  x->count = 1;  // what follows the source is no object
  k::items<object>(x.get())[0] = string_of(tree.text).release();
  k::items<const node*>(x.get())[1] = &tree;
  return x;
}

}  // namespace

interpreter& current() {
  if (!active) throw q_error("no interpreter is here");
  return *active;
}
value applied(const value& function, const values& arguments) {
  return current().apply(function, arguments);
}

interpreter::interpreter() {
  active = this;
  set_hooks({apply_hook, evaluate_hook});
  run(".Q.fmt:{[w;d;x].Q.fmt2[(w;d);x]}");  // of three arguments, as no verb is
}

interpreter::~interpreter() {
  set_hooks({});
  active = nullptr;
}

value interpreter::get(const std::string& name) const {
  auto found = globals_.find(name);
  return found == globals_.end() ? value() : found->second;
}
void interpreter::set(const std::string& name, value x) {
  globals_[name] = std::move(x);
}

void interpreter::placed(q_error& error, int column) const {
  if (error.column < 0 && scope_) {
    error.source = scope_->source;
    error.column = column - scope_->start;
    error.level = scope_->level;
  }
  throw;  // only called where one is handled
}

value interpreter::run(const std::string& text) {
  if (!text.empty() && text[0] == '\\') return command(text);
  scope outer;
  outer.source = text;
  outer.level = 0;
  const scope_guard guard(scope_, &outer);
  value result;
  for (auto& tree : parse(text)) {
    result = value();
    if (!tree) continue;
    const node& kept = *trees_.emplace_back(std::move(tree));
    try {
      result = evaluate(kept);
    } catch (returned& early) {
      return early.x;
    }
    if (kept.kind == form::assign) result = value();
  }
  return result;
}

std::string interpreter::console(const std::string& line) {
  output.clear();
  try {
    if (value result = run(line)) output += displayed(result);
  } catch (const q_error& error) {
    output += "'" + std::string(error.what()) + "\n";
    if (error.column >= 0) {
      output += "  [" + std::to_string(error.level) + "]  " + error.source + "\n";
      output += std::string(static_cast<std::size_t>(7 + error.column), ' ') + "^\n";
    }
  }
  return output;
}

void interpreter::run_script(const std::string& text) {
  std::istringstream lines(text);
  std::string line, whole;
  bool comment = false;
  const auto finish = [&] {
    if (!whole.empty()) run(whole);
    whole.clear();
  };
  while (std::getline(lines, line)) {
    const bool blank = line.find_first_not_of(" \t\r") == std::string::npos;
    if (line == "\\" && !comment) break;  // the rest is no program
    if (comment) {
      comment = line != "\\";
    } else if (line == "/") {
      comment = true;
    } else if (!blank && line[0] != '/') {
      const bool goes_on = line[0] == ' ' || line[0] == '\t' || line[0] == '}';
      if (!goes_on) finish();
      whole += (whole.empty() ? "" : "\n") + line;
    }
  }
  finish();
}

value interpreter::command(const std::string& line) {
  using clock = std::chrono::steady_clock;
  if (line.rfind("\\t", 0) == 0) {
    std::size_t at = 2;
    const bool space = line[at] == 's';
    at += space;
    int times = 1;
    if (at < line.size() && line[at] == ':') times = std::stoi(line.substr(++at));
    const std::size_t blank = std::min(line.find(' ', at), line.size());
    const std::string timed = line.substr(blank);
    const auto start = clock::now();
    const integer before = live_bytes();
    forget_peak();
    for (int i = 0; i < times; ++i) run(timed);
    const integer milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(clock::now() - start).count();
    return space ? longs_of({milliseconds, peak_bytes() - before}) : long_atom(milliseconds);
  }
  if (line.rfind("\\l ", 0) == 0) {
    std::ifstream file(line.substr(3));
    if (!file) throw q_error(line.substr(3) + ". OS reports: No such file or directory");
    const std::string outer = std::exchange(script, line.substr(3));
    run_script({std::istreambuf_iterator<char>(file), {}});
    script = outer;
  }
  return value();  // settings of the console
}

value interpreter::lookup(const node& tree) {
  if (scope_->columns) {
    if (auto found = scope_->columns->find(tree.text); found != scope_->columns->end()) return found->second;
  }
  if (auto found = scope_->locals.find(tree.text); found != scope_->locals.end()) return found->second;
  if (value x = get(tree.text)) return x;
  if (value verb = verb_value(tree.text)) return verb;
  if (tree.text == ".z.p") {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    const integer since_1970 = std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
    return value(k::ktj(-k::timestamp_type, since_1970 - integer{946684800} * 1000000000));
  }
  if (tree.text == ".z.f") return symbol_atom(script);
  throw q_error(tree.text);
}

value interpreter::evaluate_part(const branch& part) {
  return part ? evaluate(*part) : general_null();
}

value interpreter::evaluate_block(const std::vector<branch>& parts, std::size_t from) {
  value result = general_null();
  for (std::size_t i = from; i < parts.size(); ++i) result = evaluate_part(parts[i]);
  return result;
}

value interpreter::evaluate(const node& tree) {
  const auto& parts = tree.parts;
  try {
    switch (tree.kind) {
      case form::constant:
        return tree.constant;
      case form::name:
        return lookup(tree);
      case form::list: {
        values items(parts.size());
        for (std::size_t i = parts.size(); i-- > 0;) items[i] = evaluate_part(parts[i]);
        return list_of(items);
      }
      case form::apply:
        return evaluate_apply(tree);
      case form::assign:
        return evaluate_assign(tree);
      case form::lambda:
        return lambda_value(tree);
      case form::derive:
        return derived(evaluate(*parts[0]), tree.text);
      case form::table:
        return evaluate_table(tree);
      case form::query:
        return query(tree);
      case form::give:
        throw returned{parts[0] ? evaluate(*parts[0]) : general_null()};
      case form::signal: {
        const std::string text = text_of(parts[0] ? evaluate(*parts[0]) : string_of("signal"));
        throw q_error(text);
      }
      case form::cond: {
        std::size_t i = 0;
        for (; i + 1 < parts.size(); i += 2) {
          if (truth_of(evaluate_part(parts[i]))) return evaluate_part(parts[i + 1]);
        }
        return i < parts.size() ? evaluate_part(parts[i]) : general_null();
      }
      case form::block:
        return evaluate_block(parts, 0);
      case form::when:
        if (truth_of(evaluate_part(parts.at(0)))) evaluate_block(parts, 1);
        return general_null();
      case form::repeat:
        for (integer n = whole_of(evaluate_part(parts.at(0))); n > 0; --n) evaluate_block(parts, 1);
        return general_null();
      case form::loop:
        while (truth_of(evaluate_part(parts.at(0)))) evaluate_block(parts, 1);
        return general_null();
    }
  } catch (q_error& error) {
    placed(error, tree.column);
  }
  return general_null();
}

value interpreter::evaluate_apply(const node& tree) {
  values arguments(tree.parts.size() - 1);
  for (std::size_t i = arguments.size(); i-- > 0;) {
    if (const auto& part = tree.parts[i + 1]) arguments[i] = evaluate(*part);
  }
  return apply(evaluate(*tree.parts[0]), arguments);
}

value interpreter::evaluate_assign(const node& tree) {
  const auto& parts = tree.parts;
  value result = evaluate(*parts[0]);
  const bool global = tree.global || scope_->level == 0;
  value old;
  if (auto local = scope_->locals.find(tree.text); !tree.global && local != scope_->locals.end()) {
    old = std::move(local->second);
    if (old) local->second = old;
  } else {
    old = get(tree.text);
  }
  const bool in_local = !global && scope_->locals.count(tree.text);
  value changed = result;
  if (parts.size() > 2) {
    if (!old) throw q_error(tree.text);
    values path;
    for (std::size_t i = 2; i < parts.size(); ++i) path.push_back(parts[i] ? evaluate_part(parts[i]) : value());
    changed = amended(old, path, parts[1] ? parts[1]->constant : value(), result);
  } else if (parts[1]) {
    const value& verb = parts[1]->constant;
    if (!old && verb_of(verb).name == ",") old = empty_list();
    if (!old) throw q_error(tree.text);
    changed = apply(verb, {old, result});
  }
  const bool update = parts.size() > 2 || parts[1];
  if (global || (update && !in_local)) {
    set(tree.text, changed);
  } else {
    scope_->locals[tree.text] = changed;
  }
  return result;
}

value interpreter::evaluate_table(const node& tree) {
  value sides[2];
  for (int side = 0; side < 2; ++side) {
    auto& parts = side ? tree.columns : tree.groups;
    std::vector<std::string> names;
    values columns(parts.size());
    for (std::size_t i = parts.size(); i-- > 0;) columns[i] = evaluate(*parts[i].second);
    for (auto& [name, part] : parts)
      names.push_back(!name.empty() ? name : part->kind == form::name ? part->text : "x");
    if (!parts.empty()) sides[side] = table_of(symbols_of(names), columns);
  }
  if (!sides[1]) throw q_error("rank");
  return sides[0] ? dictionary_of(sides[0], sides[1]) : sides[1];
}

value interpreter::call_lambda(const value& function, const values& arguments) {
  const node& tree = *tree_of(function);
  if (scope_ && scope_->level > 200) throw q_error("stack");
  scope inner;
  inner.source = (tree.label.empty() ? "" : tree.label + ":") + tree.text;
  inner.start = tree.column - (tree.label.empty() ? 0 : static_cast<int>(tree.label.size()) + 1);
  inner.level = scope_ ? scope_->level + 1 : 1;
  for (std::size_t i = 0; i < tree.parameters.size(); ++i) {
    inner.locals[tree.parameters[i]] = i < arguments.size() ? arguments[i] : general_null();
  }
  const scope_guard guard(scope_, &inner);
  try {
    value result = evaluate_block(tree.parts, 0);
    const bool silent = tree.parts.empty() || !tree.parts.back();
    return silent ? general_null() : result;
  } catch (returned& early) {
    return early.x;
  }
}

integer rank_of(const value& f) {
  switch (f.type()) {
    case k::lambda_type:
      return std::max<integer>(static_cast<integer>(tree_of(f)->parameters.size()), 1);
    case k::unary_type:
      return 1;
    case k::binary_type:
      return 2;
    case k::projection_type: {
      integer gaps = 0;
      for (integer i = 1; i < f->count; ++i) gaps += k::items<object>(f.get())[i] == nullptr;
      return gaps;
    }
    case k::each_type:
      return rank_of(value::of(k::items<object>(f.get())[0]));
    case k::foreign_type:
      return foreign_arity(f.get());
    default:
      return f.type() >= k::each_type + 4 && f.type() < k::foreign_type ? 2 : f.is_function() ? 0 : 1;
  }
}

namespace {

/// f with some of its arguments.
value projection(const value& function, const values& arguments, integer rank) {
  const auto n = std::max(static_cast<integer>(arguments.size()), rank);
  value x(allocate(k::projection_type, (n + 1) * integer{sizeof(object)}));
  x->count = n + 1;
  auto* parts = k::items<object>(x.get());
  parts[0] = value(function).release();
  for (integer i = 0; i < n; ++i) {
    const auto at = static_cast<std::size_t>(i);
    parts[i + 1] = at < arguments.size() && arguments[at] ? value(arguments[at]).release() : nullptr;
  }
  return x;
}

value call_projection(const value& function, const values& arguments) {
  values all;
  std::size_t used = 0;
  for (integer i = 1; i < function->count; ++i) {
    object part = k::items<object>(function.get())[i];
    if (part)
      all.push_back(value::of(part));
    else
      all.push_back(used < arguments.size() ? arguments[used++] : value());
  }
  if (used < arguments.size()) throw q_error("rank");
  return applied(value::of(k::items<object>(function.get())[0]), all);
}

value print(const value& handle, const value& x) {
  const integer to = whole_of(handle);
  if (to == 0) {
    value result = current().run(text_of(x));
    return result ? result : general_null();
  }
  if (to < -2 || to > 2) throw q_error("type");
  const values texts = x.type() == k::mixed_type ? items_of(x) : values{x};
  for (auto& text : texts) current().output += text_of(text) + (to < 0 ? "\n" : "");
  return handle;
}

}  // namespace

value interpreter::apply(const value& function, const values& arguments) {
  if (function.is_null()) {
    if (arguments.size() != 1 || !arguments[0]) throw q_error("rank");
    return arguments[0];
  }
  bool gaps = false;
  for (auto& one : arguments) gaps = gaps || !one;
  if (!function.is_function() || function.is_dictionary() || function.is_table()) {
    if (function.type() == -k::symbol_type) {
      const value global = get(function->symbol);
      if (!global) throw q_error(function->symbol);
      if (global.type() == -k::symbol_type) throw q_error("type");
      return apply(global, arguments);
    }
    if (!function.is_atom()) return index(function, arguments);
    if (gaps || arguments.size() != 1 || !is_numeric(function.type())) throw q_error("type");
    return print(function, arguments[0]);
  }
  const auto given = static_cast<integer>(arguments.size());
  const integer rank = rank_of(function);
  if (function.type() == k::binary_type && !gaps) {
    const verb& v = verb_of(function);
    if (given == 1 && v.one && !std::isalpha(static_cast<unsigned char>(v.name[0]))) return v.one(arguments[0]);
    if (given > 2 && (v.name == "@" || v.name == ".")) return amend_or_trap(v.name == ".", arguments);
    if (given == 3 && v.name == "?") {  // ?[c;a;b]
      if (arguments[0].is_atom()) return truth_of(arguments[0]) ? arguments[1] : arguments[2];
      values chosen;
      for (integer i = 0; i < count_of(arguments[0]); ++i) {
        chosen.push_back(item(arguments[truth_of(item(arguments[0], i)) ? 1 : 2], i));
      }
      return list_of(chosen);
    }
  }
  if (function.type() == k::projection_type && !gaps && given == rank) return call_projection(function, arguments);
  if (gaps || given < rank) return projection(function, arguments, rank);
  if (rank > 0 && given > rank) throw q_error("rank");
  switch (function.type()) {
    case k::lambda_type:
      return call_lambda(function, arguments);
    case k::unary_type:
      return verb_of(function).one(arguments[0]);
    case k::binary_type:
      return verb_of(function).two(arguments[0], arguments[1]);
    case k::foreign_type:
      return call_library(function, arguments);
    default:
      return iterate(function, arguments);
  }
}

}  // namespace k_host
