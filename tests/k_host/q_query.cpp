// SPDX-License-Identifier: BSL-1.0
// select, exec, update and delete over tables in memory.
#include "q_scope.hpp"
#include "q_verbs.hpp"

#include <algorithm>

namespace k_host {

namespace {

/// The column that an expression without a name is called after: the last that it names, else x.
void find_name(const node& tree, const value& names, std::pair<int, std::string>& last) {
  if (tree.kind == form::name && tree.column > last.first && find(names, symbol_atom(tree.text)) < count_of(names)) {
    last = {tree.column, tree.text};
  }
  for (auto& part : tree.parts) {
    if (part) find_name(*part, names, last);
  }
}

std::string name_of(const named& column, const value& names) {
  if (!column.first.empty()) return column.first;
  std::pair<int, std::string> last{-1, "x"};
  find_name(*column.second, names, last);
  return last.second;
}

}  // namespace

value interpreter::with_columns(const value& table, const std::vector<integer>& rows, const node& tree) {
  std::map<std::string, value> columns;
  const value some = at_all(table, rows);
  for (integer c = 0; c < count_of(table.column_names()); ++c) {
    columns[item(table.column_names(), c)->symbol] = item(some.columns(), c);
  }
  columns["i"] = longs_of(rows);
  const auto* all = &columns;
  const scope_guard guard(scope_->columns, all);
  return evaluate(tree);
}

std::vector<integer> interpreter::chosen_rows(const node& tree, const value& table) {
  std::vector<integer> rows;
  for (integer i = 0; i < count_of(table); ++i) rows.push_back(i);
  for (std::size_t c = 1; c < tree.parts.size(); ++c) {
    const value flags = with_columns(table, rows, *tree.parts[c]);
    std::vector<integer> kept;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (number_of(flags, flags.is_atom() ? 0 : static_cast<integer>(i)).whole) kept.push_back(rows[i]);
    }
    rows = kept;
  }
  return rows;
}

value interpreter::query(const node& tree) {
  value result = whole_query(tree);
  const bool keyed = result.is_dictionary() && result.keys().is_table();
  const integer keys = keyed ? count_of(result.keys().column_names()) : 0;
  if (tree.label.empty() && !tree.limit) return result;
  if (keyed) result = value(k::ktd(result.release()));
  if (!tree.label.empty()) {
    const integer column = find(result.column_names(), symbol_atom(tree.label));
    if (column == count_of(result.columns())) throw q_error(tree.label);
    result = at_all(result, order_of(item(result.columns(), column), tree.descending));
  }
  if (tree.limit) result = applied(verb_value("sublist"), {evaluate(*tree.limit), result});
  return keyed ? applied(verb_value("!"), {long_atom(keys), result}) : result;
}

value interpreter::whole_query(const node& tree) {
  value from = evaluate(*tree.parts[0]);
  if (from.type() == -k::symbol_type) from = get(from->symbol);
  if (from && from.is_dictionary()) from = value(k::ktd(from.release()));
  if (!from || !from.is_table()) {
    clear_error();
    throw q_error("type");
  }
  const value& table = from;
  const value names = table.column_names();
  const std::vector<integer> rows = chosen_rows(tree, table);
  if (tree.text == "delete") {
    value dictionary = value::of(table->table);
    if (tree.columns.empty()) {
      std::vector<integer> kept;
      for (integer i = 0; i < count_of(table); ++i) {
        if (std::find(rows.begin(), rows.end(), i) == rows.end()) kept.push_back(i);
      }
      return at_all(table, kept);
    }
    std::vector<integer> kept;
    for (integer c = 0; c < count_of(names); ++c) {
      bool gone = false;
      for (auto& column : tree.columns) gone = gone || column.second->text == item(names, c)->symbol;
      if (!gone) kept.push_back(c);
    }
    return table_of(at_all(names, kept), items_of(at_all(table.columns(), kept)));
  }
  if (tree.text == "update") {
    value result = value::of(table->table);
    for (auto& column : tree.columns) {
      const std::string name = name_of(column, names);
      value now = with_columns(table, rows, *column.second);
      if (rows.size() != static_cast<std::size_t>(count_of(table))) {
        const integer found = find(names, symbol_atom(name));
        if (found == count_of(names)) throw q_error("nyi: a new column for some of the rows");
        now = amended(item(table.columns(), found), {longs_of(rows)}, value(), now);
      } else if (!now.is_list()) {
        now = list_of(values(rows.size(), now));
      }
      result = join(result, dictionary_of(symbols_of({name}), mixed_of({now})));
    }
    return table_of(result.keys(), items_of(result.values()));
  }
  if (tree.columns.empty() && tree.groups.empty()) return at_all(table, rows);
  std::vector<std::string> result_names, group_names;
  for (auto& column : tree.columns) result_names.push_back(name_of(column, names));
  for (auto& group : tree.groups) group_names.push_back(name_of(group, names));
  if (!tree.groups.empty()) {
    values groups;
    for (auto& group : tree.groups) groups.push_back(with_columns(table, rows, *group.second));
    const value keys = table_of(symbols_of(group_names), groups), sorted = at_all(keys, order_of(keys, false));
    const value places = applied(verb_value("group"), {sorted});  // keys in order
    values columns(tree.columns.size()), cells;
    for (std::size_t c = 0; c < columns.size(); ++c) {
      cells.clear();
      for (auto& key : items_of(places.keys())) {
        std::vector<integer> some;
        for (std::size_t i = 0; i < rows.size(); ++i) {
          if (match(item(keys, static_cast<integer>(i)), key)) some.push_back(rows[i]);
        }
        cells.push_back(with_columns(table, some, *tree.columns[c].second));
      }
      columns[c] = list_of(cells);
    }
    if (tree.text == "exec" && columns.size() == 1 && groups.size() == 1) {
      return dictionary_of(item(places.keys().columns(), 0), columns[0]);
    }
    return dictionary_of(places.keys(), table_of(symbols_of(result_names), columns));
  }
  values columns;
  bool atoms = true;
  for (auto& column : tree.columns) {
    columns.push_back(with_columns(table, rows, *column.second));
    atoms = atoms && !columns.back().is_list();
  }
  if (tree.text == "exec")
    return columns.size() == 1 ? columns[0] : dictionary_of(symbols_of(result_names), list_of(columns));
  if (atoms) {
    for (auto& column : columns) column = list_of({column});
  }
  return table_of(symbols_of(result_names), columns);
}

}  // namespace k_host
