// SPDX-License-Identifier: BSL-1.0
// Functions on handles themselves: another handle, release, the table of objects, what an object is.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <kiln/k/arguments.hpp>
#include <kiln/k/held_tensors.hpp>
#include <kiln/k/registry.hpp>
#include <kiln/k/text.hpp>

namespace kiln::k {

/// Objects whose text `str` shows implement this beside `held`.
struct printed_object {
  virtual std::string text() const = 0;

 protected:
  ~printed_object() = default;
};

/// Objects that have a definition which q can keep implement this beside `held`.
struct defined_object {
  /// A value of q from which the object can be made again, its tensors included where `state` is asked for.
  virtual object definition(bool all_options) const = 0;
  /// What kind of module, loss or optimizer it is; empty where there are no kinds.
  virtual std::string type() const { return {}; }

 protected:
  ~defined_object() = default;
};

/// The values of a list as one simple list where all are atoms of one type, as q does.
inline object collapse(std::vector<owned> values) {
  const int type = values.empty() ? 0 : values[0].get()->type;
  bool alike = type < 0 && type >= -symbol_type;
  for (const owned& value : values) alike = alike && value.get()->type == type;
  if (!alike) return make_list(std::move(values));
  object list = ktn(-type, static_cast<std::int64_t>(values.size()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    object atom = values[i].get();
    switch (-type) {
      case boolean_type:
      case byte_type:
      case char_type:
        items<std::uint8_t>(list)[i] = atom->byte;
        break;
      case short_type:
        items<std::int16_t>(list)[i] = atom->short_integer;
        break;
      case int_type:
        items<std::int32_t>(list)[i] = atom->integer;
        break;
      case real_type:
        items<float>(list)[i] = atom->real;
        break;
      case float_type:
        items<double>(list)[i] = atom->floating;
        break;
      case symbol_type:
        items<const char*>(list)[i] = atom->symbol;
        break;
      case long_type:
        items<std::int64_t>(list)[i] = atom->long_integer;
        break;
      default:  // guids stay apart
        break;
    }
  }
  return list;
}

/// The values of a vector as a list, of a dict as a dictionary.
inline object list_value(const held_list& from) {
  std::vector<owned> values;
  for (const tensor& t : from.list->values) values.emplace_back(to_value(t));
  object list = collapse(std::move(values));
  return from.kind() == held_class::dict ? make_dictionary(from.list->names, list) : list;
}

/// A vector or dict that takes what a list or dictionary of q holds: handles to tensors and arrays.
inline tensor_list tensors_of(object x) {
  tensor_list found;
  object values = x;
  if (x->type == dictionary_type) {
    const auto names = read_symbols(keys_of(x));
    values = values_of(x);
    if (!names || !is_list(values) || values->count != static_cast<std::int64_t>(names->size()))
      throw value_error("expected a dictionary with symbols as keys and a list of values");
    if (std::set<std::string>(names->begin(), names->end()).size() != names->size())
      throw value_error("a name stands more than once among the keys");
    found.names = *names;
  }
  for (std::int64_t i = 0; i < values->count; ++i) {
    const owned item = item_of(values, i);
    if (auto* handle = find_held(item.get())) {
      auto* held = dynamic_cast<held_tensor*>(handle);
      if (!held) throw value_error(message("item ", i, " is a ", describe(item.get()), ", expected a tensor or array"));
      found.values.push_back(held->value);
    } else {
      found.values.push_back(to_tensor(item.get()));
    }
  }
  return found;
}

/// The numbers of the handles to tensors among the items of a list or the values of a dictionary.
inline std::vector<std::int64_t> handles_in(object x) {
  std::vector<std::int64_t> numbers;
  object values = x->type == dictionary_type ? values_of(x) : x;
  if (values->type != mixed_type) return numbers;
  for (object item : span_of<object>(values))
    if (const auto number = handle_number(item)) numbers.push_back(*number);
  return numbers;
}

namespace objects {

inline object addref(std::string_view, object x) {
  held* what = find_held(x);
  if (!what) throw value_error(message("need an allocated object, given ", describe(x)));
  if (what->kind() == held_class::vector || what->kind() == held_class::dict || what->kind() == held_class::model)
    throw bare_error(message("addref not implemented for ", name(what->kind())));
  return make_handle(what->share());
}

inline object free(std::string_view, object x) {
  if (is_null(x) || (x->type == mixed_type && x->count == 0)) {
    handles().clear();
    return make_null();
  }
  if (const auto number = handle_number(x)) {
    find_held(x);
    handles().erase(*number);
    return make_null();
  }
  const bool dictionary = x->type == dictionary_type;
  object list = dictionary ? values_of(x) : x;
  if (list->type != mixed_type)
    throw bare_error(message("free: expecting pytorch object or list/dictionary of objects, given ", describe(x)));
  std::vector<std::int64_t> numbers;  // all are looked at before any is released
  for (std::int64_t i = 0; i < list->count; ++i) {
    object item = items<object>(list)[i];
    const auto number = handle_number(item);
    const std::string place = dictionary && keys_of(x)->type == symbol_type
                                  ? message("[`", items<const char*>(keys_of(x))[i], "]")
                                  : message("[", i, "]");
    if (!number) throw bare_error(message("free: expecting pytorch object but element", place, " is ", describe(item)));
    if (!handles().find(*number))
      throw bare_error(
          message("free: stale pointer, element", place, " of given ", dictionary ? "dictionary" : "list"));
    numbers.push_back(*number);
  }
  for (std::int64_t number : numbers) handles().erase(number);
  return make_null();
}

inline object return_value(std::string_view, object x) {
  held* what = find_held(x);
  owned value;
  if (auto* t = dynamic_cast<held_tensor*>(what)) value = owned(to_value(t->value));
  if (auto* list = dynamic_cast<held_list*>(what)) value = owned(list_value(*list));
  if (!value.get()) throw value_error(message("expecting tensor, vector or dictionary, given ", describe(x)));
  handles().erase(*handle_number(x));
  return value.release();
}

inline object use(std::string_view, object x, object y) {
  held* what = find_held(x);
  if (!what || what->kind() > held_class::dict) throw bare_error("use: 1st arg must be tensor, vector or dictionary");
  if (held* other = find_held(y)) {
    if (other->kind() != what->kind())
      throw value_error(message("cannot re-assign ", name(what->kind()), " to ", name(other->kind())));
    if (*handle_number(x) == *handle_number(y)) return make_null();
    handles().replace(*handle_number(x), other->share());
    handles().erase(*handle_number(y));
    return make_null();
  }
  if (what->kind() == held_class::one_tensor) {
    handles().replace(*handle_number(x), std::make_unique<held_tensor>(to_tensor(y)));
    return make_null();
  }
  if ((what->kind() == held_class::dict) != (y->type == dictionary_type) || (y->type != dictionary_type && !is_list(y)))
    throw value_error(message("cannot re-assign ", name(what->kind()), " to ", describe(y)));
  auto list = std::make_shared<tensor_list>(tensors_of(y));
  const auto consumed = handles_in(y);
  handles().replace(*handle_number(x), std::make_unique<held_list>(what->kind(), std::move(list)));
  for (std::int64_t number : consumed)
    if (number != *handle_number(x)) handles().erase(number);
  return make_null();
}

/// The numbers of all handles in a value, in lists and dictionaries of any depth.
inline void handles_within(object x, std::set<std::int64_t>& into) {
  if (const auto number = handle_number(x)) {
    into.insert(*number);
  } else if (x->type == mixed_type) {
    for (object item : span_of<object>(x)) handles_within(item, into);
  } else if (x->type == dictionary_type) {
    handles_within(values_of(x), into);
  }
}

/// Frees at its end the handles that were made since it began, but those that it is told to keep.
class handle_scope {
 public:
  handle_scope() {
    handles().for_each([&](std::int64_t number, const held&) { kept_.insert(number); });
  }
  handle_scope(const handle_scope&) = delete;
  handle_scope& operator=(const handle_scope&) = delete;
  ~handle_scope() {
    std::vector<std::int64_t> made;
    handles().for_each([&](std::int64_t number, const held&) {
      if (!kept_.contains(number)) made.push_back(number);
    });
    for (std::int64_t number : made) handles().erase(number);
  }
  /// All handles in a value.
  void keep(object x) { handles_within(x, kept_); }

 private:
  std::set<std::int64_t> kept_;
};

/// Calls a function of q and frees all handles that were made meanwhile, but those in its result.
inline object scope(std::string_view, object x) {
  const bool list = x->type == mixed_type && x->count > 0 && !handle_number(x);
  object f = list ? items<object>(x)[0] : x;
  if (f->type < lambda_type || f->type > foreign_type)
    throw value_error(message("expects a function or (function;arguments...), given ", describe(x)));
  std::vector<owned> arguments;
  for (std::int64_t i = 1; list && i < x->count; ++i) arguments.push_back(owned::share(items<object>(x)[i]));
  if (arguments.empty()) arguments.emplace_back(make_null());
  const owned given(make_list(std::move(arguments)));
  handle_scope within;
  owned result(dot(f, given.get()));
  if (result.get()) within.keep(result.get());
  return result.release();  // null: the error of the function stays
}

/// A table of all objects.
inline object obj(std::string_view, object x) {
  if (!is_null(x) && !(x->type == mixed_type && x->count == 0))
    throw value_error(message("expects no argument, given ", describe(x)));
  std::vector<owned> ptr, size;
  std::vector<std::string> kind, device, type;
  longs elements, bytes;
  handles().for_each([&](std::int64_t number, const held& what) {
    ptr.emplace_back(knk(1, kj(number)));
    kind.emplace_back(name(what.kind()));
    device.push_back(what.device());
    type.push_back(what.dtype_name());
    size.emplace_back(what.size());
    elements.push_back(what.elements());
    bytes.push_back(what.bytes());
  });
  const std::vector<std::string> names{"ptr", "class", "device", "dtype", "size", "elements", "bytes"};
  object columns = knk(7, make_list(std::move(ptr)), make_symbols(kind), make_symbols(device), make_symbols(type),
                       make_list(std::move(size)), make_longs(elements), make_longs(bytes));
  return xT(make_dictionary(names, columns));
}

inline object mapped(std::string_view, object x) {
  const auto number = handle_number(x);
  return kb(number && handles().find(*number) ? 1 : 0);
}

inline object class_of(std::string_view, object x) {
  const held* what = find_held(x);
  if (!what) throw value_error(message("need allocated torch object, e.g. tensor, module, given ", describe(x)));
  return make_symbol(name(what->kind()));
}

inline held& allocated(object x) {
  held* what = find_held(x);
  if (!what) throw value_error(message("need allocated object, given ", describe(x)));
  return *what;
}

inline object ptr(std::string_view, object x) {
  return kj(static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(allocated(x).identity())));
}

/// The identity of a tensor's memory: equal for views of one tensor.
inline object storage_ptr(std::string_view, object x) {
  const auto* t = find_held_as<held_tensor>(x);
  if (!t || !t->value.defined()) throw value_error(message("expected a tensor, given ", describe(x)));
  return kj(static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(t->value.state()->memory.get())));
}

inline object ref(std::string_view, object x) {
  return kj(allocated(x).uses());
}

inline object type_of(std::string_view, object x) {
  held& what = allocated(x);
  const auto* defined = dynamic_cast<defined_object*>(&what);
  const std::string type = defined ? defined->type() : std::string();
  if (type.empty()) throw value_error(message("not implemented for ", name(what.kind())));
  return make_symbol(type);
}

inline object str(std::string_view, object x) {
  held& what = allocated(x);
  if (auto* t = dynamic_cast<held_tensor*>(&what)) return make_text(text_of(t->value));
  if (auto* printed = dynamic_cast<printed_object*>(&what)) return make_text(printed->text());
  throw value_error(message("not implemented for ", name(what.kind())));
}

/// A dictionary of attributes.
inline object info(std::string_view, object x) {
  const held& what = allocated(x);
  const std::vector<std::string> names{"class", "device", "dtype", "size", "elements", "bytes", "tensorcount", "ref"};
  std::vector<owned> values;
  values.emplace_back(make_symbol(name(what.kind())));
  values.emplace_back(make_symbol(what.device()));
  values.emplace_back(make_symbol(what.dtype_name()));
  values.emplace_back(what.size());
  values.emplace_back(kj(what.elements()));
  values.emplace_back(kj(what.bytes()));
  values.emplace_back(kj(what.tensor_count()));
  values.emplace_back(kj(what.uses()));
  return make_dictionary(names, make_list(std::move(values)));
}

inline object state(std::string_view, object x) {
  held& what = allocated(x);
  if (auto* t = dynamic_cast<held_tensor*>(&what)) return to_value(t->value);
  if (auto* list = dynamic_cast<held_list*>(&what)) return list_value(*list);
  if (auto* defined = dynamic_cast<defined_object*>(&what)) return defined->definition(true);
  throw value_error(message("not implemented for ", name(what.kind())));
}

}  // namespace objects

inline void offer_objects(registry& r) {
  r.offer("addref", objects::addref);
  r.offer("free", objects::free);
  r.offer("return", objects::return_value);
  r.offer("use", objects::use);
  r.offer("scope", objects::scope);
  r.offer("obj", objects::obj);
  r.offer("mapped", objects::mapped);
  r.offer("class", objects::class_of);
  r.offer("objtype", objects::type_of);
  r.offer("sptr", objects::storage_ptr);
  r.offer("ptr", objects::ptr);
  r.offer("ref", objects::ref);
  r.offer("str", objects::str);
  r.offer("info", objects::info);
  r.offer("detail", objects::info);
  r.offer("state", objects::state);
}

}  // namespace kiln::k
