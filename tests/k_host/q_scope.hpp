// SPDX-License-Identifier: BSL-1.0
// What names mean inside of a function, and where errors there happened.
#pragma once

#include "q_eval.hpp"

#include <map>
#include <string>
#include <utility>

namespace k_host {

struct interpreter::scope {
  std::map<std::string, value> locals;
  const std::map<std::string, value>* columns = nullptr;  // of the table that a query looks at
  std::string source;
  int start = 0;  // where source begins in the text that was parsed
  int level = 0;  // 0 outside of functions
};

/// Puts something else into a place for as long as it lives.
template <class T>
class scope_guard {
 public:
  scope_guard(T& place, T now) : place_(place), before_(std::exchange(place, now)) {}
  ~scope_guard() { place_ = before_; }
  scope_guard(const scope_guard&) = delete;
  scope_guard& operator=(const scope_guard&) = delete;

 private:
  T& place_;
  T before_;
};

}  // namespace k_host
