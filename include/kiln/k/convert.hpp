// SPDX-License-Identifier: BSL-1.0
// K values to tensors and back: which type becomes which, nested lists to dimensions, simple lists in one copy.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <kiln/core/dims.hpp>
#include <kiln/core/dtype.hpp>
#include <kiln/dynamic/lent.hpp>
#include <kiln/dynamic/tensor.hpp>
#include <kiln/k/guard.hpp>
#include <kiln/k/value.hpp>
#include <kiln/tensor/creation.hpp>

namespace kiln::k {

using tensor = dynamic::tensor;
using longs = std::vector<std::int64_t>;

/// The dtype of a K type code (an atom's or a list's); none for symbols, guids and temporals.
inline std::optional<dtype> dtype_of_type(int type) {
  switch (type < 0 ? -type : type) {
    case boolean_type:
      return dtype::boolean;
    case byte_type:
      return dtype::uint8;
    case char_type:
      return dtype::int8;
    case short_type:
      return dtype::int16;
    case int_type:
      return dtype::int32;
    case long_type:
      return dtype::int64;
    case real_type:
      return dtype::float32;
    case float_type:
      return dtype::float64;
    default:
      return {};
  }
}

/// The K type that holds the values of a dtype; both halves come back as real.
inline int type_of_dtype(dtype type) {
  switch (type) {
    case dtype::boolean:
      return boolean_type;
    case dtype::uint8:
      return byte_type;
    case dtype::int8:
      return char_type;
    case dtype::int16:
      return short_type;
    case dtype::int32:
      return int_type;
    case dtype::int64:
      return long_type;
    case dtype::float64:
      return float_type;
    default:
      return real_type;
  }
}

/// What q calls a dtype: `long`, `double`, `char`.
inline std::string_view symbol_of(dtype type) {
  static constexpr std::string_view names[] = {"bool", "byte", "char",     "short", "int",
                                               "long", "half", "bfloat16", "float", "double"};
  return names[static_cast<std::size_t>(type)];
}

/// The dtype of that name; none for other symbols.
inline std::optional<dtype> dtype_of_symbol(std::string_view name) {
  for (int i = 0; i < dtype_count; ++i)
    if (symbol_of(static_cast<dtype>(i)) == name) return static_cast<dtype>(i);
  return {};
}

/// A tensor whose elements `write(void*)` puts into new memory, in row-major order.
template <class Write>
tensor written(dtype type, const dims& sizes, Write&& write) {
  auto state = new_tensor(type, sizes);
  if (count(sizes) > 0) write(static_cast<void*>(state->data));
  return tensor::of(std::move(state));
}

/// A tensor with a copy of elements that lie in row-major order.
inline tensor copied(dtype type, const dims& sizes, const void* from) {
  return written(type, sizes,
                 [&](void* to) { std::memcpy(to, from, static_cast<std::size_t>(count(sizes)) * size_of(type)); });
}
/// Positions as an index beside a tensor.
inline tensor index_beside(const tensor& x, const longs& at) {
  return copied(dtype::int64, {static_cast<std::int64_t>(at.size())}, at.data()).to(x.device());
}

namespace detail {
/// The sizes of a nested list and the type of what it holds in the end.
struct nested_shape {
  longs sizes;
  std::optional<int> type;  // 0 for empty general lists
};

inline void look_into(object x, std::size_t depth, nested_shape& found) {
  if (x->type < 0)
    throw bare_error(message("unable to map mixed array to tensor: ", kind_name(x), " encountered at depth ", depth));
  if (!is_list(x) || (x->type != mixed_type && !dtype_of_type(x->type)))
    throw bare_error(message("no torch type found for k: ", kind_name(x),
                             depth ? message(", encountered at depth ", depth) : std::string()));
  if (depth >= max_rank)
    throw bare_error(message("unable to map array to tensor: more than ", max_rank, " dimensions"));
  if (found.type) {
    if (depth >= found.sizes.size())
      throw bare_error(message("dimension mismatch at depth ", depth, ", a list where earlier items have none"));
    if (x->count != found.sizes[depth])
      throw bare_error(message("dimension mismatch at depth ", depth, ", ", found.sizes[depth], " vs ", x->count));
    const int expected = depth + 1 < found.sizes.size() ? +mixed_type : *found.type;
    if (x->type != expected) {
      k0 other{};
      other.type = static_cast<signed char>(expected);
      throw bare_error(message("type mismatch at depth ", depth, ", ", kind_name(&other), " vs ", kind_name(x)));
    }
  } else {
    found.sizes.push_back(x->count);
  }
  if (x->type != mixed_type || x->count == 0)
    found.type = x->type;
  else
    for (object item : span_of<object>(x)) look_into(item, depth + 1, found);
}

inline void copy_leaves(object x, char*& place, std::size_t bytes) {
  if (x->type == mixed_type)
    for (object item : span_of<object>(x)) copy_leaves(item, place, bytes);
  else if (const std::size_t size = static_cast<std::size_t>(x->count) * bytes; size > 0) {
    std::memcpy(place, items<char>(x), size);
    place += size;
  }
}

inline object nested_value(const char*& place, std::span<const std::int64_t> sizes, int type, std::size_t bytes) {
  if (sizes.size() > 1) {
    object list = ktn(mixed_type, sizes[0]);
    for (object& item : span_of<object>(list)) item = nested_value(place, sizes.subspan(1), type, bytes);
    return list;
  }
  object list = ktn(type, sizes[0]);
  if (const std::size_t size = static_cast<std::size_t>(sizes[0]) * bytes; size > 0) {
    std::memcpy(items<char>(list), place, size);
    place += size;
  }
  return list;
}
}  // namespace detail

/// A tensor with a copy of the value: an atom has no dimensions, a simple list one, nested lists theirs; `()` is an
/// empty float32 tensor, `::` an undefined one. Nulls and infinities stay the numbers that stand for them.
/// @throws bare_error for lists of other lengths or types at one depth, and for what no dtype holds.
inline tensor to_tensor(object x) {
  if (is_null(x)) return tensor{};
  if (x->type < 0) {
    const auto type = dtype_of_type(x->type);
    if (!type) throw bare_error(message("no torch type found for k: ", kind_name(x)));
    return copied(*type, {}, &x->byte);
  }
  if (is_list(x) && x->type != mixed_type && dtype_of_type(x->type))  // flat: straight from the list
    return copied(*dtype_of_type(x->type), {x->count}, items<char>(x));
  detail::nested_shape shape;
  detail::look_into(x, 0, shape);
  const dtype type = *shape.type == mixed_type ? dtype::float32 : *dtype_of_type(*shape.type);
  return written(type, shape.sizes, [&](void* to) {
    char* place = static_cast<char*>(to);
    detail::copy_leaves(x, place, size_of(type));
  });
}

namespace detail {
/// Lists that were let go of on another thread than q's main one, which has to release them.
struct lists_to_release {
  std::mutex lock;
  std::atomic<bool> some{false};
  std::vector<object> lists;
};
inline lists_to_release& left_lists() {
  static lists_to_release& all = *new lists_to_release;
  return all;
}
inline void give_back_list(void* list) noexcept {
  if (on_main_thread()) return r0(static_cast<object>(list));
  lists_to_release& left = left_lists();
  const std::lock_guard alone(left.lock);
  left.lists.push_back(static_cast<object>(list));
  left.some = true;
}
}  // namespace detail

/// Releases what other threads have let go of. Only on q's main thread.
inline void release_left_lists() {
  detail::lists_to_release& left = detail::left_lists();
  if (!left.some.load(std::memory_order_relaxed)) return;
  const std::lock_guard alone(left.lock);
  left.some = false;
  for (object list : left.lists) r0(list);
  left.lists.clear();
}

/// Whether `viewed` makes no copy: a simple list of a type that tensors have.
inline bool is_flat(object x) {
  return is_list(x) && x->type != mixed_type && dtype_of_type(x->type);
}
/// The same as to_tensor, but a simple list stays where it is: q, which sees another owner, copies it before it changes
/// it, and kiln refuses to.
inline tensor viewed(object x) {
  if (!is_flat(x) || x->count == 0) return to_tensor(x);
  return dynamic::lent(*dtype_of_type(x->type), {x->count}, items<char>(x), r1(x), &detail::give_back_list);
}

/// The value of a tensor: an atom, a simple list, or nested lists; `::` of an undefined one.
inline object to_value(const tensor& t) {
  if (!t.defined()) return make_null();
  // Two-byte floats have no K type: they travel as real.
  const bool half = t.type() == dtype::float16 || t.type() == dtype::bfloat16;
  const tensor source = (half ? t.to(dtype::float32) : t).to(dynamic::device{});
  const auto* place = static_cast<const char*>(source.data());
  const int type = type_of_dtype(source.type());
  const longs sizes(source.sizes().begin(), source.sizes().end());
  if (!sizes.empty()) return detail::nested_value(place, sizes, type, size_of(source.type()));
  object atom = ka(-type);
  std::memcpy(&atom->byte, place, size_of(source.type()));
  return atom;
}

}  // namespace kiln::k
