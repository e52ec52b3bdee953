// SPDX-License-Identifier: BSL-1.0
// Other sizes and orders of the same elements, parts of tensors, tensors side by side.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <kiln/dynamic/creation.hpp>
#include <kiln/dynamic/indexing.hpp>
#include <kiln/dynamic/shape.hpp>
#include <kiln/k/arguments.hpp>
#include <kiln/k/objects.hpp>
#include <kiln/k/registry.hpp>
#include <kiln/k/tensors.hpp>

namespace kiln::k::shape {

/// What cat and stack join: the tensors of a vector, or of a list of handles and arrays.
inline std::vector<tensor> parts(object x, bool& handle) {
  if (auto* v = find_list(x, held_class::vector)) {
    handle = true;
    return v->list->values;
  }
  if (x->type != mixed_type || handle_number(x))
    throw value_error(message("expected a vector or a list of tensors or arrays, given ", describe(x)));
  handle = !handles_in(x).empty();
  return tensors_of(x).values;
}

inline object join(std::string_view name, object x) {
  // (list;dim) and (list;dim;out) have a list in front; anything else is the list of tensors itself.
  bool handle = false;
  std::int64_t axis = 0;
  output out;
  object list = x;
  if (x->type == mixed_type && !handle_number(x) && x->count >= 2 && x->count <= 3) {
    object first = items<object>(x)[0];
    const bool is_list_of_parts =
        (first->type == mixed_type && !handle_number(first)) || find_list(first, held_class::vector);
    if (is_list_of_parts && fits_trailing(items<object>(x)[1], long_trailing | output_trailing)) {
      arguments given(name, x, 1, 3);
      if (given.size() == 3 || !read_long(given[1])) {
        out = given.take_output();
        if (!out.target) given.refuse(given.size() - 1, "an output tensor");
      }
      if (given.size() == 2) axis = given.long_at(1);
      list = first;
    }
  }
  const std::vector<tensor> all = parts(list, handle);
  for (const tensor& t : all)
    if (!t.defined()) throw value_error("an undefined tensor is among the parts");
  return respond(name == "cat" ? dynamic::cat(all, axis) : dynamic::stack(all, axis), handle, out);
}

/// Sizes of which one may be -1.
inline dims open_sizes(object x) {
  if (const auto* like = find_held_as<held_tensor>(x)) return like->value.sizes();
  if (x->type == mixed_type && x->count == 0) return {};
  const auto sizes = read_longs(x);
  if (!sizes) throw value_error(message("argument 2 is a ", describe(x), ", expected sizes or a tensor"));
  return *sizes;
}

inline object reshape(std::string_view name, object x) {
  const arguments given(name, x, 2, 2);
  const operand found = given.operand_at(0);
  return respond(dynamic::reshape(found.value, open_sizes(given[1])), found.handle);
}

inline object resize(std::string_view name, object x) {
  const arguments given(name, x, 2, 2);
  const operand found = given.operand_at(0);
  tensor result = dynamic::reshape(found.value, open_sizes(given[1]));
  if (!found.handle) return to_value(result);
  find_held_as<held_tensor>(given[0])->value = std::move(result);
  return make_null();
}

inline object expand(std::string_view name, object x) {
  const arguments given(name, x, 2, 2);
  const operand found = given.operand_at(0);
  return respond(dynamic::expand(found.value, open_sizes(given[1])), found.handle);
}

inline object permute(std::string_view name, object x) {
  const arguments given(name, x, 2, 2);
  const operand found = given.operand_at(0);
  return respond(dynamic::permute(found.value, given.longs_at(1)), found.handle);
}

inline object transpose(std::string_view name, object x) {
  arguments given(name, x, 1, 4, long_trailing | flag_trailing);
  const bool in_place = given.take_flag().value_or(false);
  const operand found = given.operand_at(0);
  if (given.size() == 2) throw value_error("expects two dimensions");
  if (given.size() == 1 && found.value.dim() > 2)
    throw value_error(message("a tensor of ", found.value.dim(), " dimensions needs two of them named"));
  tensor result = found.value;
  if (given.size() == 3)
    result = dynamic::transpose(result, given.long_at(1), given.long_at(2));
  else if (result.dim() == 2)
    result = dynamic::transpose(result, 0, 1);
  if (!in_place) return respond(std::move(result), found.handle);
  auto* t = find_held_as<held_tensor>(given[0]);
  if (!t) throw value_error("in place needs a tensor's handle");
  t->value = std::move(result);
  return make_null();
}

inline object squeeze(std::string_view name, object x) {
  const arguments given(name, x, 1, 2, long_trailing);
  const operand found = given.operand_at(0);
  return respond(given.size() == 2 ? dynamic::squeeze(found.value, given.long_at(1)) : dynamic::squeeze(found.value),
                 found.handle);
}

inline object unsqueeze(std::string_view name, object x) {
  const arguments given(name, x, 2, 2);
  const operand found = given.operand_at(0);
  return respond(dynamic::unsqueeze(found.value, given.long_at(1)), found.handle);
}

inline object narrow(std::string_view name, object x) {
  const arguments given(name, x, 4, 4);
  const operand found = given.operand_at(0);
  return respond(dynamic::narrow(found.value, given.long_at(1), given.long_at(2), given.long_at(3)), found.handle);
}

inline object index(std::string_view name, object x) {
  const arguments given(name, x, 3, 3);
  const operand found = given.operand_at(0);
  if (const auto* at = find_held_as<held_tensor>(given[2]))
    return respond(dynamic::index_select(found.value, given.long_at(1), at->value), true);
  return respond(tensors::indexed(found.value, given.long_at(1), given[2]), found.handle);
}

/// One image of many: (images;rows;cols;padding;value), images by channels, height, width. Images fill the grid row by
/// row, with `padding` elements of the value before, between and behind them.
inline object makegrid(std::string_view name, object x) {
  const arguments given(name, x, 3, 5);
  const operand found = given.operand_at(0);
  const std::int64_t rows = given.long_at(1), columns = given.long_at(2);
  const std::int64_t padding = given.size() > 3 ? given.long_at(3) : 2;
  const double value = given.size() > 4 ? given.number_at(4) : 0;
  if (found.value.dim() != 4) throw shape_error(message("expects 4 dimensions, given sizes ", found.value.sizes()));
  if (rows < 1 || columns < 1 || padding < 0 || rows > (1 << 20) || columns > (1 << 20) || padding > (1 << 20))
    throw value_error(message("a grid of ", rows, " by ", columns, " with padding ", padding));
  const dims& sizes = found.value.sizes();
  const std::int64_t height = sizes[2] + padding, width = sizes[3] + padding;
  const tensor grid =
      dynamic::full({sizes[1], rows * height + padding, columns * width + padding}, value, dtype::float64)
          .to(found.value.type())
          .eval();
  const no_grad quiet;
  for (std::int64_t i = 0; i < std::min(sizes[0], rows * columns); ++i) {
    const tensor lines = dynamic::narrow(grid, 1, i / columns * height + padding, sizes[2]);
    dynamic::narrow(lines, 2, i % columns * width + padding, sizes[3])
        .assign_(dynamic::select(found.value, 0, i).detach());
  }
  return respond(grid, found.handle);
}

/// (x;dim;i;value): elements along a dimension set in place.
inline object amend(std::string_view name, object x) {
  const arguments given(name, x, 4, 4);
  auto* t = find_held_as<held_tensor>(given[0]);
  if (!t) given.refuse(0, "a tensor's handle");
  const operand all = given.operand_at(0), value = given.operand_at(3);
  const std::int64_t axis = given.long_at(1);
  const longs at = tensors::positions(given[2], all.value.size(axis));
  const bool one_each = given[2]->type >= 0 && value.value.dim() == all.value.dim();
  if (one_each && value.value.size(axis) != static_cast<std::int64_t>(at.size()))
    throw shape_error(message(at.size(), " positions for values of sizes ", value.value.sizes()));
  std::vector<std::pair<tensor, tensor>> writes;  // all are cut, and checked, before any is written
  for (std::size_t i = 0; i < at.size(); ++i) {
    tensor place = dynamic::select(all.value, axis, at[i]);
    tensor part = one_each ? dynamic::select(value.value, axis, static_cast<std::int64_t>(i)) : value.value;
    part = dynamic::expand(part.to(place.type()), place.sizes());
    writes.emplace_back(std::move(place), std::move(part));
  }
  settle();
  for (auto& [place, part] : writes) place.assign_(part);
  return make_null();
}

inline object flip(std::string_view name, object x) {
  const arguments given(name, x, 2, 2);
  const operand found = given.operand_at(0);
  return respond(dynamic::flip(found.value, given.longs_at(1)), found.handle);
}

/// Elements moved along dimensions by so many places, the last ones to the front.
inline tensor rolled(tensor t, const longs& places, const longs& axes) {
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::int64_t axis = normalize_axis(axes[i], t.dim(), "roll"), n = t.size(axis);
    const std::int64_t by = n ? (places[i] % n + n) % n : 0;
    if (by == 0) continue;
    const std::vector<tensor> parts{dynamic::narrow(t, axis, n - by, by), dynamic::narrow(t, axis, 0, n - by)};
    t = dynamic::cat(parts, axis);
  }
  return t;
}

