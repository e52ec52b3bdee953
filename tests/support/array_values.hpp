// SPDX-License-Identifier: BSL-1.0
// What stands in the files of tests/io/files: element i as make_files.py computes it.
#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>
#include <type_traits>

#include <kiln/io/array.hpp>

namespace kiln_tests {

inline std::filesystem::path made_file(const std::string& name) {
  return std::filesystem::path(KILN_TEST_SOURCE_DIR) / "tests/io/files" / name;
}

template <kiln::Element T>
T made_value(std::int64_t i) {
  if constexpr (std::is_same_v<T, bool>)
    return i % 2 == 1;
  else if constexpr (std::is_same_v<T, std::uint8_t>)
    return static_cast<T>(i);
  else if constexpr (kiln::is_floating(kiln::dtype_of<T>))
    return static_cast<T>(static_cast<float>(i - 2) * 0.75f);
  else
    return static_cast<T>(i - 2);
}

/// Checks type, shape and every bit.
inline void check_made(const kiln::io::array& a, kiln::dtype type, const kiln::dims& sizes) {
  REQUIRE(a.dtype() == type);
  REQUIRE(a.sizes() == sizes);
  kiln::visit_dtype(type, [&]<class T>(std::type_identity<T>) {
    const auto values = a.as<T>().span();
    bool same = true;
    for (std::int64_t i = 0; i < a.numel(); ++i) {
      const T wanted = made_value<T>(i);
      same = same && std::memcmp(&values[static_cast<std::size_t>(i)], &wanted, sizeof(T)) == 0;
    }
    CHECK(same);
  });
}

/// Such a tensor.
inline kiln::io::array made_array(kiln::dtype type, const kiln::dims& sizes) {
  kiln::io::array a(kiln::new_tensor(type, sizes));
  kiln::visit_dtype(type, [&]<class T>(std::type_identity<T>) {
    T* const to = static_cast<T*>(a.state()->data);
    for (std::int64_t i = 0; i < a.numel(); ++i) to[i] = made_value<T>(i);
  });
  return a;
}

}  // namespace kiln_tests
