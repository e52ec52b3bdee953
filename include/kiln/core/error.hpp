// SPDX-License-Identifier: BSL-1.0
// The exceptions of the library. Each text names the operation, the shapes or values it met, and the way out.
#pragma once

#include <initializer_list>
#include <ostream>
#include <stdexcept>
#include <string>
#include <string_view>

#include <kiln/core/version.hpp>

namespace kiln {

/// Base of every exception that kiln throws on purpose.
struct error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Shapes that do not fit: no broadcast, wrong rank, sizes that overflow.
struct shape_error : error {
  using error::error;
};
/// An axis or an element index outside its range.
struct index_error : error {
  using error::error;
};
/// A value outside what the function is defined for: a negative size, an integer division by zero.
struct value_error : error {
  using error::error;
};
/// An operation that this element type does not have.
struct dtype_error : error {
  using error::error;
};
/// A device that is missing, or operands on different devices.
struct device_error : error {
  using error::error;
};
/// A backward pass that cannot run: freed graph, changed value, non-scalar loss.
struct graph_error : error {
  using error::error;
};
/// A file that is missing, truncated or malformed.
struct io_error : error {
  using error::error;
};
/// Memory that the system did not give; the text says how much was asked for.
struct memory_error : error {
  using error::error;
};

namespace detail {

/// False for every type: for sentences that stand where a mistake would compile.
template <class...>
inline constexpr bool never = false;

/// Anything that can be printed, without its type: one function per type instead of one per list of types.
class printable {
 public:
  template <class T>
  explicit printable(const T& value)
      : value_(&value), print_([](std::ostream& out, const void* p) { out << *static_cast<const T*>(p); }) {}
  void print(std::ostream& out) const { print_(out, value_); }

 private:
  const void* value_;
  void (*print_)(std::ostream&, const void*);
};

[[gnu::cold]] std::string join(std::initializer_list<printable> parts);

/// What a part of a message is printed as: text of any length as one type.
template <class T>
const T& printed(const T& value) {
  return value;
}
inline std::string_view printed(const char* text) {
  return text;
}

}  // namespace detail

/// Joins its arguments into one text, as `<<` prints them to a stream of the classic locale.
template <class... Parts>
[[gnu::cold]] std::string message(const Parts&... parts) {
  return detail::join({detail::printable(detail::printed(parts))...});
}

}  // namespace kiln

#ifndef KILN_COMPILED
#include <kiln/core/error_impl.hpp>
#endif
