// SPDX-License-Identifier: BSL-1.0
// Making tensors, vectors and dicts of values of q, reading them back, filling and copying them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <kiln/dynamic/indexing.hpp>
#include <kiln/dynamic/shape.hpp>
#include <kiln/k/arguments.hpp>
#include <kiln/k/columns.hpp>
#include <kiln/k/modes.hpp>
#include <kiln/k/objects.hpp>
#include <kiln/k/registry.hpp>
#include <kiln/k/session.hpp>

namespace kiln::k::tensors {

/// Positions along a dimension as q gives them, negative ones from the end for an atom only.
inline longs positions(object x, std::int64_t size) {
  auto found = read_longs(x);
  if (!found) throw value_error(message("an index is a long or list of longs, given ", describe(x)));
  for (std::int64_t& i : *found) {
    if (i < -size || i >= size || (i < 0 && x->type != -long_type))
      throw index_error(message("index ", i, " is not in 0 to ", size - 1));
    if (i < 0) i += size;
  }
  return *found;
}

/// The elements at positions along a dimension; an atom takes the dimension away.
inline tensor indexed(const tensor& t, std::int64_t axis, object where) {
  const std::int64_t size = t.size(axis);
  const longs at = positions(where, size);
  if (where->type == -long_type) return dynamic::select(t, axis, at[0]);
  return dynamic::index_select(t, axis, index_beside(t, at));
}

/// The value of what a handle holds: all of it, or at positions or names.
inline object read(const arguments& given, held& what) {
  if (auto* t = dynamic_cast<held_tensor*>(&what)) {
    if (given.size() == 1) return to_value(t->value);
    const std::int64_t axis = given.size() == 3 ? given.long_at(1) : 0;
    return to_value(indexed(t->value, axis, given[given.size() - 1]));
  }
  auto* list = dynamic_cast<held_list*>(&what);
  if (!list || given.size() > 2) given.refuse(0, "a tensor, vector, dict or array");
  const bool dict = list->kind() == held_class::dict;
  std::vector<std::size_t> places;
  if (given.size() == 1)
    for (std::size_t i = 0; i < list->list->values.size(); ++i) places.push_back(i);
  else if (dict) {
    const auto names = read_symbols(given[1]);
    if (!names) given.refuse(1, "a symbol or list of symbols");
    for (const std::string& name : *names) {
      const auto place = list->list->find(name);
      if (!place) throw value_error(message("the dictionary has no `", name));
      places.push_back(*place);
    }
  } else {
    for (std::int64_t i : positions(given[1], list->tensor_count())) places.push_back(static_cast<std::size_t>(i));
  }
  const auto handle = [&](std::size_t place) { return tensor_handle(list->list->values[place]); };
  if (given.size() == 2 && given[1]->type < 0) return handle(places[0]);
  std::vector<owned> made;
  for (std::size_t place : places) made.emplace_back(handle(place));
  object all = make_list(std::move(made));
  if (!dict) return all;
  std::vector<std::string> names;
  for (std::size_t place : places) names.push_back(list->list->names[place]);
  return make_dictionary(names, all);
}

/// Takes option symbols, or an output's handle, from the right end of a list; what they say.
struct creation_options {
  tensor_options options;
  held_tensor* target = nullptr;
};
inline creation_options take_options(std::vector<object>& given, std::size_t least) {
  creation_options found;
  while (given.size() > least) {
    object last = given.back();
    if (auto* target = find_held_as<held_tensor>(last)) {
      if (found.target) throw value_error("more than one output tensor given");
      found.target = target;
    } else if (const auto names = read_symbols(last); names && last->type != mixed_type) {
      for (const std::string& name : *names)
        if (!read_tensor_option(name, found.options)) throw bare_error(message("unrecognized tensor option: `", name));
    } else {
      break;
    }
    given.pop_back();
  }
  return found;
}

inline object made(tensor t, const creation_options& how) {
  if (how.options.view) throw value_error("`view is for a simple list of q's");
  t = with_options(std::move(t), how.options);
  if (!how.target) return tensor_handle(std::move(t));
  how.target->value = std::move(t);
  return make_null();
}

/// (list;`view), and nothing else: straight to the tensor, for what takes less time than to look for other forms.
inline object view_of_list(object x) {
  if (x->type != mixed_type || x->count != 2) return nullptr;
  object list = items<object>(x)[0], option = items<object>(x)[1];
  if (option->type != -symbol_type || std::string_view(option->symbol) != "view" || !is_flat(list)) return nullptr;
  return make_handle(std::make_unique<held_tensor>(viewed(list), held_tensor::as_it_is{}));
}

inline object make(std::string_view name, object x) {
  if (object made = view_of_list(x)) return made;
  if (const auto symbol = read_symbol(x))
    throw bare_error(is_mode(*symbol)
                         ? message("unrecognized argument(s) for tensor creation mode: ", *symbol, " without a size")
                         : message("unrecognized tensor creation mode: ", *symbol));
  if (held* what = find_held(x)) return read(arguments(name, x, 1, 1), *what);
  if (x->type != mixed_type || x->count == 0) return tensor_handle(tensor_of_value(x));
  std::vector<object> given(span_of<object>(x).begin(), span_of<object>(x).end());
  if (const auto mode = read_symbol(given[0])) {
    if (!is_mode(*mode)) throw bare_error(message("unrecognized tensor creation mode: ", *mode));
    const std::string chosen(*mode);
    given.erase(given.begin());
    const creation_options how = take_options(given, 1);
    return made(by_mode(chosen, given, how.options.type), how);
  }
  if (held* what = find_held(given[0]))
    if (given.size() <= 3 && (given.size() == 1 || !read_symbols(given[1]) || what->kind() == held_class::dict))
      return read(arguments(name, x, 1, 3), *what);
  if (given.size() > 1) {
    std::vector<object> rest = given;
    const creation_options how = take_options(rest, 1);
    if (rest.size() == 1 && how.options.view) {
      if (!is_flat(rest[0]) || how.target || how.options.gradient.value_or(false) ||
          how.options.type.value_or(*dtype_of_type(rest[0]->type)) != *dtype_of_type(rest[0]->type))
        throw value_error(
            message("`view is for a simple list as it is, without grad or another dtype, given ", describe(rest[0])));
      return make_handle(std::make_unique<held_tensor>(viewed(rest[0]), held_tensor::as_it_is{}));
    }
    if (rest.size() == 1) {
      if (const auto* from = find_held_as<held_tensor>(rest[0])) return made(from->value.clone(), how);
      return made(tensor_of_value(rest[0]), how);
    }
  }
  return tensor_handle(to_tensor(x));
}

/// Lets go of handles, each once, that an object has taken over; `keep` is not one of them.
inline void consume(const std::vector<std::int64_t>& numbers, std::int64_t keep = 0) {
  for (std::int64_t number : numbers)
    if (number != keep) handles().erase(number);
}

inline object vector(std::string_view name, object x) {
  if (auto* whole = find_list(x, held_class::vector)) return list_value(*whole);
  if (x->type == mixed_type && x->count >= 2 && x->count <= 3)
    if (auto* v = find_list(items<object>(x)[0], held_class::vector)) {
      const arguments given(name, x, 2, 3);
      auto& values = v->list->values;
      if (given.size() == 2) {
        if (auto* other = find_list(given[1], held_class::vector)) {
          if (other->list == v->list) throw value_error("cannot append a vector to itself");
          values.insert(values.end(), other->list->values.begin(), other->list->values.end());
          handles().erase(*handle_number(given[1]));
          return make_null();
        }
        std::vector<owned> picked;
        for (std::int64_t i : positions(given[1], v->tensor_count()))
          picked.emplace_back(to_value(values[static_cast<std::size_t>(i)]));
        return given[1]->type < 0 ? picked[0].release() : collapse(std::move(picked));
      }
      const tensor value = given.tensor_at(2).value;
      if (const auto place = read_long(given[1]); is_null(given[1]) || (place && (*place == -1 || *place == null_long)))
        values.push_back(value);
      else
        values[static_cast<std::size_t>(positions(given[1], v->tensor_count()).at(0))] = value;
      if (const auto number = handle_number(given[2])) handles().erase(*number);
      return make_null();
    }
  if (is_null(x)) return make_handle(std::make_unique<held_list>(held_class::vector, std::make_shared<tensor_list>()));
  if (handle_number(x)) {  // one tensor
    auto* t = find_held_as<held_tensor>(x);
    if (!t) throw value_error(message("expected tensors or arrays, given ", describe(x)));
    auto list = std::make_shared<tensor_list>(tensor_list{{}, {t->value}});
    object result = make_handle(std::make_unique<held_list>(held_class::vector, std::move(list)));
    handles().erase(*handle_number(x));
    return result;
  }
  if (!is_list(x)) throw value_error(message("expected a list of tensors or arrays, given ", describe(x)));
  auto list = std::make_shared<tensor_list>(tensors_of(x));
  object result = make_handle(std::make_unique<held_list>(held_class::vector, std::move(list)));
  consume(handles_in(x));
  return result;
}

/// What a dict takes: a dictionary, or names and values.
inline tensor_list named_tensors(const arguments& given, std::size_t first) {
  if (given.size() == first + 1) {
    if (given[first]->type != dictionary_type) given.refuse(first, "a dictionary");
    return tensors_of(given[first]);
  }
  const auto names = read_symbols(given[first]);
  if (!names) given.refuse(first, "a symbol or list of symbols");
  if (given[first]->type < 0) return {*names, {given.tensor_at(first + 1).value}};
  const owned pairs(xD(r1(given[first]), r1(given[first + 1])));
  return tensors_of(pairs.get());
}

inline object dict(std::string_view name, object x) {
  if (auto* whole = find_list(x, held_class::dict)) return list_value(*whole);
  auto* d = x->type == mixed_type && x->count >= 2 ? find_list(items<object>(x)[0], held_class::dict) : nullptr;
  const arguments given(name, x, 1, d ? 3 : 2);
  if (d && given.size() == 2 && given[1]->type != dictionary_type) {
    const auto names = read_symbols(given[1]);
    if (!names) given.refuse(1, "a symbol, list of symbols or dictionary");
    std::vector<owned> values;
    for (const std::string& each : *names) {
      const auto place = d->list->find(each);
      if (!place) throw value_error(message("the dictionary has no `", each));
      values.emplace_back(to_value(d->list->values[*place]));
    }
    if (given[1]->type < 0) return values[0].release();
    return make_dictionary(*names, collapse(std::move(values)));
  }
  const std::size_t first = d ? 1 : 0;
  tensor_list taken = named_tensors(given, first);
  std::vector<std::int64_t> numbers = handles_in(given[given.size() - 1]);
  if (const auto one = handle_number(given[given.size() - 1])) numbers = {*one};
  object result = nullptr;
  if (d) {
    for (std::size_t i = 0; i < taken.names.size(); ++i) d->list->set(taken.names[i], taken.values[i]);
    result = make_null();
  } else {
    result =
        make_handle(std::make_unique<held_list>(held_class::dict, std::make_shared<tensor_list>(std::move(taken))));
  }
  consume(numbers);
  return result;
}

/// zeros and ones: fills a handle in place, or makes a tensor of the sizes.
inline object constant(std::string_view name, object x) {
  const double value = name == "ones" ? 1 : 0;
  if (auto* t = find_held_as<held_tensor>(x)) {
    settle();
    t->value.fill_(value);
    return make_null();
  }
  std::vector<object> given;
  if (x->type == mixed_type)
    given.assign(span_of<object>(x).begin(), span_of<object>(x).end());
  else
    given.push_back(x);
  if (given.empty()) throw value_error("expects sizes or a tensor");
  const creation_options how = take_options(given, 1);
  return made(by_mode(name, given, how.options.type), how);
}

inline object fill(std::string_view name, object x) {
  const arguments given(name, x, 2, 2);
  auto* t = find_held_as<held_tensor>(given[0]);
  if (!t) given.refuse(0, "a tensor's handle");
  const tensor value = given.operand_at(1).value;
  if (value.dim() != 0) given.refuse(1, "one number");
  const double number = value.item();
  settle();
  t->value.fill_(number);
  return make_null();
}

/// (matrix;value): the elements of the diagonal, in place.
inline object fill_diagonal(std::string_view name, object x) {
  const arguments given(name, x, 2, 2);
  auto* t = find_held_as<held_tensor>(given[0]);
  if (!t) given.refuse(0, "a tensor's handle");
  if (t->value.dim() != 2) throw shape_error(message("expects a matrix, given sizes ", t->value.sizes()));
  const double number = given.value_at(1);
  settle();
  dynamic::diagonal(t->value).fill_(number);
  return make_null();
}

inline object same(std::string_view name, object x) {
  const arguments given(name, x, 1, 2, symbol_trailing);
  const operand like = given.operand_at(0);
  tensor_options options;
  if (given.size() == 2) options = read_tensor_options(read_symbols(given[1]).value());
  return tensor_handle(
      with_options(dynamic::zeros(like.value.sizes(), like.value.type(), like.value.device()), options));
}

inline object alias(std::string_view name, object x) {
  const arguments given(name, x, 1, 1);
  auto* t = find_held_as<held_tensor>(given[0]);
  if (!t) given.refuse(0, "a tensor's handle");
  return make_handle(
      std::make_unique<held_tensor>(tensor::of(t->value.state(), t->value.device()), held_tensor::as_it_is{}));
}

inline object detach(std::string_view name, object x) {
  arguments given(name, x, 1, 2, flag_trailing);
  const bool in_place = given.take_flag().value_or(false);
  held* what = find_held(given[0]);
  if (auto* list = dynamic_cast<held_list*>(what)) {
    for (tensor& t : list->list->values) t = t.detach();
    return make_null();
  }
  auto* t = dynamic_cast<held_tensor*>(what);
  if (!t) given.refuse(0, "a tensor's handle");
  if (!in_place) return tensor_handle(t->value.detach());
  t->value = t->value.detach();
  return make_null();
}

inline object values(std::string_view, object x) {
  auto* d = find_list(x, held_class::dict);
  if (!d) throw value_error(message("expected a dict, given ", describe(x)));
  tensor_list list{{}, d->list->values};
  return make_handle(std::make_unique<held_list>(held_class::vector, std::make_shared<tensor_list>(std::move(list))));
}

inline object eye(std::string_view name, object x) {
  const arguments given(name, x, 1, 2);
  std::vector<object> sizes{given[0]};
  if (given.size() == 2) sizes.push_back(given[1]);
  return tensor_handle(by_mode("eye", sizes, {}));
}

}  // namespace kiln::k::tensors

namespace kiln::k {

inline void offer_tensors(registry& r) {
  r.offer("tensor", tensors::make);
  r.offer("vector", tensors::vector);
  r.offer("dict", tensors::dict);
  r.offer("zeros", tensors::constant);
  r.offer("ones", tensors::constant);
  r.offer("fill", tensors::fill);
  r.offer("filldiagonal", tensors::fill_diagonal);
  r.offer("same", tensors::same);
  r.offer("alias", tensors::alias);
  r.offer("detach", tensors::detach);
  r.offer("values", tensors::values);
  r.offer("eye", tensors::eye);
  r.offer("columns", tensors::columns);
}

}  // namespace kiln::k