/// (x;places[;dims]); without dimensions in the order of all elements.
inline object roll(std::string_view name, object x) {
  const arguments given(name, x, 2, 3);
  const operand found = given.operand_at(0);
  const longs places = given.longs_at(1);
  if (given.size() == 2) {
    if (places.size() != 1) throw value_error(message(places.size(), " numbers of places need as many dimensions"));
    const tensor line = dynamic::reshape(found.value, longs{found.value.numel()});
    return respond(dynamic::reshape(rolled(line, places, {0}), found.value.sizes()), found.handle);
  }
  const longs axes = given.longs_at(2);
  if (axes.size() != places.size())
    throw value_error(message(places.size(), " numbers of places for ", axes.size(), " dimensions"));
  return respond(rolled(found.value, places, axes), found.handle);
}

/// fftshift and ifftshift (x[;dims]): frequency 0 in the middle, and back at the start.
inline object shift(std::string_view name, object x) {
  const arguments given(name, x, 1, 2, longs_trailing);
  const operand found = given.operand_at(0);
  longs axes, places;
  if (given.size() == 2)
    axes = given.longs_at(1);
  else
    for (int i = 0; i < found.value.dim(); ++i) axes.push_back(i);
  for (std::int64_t axis : axes) {
    const std::int64_t n = found.value.size(axis);
    places.push_back(name == "fftshift" ? n / 2 : n - n / 2);
  }
  return respond(rolled(found.value, places, axes), found.handle);
}

