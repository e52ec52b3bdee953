// SPDX-License-Identifier: BSL-1.0
// Verbs that build lists, dictionaries and tables, take them apart, search and sort them, and cast.
#include "q_literal.hpp"
#include "q_show.hpp"
#include "q_verbs.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <random>

namespace k_host {

namespace {

std::vector<integer> range(integer from, integer to) {
  std::vector<integer> result(static_cast<std::size_t>(std::max<integer>(to - from, 0)));
  std::iota(result.begin(), result.end(), from);
  return result;
}

std::vector<integer> wholes_of(const value& x) {
  std::vector<integer> result;
  for (integer i = 0; i < count_of(x); ++i) result.push_back(whole_of(x.is_atom() ? x : item(x, i)));
  return result;
}

value til(const value& x) {
  const integer n = whole_of(x);
  return longs_of(range(0, checked_length(n)));
}

value enlisted(const value& x) {
  return x.is_list() || x.is_table() ? mixed_of({x}) : list_of({x});
}

/// A list as it is, anything else as the only item of one.
value listed(const value& x) {
  return x.is_list() || x.is_table() || x.is_dictionary() ? x : enlisted(x);
}

value first(const value& x) {
  return count_of(x) == 0 ? null_like(x.is_dictionary() ? x.values() : x) : item(x, 0);
}
value last(const value& x) {
  return count_of(x) == 0 ? null_like(x.is_dictionary() ? x.values() : x) : item(x, count_of(x) - 1);
}

value reversed(const value& x) {
  if (x.is_dictionary()) return dictionary_of(reversed(x.keys()), reversed(x.values()));
  std::vector<integer> places = range(0, count_of(x));
  std::reverse(places.begin(), places.end());
  return x.is_list() || x.is_table() ? at_all(x, places) : x;
}

value flip(const value& x) {
  if (x.is_table()) return value::of(x->table);
  if (x.is_dictionary()) {
    if (x.keys().type() != k::symbol_type || !x.values().is_list()) throw q_error("type");
    return table_of(x.keys(), items_of(x.values()));
  }
  if (x.type() != k::mixed_type || count_of(x) == 0) throw q_error("rank");
  integer length = -1;
  for (auto& row : items_of(x)) {
    if (row.is_list() && length >= 0 && row->count != length) throw q_error("length");
    if (row.is_list()) length = row->count;
  }
  if (length < 0) throw q_error("rank");
  values columns;
  for (integer c = 0; c < length; ++c) {
    values column;
    for (auto& row : items_of(x)) column.push_back(row.is_list() ? item(row, c) : row);
    columns.push_back(list_of(column));
  }
  return mixed_of(columns);
}

value raze(const value& x) {
  if (x.is_dictionary()) return raze(x.values());
  if (x.type() != k::mixed_type || count_of(x) == 0) return x;
  const values parts = items_of(x);
  const int type = parts[0].type();
  if (std::all_of(parts.begin(), parts.end(), [&](auto& part) { return part.is_list() && part.type() == type; })) {
    object result = k::ktn(type, 0);  // one pass where nothing has to be decided
    for (auto& part : parts) k::jv(&result, part.get());
    return value(result);
  }
  value result = listed(item(x, 0));
  for (integer i = 1; i < count_of(x); ++i) result = join(result, item(x, i));
  return result;
}

value distinct(const value& x) {
  std::vector<integer> kept;
  values seen;
  for (integer i = 0; i < count_of(x); ++i) {
    const value one = item(x, i);
    const auto same = [&](const value& other) { return match(other, one); };
    if (std::none_of(seen.begin(), seen.end(), same)) {
      seen.push_back(one);
      kept.push_back(i);
    }
  }
  return at_all(x, kept);
}

value group(const value& x) {
  const value keys = distinct(x);
  values places;
  for (auto& key : items_of(keys)) {
    std::vector<integer> here;
    for (integer i = 0; i < count_of(x); ++i) {
      if (match(item(x, i), key)) here.push_back(i);
    }
    places.push_back(longs_of(here));
  }
  return dictionary_of(keys, mixed_of(places));
}

value where(const value& x) {
  if (x.is_dictionary()) return at_all(x.keys(), wholes_of(where(x.values())));
  std::vector<integer> places;
  for (integer i = 0; i < count_of(x); ++i)
    places.insert(places.end(), static_cast<std::size_t>(checked_length(number_of(x, i).whole)), i);
  return longs_of(places);
}

value sorted(const value& x, bool descending) {
  if (!x.is_dictionary()) return at_all(x, order_of(x, descending));
  const auto order = order_of(x.values(), descending);
  return dictionary_of(at_all(x.keys(), order), at_all(x.values(), order));
}
value grades(const value& x, bool descending) {
  const auto order = order_of(x.is_dictionary() ? x.values() : x, descending);
  return x.is_dictionary() ? at_all(x.keys(), order) : longs_of(order);
}

value in(const value& x, const value& list) {
  if (x.is_list() && !(x.type() == k::char_type && list.type() == k::mixed_type)) {
    values results;
    for (auto& one : items_of(x)) results.push_back(in(one, list));
    return results.empty() ? empty_list(k::boolean_type) : list_of(results);
  }
  return boolean_atom(find(listed(list), x) < count_of(listed(list)));
}

value filtered(const value& x, const value& by, bool keep) {
  std::vector<integer> kept;
  for (integer i = 0; i < count_of(x); ++i) {
    if ((find(listed(by), item(x, i)) < count_of(listed(by))) == keep) kept.push_back(i);
  }
  return at_all(x, kept);
}

/// n#x for one length: items repeat where x is too short.
value taken(integer n, const value& x) {
  const integer have = count_of(x), length = checked_length(n < 0 && n != k::null_long ? -n : n);
  if (x.is_dictionary()) return dictionary_of(taken(n, x.keys()), taken(n, x.values()));
  std::vector<integer> places;
  if (!x.is_list() && !x.is_table()) return length == 0 ? empty_list(-x.type()) : taken(n, enlisted(x));
  if (have == 0) return list_of(values(static_cast<std::size_t>(length), null_like(x)));
  for (integer i = 0; i < length; ++i) places.push_back(n >= 0 ? i % have : (have - length % have + i) % have);
  return at_all(x, places);
}

/// Items of x from place on, in rows and rows of rows; a null length takes what there is.
value reshaped(const std::vector<integer>& shape, std::size_t axis, const value& x, integer& place) {
  integer n = shape[axis];
  integer below = 1;
  for (std::size_t i = axis + 1; i < shape.size(); ++i) below = checked_length(below * checked_length(shape[i]));
  const integer have = count_of(listed(x));
  if (axis + 1 == shape.size()) {
    if (shape.size() == 2 && shape[0] == k::null_long) n = std::min(n, have - place);
    std::vector<integer> places;
    checked_length(n);
    for (integer i = 0; i < n; ++i) places.push_back(have ? place++ % have : 0);
    return at_all(listed(x), places);
  }
  if (n == k::null_long) n = below == 0 ? 0 : (have + below - 1) / below;
  checked_length(n * std::max<integer>(below, 1));
  values rows;
  for (integer i = 0; i < n; ++i) rows.push_back(reshaped(shape, axis + 1, x, place));
  return mixed_of(rows);
}

value take(const value& n, const value& x) {
  if (n.is_atom() && is_numeric(n.type())) return taken(whole_of(n), x);
  if (n.type() == k::symbol_type && (x.is_dictionary() || x.is_table())) {
    const value dictionary = x.is_table() ? value::of(x->table) : x;
    std::vector<integer> places;
    for (auto& key : items_of(n)) places.push_back(find(dictionary.keys(), key));
    const value entries = at_all(dictionary.values(), places);
    return x.is_table() ? table_of(n, items_of(entries)) : dictionary_of(n, entries);
  }
  if (!n.is_list() || count_of(n) == 0) throw q_error("type");
  integer place = 0;
  return reshaped(wholes_of(n), 0, x, place);
}

value drop(const value& n, const value& x) {
  if (x.is_dictionary() && !(n.is_atom() && is_numeric(n.type()) && x.keys().type() == k::symbol_type)) {
    std::vector<integer> kept;
    for (integer i = 0; i < count_of(x); ++i) {
      if (find(listed(n), item(x.keys(), i)) == count_of(listed(n))) kept.push_back(i);
    }
    return dictionary_of(at_all(x.keys(), kept), at_all(x.values(), kept));
  }
  if (x.is_table() && (n.type() == k::symbol_type || n.type() == -k::symbol_type)) {
    return flip(drop(n, flip(x)));
  }
  if (x.is_atom() || !n.is_atom()) {
    if (!n.is_list()) throw q_error("type");
    values pieces;  // cut
    for (integer i = 0; i < count_of(n); ++i) {
      const integer from = number_of(n, i).whole, end = i + 1 < count_of(n) ? number_of(n, i + 1).whole : count_of(x);
      if (from < 0 || from > end || end > count_of(x)) throw q_error("length");
      pieces.push_back(at_all(x, range(from, end)));
    }
    return mixed_of(pieces);
  }
  const integer have = count_of(x), cut = whole_of(n);
  const integer from = std::clamp<integer>(cut, 0, have),
                to = std::clamp<integer>(have + std::min<integer>(cut, 0), 0, have);
  if (x.is_dictionary()) return dictionary_of(drop(n, x.keys()), drop(n, x.values()));
  return at_all(x, range(from, to));
}

value cut(const value& n, const value& x) {
  if (!n.is_atom()) return drop(n, x);
  values pieces;
  const integer length = whole_of(n);
  if (length < 1) throw q_error("length");
  for (integer i = 0; i < count_of(x); i += length)
    pieces.push_back(at_all(x, range(i, std::min(i + length, count_of(x)))));
  return mixed_of(pieces);
}

value keyed(const value& keys, const value& x) {
  if (keys.is_list() || keys.is_table()) {
    if (!x.is_list() && !x.is_table()) throw q_error("type");
    if (count_of(keys) != count_of(x)) throw q_error("length");
    return dictionary_of(keys, x);
  }
  const integer n = whole_of(keys);
  const value plain = x.is_dictionary() ? value(k::ktd(k::r1(x.get()))) : x;
  if (!plain || !plain.is_table()) throw q_error("type");
  value result(k::knt(n, plain.get()));
  if (!result) throw q_error("length");
  return result;
}

std::mt19937_64& dice() {
  static std::mt19937_64 one(42);
  return one;
}

/// n?x: draws. Not q's numbers.
value drawn(integer n, const value& x) {
  values results;
  const integer count = checked_length(n < 0 && n != k::null_long ? -n : n);
  if (x.is_list()) {
    if (count_of(x) == 0) throw q_error("length");
    for (integer i = 0; i < count; ++i)
      results.push_back(item(x, static_cast<integer>(dice()() % static_cast<std::uint64_t>(count_of(x)))));
    return results.empty() ? empty_list(x.type()) : list_of(results);
  }
  const number limit = number_of(x);
  if (n < 0) {  // without repetition
    std::vector<integer> all = range(0, limit.whole);
    std::shuffle(all.begin(), all.end(), dice());
    if (count > limit.whole) throw q_error("length");
    all.resize(static_cast<std::size_t>(count));
    return longs_of(all);
  }
  for (integer i = 0; i < count; ++i) {
    number one{limit.type, 0, 0};
    if (one.is_real())
      one.real = std::uniform_real_distribution<double>(0, limit.real)(dice());
    else if (limit.type == k::boolean_type)
      one.whole = static_cast<integer>(dice()() & 1);
    else if (limit.whole > 0)
      one.whole = static_cast<integer>(dice()() % static_cast<std::uint64_t>(limit.whole));
    results.push_back(atom_of(one));
  }
  return results.empty() ? empty_list(-x.type()) : list_of(results);
}

value sought(const value& list, const value& x) {
  if (list.is_atom() && is_numeric(list.type())) return drawn(whole_of(list), x);
  if (list.is_dictionary()) {
    const integer found = find(list.values(), x);
    return found < count_of(list) ? item(list.keys(), found) : null_like(list.keys());
  }
  if (x.is_list() && !(list.type() == k::mixed_type && find(list, x) < count_of(list))) {
    if (list.type() == k::mixed_type && x.type() == k::char_type) return long_atom(count_of(list));
    std::vector<integer> places;
    for (auto& one : items_of(x)) places.push_back(find(list, one));
    return longs_of(places);
  }
  return long_atom(find(list, x));
}

value text_value(const value& x) {  // string x
  if (x.is_dictionary()) return dictionary_of(x.keys(), text_value(x.values()));
  if (x.is_atom()) return x.type() == -k::char_type ? enlisted(x) : string_of(plain_text(x));
  if (!x.is_list()) return string_of(one_line(x));
  if (x.type() == k::char_type) return x;
  values results;
  for (auto& one : items_of(x)) results.push_back(text_value(one));
  return mixed_of(results);
}

/// Of what the letter stands for, as "J"$"12"; null where the text is none.
value parsed(int type, const std::string& text) {
  if (type == k::symbol_type) return symbol_atom(text);
  if (type == k::char_type) return text.size() == 1 ? value(k::kc(text[0])) : string_of(text);
  try {
    return cast(value(k::kh(type)), literal_of({text.empty() ? "0N" : text}));
  } catch (const q_error&) {
    return atom_of(converted({k::long_type, k::null_long, 0}, type));
  }
}

value cast_to(int type, const value& x) {
  if (x.is_dictionary()) return dictionary_of(x.keys(), cast_to(type, x.values()));
  if (x.type() == k::mixed_type) {
    values results;
    for (auto& one : items_of(x)) results.push_back(cast_to(type, one));
    return results.empty() ? empty_list(type) : list_of(results);
  }
  if (type == k::symbol_type && std::abs(x.type()) == k::symbol_type) return x;
  if (!is_numeric(type) || !is_numeric(x.type())) throw q_error("type");
  const auto one = [&](number n) {
    if (type == k::date_type && n.type == k::timestamp_type) n.whole /= 86400000000000;
    return converted(n, type);
  };
  if (x.is_atom()) return atom_of(one(number_of(x)));
  value result(k::ktn(type, count_of(x)));
  for (integer i = 0; i < count_of(x); ++i) store(result.get(), i, one(number_of(x, i)));
  return result;
}

value rotated(const value& n, const value& x) {
  const integer have = count_of(x);
  std::vector<integer> places;
  for (integer i = 0; i < have; ++i) places.push_back(((i + whole_of(n) % have) % have + have) % have);
  return at_all(x, places);
}

/// A path's folder and file: ` vs `:a/b is `:a`b. Other symbols are parted at their points.
value parted_symbol(const std::string& text) {
  std::vector<std::string> parts;
  if (!text.empty() && text[0] == ':') {
    const std::size_t slash = text.rfind('/');
    if (slash == std::string::npos)
      parts = {":.", text.substr(1)};
    else
      parts = {text.substr(0, slash), text.substr(slash + 1)};
    return symbols_of(parts);
  }
  for (std::size_t from = 0;;) {
    const std::size_t to = text.find('.', from);
    parts.push_back(text.substr(from, to - from));
    if (to == std::string::npos) return symbols_of(parts);
    from = to + 1;
  }
}

value separated(const value& separator, const value& x) {  // vs
  const bool by_symbol = separator.type() == -k::symbol_type && *separator->symbol == 0;
  if (by_symbol && x.type() == -k::symbol_type) return parted_symbol(x->symbol);
  if (by_symbol && x.type() == k::char_type) return separated(value(k::kc('\n')), x);
  if (!separator.is_atom() || x.type() != k::char_type) throw q_error("type");
  const std::string text = text_of(x), by = text_of(separator);
  if (by.empty()) throw q_error("length");
  values pieces;
  for (std::size_t from = 0;;) {
    const std::size_t to = text.find(by, from);
    pieces.push_back(string_of(text.substr(from, to - from)));
    if (to == std::string::npos) return mixed_of(pieces);
    from = to + by.size();
  }
}

value glued(const value& separator, const value& x) {  // sv
  const bool by_symbol = separator.type() == -k::symbol_type && *separator->symbol == 0;
  if (by_symbol) {
    const bool path = x.type() == k::symbol_type && count_of(x) > 0 && *item(x, 0)->symbol == ':';
    std::string text;
    for (integer i = 0; i < count_of(x); ++i) {
      const std::string part = text_of(item(x, i));
      text += x.type() == k::symbol_type ? (i ? (path ? "/" : ".") : "") + part : part + "\n";
    }
    return x.type() == k::symbol_type ? symbol_atom(text) : string_of(text);
  }
  std::string text;
  for (integer i = 0; i < count_of(x); ++i) text += (i ? text_of(separator) : "") + text_of(item(x, i));
  return string_of(text);
}

bool fits(const char* pattern, const char* text) {
  if (!*pattern) return !*text;
  if (*pattern == '*') return fits(pattern + 1, text) || (*text && fits(pattern, text + 1));
  return *text && (*pattern == '?' || *pattern == *text) && fits(pattern + 1, text + 1);
}
value like(const value& x, const value& pattern) {
  if (x.type() == k::mixed_type || x.type() == k::symbol_type) {
    values results;
    for (auto& one : items_of(x)) results.push_back(like(one, pattern));
    return list_of(results);
  }
  return boolean_atom(fits(text_of(pattern).c_str(), text_of(x).c_str()));
}

value shifted(const value& x, integer by) {
  values results;
  const integer n = count_of(x);
  for (integer i = 0; i < n; ++i) results.push_back(i + by >= 0 && i + by < n ? item(x, i + by) : null_like(x));
  return results.empty() ? x : list_of(results);
}

template <int (*Change)(int)>
value spelled(const value& x) {
  if (x.type() == k::mixed_type) {
    values results;
    for (auto& one : items_of(x)) results.push_back(spelled<Change>(one));
    return mixed_of(results);
  }
  std::string text = text_of(x);
  for (char& c : text) c = static_cast<char>(Change(static_cast<unsigned char>(c)));
  return std::abs(x.type()) == k::symbol_type ? symbol_atom(text) : string_of(text);
}
int upper(int c) {
  return std::toupper(c);
}
int lower(int c) {
  return std::tolower(c);
}

value column_names(const value& x) {
  if (x.is_table()) return x.column_names();
  return join(x.keys().column_names(), x.values().column_names());
}

value joined_dictionaries(const value& a, const value& b) {
  values keys = items_of(a.keys()), entries = items_of(a.values());
  for (integer i = 0; i < count_of(b); ++i) {
    const value key = item(b.keys(), i);
    std::size_t place = 0;
    while (place < keys.size() && !match(keys[place], key)) ++place;
    if (place == keys.size()) {
      keys.push_back(key);
      entries.emplace_back();
    }
    entries[place] = item(b.values(), i);
  }
  return dictionary_of(list_of(keys), list_of(entries));
}

value sublist(const value& n, const value& x) {
  if (!n.is_atom()) {
    const integer from = number_of(n, 0).whole, length = number_of(n, 1).whole;
    checked_length(from);
    return at_all(x, range(from, std::min(from + checked_length(length), count_of(x))));
  }
  const integer want = whole_of(n), have = count_of(x);
  return taken(want < 0 ? -std::min(-std::max(want, -k::infinite_long), have) : std::min(want, have), x);
}

}  // namespace

value at_all(const value& x, const std::vector<integer>& indices) {
  if (x.is_table()) {
    values columns;
    for (auto& column : items_of(x.columns())) columns.push_back(at_all(column, indices));
    return table_of(x.column_names(), columns);
  }
  if (!x.is_list()) throw q_error("type");
  value result(k::ktn(x.type(), static_cast<integer>(indices.size())));
  const integer have = count_of(x);
  for (std::size_t place = 0; place < indices.size(); ++place) {
    const integer i = indices[place], to = static_cast<integer>(place);
    const bool there = i >= 0 && i < have;
    if (x.type() == k::mixed_type) {
      k::items<object>(result.get())[place] = there ? k::r1(k::items<object>(x.get())[i]) : null_like(x).release();
    } else if (x.type() == k::symbol_type) {
      k::items<const char*>(result.get())[place] = there ? k::items<const char*>(x.get())[i] : k::ss("");
    } else if (x.type() == k::guid_type) {
      k::items<k::guid>(result.get())[place] = there ? k::items<k::guid>(x.get())[i] : k::guid{};
    } else {
      store(result.get(), to, there ? number_of(x, i) : number_of(null_like(x)));
    }
  }
  return result;
}

std::vector<integer> order_of(const value& x, bool descending) {
  std::vector<integer> order = range(0, count_of(x));
  const values all = items_of(x);
  std::stable_sort(order.begin(), order.end(), [&](integer a, integer b) {
    const int c = compare(all[static_cast<std::size_t>(a)], all[static_cast<std::size_t>(b)]);
    return descending ? c > 0 : c < 0;
  });
  return order;
}

value join(const value& a, const value& b) {
  if (a.is_dictionary() && b.is_dictionary()) return joined_dictionaries(a, b);
  if (a.is_table() && b.is_table()) {
    if (!match(a.column_names(), b.column_names())) throw q_error("mismatch");
    values columns;
    for (integer c = 0; c < count_of(a.columns()); ++c)
      columns.push_back(join(item(a.columns(), c), item(b.columns(), c)));
    return table_of(a.column_names(), columns);
  }
  if (a.is_table() && b.is_dictionary()) return join(a, enlisted(b));
  const auto has_items = [](const value& x) { return x.is_list() || x.is_table(); };
  const int ta = has_items(a) || !a.is_atom() ? a.type() : -a.type(), tb = b.is_atom() ? -b.type() : b.type();
  const bool simple = ta == tb && ta > 0 && ta < k::table_type;
  if (!simple && a.is_list() && count_of(a) == 0 && a.type() == k::mixed_type) return listed(b);
  if (!simple && b.is_list() && count_of(b) == 0) return listed(a);
  if (!simple && a.is_list() && count_of(a) == 0) return listed(b);
  object result = k::ktn(simple ? ta : int{k::mixed_type}, 0);
  for (const value* side : {&a, &b}) {
    if (simple && side->is_list()) {
      k::jv(&result, side->get());
    } else if (simple && side->type() == -k::guid_type) {
      k::ja(&result, k::items<k::guid>(side->get()));
    } else if (simple) {
      k::ja(&result, &side->get()->byte);
    } else if (has_items(*side)) {
      for (auto& one : items_of(*side)) k::jk(&result, value(one).release());
    } else {
      k::jk(&result, value(*side).release());
    }
  }
  return value(result);
}

value cast(const value& type, const value& x) {
  if (type.is_list() && type.type() == k::mixed_type && x.is_list() && count_of(type) == count_of(x)) {
    values results;
    for (integer i = 0; i < count_of(x); ++i) results.push_back(cast(item(type, i), item(x, i)));
    return list_of(results);
  }
  const bool text = std::abs(x.type()) == k::char_type;
  if (type.type() == -k::symbol_type && *type->symbol == 0) {  // `$"text"
    if (x.type() == k::mixed_type) {
      values results;
      for (auto& one : items_of(x)) results.push_back(cast(type, one));
      return results.empty() ? empty_list(k::symbol_type) : list_of(results);
    }
    if (std::abs(x.type()) == k::symbol_type) return x;
    return symbol_atom(text_of(x));
  }
  if (type.type() == -k::symbol_type) return cast_to(type_named(type->symbol), x);
  if (type.type() == -k::char_type) {
    const char letter = static_cast<char>(type->byte);
    const bool parses = letter >= 'A' && letter <= 'Z';
    const int wanted = type_named(std::string(1, parses ? static_cast<char>(letter - 'A' + 'a') : letter));
    if (parses && x.type() == k::mixed_type) {
      values results;
      for (auto& one : items_of(x)) results.push_back(cast(type, one));
      return list_of(results);
    }
    if (wanted == 0) throw q_error("type");
    return parses && text ? parsed(wanted, text_of(x)) : cast_to(wanted, x);
  }
  if (type.type() == -k::short_type) return cast_to(std::abs(type->short_integer), x);
  if (type.is_atom() && is_numeric(type.type()) && text) {  // 5$"ab", padding
    std::string padded = text_of(x);
    const integer width = whole_of(type);
    const auto length = static_cast<std::size_t>(checked_length(width < 0 && width != k::null_long ? -width : width));
    if (padded.size() > length) padded.resize(length);
    const std::string blanks(length - padded.size(), ' ');
    return string_of(width < 0 ? blanks + padded : padded + blanks);
  }
  throw q_error("type");
}

void add_lists() {
  add_verb(",", enlisted, join);
  add_verb("#", nullptr, take);
  add_verb("_", nullptr, drop);
  add_verb("~", nullptr, [](const value& a, const value& b) { return boolean_atom(match(a, b)); });
  add_verb("?", nullptr, sought);
  add_verb("$", nullptr, cast);
  add_verb("in", nullptr, in);
  add_verb("like", nullptr, like);
  add_verb("inter", nullptr, [](const value& a, const value& b) { return filtered(a, b, true); });
  add_verb("except", nullptr, [](const value& a, const value& b) { return filtered(a, b, false); });
  add_verb("union", nullptr, [](const value& a, const value& b) { return distinct(join(a, b)); });
  add_verb("cut", nullptr, cut);
  add_verb("sublist", nullptr, sublist);
  add_verb("rotate", nullptr, rotated);
  add_verb("cross", nullptr, [](const value& a, const value& b) {
    values pairs;
    for (auto& x : items_of(a)) {
      for (auto& y : items_of(b)) pairs.push_back(join(listed(x), y));
    }
    return mixed_of(pairs);
  });
  add_verb("vs", nullptr, separated);
  add_verb("sv", nullptr, glued);
  add_verb("xkey", nullptr, [](const value& names, const value& t) {
    const value plain(k::ktd(k::r1(t.get())));
    if (!plain) throw q_error("type");
    const value rest = filtered(plain.column_names(), names, false);
    return keyed(long_atom(count_of(listed(names))), take(join(listed(names), rest), plain));
  });
  add_verb("xasc", nullptr, [](const value& name, const value& t) {
    return at_all(t, order_of(item(t.columns(), find(t.column_names(), first(listed(name)))), false));
  });
  add_verb("xdesc", nullptr, [](const value& name, const value& t) {
    return at_all(t, order_of(item(t.columns(), find(t.column_names(), first(listed(name)))), true));
  });
  add_verb("til", til);
  add_verb("count", [](const value& x) { return long_atom(count_of(x)); });
  add_verb("enlist", enlisted);
  add_verb("first", first);
  add_verb("last", last);
  add_verb("reverse", reversed);
  add_verb("flip", flip);
  add_verb("raze", raze);
  add_verb("distinct", distinct);
  add_verb("group", group);
  add_verb("where", where);
  add_verb("asc", [](const value& x) { return sorted(x, false); });
  add_verb("desc", [](const value& x) { return sorted(x, true); });
  add_verb("iasc", [](const value& x) { return grades(x, false); });
  add_verb("idesc", [](const value& x) { return grades(x, true); });
  add_verb("rank", [](const value& x) { return grades(grades(x, false), false); });
  add_verb("next", [](const value& x) { return shifted(x, 1); });
  add_verb("prev", [](const value& x) { return shifted(x, -1); });
  add_verb("string", text_value);
  add_verb("med", [](const value& x) {
    const value all = sorted(x, false);
    const integer n = count_of(all);
    if (n == 0) return float_atom(k::null_float);
    return float_atom((number_of(all, (n - 1) / 2).as_double() + number_of(all, n / 2).as_double()) / 2);
  });
  add_verb("rand", [](const value& x) { return item(drawn(1, x), 0); });
  add_verb("upper", spelled<upper>);
  add_verb("lower", spelled<lower>);
  add_verb("type", [](const value& x) { return value(k::kh(x.type())); });
  add_verb("cols", column_names);
  add_verb("!", nullptr, keyed);
}

}  // namespace k_host
