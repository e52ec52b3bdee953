// SPDX-License-Identifier: BSL-1.0
// The verbs and keywords of q that the interpreter has built in, by name. Arithmetic stands in q_arithmetic.cpp, what
// builds and takes apart lists in q_lists.cpp, what concerns the interpreter itself in q_system.cpp.
#pragma once

#include "q_value.hpp"

#include <string>

namespace k_host {

using unary = value (*)(const value&);
using binary = value (*)(const value&, const value&);

struct verb {
  std::string name;
  unary one = nullptr;
  binary two = nullptr;
};

/// The value of a verb: 102h for one that has a binary meaning, else 101h; empty for a name that is none.
value verb_value(const std::string& name);
/// What a value of type 101h or 102h stands for.
const verb& verb_of(const value& x);
void add_verb(const std::string& name, unary one, binary two = nullptr);

void add_arithmetic();
void add_lists();
void add_system();

/// + for all values, as sum needs it; = and < likewise, for where and sorting by hand.
value add(const value& a, const value& b);
value equal(const value& a, const value& b);
value join(const value& a, const value& b);
/// x$y: types by name, letter or number, and "J"$"12".
value cast(const value& type, const value& x);
/// The order that sorts a list; stable.
std::vector<integer> order_of(const value& x, bool descending);
/// Items of x by a list of whole numbers; null where there is none.
value at_all(const value& x, const std::vector<integer>& indices);

}  // namespace k_host
