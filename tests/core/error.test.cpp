// SPDX-License-Identifier: BSL-1.0
// Exceptions: all are kiln::error, and keep their text.
#include <kiln/core/error.hpp>

#include <support/grouping_locale.hpp>

#include <doctest/doctest.h>

#include <type_traits>

using namespace kiln;

TEST_CASE_TEMPLATE("errors: each is a kiln::error and a std::exception with its text", E, shape_error, index_error,
                   value_error, dtype_error, device_error, graph_error, io_error, memory_error) {
  static_assert(std::is_base_of_v<error, E>);
  try {
    throw E("what happened: the way out");
  } catch (const std::exception& e) {
    CHECK(std::string(e.what()) == "what happened: the way out");
  }
  CHECK_THROWS_AS(throw E("x"), error);
}

TEST_CASE("message: joins texts and values") {
  CHECK(message("axis ", 3, " of ", 2.5, std::string("!")) == "axis 3 of 2.5!");
}

TEST_CASE("message: numbers are the same in every locale") {
  const kiln_tests::grouping_locale german;
  CHECK(message("axis ", 1024, " of ", 1234.5, ", ", 1048576.0f) == "axis 1024 of 1234.5, 1.04858e+06");
}
