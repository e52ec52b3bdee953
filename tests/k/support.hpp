// SPDX-License-Identifier: BSL-1.0
// What tests of the q binding share: values of q in short, calls by name, watches for what leaks.
#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <kiln/k/handles.hpp>
#include <kiln/k/registry.hpp>
#include <kiln/k/value.hpp>

#include "k_host/runtime.hpp"

namespace k = kiln::k;
using k::owned;

namespace k_test {

inline owned longs(const std::vector<std::int64_t>& values) {
  return owned(k::make_longs(values));
}
inline owned floats(const std::vector<double>& values) {
  return owned(k::make_floats(values));
}
inline owned reals(const std::vector<float>& values) {
  owned list(k::ktn(k::real_type, static_cast<std::int64_t>(values.size())));
  std::copy(values.begin(), values.end(), k::items<float>(list.get()));
  return list;
}
inline owned booleans(std::string_view digits) {
  owned list(k::ktn(k::boolean_type, static_cast<std::int64_t>(digits.size())));
  for (std::size_t i = 0; i < digits.size(); ++i) k::items<std::uint8_t>(list.get())[i] = digits[i] == '1';
  return list;
}
inline owned number(int value) {
  return owned(k::kj(value));
}
inline owned number(std::int64_t value) {
  return owned(k::kj(value));
}
inline owned number(double value) {
  return owned(k::kf(value));
}
inline owned flag(bool value) {
  return owned(k::kb(value));
}
inline owned symbol(std::string_view text) {
  return owned(k::make_symbol(text));
}
inline owned symbols(const std::vector<std::string>& texts) {
  return owned(k::make_symbols(texts));
}
inline owned null() {
  return owned(k::make_null());
}
inline owned copy(const owned& x) {
  return owned::share(x.get());
}
/// A general list.
template <class... T>
owned list(T... values) {
  return owned(k::knk(static_cast<int>(sizeof...(values)), values.release()...));
}
inline owned empty_list() {
  return owned(k::ktn(0, 0));
}

/// The functions of some areas, called by name.
class library {
 public:
  library(std::initializer_list<void (*)(k::registry&)> areas) {
    for (auto* offer : areas) offer(functions_);
  }
  /// The result; null with `error` filled in after an error.
  owned operator()(std::string_view name, const owned& x, const owned& y = {}) const {
    error.clear();
    k_host::clear_error();
    owned result(functions_.call(k::find_function(name).value(), x.get(), y.get()));
    if (!result.get()) error = k_host::pending_error() ? k_host::pending_error() : "null without an error";
    return result;
  }
  std::string error_of(std::string_view name, const owned& x, const owned& y = {}) const {
    (*this)(name, x, y);
    return error;
  }
  mutable std::string error;

 private:
  k::registry functions_;
};

inline std::vector<double> doubles(const owned& x) {
  REQUIRE(x.get());
  std::vector<double> values;
  const int type = x.get()->type;
  if (type < 0) {
    owned one(k::ktn(-type, 1));
    k::object atom = x.get();
    switch (-type) {
      case k::float_type:
        return {atom->floating};
      case k::real_type:
        return {static_cast<double>(atom->real)};
      case k::long_type:
        return {static_cast<double>(atom->long_integer)};
      case k::boolean_type:
        return {static_cast<double>(atom->byte)};
      default:
        return {};
    }
  }
  if (type == k::mixed_type) {
    for (k::object item : k::span_of<k::object>(x.get()))
      for (double value : doubles(owned::share(item))) values.push_back(value);
    return values;
  }
  for (std::int64_t i = 0; i < x.get()->count; ++i)
    for (double value : doubles(k::item_of(x.get(), i))) values.push_back(value);
  return values;
}

inline bool near(const owned& x, const std::vector<double>& expected, double tolerance = 1e-6) {
  const auto values = doubles(x);
  bool good = values.size() == expected.size();
  for (std::size_t i = 0; good && i < values.size(); ++i)
    good = std::abs(values[i] - expected[i]) <= tolerance * (1 + std::abs(expected[i]));
  return good;
}

/// Checks at its end that neither objects of K nor handles are left of what a test made.
struct no_leak {
  std::int64_t before = k_host::live_objects();
  std::size_t held = k::handles().size();
  ~no_leak() {
    CHECK(k::handles().size() == held);
    CHECK(k_host::live_objects() == before);
  }
};

}  // namespace k_test
