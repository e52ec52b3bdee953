// SPDX-License-Identifier: BSL-1.0
// Every element type reaches its C++ type; others are refused by name.
#include <doctest/doctest.h>

#include <kiln/dynamic/visit.hpp>
#include <string>

using namespace kiln::dynamic;
using kiln::dtype;

TEST_CASE("each dtype is visited as itself") {
  for (int i = 0; i < kiln::dtype_count; ++i) {
    const auto type = static_cast<dtype>(i);
    CHECK(with_type(type, []<class T>(std::type_identity<T>) { return kiln::dtype_of<T>; }) == type);
    const auto same = [&]<class T>(std::type_identity<T>) { return kiln::dtype_of<T> == type; };
    if (kiln::is_floating(type))
      CHECK(with_floating_type(type, "f", same));
    else
      CHECK_THROWS_AS(with_floating_type(type, "f", same), kiln::dtype_error);
    if (type == dtype::float32 || type == dtype::float64)
      CHECK(with_float_or_double(type, "f", same));
    else
      CHECK_THROWS_AS(with_float_or_double(type, "f", same), kiln::dtype_error);
  }
  try {
    with_float_or_double(dtype::int8, "matmul", [](auto) {});
  } catch (const kiln::dtype_error& e) {
    CHECK(std::string(e.what()).find("matmul: takes float32 and float64, not int8") != std::string::npos);
  }
}
