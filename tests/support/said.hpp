// SPDX-License-Identifier: BSL-1.0
// What errors say, as text to look into.
#pragma once

#include <string>
#include <string_view>

namespace test {

/// The text of what f throws as an E; empty if nothing is.
template <class E, class F>
std::string said(F f) {
  try {
    f();
  } catch (const E& e) {
    return e.what();
  }
  return {};
}
inline bool holds(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace test
