// SPDX-License-Identifier: BSL-1.0
// How one value of q is read as the arguments of a call: what is an argument list and what is one value, optional
// arguments by type from the right, operands that are handles or arrays, where the result goes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <kiln/k/held_tensors.hpp>
#include <kiln/k/session.hpp>

namespace kiln::k {

/// Types of optional arguments, as bits: what may follow a first operand without being taken for a part of it.
enum trailing : unsigned {
  no_trailing = 0,
  output_trailing = 1,    // a tensor's handle; `()` or `::` for in place
  symbol_trailing = 2,    // a symbol or a list of them
  flag_trailing = 4,      // a boolean
  long_trailing = 128,    // a long
  longs_trailing = 8,     // a long or a list of them
  number_trailing = 16,   // a long or float
  options_trailing = 32,  // named options, in any of their forms
  any_trailing = 64
};

/// A named option.
struct option {
  std::string name;
  owned value;
};

/// Named options: a dictionary with symbols as keys, a flat list of names and values, a list of pairs, or an even
/// number of symbols. None where the value has none of these forms.
inline std::optional<std::vector<option>> read_options(object x) {
  std::vector<option> found;
  if (x->type == dictionary_type) {
    const auto names = read_symbols(keys_of(x));
    if (!names || !is_list(values_of(x)) || names->size() != static_cast<std::size_t>(values_of(x)->count)) return {};
    for (std::size_t i = 0; i < names->size(); ++i)
      found.push_back({(*names)[i], item_of(values_of(x), static_cast<std::int64_t>(i))});
    return found;
  }
  if ((x->type != symbol_type && x->type != mixed_type) || x->count == 0) return {};
  const auto symbol_at = [&](std::int64_t i) { return read_symbol(item_of(x, i).get()).has_value(); };
  if (symbol_at(0)) {
    if (x->count % 2) return {};
    for (std::int64_t i = 0; i < x->count; i += 2) {
      if (!symbol_at(i)) return {};
      found.push_back({item_of(x, i).get()->symbol, item_of(x, i + 1)});
    }
    return found;
  }
  for (std::int64_t i = 0; i < x->count; ++i) {
    const owned pair = item_of(x, i);
    if ((pair.get()->type != symbol_type && pair.get()->type != mixed_type) || pair.get()->count != 2) return {};
    const owned key = item_of(pair.get(), 0);
    if (!read_symbol(key.get())) return {};
    found.push_back({key.get()->symbol, item_of(pair.get(), 1)});
  }
  return found;
}

/// Whether a value may be an optional argument of one of these types.
inline bool fits_trailing(object x, unsigned types) {
  if (types & any_trailing) return true;
  const int t = x->type;
  if ((types & output_trailing) && (handle_number(x) || is_null(x) || (t == mixed_type && x->count == 0))) return true;
  if ((types & symbol_trailing) && (t == symbol_type || t == -symbol_type)) return true;
  if ((types & flag_trailing) && t == -boolean_type) return true;
  if ((types & long_trailing) && t == -long_type) return true;
  if ((types & longs_trailing) && (t == long_type || t == -long_type)) return true;
  if ((types & number_trailing) && (t == -long_type || t == -float_type)) return true;
  return (types & options_trailing) && read_options(x);
}

/// An operand: a tensor, and whether it came as a handle.
struct operand {
  tensor value;
  bool handle = false;
};

/// Where a result goes: nowhere in particular, or into a tensor that the call names.
struct output {
  held_tensor* target = nullptr;
};

/// A long, a float, or a boolean as 0 or 1.
inline std::optional<double> read_value(object x) {
  if (const auto flag = read_flag(x)) return *flag ? 1.0 : 0.0;
  return read_number(x);
}

/// The arguments of a call.
class arguments {
 public:
  /// Reads `x`, which stays the caller's, as `least` to `most` arguments. A general list is the argument list, unless
  /// one argument is enough and what follows the first item fits none of the types that may; a simple list is one if
  /// two arguments are needed at least and it has as many items as there can be.
  /// @throws value_error when there are fewer or more than that.
  arguments(std::string_view name, object x, std::size_t least, std::size_t most, unsigned trailing = any_trailing)
      : name_(name), least_(least) {
    const auto count = is_list(x) ? static_cast<std::size_t>(x->count) : 0;
    if (is_null(x) && least == 0) return;
    if (x->type == mixed_type && !handle_number(x) && reads_as_list(x, count, most, trailing)) {
      for (std::size_t i = 0; i < count; ++i) items_.push_back(owned::share(items<object>(x)[i]));
    } else if (is_list(x) && x->type != mixed_type && least >= 2 && count >= least && count <= most) {
      if (session().strict)
        throw value_error(message("a ", kind_name(x), " of ", count, " items would be read as ", count,
                                  " arguments, which strict mode refuses: give a general list, or enlist one value"));
      for (std::size_t i = 0; i < count; ++i) items_.push_back(item_of(x, static_cast<std::int64_t>(i)));
    } else {
      items_.push_back(owned::share(x));
    }
    if (items_.size() < least || items_.size() > most) {
      const std::string expected = least == most ? message(least) : message(least, " to ", most);
      throw value_error(message("expects ", expected, expected == "1" ? " argument" : " arguments", ", given ",
                                items_.size(), items_.size() == 1 ? message(" (", describe(x), ")") : std::string()));
    }
  }

