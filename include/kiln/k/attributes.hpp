// SPDX-License-Identifier: BSL-1.0
// Functions that say something about a tensor, or about each tensor of a vector or dict: dtype, sizes, bytes ...
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <kiln/k/arguments.hpp>
#include <kiln/k/objects.hpp>
#include <kiln/k/registry.hpp>
#include <kiln/k/session.hpp>

namespace kiln::k::attributes {

/// An attribute of a tensor as a value; `::` stands for that of an undefined one.
using attribute = object (*)(const tensor& t);

/// The attribute of a tensor or array; of each tensor of a vector as a list, of a dict as a dictionary.
/// @throws value_error for other objects
inline object of_each(std::string_view name, object x, attribute read) {
  const auto value = [&](const tensor& t) { return t.defined() ? read(t) : make_null(); };
  const held* what = find_held(x);
  if (!what) return value(to_tensor(x));
  if (const auto* t = dynamic_cast<const held_tensor*>(what)) return value(t->value);
  const auto* list = dynamic_cast<const held_list*>(what);
  if (!list) {
    const std::string_view kind = k::name(what->kind());
    throw bare_error(message(name, ": not implemented for ", kind, kind.ends_with('s') ? "es" : "s"));
  }
  std::vector<owned> values;
  for (const tensor& t : list->list->values) values.emplace_back(value(t));
  object all = collapse(std::move(values));
  return list->kind() == held_class::dict ? make_dictionary(list->list->names, all) : all;
}

/// An attribute by its name in q; null where the name has none.
inline attribute attribute_of(std::string_view name) {
  struct row {
    std::string_view name;
    attribute read;
  };
  static constexpr row rows[] = {
      {"dim", [](const tensor& t) { return kj(t.dim()); }},
      {"numel", [](const tensor& t) { return kj(t.numel()); }},
      {"itemsize", [](const tensor& t) { return kj(static_cast<std::int64_t>(size_of(t.type()))); }},
      {"ktype", [](const tensor& t) { return kh(t.dim() == 0 ? -type_of_dtype(t.type()) : type_of_dtype(t.type())); }},
      {"offset", [](const tensor&) { return kj(0); }},
      {"contiguous", [](const tensor&) { return kb(1); }},
      {"leaf", [](const tensor& t) { return kb(t.is_leaf()); }},
      {"pinned", [](const tensor&) { return kb(0); }},
      {"sparseflag", [](const tensor&) { return kb(0); }},
      {"gradient", [](const tensor& t) { return make_symbol(t.requires_grad() ? "grad" : "nograd"); }},
      {"gradfn",
       [](const tensor& t) {
         const auto& autograd_metadata = t.state()->autograd_metadata;
         return make_symbol(autograd_metadata && autograd_metadata->producer ? autograd_metadata->producer->name()
                                                                             : "");
       }},
      {"layout", [](const tensor&) { return make_symbol("strided"); }},
      {"memory", [](const tensor&) { return make_symbol("contiguous"); }},
      {"stride",
       [](const tensor& t) {
         longs strides(static_cast<std::size_t>(t.dim()), 1);
         for (std::size_t i = strides.size(); i-- > 1;)
           strides[i - 1] = strides[i] * std::max<std::int64_t>(t.sizes()[static_cast<int>(i)], 1);
         return make_longs(strides);
       }},
  };
  for (const row& r : rows)
    if (r.name == name) return r.read;
  return nullptr;
}

/// An attribute that the table above has.
inline object plain(std::string_view name, object x) {
  return of_each(name, x, attribute_of(name));
}

inline object device(std::string_view name, object x) {
  if (is_null(x) || (x->type == mixed_type && x->count == 0))
    return make_symbol(dynamic::cuda_devices() > 0 ? "cuda:0" : "cpu");
  if (const held* what = find_held(x); what && what->kind() > held_class::dict)
    return make_symbol(what->device().empty() ? "cpu" : what->device());
  return of_each(name, x, [](const tensor& t) { return make_symbol(device_of(t)); });
}

inline object dtype_of(std::string_view name, object x) {
  if (is_null(x)) return make_symbol(symbol_of(session().default_type));
  if (const auto symbol = read_symbol(x)) {
    const auto type = dtype_of_symbol(*symbol);
    if (!type || !is_floating(*type))
      throw value_error(message("the default is one of float double half, given `", *symbol));
    session().default_type = *type;
    return make_null();
  }
  return of_each(name, x, [](const tensor& t) { return make_symbol(symbol_of(t.type())); });
}

inline object size(std::string_view name, object x) {
  if (const held* what = find_held(x); what && what->kind() > held_class::dict) return what->size();
  return of_each(name, x, [](const tensor& t) { return make_longs(t.sizes()); });
}

inline object defined(std::string_view, object x) {
  const held* what = find_held(x);
  const auto* t = dynamic_cast<const held_tensor*>(what);
  if (!t && what) throw value_error(message("expected a tensor, given ", describe(x)));
  return kb(t ? t->value.defined() : !is_null(x));
}

inline object elements(std::string_view, object x) {
  const held* what = find_held(x);
  return kj(what ? what->elements() : held_tensor(to_tensor(x)).elements());
}

inline object bytes(std::string_view, object x) {
  const held* what = find_held(x);
  return kj(what ? what->bytes() : held_tensor(to_tensor(x)).bytes());
}

inline object tensor_count(std::string_view, object x) {
  const held* what = find_held(x);
  return kj(what ? what->tensor_count() : 1);
}

}  // namespace kiln::k::attributes

namespace kiln::k {

inline void offer_attributes(registry& r) {
  for (std::string_view name : {"dim", "numel", "itemsize", "ktype", "offset", "contiguous", "leaf", "pinned",
                                "sparseflag", "gradient", "gradfn", "layout", "memory", "stride"})
    r.offer(name, attributes::plain);
  r.offer("device", attributes::device);
  r.offer("dtype", attributes::dtype_of);
  r.offer("size", attributes::size);
  r.offer("defined", attributes::defined);
  r.offer("elements", attributes::elements);
  r.offer("bytes", attributes::bytes);
  r.offer("tensorcount", attributes::tensor_count);
}

}  // namespace kiln::k
