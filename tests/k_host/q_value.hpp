// SPDX-License-Identifier: BSL-1.0
// Values of q as the interpreter of tests/k_host holds them: an owner of an object, numbers of any type in one struct,
// and what lists, dictionaries and tables consist of.
#pragma once

#include "runtime.hpp"

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace k_host {

using integer = std::int64_t;

/// Owns one reference; empty for nothing, as the gap in f[;x].
class value {
 public:
  value() = default;
  explicit value(object owned) : x_(owned) {}
  value(const value& other) : x_(other.x_ ? k::r1(other.x_) : nullptr) {}
  value(value&& other) noexcept : x_(std::exchange(other.x_, nullptr)) {}
  value& operator=(value other) noexcept {
    std::swap(x_, other.x_);
    return *this;
  }
  ~value() {
    if (x_) k::r0(x_);
  }
  /// Another reference to an object that someone else owns.
  static value of(object borrowed) { return value(k::r1(borrowed)); }

  explicit operator bool() const { return x_ != nullptr; }
  object get() const { return x_; }
  object operator->() const { return x_; }
  object release() { return std::exchange(x_, nullptr); }
  int type() const { return x_->type; }
  bool is_atom() const { return x_->type < 0; }
  bool is_list() const { return k::is_list(x_); }
  bool is_dictionary() const { return x_->type == k::dictionary_type; }
  bool is_table() const { return x_->type == k::table_type; }
  bool is_null() const { return k::is_null(x_); }
  bool is_function() const { return x_->type >= k::lambda_type && !is_null(); }
  /// Of a dictionary; throw 'type for others.
  value keys() const { return of(k::keys_of(checked(k::dictionary_type))); }
  value values() const { return of(k::values_of(checked(k::dictionary_type))); }
  /// Of a table; throw 'type for others.
  value columns() const { return of(k::values_of(checked(k::table_type)->table)); }
  value column_names() const { return of(k::keys_of(checked(k::table_type)->table)); }

 private:
  object checked(int type) const;

  object x_ = nullptr;
};

using values = std::vector<value>;

/// An error of q, 'text; where it happened is added by the innermost expression that knows (q_eval.hpp).
struct q_error : std::runtime_error {
  using std::runtime_error::runtime_error;
  std::string source;  // the line, or the function, that was evaluated
  int column = -1;     // in source
  int level = 0;       // 0 for a line, 1 for a function called from there ...
};

/// A number, char, boolean or temporal value of any type: in `whole` or, for real, float and datetime, in `real`.
/// Nulls of all types of whole numbers are null_long here.
struct number {
  int type = k::long_type;
  integer whole = 0;
  double real = 0;

  bool is_real() const { return type == k::real_type || type == k::float_type || type == k::datetime_type; }
  bool is_null() const { return is_real() ? real != real : whole == k::null_long; }
  double as_double() const { return is_real() ? real : is_null() ? k::null_float : static_cast<double>(whole); }
  /// Rounded to nearest, as casts do.
  integer as_integer() const;
};

/// Types, without sign, that `number` can hold.
bool is_numeric(int type);
/// Item i of a simple list, or an atom.
number number_of(const value& x, integer i = 0);
value atom_of(const number& n);
void store(object list, integer i, const number& n);
/// n as the given type.
number converted(const number& n, int type);

value long_atom(integer x);
value float_atom(double x);
value boolean_atom(bool x);
value symbol_atom(const std::string& text);
value string_of(const std::string& text);
value symbols_of(const std::vector<std::string>& texts);
value longs_of(const std::vector<integer>& items);
value general_null();
value empty_list(int type = k::mixed_type);

/// The items of a list as they are: the result stays mixed.
value mixed_of(const values& items);
/// A list of items, which becomes simple, or a table, where all of them are atoms of one type, or dictionaries alike.
value list_of(const values& items);
value dictionary_of(value keys, value entries);
/// Throws 'length unless all columns are equally long; atoms are repeated.
value table_of(const value& names, const values& columns);

bool has_items(const value& x);
/// Items of a list, keys of a dictionary, rows of a table; 1 for all others.
integer count_of(const value& x);
/// Item i of a list, value i of a dictionary, row i of a table; an atom itself. In range.
value item(const value& x, integer i);
values items_of(const value& x);
/// What stands where nothing was found in x.
value null_like(const value& x);

bool match(const value& a, const value& b);
/// Less than 0, 0 or more, as q sorts.
int compare(const value& a, const value& b);
/// Where key is in a list; its count if nowhere.
integer find(const value& list, const value& key);

/// A symbol's or string's text; throws 'type for others.
std::string text_of(const value& x);
/// A whole number, of any type, that an atom holds; throws 'type for others.
integer whole_of(const value& x);
/// n, if a list can be so long; throws 'limit for others, and for null.
integer checked_length(integer n);
/// What if and while take for true.
bool truth_of(const value& x);

}  // namespace k_host
