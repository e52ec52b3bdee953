// SPDX-License-Identifier: BSL-1.0
// Element types: names, sizes, and the way from a run-time type to a C++ type. Promotion: tests/static/promotion.cpp.
#include <kiln/core/dtype.hpp>

#include <doctest/doctest.h>

#include <set>
#include <sstream>
#include <string_view>
#include <type_traits>

using namespace kiln;

TEST_CASE("dtype: every type has its name and size, and comes back from its number") {
  std::set<std::string_view> names;
  for (int i = 0; i < dtype_count; ++i) {
    const dtype type = static_cast<dtype>(i);
    names.insert(name(type));
    visit_dtype(type, [&]<class T>(std::type_identity<T>) {
      CHECK(dtype_of<T> == type);
      CHECK(size_of(type) == sizeof(T));
      CHECK(is_floating(type) == (!std::is_integral_v<T>));
      static_assert(std::is_same_v<element_t<dtype_of<T>>, T>);
    });
  }
  CHECK(names.size() == dtype_count);
  CHECK(name(dtype::float32) == "float32");
  CHECK(name(dtype::boolean) == "bool");
  CHECK(name(dtype::bfloat16) == "bfloat16");
}

TEST_CASE("dtype: what is no element type is none") {
  static_assert(Element<float> && Element<bool> && Element<half> && Element<std::int64_t>);
  static_assert(!Element<char> && !Element<long double> && !Element<std::uint32_t> && !Element<const float>);
  static_assert(Number<int> && Number<double> && Number<half> && Number<unsigned> && !Number<const char*>);
}

TEST_CASE("dtype: promotion at run time is symmetric, and each type keeps itself") {
  for (int i = 0; i < dtype_count; ++i)
    for (int k = 0; k < dtype_count; ++k) {
      const dtype a = static_cast<dtype>(i), b = static_cast<dtype>(k);
      CHECK(promote(a, b) == promote(b, a));
      if (i == k) CHECK(promote(a, b) == a);
      if (is_floating(a)) CHECK(is_floating(promote(a, b)));
    }
}

TEST_CASE("dtype: half types are computed with as float32") {
  CHECK(compute_type(dtype::float16) == dtype::float32);
  CHECK(compute_type(dtype::bfloat16) == dtype::float32);
  CHECK(compute_type(dtype::float64) == dtype::float64);
  CHECK(compute_type(dtype::int8) == dtype::int8);
}

TEST_CASE("dtype: is printed as its name") {
  std::ostringstream out;
  out << dtype::float16 << ' ' << dtype::int64;
  CHECK(out.str() == "float16 int64");
}
