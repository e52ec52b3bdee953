// SPDX-License-Identifier: BSL-1.0
// How q writes values: on one line, as inside of other values, and on the lines of a console of 25 by 80.
#pragma once

#include "q_value.hpp"

#include <string>
#include <vector>

namespace k_host {

/// A value on one line: (1;2 3;`a), `a`b!1 2, +`a`b!(1 2;3 4).
std::string one_line(const value& x);
/// An atom without what tells its type, as `string` writes it: 1.5, abc, 0N.
std::string plain_text(const value& atom);
/// The lines of the console; none for null.
std::vector<std::string> console_lines(const value& x);
/// The same, cut at the console's width and height, each with a line end.
std::string displayed(const value& x);

/// The name of a type, as in `long$(), and its letter; empty and 0 for functions.
std::string type_name(int type);
char type_letter(int type);
/// The type that a name or a letter stands for; 0 if none.
int type_named(const std::string& name);

}  // namespace k_host
