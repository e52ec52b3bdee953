// SPDX-License-Identifier: BSL-1.0
// How values apply to others: lists by index, iterators, functions of libraries, amending and trapping.
#include "q_eval.hpp"
#include "q_show.hpp"
#include "q_verbs.hpp"

#include <algorithm>
#include <cstdlib>

namespace k_host {

namespace {

/// One index, or a list of them.
value at(const value& x, const value& i) {
  if (x.is_table()) {
    if (std::abs(i.type()) == k::symbol_type) {
      const value columns = x.columns();
      if (!i.is_atom()) {
        values several;
        for (auto& name : items_of(i)) several.push_back(at(x, name));
        return mixed_of(several);
      }
      const integer found = find(x.column_names(), i);
      if (found == count_of(columns)) throw q_error(i->symbol);
      return item(columns, found);
    }
    if (!i.is_atom()) {
      std::vector<integer> rows;
      for (auto& one : items_of(i)) rows.push_back(whole_of(one));
      return at_all(x, rows);
    }
  }
  if (x.is_dictionary()) {
    const value keys = x.keys(), entries = x.values();
    if (keys.is_table()) {
      const value wanted = i.is_dictionary() || i.is_table() ? i : dictionary_of(keys.column_names(), list_of({i}));
      const integer found = find(keys, wanted);
      return found < count_of(keys) ? item(entries, found) : null_like(entries);
    }
    const integer found = i.is_list() && keys.type() != k::mixed_type ? count_of(keys) : find(keys, i);
    if (found < count_of(keys)) return item(entries, found);
    if (!i.is_list()) return null_like(entries);
    values several;
    for (auto& one : items_of(i)) several.push_back(at(x, one));
    return several.empty() ? at_all(entries, {}) : list_of(several);
  }
  if (i.is_null()) return x;
  if (i.is_dictionary()) return dictionary_of(i.keys(), at(x, i.values()));
  if (i.is_list()) {
    if (i.type() != k::mixed_type && x.is_list()) {
      std::vector<integer> places;
      for (integer p = 0; p < count_of(i); ++p) {
        if (number_of(i, p).is_real()) throw q_error("type");
        places.push_back(number_of(i, p).whole);
      }
      const value result = at_all(x, places);
      return x.type() == k::mixed_type ? list_of(items_of(result)) : result;
    }
    values several;
    for (auto& one : items_of(i)) several.push_back(at(x, one));
    return several.empty() ? at_all(x, {}) : list_of(several);
  }
  const integer place = whole_of(i);
  return place >= 0 && place < count_of(x) ? item(x, place) : null_like(x);
}

/// A copy of x with one item replaced.
value replaced(const value& x, const value& i, const value& with) {
  if (x.is_dictionary()) {
    const value keys = x.keys();
    const integer found = find(keys, i);
    if (found == count_of(keys)) return join(x, dictionary_of(join(at_all(keys, {}), i), list_of({with})));
    return dictionary_of(keys, replaced(x.values(), long_atom(found), with));
  }
  if (x.is_table()) {
    if (i.type() == -k::symbol_type) {
      const value changed = replaced(value::of(x->table), i, with);
      return table_of(changed.keys(), items_of(changed.values()));
    }
    values columns;
    for (integer c = 0; c < count_of(x.columns()); ++c) {
      columns.push_back(replaced(item(x.columns(), c), i, item(with.is_dictionary() ? with.values() : with, c)));
    }
    return table_of(x.column_names(), columns);
  }
  const integer place = whole_of(i);
  if (!x.is_list()) throw q_error("type");
  if (place < 0 || place >= count_of(x)) throw q_error("length");
  if (x.type() != k::mixed_type && x.type() != -with.type()) throw q_error("type");
  values items = items_of(x);
  items[static_cast<std::size_t>(place)] = with;
  return list_of(items);
}

value changed_by(const value& function, const value& old, const value& y) {
  if (!function) return y;
  return y ? applied(function, {old, y}) : applied(function, {old});
}

value amended_from(const value& x, const values& path, std::size_t depth, const value& function, const value& y) {
  if (depth == path.size()) return changed_by(function, x, y);
  value i = path[depth];
  if (!i || i.is_null()) {  // all of this axis
    std::vector<integer> all;
    for (integer p = 0; p < count_of(x); ++p) all.push_back(p);
    i = x.is_dictionary() ? x.keys() : longs_of(all);
  }
  if (!i.is_atom() && !i.is_list()) throw q_error("type");
  if (i.is_atom()) return replaced(x, i, amended_from(at(x, i), path, depth + 1, function, y));
  value result = x;
  for (integer p = 0; p < count_of(i); ++p) {
    values one = path;
    one[depth] = item(i, p);
    const bool spread = y && y.is_list();
    if (spread && count_of(y) != count_of(i)) throw q_error("length");
    result = amended_from(result, one, depth, function, spread ? item(y, p) : y);
  }
  return result;
}

value each(const value& f, const values& arguments) {
  integer n = -1;
  value keys;
  for (auto& one : arguments) {
    if (!has_items(one)) continue;
    if (n >= 0 && n != count_of(one)) throw q_error("length");
    n = count_of(one);
    if (one.is_dictionary() && !keys) keys = one.keys();
  }
  if (n < 0) return applied(f, arguments);
  values results;
  for (integer i = 0; i < n; ++i) {
    values row;
    for (auto& one : arguments) row.push_back(item(one, i));
    results.push_back(applied(f, row));
  }
  const value list = results.empty() ? empty_list() : list_of(results);
  return keys ? dictionary_of(keys, list) : list;
}

/// f/ and f\ : the last result, or all.
value accumulate(const value& f, const values& arguments, bool scan) {
  values results;
  const auto finish = [&] { return scan ? list_of(results) : results.back(); };
  if (rank_of(f) == 1) {
    value x = arguments.back();
    results.push_back(x);
    if (arguments.size() == 1) {  // until nothing changes, or all is as in the beginning
      while (true) {
        const value next = applied(f, {results.back()});
        if (match(next, results.back()) || match(next, x)) return finish();
        results.push_back(next);
      }
    }
    const value& control = arguments[0];
    const bool counted = control.is_atom() && is_numeric(control.type());
    for (integer n = counted ? whole_of(control) : 0; counted ? n > 0 : truth_of(applied(control, {results.back()}));
         --n) {
      results.push_back(applied(f, {results.back()}));
      if (!scan) results.erase(results.begin());
    }
    return finish();
  }
  std::size_t from = 0;
  values lists(arguments.begin() + (arguments.size() > 1), arguments.end());
  if (arguments.size() == 1) {
    const value& list = arguments[0];
    if (!has_items(list) || count_of(list) == 0) return list;
    results.push_back(item(list, 0));
    from = 1;
  } else {
    results.push_back(arguments[0]);
  }
  integer n = 1;
  for (auto& list : lists) {
    if (has_items(list)) n = count_of(list);
  }
  const bool keeps_first = arguments.size() == 1;
  for (integer i = static_cast<integer>(from); i < n; ++i) {
    values row{results.back()};
    for (auto& list : lists) row.push_back(item(list, i));
    results.push_back(applied(f, row));
    if (!scan) results.erase(results.begin());
  }
  if (scan && !keeps_first) {
    results.erase(results.begin());
    if (results.empty()) return empty_list();
  }
  return finish();
}

value each_of_one(const value& f, const value& x, const value& y, bool right) {
  const value& over = right ? y : x;
  if (!has_items(over)) return applied(f, {x, y});
  values results;
  for (auto& one : items_of(over)) results.push_back(right ? applied(f, {x, one}) : applied(f, {one, y}));
  const value list = results.empty() ? empty_list() : list_of(results);
  return over.is_dictionary() ? dictionary_of(over.keys(), list) : list;
}

}  // namespace

value derived(const value& function, const std::string& iterator) {
  static const std::vector<std::string> iterators = {"'", "/", "\\", "':", "/:", "\\:"};
  const auto which = std::find(iterators.begin(), iterators.end(), iterator) - iterators.begin();
  value x(allocate(k::each_type + static_cast<int>(which), sizeof(object)));
  x->count = 1;
  k::items<object>(x.get())[0] = value(function).release();
  return x;
}

value iterate(const value& derived, const values& arguments) {
  if (derived.type() < k::each_type || derived.type() >= k::foreign_type) throw q_error("type");
  const value f = value::of(k::items<object>(derived.get())[0]);
  switch (derived.type() - k::each_type) {
    case 0:
      return each(f, arguments);
    case 1:
      return accumulate(f, arguments, false);
    case 2:
      return accumulate(f, arguments, true);
    case 3: {
      const value& list = arguments.back();
      values results;
      for (integer i = 0; i < count_of(list); ++i) {
        const bool first = i == 0 && arguments.size() == 1;
        results.push_back(first ? item(list, 0) : applied(f, {item(list, i), i ? item(list, i - 1) : arguments[0]}));
      }
      return results.empty() ? list : list_of(results);
    }
    default:
      if (arguments.size() != 2) throw q_error("rank");
      return each_of_one(f, arguments[0], arguments[1], derived.type() - k::each_type == 4);
  }
}

value index(const value& x, const values& indices) {
  const value i = indices[0];
  const values rest(indices.begin() + 1, indices.end());
  if (rest.empty()) return i ? at(x, i) : x;
  if (i && i.is_atom()) {
    const value part = at(x, i);
    return part.is_function() || part.is_list() ? applied(part, rest) : throw q_error("rank");
  }
  if (x.is_table() && !i) {  // t[;`a]
    const value columns = index(x, rest);
    return columns;
  }
  const value chosen = i ? at(x, i) : x;
  values results;
  for (auto& part : items_of(chosen)) results.push_back(index(part, rest));
  const value list = list_of(results);
  return chosen.is_dictionary() ? dictionary_of(chosen.keys(), list) : list;
}

value call_library(const value& function, const values& arguments) {
  std::vector<object> raw;
  std::vector<int> owned;
  for (auto& one : arguments) raw.push_back(k::r1(one.get()));  // one that is released is still there afterwards
  for (object one : raw) owned.push_back(owners(one));
  clear_error();
  object result = nullptr;
  bool thrown = false;
  try {
    result = call_foreign(function.get(), raw.data());
  } catch (...) {
    thrown = true;
  }
  const char* const pending = pending_error();
  const std::string text = pending ? pending : "";
  clear_error();
  bool released = false;
  for (std::size_t i = 0; i < raw.size(); ++i) {
    for (; owners(raw[i]) < owned[i] + (result == raw[i]); released = true) ++raw[i]->references;
  }
  for (object one : raw) k::r0(one);
  if (thrown) throw q_error("host: an exception came through the C interface");
  if (released) {
    if (result) k::r0(result);
    throw q_error("host: the function released its argument");
  }
  if (!result) {
    if (pending) throw q_error(text);
    return general_null();
  }
  const value owner(result);
  if (result->type == k::error_type) throw q_error(result->symbol);
  if (pending) throw q_error("host: a value was returned with an error pending: " + text);
  return owner;
}

value amended(const value& x, const values& path, const value& function, const value& y) {
  return amended_from(x, path, 0, function, y);
}

value amend_or_trap(bool deep, const values& arguments) {
  const value& x = arguments[0];
  if (arguments.size() == 3 && x.is_function() && !x.is_dictionary() && !x.is_table()) {
    try {
      return deep ? applied(x, items_of(arguments[1])) : applied(x, {arguments[1]});
    } catch (const q_error& error) {
      const value& handler = arguments[2];
      return handler.is_function() || handler.is_null() ? applied(handler, {string_of(error.what())}) : handler;
    }
  }
  const bool by_name = x.type() == -k::symbol_type;
  const value old = by_name ? current().get(x->symbol) : x;
  if (!old) throw q_error(x->symbol);
  const values path = deep ? items_of(arguments[1]) : values{arguments[1]};
  value function = arguments[2];
  if (function.is_null()) function = value();  // @[x;i;:;y] parses `:` as the null
  const value result = amended(old, path, function, arguments.size() > 3 ? arguments[3] : value());
  if (!by_name) return result;
  current().set(x->symbol, result);
  return x;
}

}  // namespace k_host