  std::string_view name() const { return name_; }
  std::size_t size() const { return items_.size(); }
  object operator[](std::size_t i) const { return items_[i].get(); }

  /// @throws value_error: the argument is not what the function can use
  [[noreturn]] void refuse(std::size_t i, std::string_view expected) const {
    throw value_error(message("argument ", i + 1, " is a ", describe((*this)[i]), ", expected ", expected));
  }

  /// Takes the last argument if it is a boolean; never one of the first `least`.
  std::optional<bool> take_flag() {
    return take<bool>([](object x) { return read_flag(x); });
  }
  /// A long or a list of them.
  std::optional<longs> take_longs() {
    return take<longs>([](object x) { return read_longs(x); });
  }
  std::optional<std::int64_t> take_long() {
    return take<std::int64_t>([](object x) { return read_long(x, false); });
  }
  /// A long or float.
  std::optional<double> take_number() {
    return take<double>([](object x) { return read_number(x); });
  }
  std::optional<std::vector<std::string>> take_symbols() {
    return take<std::vector<std::string>>(
        [](object x) { return x->type == mixed_type ? std::optional<std::vector<std::string>>() : read_symbols(x); });
  }
  std::optional<std::vector<option>> take_options() {
    return take<std::vector<option>>([](object x) { return read_options(x); });
  }
  /// The name of a dtype.
  std::optional<dtype> take_dtype() {
    return take<dtype>([](object x) -> std::optional<dtype> {
      const auto symbol = read_symbol(x);
      if (!symbol) return {};
      if (const auto found = dtype_of_symbol(*symbol)) return found;
      throw value_error(message("unrecognized dtype `", *symbol,
                                ", expected one of bool byte char short int long half "
                                "float double"));
    });
  }
  /// A tensor's handle, or `()` or `::`, which say: in place, into the first operand.
  output take_output() {
    if (items_.size() <= least_) return {};
    object last = items_.back().get();
    if (auto* target = find_held_as<held_tensor>(last)) {
      items_.pop_back();
      return {target};
    }
    if (!is_null(last) && !(last->type == mixed_type && last->count == 0)) return {};
    auto* target = find_held_as<held_tensor>(items_[0].get());
    if (!target) throw value_error("in place needs a tensor as first operand");
    items_.pop_back();
    return {target};
  }
  /// @throws value_error when optional arguments are left that nothing has taken
  void none_left(std::size_t expected) const {
    if (items_.size() > expected)
      throw value_error(message("unrecognized argument ", items_.size(), ": ", describe(items_.back().get())));
  }

