// SPDX-License-Identifier: BSL-1.0
// Which functions of the table have an implementation. Areas enter theirs by name; a name that nobody enters answers
// with an error that says so.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include <kiln/core/error.hpp>
#include <kiln/k/arguments.hpp>
#include <kiln/k/entry_lock.hpp>
#include <kiln/k/functions.hpp>
#include <kiln/k/guard.hpp>

namespace kiln::k {

/// What a function of q calls: its own name, which messages and tables of operations go by, and its argument.
using implementation = object (*)(std::string_view name, object x);
/// That of a function of two arguments.
using implementation_of_two = object (*)(std::string_view name, object x, object y);

/// Implementations by place in the table of functions.
class registry {
 public:
  /// @throws value_error for a name that the table does not have, or has for another number of arguments
  void offer(std::string_view name, implementation f) { entries_[place_of(name, 1)].one = f; }
  void offer(std::string_view name, implementation_of_two f) { entries_[place_of(name, 2)].two = f; }

  bool offers(std::size_t place) const { return entries_[place].one || entries_[place].two; }

  /// Calls a function, `y` where it takes two arguments. Signals an error of q, never throws.
  object call(std::size_t place, object x, object y = nullptr) const noexcept {
    const std::string_view name = functions[place].name;
    return guarded(name, [&]() -> object {
      if (!on_main_thread()) throw value_error("called from a second thread: kiln's functions are for q's main thread");
      const entry_lock::call turn(entries());
      if (entries().outermost()) {
        free_temporaries();
        release_left_lists();
      }
      if (!x || (functions[place].name == "use" && !y)) throw value_error("called without its argument");
      if (entries_[place].two) return entries_[place].two(name, x, y);
      if (entries_[place].one) return entries_[place].one(name, x);
      throw value_error("not offered by kiln in this version; help[] lists what is");
    });
  }

 private:
  struct entry {
    implementation one = nullptr;
    implementation_of_two two = nullptr;
  };
  static std::size_t place_of(std::string_view name, int arguments) {
    const auto place = find_function(name);
    if (!place || arity(functions[*place]) != arguments)
      throw value_error(message("no function ", name, " of ", arguments, " arguments in the table"));
    return *place;
  }
  std::array<entry, functions.size()> entries_;
};

}  // namespace kiln::k
