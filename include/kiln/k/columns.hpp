// SPDX-License-Identifier: BSL-1.0
// Tables, dictionaries of columns and lists of columns as one matrix: rows by columns, in the columns' common dtype.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <kiln/dynamic/shape.hpp>
#include <kiln/k/arguments.hpp>
#include <kiln/k/held_tensors.hpp>

namespace kiln::k::tensors {

/// What becomes of nulls: numbers like others, an error, or 0.
enum class null_policy { keep, error, zero };

/// Columns of a table, as one matrix.
struct column_matrix {
  tensor values;
  std::vector<std::string> coded;  ///< the columns of symbols, whose values are places in their key
  std::vector<owned> keys;         ///< for each of them, its symbols in the order of the codes
};

/// A column and what messages call it: its name, or its place.
struct column {
  std::string called;
  owned items;
};

/// The dtype of a column; temporals are what holds them: integers, but datetimes, which are days as float64.
inline std::optional<dtype> dtype_of_column(int type) {
  switch (type) {
    case symbol_type:  // codes
    case timestamp_type:
    case timespan_type:
      return dtype::int64;
    case month_type:
    case date_type:
    case minute_type:
    case second_type:
    case time_type:
      return dtype::int32;
    case datetime_type:
      return dtype::float64;
    default:
      return type == mixed_type ? std::nullopt : dtype_of_type(type);
  }
}

/// The columns of a table, of a dictionary with symbols as keys, or of a list.
/// @throws value_error for anything else
inline std::vector<column> columns_of(object x) {
  std::vector<column> found;
  object named = x->type == table_type ? x->table : x;
  if (named->type == dictionary_type) {
    object keys = keys_of(named), values = values_of(named);
    if (keys->type == table_type) throw value_error("a keyed table: take the key off first, by 0!");
    if (keys->type != symbol_type || !is_list(values) || values->count != keys->count)
      throw value_error(message("a dictionary of columns has a list of symbols as keys and a list of columns, given ",
                                kind_name(keys), " ! ", kind_name(values)));
    for (std::int64_t i = 0; i < keys->count; ++i)
      found.push_back({message("`", items<const char*>(keys)[i]), item_of(values, i)});
  } else if (x->type == mixed_type && !handle_number(x)) {
    for (std::int64_t i = 0; i < x->count; ++i) found.push_back({message(i), item_of(x, i)});
  } else {
    throw value_error(message("expected a table, a dictionary of columns or a list of columns, given ", describe(x)));
  }
  if (found.empty()) throw value_error("no columns given");
  return found;
}

/// Codes of symbols, in the order in which they first appear, and their key. The policy `zero` gives the null code 0.
inline std::pair<std::vector<std::int64_t>, owned> codes_of(const column& from, null_policy nulls) {
  std::unordered_map<const char*, std::int64_t> places;  // interned: equal symbols are one address
  std::vector<const char*> key;
  std::vector<std::int64_t> codes;
  const auto code = [&](const char* symbol) {
    const auto [place, fresh] = places.try_emplace(symbol, static_cast<std::int64_t>(key.size()));
    if (fresh) key.push_back(symbol);
    return place->second;
  };
  const auto symbols = span_of<const char*>(from.items.get());
  for (std::size_t row = 0; row < symbols.size(); ++row) {
    if (*symbols[row] != 0 || nulls == null_policy::keep) continue;
    if (nulls == null_policy::error) throw value_error(message("column ", from.called, " has a null in row ", row));
    code(symbols[row]);
    break;
  }
  for (const char* symbol : symbols) codes.push_back(code(symbol));
  owned list(ktn(symbol_type, static_cast<std::int64_t>(key.size())));
  std::copy(key.begin(), key.end(), items<const char*>(list.get()));
  return {std::move(codes), std::move(list)};
}

/// Treats the nulls among numbers by the policy.
template <class T, class IsNull>
void settle_nulls(const column& from, T* values, null_policy nulls, IsNull is_null) {
  for (std::int64_t row = 0; row < from.items.get()->count; ++row) {
    if (!is_null(values[row])) continue;
    if (nulls == null_policy::error) throw value_error(message("column ", from.called, " has a null in row ", row));
    values[row] = 0;
  }
}

/// A column of numbers or temporals as a tensor of one dimension. Booleans, bytes and chars have no nulls.
inline tensor numbers_of(const column& from, dtype type, null_policy nulls) {
  object x = from.items.get();
  return written(type, {x->count}, [&](void* to) {
    std::memcpy(to, items<char>(x), static_cast<std::size_t>(x->count) * size_of(type));
    if (nulls == null_policy::keep) return;
    const auto equals = [](auto null) { return [null](auto value) { return value == null; }; };
    const auto is_nan = [](auto value) { return value != value; };
    if (type == dtype::int16) settle_nulls(from, static_cast<std::int16_t*>(to), nulls, equals(null_short));
    if (type == dtype::int32) settle_nulls(from, static_cast<std::int32_t*>(to), nulls, equals(null_int));
    if (type == dtype::int64) settle_nulls(from, static_cast<std::int64_t*>(to), nulls, equals(null_long));
    if (type == dtype::float32) settle_nulls(from, static_cast<float*>(to), nulls, is_nan);
    if (type == dtype::float64) settle_nulls(from, static_cast<double*>(to), nulls, is_nan);
  });
}

/// The matrix of columns, rows by columns, and the keys of those that hold symbols.
/// @throws value_error for columns of other lengths or of what no dtype holds (nested, strings, guids, enumerations),
/// and for nulls where the policy says so; the text names the column
inline column_matrix matrix_of_columns(object x, null_policy nulls = null_policy::keep) {
  column_matrix made;
  std::vector<tensor> parts;
  const std::vector<column> all = columns_of(x);
  const column& first = all.front();
  for (const column& each : all) {
    object list = each.items.get();
    const auto type = is_list(list) ? dtype_of_column(list->type) : std::nullopt;
    if (!type)
      throw value_error(message("column ", each.called, " is a ", kind_name(list),
                                ", expected a list of numbers, temporals or symbols",
                                list->type >= enumeration_type && list->type < 77 ? ": take its value first" : ""));
    if (list->count != first.items.get()->count)
      throw value_error(message("column ", each.called, " has ", list->count, " rows, column ", first.called, " has ",
                                first.items.get()->count));
    if (list->type != symbol_type) {
      parts.push_back(numbers_of(each, *type, nulls));
      continue;
    }
    auto [codes, key] = codes_of(each, nulls);
    parts.push_back(copied(*type, {list->count}, codes.data()));
    made.coded.push_back(each.called);
    made.keys.push_back(std::move(key));
  }
  made.values = dynamic::stack(parts, 1).eval();
  return made;
}

/// A value of q as a tensor; a table or a dictionary of columns too, where none of them needs a key.
inline tensor tensor_of_value(object x) {
  if (x->type != table_type && x->type != dictionary_type) return to_tensor(x);
  column_matrix made = matrix_of_columns(x);
  if (!made.coded.empty())
    throw value_error(message("column ", made.coded[0], " has symbols: `columns` gives their codes, and the key"));
  return std::move(made.values);
}

/// columns x, columns(x;options): (handle;column!key), for a table, dictionary or list of columns.
inline object columns(std::string_view, object x) {
  object from = x;
  null_policy nulls = null_policy::keep;
  // A list whose first item is a column is a list of columns; otherwise the list is that of arguments.
  object first = x->type == mixed_type && x->count > 0 ? items<object>(x)[0] : nullptr;
  const bool whole = first && (first->type == table_type || first->type == dictionary_type);
  const auto options = first && x->count == 2 && (whole || (first->type == mixed_type && !handle_number(first)))
                           ? read_options(items<object>(x)[1])
                           : std::nullopt;
  if (whole && x->count > 1 && !options)
    throw value_error(message("expected options behind the columns, given ", describe(items<object>(x)[1])));
  if (whole || options) from = first;
  if (options)
    for (const option& each : *options) {
      const auto said = read_symbol(each.value.get()).value_or("");
      if (each.name != "nulls") throw value_error(message("unrecognized option `", each.name, ", expected nulls"));
      if (said != "keep" && said != "error" && said != "zero")
        throw value_error(message("option nulls is `keep, `error or `zero, given ",
                                  said.empty() ? describe(each.value.get()) : message("`", said)));
      nulls = said == "keep" ? null_policy::keep : said == "error" ? null_policy::error : null_policy::zero;
    }
  column_matrix made = matrix_of_columns(from, nulls);
  // A list of columns has no names: the key goes by place.
  const bool places = from->type == mixed_type;
  longs at;
  for (std::string& each : made.coded)
    if (places)
      at.push_back(std::stoll(each));
    else
      each.erase(0, 1);  // the backtick that messages have
  owned names(places ? make_longs(at) : make_symbols(made.coded));
  owned keys(xD(names.release(), make_list(std::move(made.keys))));
  owned handle(tensor_handle(std::move(made.values)));
  return knk(2, handle.release(), keys.release());
}

}  // namespace kiln::k::tensors
