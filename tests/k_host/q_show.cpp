// SPDX-License-Identifier: BSL-1.0
// Numbers have 7 significant digits; lists of lists that are equally long are written in columns.
#include "q_show.hpp"

#include "q_verbs.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace k_host {

namespace {

using texts = std::vector<std::string>;

constexpr const char* names[20] = {"",     "boolean",  "guid",     "",       "byte",   "short",     "int",
                                   "long", "real",     "float",    "char",   "symbol", "timestamp", "month",
                                   "date", "datetime", "timespan", "minute", "second", "time"};
constexpr const char letters[] = " bg xhijefcspmdznuvt";

std::string printed(const char* pattern, auto... arguments) {
  char text[80];
  std::snprintf(text, sizeof text, pattern, arguments...);
  return text;
}

std::string date_text(integer days) {
  const int date = k::dj(static_cast<int>(days));
  return printed("%04d.%02d.%02d", date / 10000, date / 100 % 100, date % 100);
}

std::string clock_text(integer nanoseconds, int digits) {
  const integer seconds = nanoseconds / 1000000000, rest = nanoseconds % 1000000000;
  std::string text = printed("%02d:%02d:%02d", static_cast<int>(seconds / 3600), static_cast<int>(seconds / 60 % 60),
                             static_cast<int>(seconds % 60));
  return digits ? text + "." + printed("%09d", static_cast<int>(rest)).substr(0, static_cast<std::size_t>(digits))
                : text;
}

constexpr integer day = 86400000000000;

/// A number without its type's suffix.
std::string bare(const number& n) {
  if (n.type == k::char_type) return std::string(1, static_cast<char>(n.whole));
  if (n.type == k::boolean_type) return n.whole ? "1" : "0";
  if (n.type == k::byte_type) return printed("%02x", static_cast<unsigned>(n.whole));
  if (n.is_real()) {
    if (n.is_null()) return n.type == k::float_type ? "0n" : "0N";
    if (std::isinf(n.real)) return std::string(n.real < 0 ? "-" : "") + (n.type == k::float_type ? "0w" : "0W");
    return printed("%.7g", n.real == 0 ? 0.0 : n.real);
  }
  if (n.is_null()) return "0N";
  const bool far =
      n.type == k::date_type ? std::abs(n.whole) > 2000000 : item_size(n.type) == 4 && std::abs(n.whole) > 400000000;
  switch (far ? int{k::long_type} : n.type) {
    case k::date_type:
      return date_text(n.whole);
    case k::month_type:
      return printed("%04d.%02d", static_cast<int>(2000 + (n.whole - (n.whole < 0 ? 11 : 0)) / 12),
                     static_cast<int>((n.whole % 12 + 12) % 12 + 1));
    case k::minute_type:
      return clock_text(n.whole * 60000000000, 0).substr(0, 5);
    case k::second_type:
      return clock_text(n.whole * 1000000000, 0);
    case k::time_type:
      return clock_text(n.whole * 1000000, 3);
    case k::timespan_type:
      return printed("%d", static_cast<int>(n.whole / day)) + "D" + clock_text(n.whole % day, 9);
    case k::timestamp_type: {
      const integer days = (n.whole >= 0 ? n.whole : n.whole - day + 1) / day;
      return date_text(days) + "D" + clock_text(n.whole - days * day, 9);
    }
    default:
      break;
  }
  const integer most = item_size(n.type) == 2   ? k::infinite_short
                       : item_size(n.type) == 4 ? integer{k::infinite_int}
                                                : k::infinite_long;
  if (n.whole == most || n.whole == -most) return n.whole < 0 ? "-0W" : "0W";
  return printed("%lld", static_cast<long long>(n.whole));
}

/// What follows an atom, or all of a list's items.
std::string suffix(int type, const std::string& text, bool atom) {
  switch (type) {
    case k::boolean_type:
      return "b";
    case k::short_type:
      return "h";
    case k::int_type:
      return "i";
    case k::real_type:
      return "e";
    case k::float_type:
      return text.find_first_of(".enw") == std::string::npos ? "f" : "";
    case k::month_type:
      return "m";
    case k::date_type:
      return atom && text == "0N" ? "d" : "";
    case k::time_type:
      return atom && text == "0N" ? "t" : "";
    default:
      return "";
  }
}

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '\n')
      result += "\\n";
    else if (c == '\t')
      result += "\\t";
    else if (c == '\r')
      result += "\\r";
    else if (c == '"' || c == '\\')
      result += std::string("\\") + c;
    else if (static_cast<unsigned char>(c) < ' ' || static_cast<unsigned char>(c) == 127)
      result += printed("\\%03o", static_cast<unsigned>(static_cast<unsigned char>(c)));
    else
      result += c;
  }
  return result + "\"";
}

