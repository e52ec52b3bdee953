// SPDX-License-Identifier: BSL-1.0
// Numbers of all types, lists and dictionaries, comparison.
#include "q_value.hpp"

#include <cmath>
#include <cstring>

namespace k_host {

namespace {

template <class Item>
Item& at(object list, integer i) {
  return k::items<Item>(list)[i];
}

/// The bytes of item i, or of an atom.
const void* bytes_of(object x, integer i) {
  return x->type < 0 ? static_cast<const void*>(&x->byte) : k::items<unsigned char>(x) + i * item_size(x->type);
}

template <class T>
T read(const void* from) {
  T result;
  std::memcpy(&result, from, sizeof result);
  return result;
}

template <class T>
integer widened(T x) {
  return x == std::numeric_limits<T>::min() ? k::null_long : static_cast<integer>(x);
}
template <class T>
T narrowed(integer x) {
  return x == k::null_long ? std::numeric_limits<T>::min() : static_cast<T>(x);
}

const char* symbol_at(const value& x, integer i) {
  return x.is_atom() ? x->symbol : at<const char*>(x.get(), i);
}

}  // namespace

object value::checked(int type) const {
  if (x_->type != type) throw q_error("type");
  return x_;
}

integer number::as_integer() const {
  if (!is_real()) return whole;
  if (is_null()) return k::null_long;
  if (real >= 9.2e18) return k::infinite_long;
  if (real <= -9.2e18) return -k::infinite_long;
  return static_cast<integer>(std::floor(real + 0.5));
}

bool is_numeric(int type) {
  const int t = std::abs(type);
  return t == 1 || (t >= k::byte_type && t <= k::time_type && t != k::symbol_type);
}

number number_of(const value& x, integer i) {
  const int type = std::abs(x.type());
  const void* p = bytes_of(x.get(), i);
  switch (type) {
    case k::boolean_type:
    case k::byte_type:
    case k::char_type:
      return {type, read<std::uint8_t>(p), 0};
    case k::short_type:
      return {type, widened(read<std::int16_t>(p)), 0};
    case k::int_type:
    case k::month_type:
    case k::date_type:
    case k::minute_type:
    case k::second_type:
    case k::time_type:
      return {type, widened(read<std::int32_t>(p)), 0};
    case k::long_type:
    case k::timestamp_type:
    case k::timespan_type:
      return {type, read<integer>(p), 0};
    case k::real_type:
      return {type, 0, static_cast<double>(read<float>(p))};
    case k::float_type:
    case k::datetime_type:
      return {type, 0, read<double>(p)};
    default:
      throw q_error("type");
  }
}

namespace {
void write(void* p, const number& n) {
  auto put = [p](auto x) { std::memcpy(p, &x, sizeof x); };
  switch (item_size(n.type)) {
    case 1:
      return put(static_cast<std::uint8_t>(n.whole));
    case 2:
      return put(narrowed<std::int16_t>(n.whole));
    case 4:
      return n.type == k::real_type ? put(static_cast<float>(n.real)) : put(narrowed<std::int32_t>(n.whole));
    default:
      return n.is_real() ? put(n.real) : put(n.whole);
  }
}
}  // namespace

value atom_of(const number& n) {
  value x(k::ka(-n.type));
  write(&x->byte, n);
  return x;
}

void store(object list, integer i, const number& n) {
  write(k::items<unsigned char>(list) + i * item_size(list->type), converted(n, list->type));
}

number converted(const number& n, int type) {
  number result{type, 0, 0};
  if (result.is_real()) {
    result.real = n.as_double();
  } else {
    result.whole = type == k::boolean_type ? n.as_double() != 0 : n.as_integer();
  }
  return result;
}

value long_atom(integer x) {
  return value(k::kj(x));
}
value float_atom(double x) {
  return value(k::kf(x));
}
value boolean_atom(bool x) {
  return value(k::kb(x));
}
value symbol_atom(const std::string& text) {
  return value(k::ks(text.c_str()));
}
value string_of(const std::string& text) {
  return value(k::kpn(text.data(), static_cast<integer>(text.size())));
}

value symbols_of(const std::vector<std::string>& texts) {
  value x = empty_list(k::symbol_type);
  object list = x.release();
  for (auto& text : texts) k::js(&list, k::ss(text.c_str()));
  return value(list);
}

value longs_of(const std::vector<integer>& items) {
  value x(k::ktn(k::long_type, static_cast<integer>(items.size())));
  if (!items.empty()) std::memcpy(k::items<integer>(x.get()), items.data(), items.size() * sizeof(integer));
  return x;
}

value general_null() {
  return value(k::ka(k::unary_type));
}
value empty_list(int type) {
  if (item_size(type) == 0) throw q_error("type");
  return value(k::ktn(type, 0));
}

value mixed_of(const values& items) {
  value x(k::ktn(k::mixed_type, static_cast<integer>(items.size())));
  for (std::size_t i = 0; i < items.size(); ++i) k::items<object>(x.get())[i] = k::r1(items[i].get());
  return x;
}

value list_of(const values& items) {
  bool alike = !items.empty() && items[0].is_dictionary() && items[0].keys().type() == k::symbol_type;
  for (auto& each : items) alike = alike && each.is_dictionary() && match(each.keys(), items[0].keys());
  if (!alike) return value(k::vk(mixed_of(items).get()));
  values columns;
  for (integer c = 0; c < count_of(items[0]); ++c) {
    values column;
    for (auto& row : items) column.push_back(item(row.values(), c));
    columns.push_back(list_of(column));
  }
  return table_of(items[0].keys(), columns);
}

value dictionary_of(value keys, value entries) {
  return value(k::xD(keys.release(), entries.release()));
}

value table_of(const value& names, const values& columns) {
  integer rows = -1;
  for (auto& column : columns) {
    if (!column.is_list()) continue;
    if (rows >= 0 && count_of(column) != rows) throw q_error("length");
    rows = count_of(column);
  }
  if (rows < 0) throw q_error("rank");
  values whole;
  for (auto& column : columns) {
    whole.push_back(column.is_list() ? column : list_of(values(static_cast<std::size_t>(rows), column)));
  }
  value dictionary = dictionary_of(names, mixed_of(whole));
  value table(k::xT(dictionary.release()));
  if (table) return table;
  const std::string text = pending_error();
  clear_error();
  throw q_error(text);
}

bool has_items(const value& x) {
  return x.is_list() || x.is_dictionary() || x.is_table();
}

integer count_of(const value& x) {
  if (x.is_list()) return x->count;
  if (x.is_dictionary()) return count_of(x.keys());
  if (x.is_table()) return count_of(item(x.columns(), 0));
  return 1;
}

value item(const value& x, integer i) {
  if (!has_items(x)) return x;
  if (i < 0 || i >= count_of(x)) throw q_error("length");
  if (x.is_list()) return value(k::vi(x.get(), static_cast<std::uint64_t>(i)));
  if (x.is_dictionary()) return item(x.values(), i);
  if (!x.is_table()) return x;
  values row;
  for (auto& column : items_of(x.columns())) row.push_back(item(column, i));
  return dictionary_of(x.column_names(), list_of(row));
}

values items_of(const value& x) {
  values result;
  for (integer i = 0; i < count_of(x); ++i) result.push_back(item(x, i));
  return result;
}

value null_like(const value& x) {
  const int type = x.is_list() || x.is_atom() ? std::abs(x.type()) : 0;
  if (type == k::symbol_type) return symbol_atom("");
  if (type == k::char_type) return atom_of({type, ' ', 0});
  if (type == k::boolean_type || type == k::byte_type) return atom_of({type, 0, 0});
  if (type != 0) return atom_of({type, k::null_long, k::null_float});
  if (x.is_table()) {
    values nulls;
    for (auto& column : items_of(x.columns())) nulls.push_back(null_like(column));
    return dictionary_of(x.column_names(), list_of(nulls));
  }
  if (x.is_list() && x->count > 0) {
    value first = item(x, 0);
    return first.is_atom() ? null_like(first) : first.is_list() ? empty_list(first.type()) : empty_list();
  }
  return empty_list();
}

bool match(const value& a, const value& b) {
  if (a.type() != b.type()) return false;
  if (a.get() == b.get()) return true;
  if (a.is_dictionary()) return match(a.keys(), b.keys()) && match(a.values(), b.values());
  if (a.is_table()) return match(value::of(a->table), value::of(b->table));
  if (a.is_function()) return a.type() <= k::ternary_type && a.type() != k::lambda_type && a->integer == b->integer;
  if (a.is_null()) return b.is_null();
  if (count_of(a) != count_of(b)) return false;
  for (integer i = 0; i < count_of(a); ++i) {
    if (a.type() == k::mixed_type) {
      if (!match(item(a, i), item(b, i))) return false;
    } else if (compare(a.is_atom() ? a : item(a, i), b.is_atom() ? b : item(b, i)) != 0) {
      return false;
    }
  }
  return true;
}

int compare(const value& a, const value& b) {
  if (a.is_atom() && b.is_atom() && is_numeric(a.type()) && is_numeric(b.type())) {
    const number x = number_of(a), y = number_of(b);
    if (x.is_null() || y.is_null()) return static_cast<int>(y.is_null()) - static_cast<int>(x.is_null());
    if (!x.is_real() && !y.is_real()) return x.whole < y.whole ? -1 : x.whole > y.whole;
    const double p = x.as_double(), q = y.as_double();
    const double nearly = std::ldexp(std::max(std::abs(p), std::abs(q)), -43);
    return p == q || std::abs(p - q) < nearly ? 0 : p < q ? -1 : 1;
  }
  if (a.type() != b.type()) return a.type() < b.type() ? -1 : 1;
  if (a.type() == -k::symbol_type) return std::strcmp(a->symbol, b->symbol);
  if (a.type() == -k::guid_type) return std::memcmp(k::items<char>(a.get()), k::items<char>(b.get()), 16);
  if (!a.is_list()) return match(a, b) ? 0 : 1;
  for (integer i = 0; i < count_of(a) && i < count_of(b); ++i) {
    if (const int order = compare(item(a, i), item(b, i))) return order;
  }
  return count_of(a) < count_of(b) ? -1 : count_of(a) > count_of(b);
}

integer find(const value& list, const value& key) {
  const integer n = count_of(list);
  if (list.type() == k::symbol_type) {
    if (key.type() != -k::symbol_type) return n;
    for (integer i = 0; i < n; ++i) {
      if (symbol_at(list, i) == key->symbol) return i;
    }
    return n;
  }
  for (integer i = 0; i < n; ++i) {
    const value one = item(list, i);
    if (one.is_atom() && key.is_atom() ? compare(one, key) == 0 : match(one, key)) return i;
  }
  return n;
}

std::string text_of(const value& x) {
  if (x.type() == -k::symbol_type) return x->symbol;
  if (x.type() == -k::char_type) return std::string(1, static_cast<char>(x->byte));
  if (x.type() == k::char_type) return std::string(k::items<char>(x.get()), static_cast<std::size_t>(x->count));
  if (x.type() == k::mixed_type && x->count == 0) return {};
  throw q_error("type");
}

integer whole_of(const value& x) {
  if (!x.is_atom() || !is_numeric(x.type())) throw q_error("type");
  const number n = number_of(x);
  if (n.is_real()) throw q_error("type");
  return n.whole;
}

integer checked_length(integer n) {
  if (n < 0 || n > (integer{1} << 30)) throw q_error("limit");
  return n;
}

bool truth_of(const value& x) {
  if (!x.is_atom() || !is_numeric(x.type())) throw q_error("type");
  return number_of(x).as_double() != 0;
}

}  // namespace k_host
