// SPDX-License-Identifier: BSL-1.0
// Verbs that work on each number by itself, or sum numbers up, with the types that q documents for their results.
#include "q_verbs.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace k_host {

namespace {

bool is_temporal(int type) {
  return type >= k::timestamp_type && type <= k::time_type;
}

/// Of + - *: what has no type below int stays, the wider wins.
int arithmetic_type(int a, int b) {
  if (a == k::char_type || b == k::char_type || !is_numeric(a) || !is_numeric(b)) throw q_error("type");
  if (is_temporal(a) || is_temporal(b)) return a == b ? a : is_temporal(a) ? a : b;
  if (a == k::float_type || b == k::float_type) return k::float_type;
  if (a == k::real_type || b == k::real_type) return k::real_type;
  return std::max({a, b, static_cast<int>(k::int_type)});
}

/// Of & and |, which lead nowhere else.
int wider_type(int a, int b) {
  return std::max(a, b);
}

template <class Real, class Whole>
number combine(const number& a, const number& b, int type, Real real, Whole whole) {
  number result{type, 0, 0};
  if (result.is_real()) {
    result.real = real(a.as_double(), b.as_double());
    if (type == k::real_type) result.real = static_cast<double>(static_cast<float>(result.real));
  } else {
    const auto x = a.is_real() ? a.as_integer() : a.whole, y = b.is_real() ? b.as_integer() : b.whole;
    result.whole = x == k::null_long || y == k::null_long ? k::null_long : static_cast<integer>(whole(x, y));
  }
  return result;
}

using wrapping = std::uint64_t;  // whole numbers wrap around

number plus(const number& a, const number& b) {
  return combine(
      a, b, arithmetic_type(a.type, b.type), [](double x, double y) { return x + y; },
      [](integer x, integer y) { return static_cast<wrapping>(x) + static_cast<wrapping>(y); });
}
number minus(const number& a, const number& b) {
  int type = arithmetic_type(a.type, b.type);
  if (a.type == b.type && is_temporal(a.type)) {
    type = a.type == k::timestamp_type ? int{k::timespan_type} : a.type == k::date_type ? int{k::int_type} : a.type;
  }
  return combine(
      a, b, type, [](double x, double y) { return x - y; },
      [](integer x, integer y) { return static_cast<wrapping>(x) - static_cast<wrapping>(y); });
}
number times(const number& a, const number& b) {
  return combine(
      a, b, arithmetic_type(a.type, b.type), [](double x, double y) { return x * y; },
      [](integer x, integer y) { return static_cast<wrapping>(x) * static_cast<wrapping>(y); });
}
number over(const number& a, const number& b) {
  return {k::float_type, 0, a.as_double() / b.as_double()};
}

bool less(const number& a, const number& b) {
  if (a.is_null() || b.is_null()) return a.is_null() && !b.is_null();
  return a.is_real() || b.is_real() ? a.as_double() < b.as_double() : a.whole < b.whole;
}
number lesser(const number& a, const number& b) {
  return converted(less(b, a) ? b : a, wider_type(a.type, b.type));
}
number greater(const number& a, const number& b) {
  return converted(less(a, b) ? b : a, wider_type(a.type, b.type));
}

integer floored(integer x, integer y) {
  if (y == 0) return k::null_long;
  const integer quotient = x / y;
  return quotient - (x % y != 0 && (x < 0) != (y < 0));
}
number quotient(const number& a, const number& b) {
  const int type = std::max({a.is_real() ? int{k::long_type} : a.type, b.is_real() ? 0 : b.type, int{k::int_type}});
  if (a.is_real() || b.is_real()) {
    return converted({k::float_type, 0, std::floor(a.as_double() / b.as_double())}, k::long_type);
  }
  return combine(
      a, b, type, [](double x, double) { return x; }, floored);
}
number remainder(const number& a, const number& b) {
  return combine(
      a, b, arithmetic_type(a.type, b.type), [](double x, double y) { return x - y * std::floor(x / y); },
      [](integer x, integer y) {
        if (y == 0) return k::null_long;
        const integer rest = x % y;
        return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
      });
}
number power(const number& a, const number& b) {
  return {k::float_type, 0, std::pow(a.as_double(), b.as_double())};
}
number log_to(const number& a, const number& b) {
  return {k::float_type, 0, std::log(b.as_double()) / std::log(a.as_double())};
}
number bar(const number& a, const number& b) {
  number result = times(a, quotient(b, a));
  if (a.is_real() || b.is_real())
    result = {k::float_type, 0, a.as_double() * std::floor(b.as_double() / a.as_double())};
  return result;
}
number filled(const number& a, const number& b) {
  return converted(b.is_null() ? a : b, wider_type(a.type, b.type));
}

/// A verb on all numbers of x, to any depth.
template <class Function>
value each_number(const value& x, Function function) {
  if (x.is_dictionary()) return dictionary_of(x.keys(), each_number(x.values(), function));
  if (x.is_table()) {
    values columns;
    for (auto& column : items_of(x.columns())) columns.push_back(each_number(column, function));
    return table_of(x.column_names(), columns);
  }
  if (x.is_atom()) return atom_of(function(number_of(x)));
  if (!x.is_list()) throw q_error("type");
  if (x.type() == k::mixed_type) {
    values results;
    for (auto& one : items_of(x)) results.push_back(each_number(one, function));
    return list_of(results);
  }
  if (!is_numeric(x.type())) throw q_error("type");
  const integer n = count_of(x);
  value result(k::ktn(function(number{x.type(), 0, 0}).type, n));
  for (integer i = 0; i < n; ++i) store(result.get(), i, function(number_of(x, i)));
  return result;
}

template <class Function>
value pairwise(const value& a, const value& b, Function function);

template <class Function>
value pairwise_dictionaries(const value& a, const value& b, Function function) {
  if (!a.is_dictionary()) return dictionary_of(b.keys(), pairwise(a, b.values(), function));
  if (!b.is_dictionary()) return dictionary_of(a.keys(), pairwise(a.values(), b, function));
  values keys = items_of(a.keys()), results;
  const value other = b.keys();
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const integer found = find(other, keys[i]);
    const value mine = item(a.values(), static_cast<integer>(i));
    results.push_back(found < count_of(other) ? pairwise(mine, item(b.values(), found), function) : mine);
  }
  for (integer i = 0; i < count_of(other); ++i) {
    if (find(a.keys(), item(other, i)) < count_of(a.keys())) continue;
    keys.push_back(item(other, i));
    results.push_back(item(b.values(), i));
  }
  return dictionary_of(list_of(keys), list_of(results));
}

