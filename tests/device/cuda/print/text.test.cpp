// SPDX-License-Identifier: BSL-1.0
// Value rules called with texts write C++.
#include <kiln/device/cuda/print/text.hpp>

#include <doctest/doctest.h>

using kiln::cuda::text;

TEST_CASE("text: operators put parentheses around what is not a name or a call") {
  const text<float> a{"a"}, b{"b"};
  CHECK((a + b * a).code == "a + (b * a)");
  CHECK((-(a - b)).code == "-(a - b)");
  CHECK(tanh(a + b).code == "tanh(a + b)");
  CHECK((tanh(a) / b).code == "tanh(a) / b");
}

TEST_CASE("text: integers wrap around through functions, truth values are not turned into numbers") {
  const text<int> i{"i"}, j{"j"};
  CHECK((i + j).code == "plus(i, j)");
  CHECK((-(i * j)).code == "negative(times(i, j))");
  CHECK((i << j).code == "shift_left(i, j)");
  CHECK(fmod(i, j).code == "fmod(i, j, fault)");
  const text<bool> p{"p"};
  CHECK((~p).code == "!p");
  CHECK((i < j).code == "i < j");
  CHECK(where(p, i, j).code == "where(p, i, j)");
}
