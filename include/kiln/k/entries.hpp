// SPDX-License-Identifier: BSL-1.0
// What q sees of the library: a C function for every row of the table, the dictionary of them, and help.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <kiln/k/library.hpp>
#include <kiln/k/registry.hpp>
#include <kiln/k/value.hpp>

namespace kiln::k {

/// The C function of a row: q passes its argument, which stays q's, and takes over the result.
template <std::size_t Row>
object entry(object x) {
  return library().call(Row, x);
}
template <std::size_t Row>
object entry_of_two(object x, object y) {
  return library().call(Row, x, y);
}

namespace detail {
template <std::size_t Row>
void* entry_address() {
  if constexpr (arity(functions[Row]) == 2)
    return reinterpret_cast<void*>(&entry_of_two<Row>);
  else
    return reinterpret_cast<void*>(&entry<Row>);
}
template <std::size_t... Row>
std::array<void*, sizeof...(Row)> entry_addresses(std::index_sequence<Row...>) {
  return {entry_address<Row>()...};
}
}  // namespace detail

/// All functions as a dictionary: names ! functions. What the library that q loads has to export.
inline object fns(object) noexcept {
  return guarded("fns", [] {
    const auto addresses = detail::entry_addresses(std::make_index_sequence<functions.size()>());
    std::vector<std::string> names;
    std::vector<owned> values;
    for (std::size_t row = 0; row < functions.size(); ++row) {
      names.emplace_back(functions[row].name);
      values.emplace_back(dl(addresses[row], arity(functions[row])));
    }
    return make_dictionary(names, make_list(std::move(values)));
  });
}

}  // namespace kiln::k