/// A verb on numbers of a and b that stand at the same place; an atom stands at all of them.
template <class Function>
value pairwise(const value& a, const value& b, Function function) {
  if (a.is_dictionary() || b.is_dictionary()) return pairwise_dictionaries(a, b, function);
  if (a.is_table() || b.is_table()) {
    values columns;
    const value& one = a.is_table() ? a : b;
    for (integer i = 0; i < count_of(one.columns()); ++i) {
      columns.push_back(
          pairwise(a.is_table() ? item(a.columns(), i) : a, b.is_table() ? item(b.columns(), i) : b, function));
    }
    return table_of(one.column_names(), columns);
  }
  if (a.is_atom() && b.is_atom()) return function.atoms(a, b);
  if (!(a.is_atom() || a.is_list()) || !(b.is_atom() || b.is_list())) throw q_error("type");
  const bool both = a.is_list() && b.is_list();
  if (both && a->count != b->count) throw q_error("length");
  const integer n = a.is_list() ? a->count : b->count;
  if (is_numeric(a.type()) && is_numeric(b.type())) {
    const int type = function({std::abs(a.type()), 0, 0}, {std::abs(b.type()), 0, 0}).type;
    value result(k::ktn(type, n));
    for (integer i = 0; i < n; ++i) store(result.get(), i, function(number_of(a, i), number_of(b, i)));
    return result;
  }
  values results;
  for (integer i = 0; i < n; ++i) {
    results.push_back(pairwise(a.is_list() ? item(a, i) : a, b.is_list() ? item(b, i) : b, function));
  }
  return results.empty() ? empty_list(function.empty) : list_of(results);
}

/// Numbers alone.
struct of_numbers {
  number (*function)(const number&, const number&);
  int empty = k::mixed_type;
  number operator()(const number& a, const number& b) const { return function(a, b); }
  value atoms(const value& a, const value& b) const { return atom_of(function(number_of(a), number_of(b))); }
};

/// Numbers, and symbols among each other.
struct of_order {
  bool (*holds)(int);
  int empty = k::boolean_type;
  number operator()(const number& a, const number& b) const {
    return {k::boolean_type, holds(compare(atom_of(a), atom_of(b))), 0};
  }
  value atoms(const value& a, const value& b) const {
    if (a.type() != b.type() && !(is_numeric(a.type()) && is_numeric(b.type()))) throw q_error("type");
    return boolean_atom(holds(compare(a, b)));
  }
};

template <auto Function>
value binary_verb(const value& a, const value& b) {
  return pairwise(a, b, of_numbers{Function});
}

template <double (*Function)(double)>
value float_verb(const value& x) {
  return each_number(x, [](const number& n) { return number{k::float_type, 0, Function(n.as_double())}; });
}