inline object onehot(std::string_view name, object x) {
  const arguments given(name, x, 1, 2, long_trailing);
  const operand found = given.operand_at(0);
  return respond(dynamic::one_hot(found.value, given.size() == 2 ? given.long_at(1) : -1), found.handle);
}

inline object flatten(std::string_view name, object x) {
  const arguments given(name, x, 1, 3, long_trailing);
  const operand found = given.operand_at(0);
  return respond(
      dynamic::flatten(found.value, given.size() > 1 ? given.long_at(1) : 0, given.size() > 2 ? given.long_at(2) : -1),
      found.handle);
}

}  // namespace kiln::k::shape

namespace kiln::k {

inline void offer_shape(registry& r) {
  r.offer("cat", shape::join);
  r.offer("stack", shape::join);
  r.offer("reshape", shape::reshape);
  r.offer("View", shape::reshape);
  r.offer("resize", shape::resize);
  r.offer("expand", shape::expand);
  r.offer("permute", shape::permute);
  r.offer("transpose", shape::transpose);
  r.offer("squeeze", shape::squeeze);
  r.offer("unsqueeze", shape::unsqueeze);
  r.offer("narrow", shape::narrow);
  r.offer("index", shape::index);
  r.offer("makegrid", shape::makegrid);
  r.offer("amend", shape::amend);
  r.offer("Flip", shape::flip);
  r.offer("roll", shape::roll);
  r.offer("fftshift", shape::shift);
  r.offer("ifftshift", shape::shift);
  r.offer("onehot", shape::onehot);
  r.offer("flatten", shape::flatten);
}

}  // namespace kiln::k