  /// The argument as a tensor: a handle to one, or an array.
  operand tensor_at(std::size_t i) const {
    object x = (*this)[i];
    if (handle_number(x)) {
      if (auto* found = find_held_as<held_tensor>(x)) return {found->value, true};
      refuse(i, "a tensor or an array");
    }
    return {with_others(to_tensor(x)), false};
  }
  /// The same where the call only reads it, and gives no tensor that shares its elements but as a value: a simple list
  /// is not copied.
  operand read_at(std::size_t i) const {
    object x = (*this)[i];
    if (!is_flat(x) || x->count < 1024) return operand_at(i);
    return {with_others(viewed(x)), false};
  }
  /// A defined one.
  operand operand_at(std::size_t i) const {
    operand found = tensor_at(i);
    if (!found.value.defined()) throw value_error(message("argument ", i + 1, " is an undefined tensor"));
    return found;
  }
  std::int64_t long_at(std::size_t i) const {
    if (const auto found = read_long((*this)[i])) return *found;
    refuse(i, "a long");
  }
  longs longs_at(std::size_t i) const {
    if (auto found = read_longs((*this)[i])) return *found;
    if (object x = (*this)[i]; x->type == mixed_type && x->count == 0) return {};
    refuse(i, "a long or list of longs");
  }
  double number_at(std::size_t i) const {
    if (const auto found = read_number((*this)[i])) return *found;
    refuse(i, "a long or float");
  }
  /// A long, a float, or a boolean as 0 or 1.
  double value_at(std::size_t i) const {
    if (const auto found = read_value((*this)[i])) return *found;
    refuse(i, "a long, float or boolean");
  }

 private:
  /// An array where the first tensor among the arguments is.
  tensor with_others(tensor x) const {
    if (!dynamic::graph::installed_cuda.load(std::memory_order_relaxed) || !x.defined()) return x;
    for (const owned& each : items_)
      if (const auto* t = find_held_as<held_tensor>(each.get()); t && t->value.defined())
        return x.to(t->value.device());
    return x;
  }
  bool reads_as_list(object x, std::size_t count, std::size_t most, unsigned trailing) const {
    if (least_ >= 2) return true;
    if (count == 0) return least_ == 0;
    if (count > most) return false;
    if (count == 1) return handle_number(items<object>(x)[0]).has_value();
    for (std::size_t i = 1; i < count; ++i)
      if (!fits_trailing(items<object>(x)[i], trailing)) return false;
    return true;
  }
  template <class T, class Read>
  std::optional<T> take(Read read) {
    if (items_.size() <= least_) return {};
    std::optional<T> found = read(items_.back().get());
    if (found) items_.pop_back();
    return found;
  }

  std::string_view name_;
  std::size_t least_;
  std::vector<owned> items_;
};

/// A result as the call wants it: into its output (then `::`), a new handle where a handle was among the operands, or
/// a value of q.
inline object respond(tensor result, bool handle, output out = {}) {
  if (!out.target) return handle ? tensor_handle(std::move(result)) : to_value(result);
  tensor& target = out.target->value;
  tensor values = result.detach().eval();
  settle();
  if (target.defined() && target.type() == values.type() && target.sizes() == values.sizes())
    target.assign_(values);  // all that share the tensor see it
  else
    target = dynamic::is_lent(values) ? values.clone().eval() : values;
  return make_null();
}

/// Several results: handles to a vector, or a list of values.
inline object respond(std::vector<tensor> results, bool handle) {
  if (handle)
    return make_handle(std::make_unique<held_list>(held_class::vector,
                                                   std::make_shared<tensor_list>(tensor_list{{}, std::move(results)})));
  std::vector<owned> values;
  for (const tensor& t : results) values.emplace_back(to_value(t));
  return make_list(std::move(values));
}

}  // namespace kiln::k
