// SPDX-License-Identifier: BSL-1.0
// New tensors by mode: zeros, rand, arange and others, random ones by the session's generator.
#pragma once

#include <cmath>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <kiln/dynamic/creation.hpp>
#include <kiln/k/held_tensors.hpp>
#include <kiln/k/session.hpp>

namespace kiln::k::tensors {

/// A tensor of these sizes whose elements `draw` gives one after the other.
template <class T, class Draw>
tensor drawn(const dims& sizes, Draw draw) {
  return written(dtype_of<T>, sizes, [&](void* to) {
    for (T& value : std::span(static_cast<T*>(to), static_cast<std::size_t>(count(sizes))))
      value = static_cast<T>(draw());
  });
}

/// Uniform numbers in [0, 1) of the session's generator.
inline tensor rand(const dims& sizes, dtype type) {
  generator& random = session().random;
  if (type == dtype::float64) return drawn<double>(sizes, [&] { return random.uniform53(); });
  if (!is_floating(type)) throw dtype_error("random numbers between 0 and 1 need a floating dtype");
  return drawn<float>(sizes, [&] { return random.uniform(); }).to(type);
}

/// Normal numbers of the session's generator.
inline tensor randn(const dims& sizes, dtype type) {
  generator& random = session().random;
  if (!is_floating(type)) throw dtype_error("normal numbers need a floating dtype");
  return drawn<double>(sizes, [&] { return random.normal(); }).to(type);
}

/// Integers in [low, high) of the session's generator.
inline tensor randint(std::int64_t low, std::int64_t high, const dims& sizes, dtype type) {
  if (low >= high) throw value_error(message("randint from ", low, " to ", high, " has no numbers"));
  const auto range = static_cast<std::int64_t>(static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low));
  if (range <= 0) throw value_error(message("randint from ", low, " to ", high, " is wider than a long"));
  return drawn<std::int64_t>(sizes, [&] { return low + session().random.below(range); }).to(type);
}

inline tensor randperm(std::int64_t n, dtype type) {
  if (n < 0) throw value_error(message("randperm of ", n, " numbers"));
  return written(dtype::int64, {n},
                 [&](void* to) {
                   const std::span values(static_cast<std::int64_t*>(to), static_cast<std::size_t>(n));
                   std::iota(values.begin(), values.end(), 0);
                   for (std::int64_t i = 0; i + 1 < n; ++i)
                     std::swap(values[static_cast<std::size_t>(i)],
                               values[static_cast<std::size_t>(i + session().random.below(n - i))]);
                 })
      .to(type);
}

/// Sizes from a long, a list of longs, or the tensor in a handle.
inline dims sizes_from(object x) {
  if (const auto* like = find_held_as<held_tensor>(x)) return like->value.sizes();
  if (x->type == mixed_type && x->count == 0) return {};
  const auto sizes = read_longs(x);
  if (!sizes) throw value_error(message("sizes are a long, a list of longs or a tensor, given ", describe(x)));
  for (std::int64_t size : *sizes)
    if (size < 0) throw value_error(message("a size of ", size, " is negative"));
  return *sizes;
}

inline bool is_mode(std::string_view name) {
  for (std::string_view mode : {"zeros", "ones", "empty", "rand", "randn", "full", "randint", "randperm", "arange",
                                "range", "linspace", "logspace", "eye", "complex", "sparse"})
    if (mode == name) return true;
  return false;
}

/// A new tensor by mode: (mode;size;...), items from the second on, which hold no options any more.
inline tensor by_mode(std::string_view mode, const std::vector<object>& given, std::optional<dtype> wanted) {
  const auto refuse = [&]() -> value_error {
    std::string kinds;
    for (object x : given) kinds += (kinds.empty() ? "" : ", ") + describe(x);
    return value_error(message("unrecognized argument(s) for tensor creation mode: ", mode, " (", kinds, ")"));
  };
  const auto number = [&](std::size_t i) {
    if (const auto found = i < given.size() ? read_number(given[i]) : std::nullopt) return *found;
    throw refuse();
  };
  const auto whole = [&](std::size_t i) {
    if (const auto found = i < given.size() ? read_long(given[i]) : std::nullopt) return *found;
    throw refuse();
  };
  const auto count = [&](std::size_t least, std::size_t most) {
    if (given.size() < least || given.size() > most) throw refuse();
  };
  dtype type = wanted.value_or(session().default_type);
  if (mode == "zeros" || mode == "ones" || mode == "empty" || mode == "rand" || mode == "randn") {
    count(1, 1);
    if (const auto* like = find_held_as<held_tensor>(given[0]); like && !wanted) type = like->value.type();
    const dims sizes = sizes_from(given[0]);
    if (mode == "rand") return rand(sizes, type);
    if (mode == "randn") return randn(sizes, type);
    return mode == "ones" ? dynamic::ones(sizes, type) : dynamic::zeros(sizes, type);
  }
  if (mode == "full") {
    count(2, 2);
    const dims sizes = sizes_from(given[0]);
    const tensor value = to_tensor(given[1]);
    if (!value.defined() || value.dim() != 0) throw refuse();
    return dynamic::full(sizes, value.item(), wanted.value_or(value.type()));
  }
  if (mode == "randint") {
    count(2, 3);
    const bool both = given.size() == 3;
    return randint(both ? whole(0) : 0, whole(both ? 1 : 0), sizes_from(given.back()), wanted.value_or(dtype::int64));
  }
  if (mode == "randperm") {
    count(1, 1);
    return randperm(whole(0), wanted.value_or(dtype::int64));
  }
  if (mode == "arange" || mode == "range") {
    count(1, 3);
    bool longs_only = mode == "arange";
    for (object x : given) longs_only = longs_only && read_long(x);
    const double start = given.size() > 1 ? number(0) : 0, end = number(given.size() > 1 ? 1 : 0);
    const double step = given.size() > 2 ? number(2) : 1;
    type = wanted.value_or(longs_only ? dtype::int64 : session().default_type);
    if (step == 0 || !std::isfinite((end - start) / step)) throw refuse();
    if (mode == "arange" && longs_only)
      return dynamic::arange(given.size() > 1 ? whole(0) : 0, whole(given.size() > 1 ? 1 : 0),
                             given.size() > 2 ? whole(2) : 1, type);
    if (mode == "arange") return dynamic::arange(start, end, step, type);
    const std::int64_t n = static_cast<std::int64_t>(std::floor((end - start) / step)) + 1;
    if (n < 1) throw refuse();
    return dynamic::linspace(start, start + step * static_cast<double>(n - 1), n, type);
  }
  if (mode == "linspace" || mode == "logspace") {
    count(2, mode == "linspace" ? 3 : 4);
    const std::int64_t steps = given.size() > 2 ? whole(2) : 100;
    const tensor even = dynamic::linspace(number(0), number(1), steps, type);
    if (mode == "linspace") return even;
    const double base = given.size() > 3 ? number(3) : 10;
    return dynamic::call("pow", {dynamic::scalar(base), even});
  }
  if (mode == "eye") {
    count(1, 2);
    return dynamic::eye(whole(0), whole(given.size() - 1), type);
  }
  throw value_error(message("kiln has no tensors of mode ", mode));
}

}  // namespace kiln::k::tensors