std::string guid_text(const value& x) {
  std::string text;
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += "-";
    text += printed("%02x", static_cast<unsigned>(k::items<unsigned char>(x.get())[i]));
  }
  return text;
}

std::string atom_text(const value& x) {
  const int type = -x.type();
  if (type == k::symbol_type) return std::string("`") + x->symbol;
  if (type == k::guid_type) return guid_text(x);
  if (type == k::char_type) return quoted(text_of(x));
  const std::string text = bare(number_of(x));
  if (type == k::byte_type) return "0x" + text;
  return text + suffix(type, text, true);
}

std::string simple_list_text(const value& x) {
  const integer n = count_of(x);
  const int type = x.type();
  if (type == k::char_type) return (n == 1 ? "," : "") + quoted(text_of(x));
  if (n == 0) return "`" + type_name(type) + "$()";
  std::string text = n == 1 ? "," : "";
  const bool together = type == k::boolean_type || type == k::byte_type;
  if (type == k::byte_type) text += "0x";
  for (integer i = 0; i < n; ++i) {
    if (i && !together && type != k::symbol_type) text += " ";
    if (type == k::symbol_type) text += "`";
    text += plain_text(item(x, i));
  }
  return text + suffix(type, text, false);
}

std::string function_text(const value& x) {
  if (x.type() <= k::ternary_type && x.type() > k::lambda_type) return verb_of(x).name;
  if (x.type() == k::lambda_type) return text_of(value::of(k::items<object>(x.get())[0]));
  if (x.type() == k::foreign_type) return "code";
  auto part = [&](integer i) {
    object one = k::items<object>(x.get())[i];
    return one ? one_line(value::of(one)) : std::string();
  };
  if (x.type() >= k::each_type) {
    static constexpr const char* iterators[] = {"'", "/", "\\", "':", "/:", "\\:"};
    return part(0) + iterators[x.type() - k::each_type];
  }
  std::string text = part(0) + "[";
  for (integer i = 1; i < x->count; ++i) text += (i > 1 ? ";" : "") + part(i);
  while (text.back() == ';') text.pop_back();
  return text + "]";
}

std::size_t width_of(const texts& column) {
  std::size_t width = 0;
  for (auto& text : column) width = std::max(width, text.size());
  return width;
}

std::string padded(const std::string& text, std::size_t width) {
  return text + std::string(width > text.size() ? width - text.size() : 0, ' ');
}

/// Whether a list of lists is written in columns.
bool is_rectangular(const value& list) {
  const integer n = count_of(list);
  if (list.type() != k::mixed_type || n == 0) return false;
  for (integer i = 0; i < n; ++i) {
    const value row = item(list, i);
    if (!row.is_list() || row->count == 0 || row->count != item(list, 0)->count) return false;
    if (row.type() == k::char_type || row.type() == k::boolean_type || row.type() == k::byte_type) return false;
  }
  return true;
}

/// An item of a simple list in a column, where nulls are blank.
std::string cell_text(const value& atom) {
  const bool blank = is_numeric(atom.type()) && number_of(atom).is_null();
  return blank ? "" : plain_text(atom);
}

