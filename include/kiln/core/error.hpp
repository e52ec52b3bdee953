// SPDX-License-Identifier: BSL-1.0
// The exceptions of the library. Each text names the operation, the shapes or values it met, and the way out.
#pragma once

#include <sstream>
#include <stdexcept>
#include <string>

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

/// Joins its arguments into one text, as `<<` would print them.
template <class... Parts>
std::string message(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return out.str();
}

}  // namespace kiln
