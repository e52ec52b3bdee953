// SPDX-License-Identifier: BSL-1.0
// Options that q gives to modules, losses and optimizers, under the names that kiln has for them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <kiln/dynamic/options.hpp>
#include <kiln/k/arguments.hpp>
#include <kiln/k/value.hpp>

namespace kiln::k {

/// An option's value: whole numbers (short and int widen), float, boolean, symbol, lists of longs.
/// @throws value_error for a real and for anything else
inline dynamic::option option_value(std::string_view name, object x) {
  if (const auto flag = read_flag(x)) return *flag;
  if (const auto whole = read_long(x)) return *whole;
  if (x->type == -float_type) return x->floating;
  if (const auto text = read_text(x); text && x->type != -char_type) return std::string(*text);
  if (x->type == long_type) return *read_longs(x);
  throw value_error(message("option `", name, " is a ", describe(x), ", expected a boolean, long, double or symbol"));
}

/// The name in kiln of an option of q's: of "in=in_features out=out_features bias", what stands behind the `=`, or the
/// name itself. Empty for a name that is not listed, "-" for one that is taken and left unused.
inline std::string_view renamed(std::string_view names, std::string_view wanted) {
  while (!names.empty()) {
    const std::size_t end = std::min(names.find(' '), names.size());
    const std::string_view each = names.substr(0, end);
    names.remove_prefix(std::min(end + 1, names.size()));
    const std::size_t equals = each.find('=');
    if (each.substr(0, std::min(equals, each.size())) == wanted)
      return equals == std::string_view::npos ? each : each.substr(equals + 1);
  }
  return {};
}

/// What q's options are in kiln.
/// @throws value_error for one that `names` does not list
inline dynamic::options translated(std::string_view what, std::string_view names, const std::vector<option>& given) {
  dynamic::options found;
  for (const option& each : given) {
    const std::string_view called = renamed(names, each.name);
    if (called.empty()) throw value_error(message(what, ": unrecognized option `", each.name));
    if (called == "-" || is_null(each.value.get())) continue;
    found.set(std::string(called), option_value(each.name, each.value.get()));
  }
  return found;
}

/// Options as a dictionary of q.
inline object options_value(const std::vector<option>& from) {
  std::vector<std::string> names;
  std::vector<owned> values;
  for (const option& each : from) {
    names.push_back(each.name);
    values.push_back(owned::share(each.value.get()));
  }
  return make_dictionary(names, make_list(std::move(values)));
}

}  // namespace kiln::k