/// A text for each item, as in a column of a table.
texts column_texts(const value& list) {
  texts result;
  const integer n = count_of(list);
  if (list.type() != k::mixed_type) {
    for (integer i = 0; i < n; ++i) result.push_back(cell_text(item(list, i)));
    return result;
  }
  if (!is_rectangular(list)) {
    for (integer i = 0; i < n; ++i) result.push_back(one_line(item(list, i)));
    return result;
  }
  result.resize(static_cast<std::size_t>(n));
  for (integer c = 0; c < item(list, 0)->count; ++c) {
    texts column;
    for (integer i = 0; i < n; ++i) {
      const value row = item(list, i);
      column.push_back(row.type() == k::mixed_type ? one_line(item(row, c)) : cell_text(item(row, c)));
    }
    for (std::size_t i = 0; i < column.size(); ++i) {
      result[i] += (c ? " " : "") + padded(column[i], width_of(column));
    }
  }
  return result;
}

/// Header, rule, rows.
texts table_lines(const value& table) {
  texts lines(static_cast<std::size_t>(count_of(table)) + 2);
  for (integer c = 0; c < count_of(table.column_names()); ++c) {
    texts column = column_texts(item(table.columns(), c));
    column.insert(column.begin(), item(table.column_names(), c)->symbol);
    const std::size_t width = width_of(column);
    for (std::size_t i = 0; i < column.size(); ++i) {
      lines[i ? i + 1 : 0] += (c ? " " : "") + padded(column[i], width);
    }
  }
  lines[1] = std::string(lines[0].size(), '-');
  return lines;
}

texts dictionary_lines(const value& x) {
  const value keys = x.keys(), entries = x.values();
  const bool keyed = keys.is_table() && entries.is_table();
  texts left = keyed ? table_lines(keys) : column_texts(keys.is_table() ? list_of(items_of(keys)) : keys);
  const texts right = keyed ? table_lines(entries) : entries.is_table() ? table_lines(entries) : column_texts(entries);
  const std::size_t width = width_of(left);
  for (std::size_t i = 0; i < left.size(); ++i) {
    left[i] = padded(left[i], width) + "| " + (i < right.size() ? right[i] : "");
  }
  return left;
}

}  // namespace

std::string type_name(int type) {
  return type > 0 && type < 20 ? names[type] : "";
}
char type_letter(int type) {
  return type > 0 && type < 20 ? letters[type] : ' ';
}

int type_named(const std::string& name) {
  for (int type = 1; type < 20; ++type) {
    if (name == names[type] && *names[type]) return type;
    if (name.size() == 1 && name[0] == letters[type] && name[0] != ' ') return type;
  }
  return 0;
}

std::string plain_text(const value& x) {
  if (x.type() == -k::symbol_type) return x->symbol;
  return x.type() == -k::guid_type ? guid_text(x) : bare(number_of(x));
}

std::string one_line(const value& x) {
  if (x.is_null()) return "::";
  if (x.is_dictionary()) {
    const std::string keys = one_line(x.keys());
    const bool simple = x.keys().is_list() && x.keys()->count != 1 && keys.find('$') == std::string::npos;
    return (simple || keys == "()" ? keys : "(" + keys + ")") + "!" + one_line(x.values());
  }
  if (x.is_table()) return "+" + one_line(value::of(x->table));
  if (x.is_function()) return function_text(x);
  if (x.is_atom()) return atom_text(x);
  if (x.type() != k::mixed_type) return simple_list_text(x);
  std::string text;
  for (auto& one : items_of(x)) text += (text.empty() ? "" : ";") + one_line(one);
  return x->count == 1 ? "," + text : "(" + text + ")";
}

std::vector<std::string> console_lines(const value& x) {
  if (x.is_null()) return {};
  if (x.is_table()) return table_lines(x);
  if (x.is_dictionary() && count_of(x) > 0) return dictionary_lines(x);
  if (x.type() == k::mixed_type && x->count > 0) {
    return x->count > 1 || is_rectangular(x) ? column_texts(x) : texts{one_line(x)};
  }
  return {one_line(x)};
}

std::string displayed(const value& x) {
  constexpr std::size_t width = 79, height = 23;
  std::string result;
  const texts lines = console_lines(x);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (i + 1 == height && lines.size() > height) return result + "..\n";
    result += (lines[i].size() > width ? lines[i].substr(0, width - 2) + ".." : lines[i]) + "\n";
  }
  return result;
}

}  // namespace k_host