double reciprocal_of(double x) {
  return 1 / x;
}
double sine(double x) {
  return std::sin(x);
}
double cosine(double x) {
  return std::cos(x);
}
double tangent(double x) {
  return std::tan(x);
}
double arcsine(double x) {
  return std::asin(x);
}
double arccosine(double x) {
  return std::acos(x);
}
double arctangent(double x) {
  return std::atan(x);
}
double exponential(double x) {
  return std::exp(x);
}
double logarithm(double x) {
  return std::log(x);
}
double root(double x) {
  return std::sqrt(x);
}

value negative(const value& x) {
  return each_number(x, [](const number& n) {
    number result = minus({n.type, 0, 0}, n);
    return is_temporal(n.type) ? converted(result, n.type) : result;
  });
}
value absolute(const value& x) {
  return each_number(x, [](const number& n) {
    number result = n;
    result.type = std::max(n.type, int{k::int_type});
    result.real = std::abs(n.real);
    if (n.whole < 0 && !n.is_null()) result.whole = -n.whole;
    return result;
  });
}
template <double (*Round)(double)>
value rounded(const value& x) {
  return each_number(x, [](const number& n) {
    if (!n.is_real()) return n;
    return converted({k::float_type, 0, Round(n.real)}, k::long_type);
  });
}
double floor_of(double x) {
  return std::floor(x);
}
double ceiling_of(double x) {
  return std::ceil(x);
}
value sign(const value& x) {
  return each_number(x, [](const number& n) {
    return number{k::int_type, n.is_null() ? -1 : (n.as_double() > 0) - (n.as_double() < 0), 0};
  });
}
value negation(const value& x) {
  return each_number(x, [](const number& n) { return number{k::boolean_type, n.as_double() == 0, 0}; });
}
value nulls(const value& x) {
  if (x.type() == -k::symbol_type) return boolean_atom(*x->symbol == 0);
  if (x.type() == k::mixed_type || x.type() == k::symbol_type) {
    values results;
    for (auto& one : items_of(x)) results.push_back(nulls(one));
    return results.empty() ? empty_list(k::boolean_type) : list_of(results);
  }
  if (x.is_null()) return boolean_atom(true);
  return each_number(x, [](const number& n) {
    return number{k::boolean_type, n.type == k::char_type ? n.whole == ' ' : n.is_null(), 0};
  });
}

/// A binary verb between the items of a list, from the left; dictionaries by their values, atoms are one item.
value folded(const value& x, binary verb, const value& none) {
  const value list = x.is_dictionary() ? x.values() : x;
  if (list.is_table()) {
    values columns;
    for (auto& column : items_of(list.columns())) columns.push_back(folded(column, verb, none));
    return dictionary_of(list.column_names(), list_of(columns));
  }
  if (!list.is_list()) return verb(none, list);
  if (count_of(list) == 0) return none;
  value result = item(list, 0);
  for (integer i = 1; i < count_of(list); ++i) result = verb(result, item(list, i));
  return result;
}

/// The running results of the same.
value scanned(const value& x, binary verb) {
  if (x.is_dictionary()) return dictionary_of(x.keys(), scanned(x.values(), verb));
  if (!x.is_list() || count_of(x) == 0) return x;
  values results{item(x, 0)};
  for (integer i = 1; i < count_of(x); ++i) results.push_back(verb(results.back(), item(x, i)));
  return list_of(results);
}

value without_nulls(const value& x) {
  if (!x.is_list() || x.type() == k::mixed_type) return x;
  std::vector<integer> kept;
  for (integer i = 0; i < count_of(x); ++i) {
    if (!number_of(x, i).is_null()) kept.push_back(i);
  }
  return at_all(x, kept);
}

value total(const value& x) {
  if (x.is_atom()) return x;
  if (x.is_list() && x.type() != k::mixed_type) {
    number sum = converted({k::long_type, 0, 0}, arithmetic_type(x.type(), x.type()));
    for (integer i = 0; i < count_of(x); ++i) {
      if (const number n = number_of(x, i); !n.is_null()) sum = plus(sum, n);
    }
    return atom_of(sum);
  }
  return folded(x, add, long_atom(0));
}
value product(const value& x) {
  return x.is_atom() ? x : folded(without_nulls(x), binary_verb<times>, long_atom(1));
}
value smallest(const value& x) {
  return x.is_atom() ? x : folded(without_nulls(x), binary_verb<lesser>, long_atom(k::infinite_long));
}
value largest(const value& x) {
  return x.is_atom() ? x : folded(x, binary_verb<greater>, long_atom(-k::infinite_long));
}
value average(const value& x) {
  const value list = x.is_dictionary() ? x.values() : without_nulls(x);
  return binary_verb<over>(total(list), long_atom(count_of(list)));
}
value variance(const value& x) {
  const value mean = average(x), deviation = binary_verb<minus>(x, mean);
  return average(binary_verb<times>(deviation, deviation));
}
value deviation(const value& x) {
  return float_verb<root>(variance(x));
}
value scaled(const value& x) {  // sample variance, of n-1
  const double n = static_cast<double>(count_of(x));
  return binary_verb<times>(variance(x), float_atom(n / (n - 1)));
}
value weighted_sum(const value& a, const value& b) {
  return total(binary_verb<times>(a, b));
}
value product_of_matrices(const value& a, const value& b) {
  if (a.type() != k::mixed_type) return total(binary_verb<times>(a, b));
  values rows;
  for (auto& row : items_of(a)) rows.push_back(total(binary_verb<times>(row, b)));
  return list_of(rows);
}

