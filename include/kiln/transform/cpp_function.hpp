// SPDX-License-Identifier: BSL-1.0
// Tapes of plain numbers as the text of C++ functions, each value with a statement of its own. cpp_function_impl.hpp
// writes them, by the words of cpp_text.hpp.
#pragma once

#include <string>
#include <vector>

#include <kiln/core/dtype.hpp>
#include <kiln/core/version.hpp>
#include <kiln/tape/program.hpp>

namespace kiln {

/// How source<Cpp> names things.
struct source_options {
  std::string name = "f";                   ///< of the function; its derivative is called name_gradient
  std::vector<std::string> arguments = {};  ///< by default x, or x0, x1 ... of several
};

namespace detail {

/// A function to be written: a name, and of each argument the name and type.
struct cpp_signature {
  std::string name;
  std::vector<std::string> arguments;
  std::vector<dtype> types;
};

/// The function that computes the tape's results, of which several come as a tuple. Leaves are the arguments; `numbers`
/// are those that the function was made with.
std::string cpp_function(const tape_view& tape, const cpp_signature& how, const std::vector<double>& numbers);

/// A function and its derivative by its arguments, to be written.
struct cpp_source_parts {
  source_options names;  ///< with a name for each argument
  std::vector<dtype> types;
  std::vector<double> numbers;  ///< that the function was made with
  std::string formula;
  tape_view value, gradient;
};
/// Both functions, below the headers that they need.
std::string cpp_text_of(const cpp_source_parts& parts);

/// Names the arguments that have no name yet. Throws value_error for what no C++ name is, for a name that the text
/// gives to a value, and for other than `inputs` names.
void check_names(source_options& names, int inputs);

}  // namespace detail
}  // namespace kiln

#ifndef KILN_COMPILED
#include <kiln/transform/cpp_function_impl.hpp>
#endif
