// SPDX-License-Identifier: BSL-1.0
// What modules, losses and optimizers are told by name: an ordered list of names and values, and who reads it. A name
// that nobody knows is an error, and so is a value of another kind.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <kiln/core/dims.hpp>
#include <kiln/core/dtype.hpp>
#include <kiln/core/error.hpp>
#include <kiln/core/window.hpp>

namespace kiln::dynamic {

/// A value of an option. Integers stand for numbers with a fraction too, and 0 and 1 for truth values.
class option {
 public:
  template <class T>
    requires std::is_arithmetic_v<T> option(T value) {
      if constexpr (std::is_same_v<T, bool>)
        value_ = value;
      else if constexpr (std::is_integral_v<T>)
        value_ = static_cast<std::int64_t>(value);
      else
        value_ = static_cast<double>(value);
    }
  option(std::string value) : value_(std::move(value)) {}
  option(const char* value) : value_(std::string(value)) {}
  option(std::vector<std::int64_t> value) : value_(std::move(value)) {}
  const auto& value() const { return value_; }

 private:
  std::variant<std::int64_t, double, bool, std::string, std::vector<std::int64_t>> value_;
};

/// Names with values, in the order in which they were given; a name given again takes the place of the first.
class options {
 public:
  options() = default;
  options(std::initializer_list<std::pair<std::string, option>> list) {
    for (const auto& [name, value] : list) set(name, value);
  }
  options& set(std::string name, option value) {
    for (auto& known : all_)
      if (known.first == name) {
        known.second = std::move(value);
        return *this;
      }
    all_.emplace_back(std::move(name), std::move(value));
    return *this;
  }
  const option* find(std::string_view name) const {
    for (const auto& known : all_)
      if (known.first == name) return &known.second;
    return nullptr;
  }
  auto begin() const { return all_.begin(); }
  auto end() const { return all_.end(); }
  std::size_t size() const { return all_.size(); }

 private:
  std::vector<std::pair<std::string, option>> all_;
};

/// Reads the options of one thing, whose name its errors say.
class option_reader {
 public:
  option_reader(std::string what, const options& given) : what_(std::move(what)), given_(given) {}

  /// A value as T: std::int64_t, double, bool, std::string, pair2d (a number or two) or dims; `otherwise` where it is
  /// not given. Throws value_error for a value of another kind.
  template <class T>
  T get(std::string_view name, T otherwise) {
    known_.emplace_back(name);
    const option* const found = given_.find(name);
    return found ? as<T>(name, *found) : otherwise;
  }
  /// The same of what has to be given. Throws value_error if it is not.
  template <class T>
  T need(std::string_view name) {
    known_.emplace_back(name);
    const option* const found = given_.find(name);
    if (!found) throw value_error(message(what_, ": needs the option \"", name, "\", which was not given"));
    return as<T>(name, *found);
  }
  bool has(std::string_view name) {
    known_.emplace_back(name);
    return given_.find(name) != nullptr;
  }
  /// The text that is given, or null where there is none or the value is of another kind.
  const std::string* text(std::string_view name) {
    known_.emplace_back(name);
    const option* const found = given_.find(name);
    return found ? std::get_if<std::string>(&found->value()) : nullptr;
  }
  /// "dtype": float32, which it is if not given, or float64.
  dtype type() {
    const std::string name = get<std::string>("dtype", "float32");
    if (name == "float32") return dtype::float32;
    if (name == "float64") return dtype::float64;
    throw value_error(message(what_, ": \"dtype\" is \"", name, "\": use \"float32\" or \"float64\""));
  }
  /// After all have been read. Throws value_error for an option that nobody asked for.
  void finish() const {
    for (const auto& each : given_) {
      bool known = false;
      std::string all;
      for (const std::string& name : known_) {
        known |= name == each.first;
        all += (all.empty() ? "" : ", ") + name;
      }
      if (!known)
        throw value_error(
            message(what_, ": there is no option \"", each.first, "\"; it has ", all.empty() ? "none" : all));
    }
  }
  const std::string& what() const { return what_; }
  [[noreturn]] void refuse(std::string_view name, std::string_view why) const {
    throw value_error(message(what_, ": the option \"", name, "\" ", why));
  }

 private:
  template <class T>
  T as(std::string_view name, const option& given) const {
    const auto& value = given.value();
    const auto* const whole = std::get_if<std::int64_t>(&value);
    const auto* const list = std::get_if<std::vector<std::int64_t>>(&value);
    if constexpr (std::is_same_v<T, double>) {
      if (whole) return static_cast<double>(*whole);
    } else if constexpr (std::is_same_v<T, bool>) {
      if (whole && (*whole == 0 || *whole == 1)) return *whole == 1;
    } else if constexpr (std::is_same_v<T, pair2d>) {
      if (whole) return pair2d(*whole);
      if (list && list->size() == 2) return pair2d((*list)[0], (*list)[1]);
      refuse(name, "takes a whole number or two");
    } else if constexpr (std::is_same_v<T, dims>) {
      if (whole) return dims{*whole};
      if (list) return dims(*list);
      refuse(name, "takes whole numbers");
    }
    if constexpr (!std::is_same_v<T, pair2d> && !std::is_same_v<T, dims>) {
      if (const T* const same = std::get_if<T>(&value)) return *same;
      refuse(name, std::is_same_v<T, std::int64_t> ? "takes a whole number"
                   : std::is_same_v<T, double>     ? "takes a number"
                   : std::is_same_v<T, bool>       ? "takes true or false"
                                                   : "takes a text");
    }
  }

  std::string what_;
  const options& given_;
  std::vector<std::string> known_;
};

}  // namespace kiln::dynamic