template <int... Signs>
bool one_of(int order) {
  return ((((order > 0) - (order < 0)) == Signs) || ...);
}
template <int... Signs>
value ordered(const value& a, const value& b) {
  return pairwise(a, b, of_order{one_of<Signs...>});
}

value between(const value& x, const value& range) {
  return binary_verb<lesser>(ordered<0, 1>(x, item(range, 0)), ordered<-1, 0>(x, item(range, 1)));
}

}  // namespace

value add(const value& a, const value& b) {
  return binary_verb<plus>(a, b);
}
value equal(const value& a, const value& b) {
  return ordered<0>(a, b);
}

void add_arithmetic() {
  add_verb("+", nullptr, add);
  add_verb("-", negative, binary_verb<minus>);
  add_verb("*", nullptr, binary_verb<times>);
  add_verb("%", float_verb<reciprocal_of>, binary_verb<over>);
  add_verb("&", nullptr, binary_verb<lesser>);
  add_verb("|", nullptr, binary_verb<greater>);
  add_verb("and", nullptr, binary_verb<lesser>);
  add_verb("or", nullptr, binary_verb<greater>);
  add_verb("=", nullptr, equal);
  add_verb("<", nullptr, ordered<-1>);
  add_verb(">", nullptr, ordered<1>);
  add_verb("<=", nullptr, ordered<-1, 0>);
  add_verb(">=", nullptr, ordered<0, 1>);
  add_verb("<>", nullptr, ordered<-1, 1>);
  add_verb("within", nullptr, between);
  add_verb("div", nullptr, binary_verb<quotient>);
  add_verb("mod", nullptr, binary_verb<remainder>);
  add_verb("xexp", nullptr, binary_verb<power>);
  add_verb("xlog", nullptr, binary_verb<log_to>);
  add_verb("xbar", nullptr, binary_verb<bar>);
  add_verb("^", nullptr, binary_verb<filled>);
  add_verb("mmu", nullptr, product_of_matrices);
  add_verb("wsum", nullptr, weighted_sum);
  add_verb("wavg", nullptr,
           [](const value& a, const value& b) { return binary_verb<over>(weighted_sum(a, b), total(a)); });
  add_verb("neg", negative);
  add_verb("abs", absolute);
  add_verb("floor", rounded<floor_of>);
  add_verb("ceiling", rounded<ceiling_of>);
  add_verb("signum", sign);
  add_verb("not", negation);
  add_verb("null", nulls);
  add_verb("reciprocal", float_verb<reciprocal_of>);
  add_verb("sqrt", float_verb<root>);
  add_verb("exp", float_verb<exponential>);
  add_verb("log", float_verb<logarithm>);
  add_verb("sin", float_verb<sine>);
  add_verb("cos", float_verb<cosine>);
  add_verb("tan", float_verb<tangent>);
  add_verb("asin", float_verb<arcsine>);
  add_verb("acos", float_verb<arccosine>);
  add_verb("atan", float_verb<arctangent>);
  add_verb("sum", total);
  add_verb("prd", product);
  add_verb("min", smallest);
  add_verb("max", largest);
  add_verb("avg", average);
  add_verb("var", variance);
  add_verb("dev", deviation);
  add_verb("svar", scaled);
  add_verb("sdev", [](const value& x) { return float_verb<root>(scaled(x)); });
  add_verb("all", [](const value& x) { return cast(symbol_atom("boolean"), smallest(x)); });
  add_verb("any", [](const value& x) {
    return count_of(x) == 0 ? boolean_atom(false) : cast(symbol_atom("boolean"), largest(x));
  });
  add_verb("sums", [](const value& x) { return scanned(x, add); });
  add_verb("prds", [](const value& x) { return scanned(x, binary_verb<times>); });
  add_verb("maxs", [](const value& x) { return scanned(x, binary_verb<greater>); });
  add_verb("mins", [](const value& x) { return scanned(x, binary_verb<lesser>); });
  add_verb("deltas", [](const value& x) {
    values results;
    for (integer i = 0; i < count_of(x); ++i) {
      results.push_back(i ? binary_verb<minus>(item(x, i), item(x, i - 1)) : item(x, 0));
    }
    return results.empty() ? x : list_of(results);
  });
}

}  // namespace k_host
