// SPDX-License-Identifier: BSL-1.0
#include <kiln/k/guard.hpp>

#include <doctest/doctest.h>

#include <new>
#include <stdexcept>
#include <string>

#include "k_host/runtime.hpp"

namespace k = kiln::k;

namespace {
template <class Thrown>
std::string text_of(Thrown thrown) {
  CHECK(k::guarded("mul", [&]() -> k::object { throw thrown; }) == nullptr);
  const std::string text = k_host::pending_error();
  k_host::clear_error();
  return text;
}
}  // namespace

TEST_CASE("every exception becomes an error with the name before it") {
  CHECK(text_of(kiln::value_error("sizes differ")) == "mul: sizes differ");
  CHECK(text_of(kiln::value_error("mul: sizes differ")) == "mul: sizes differ");
  CHECK(text_of(kiln::value_error("multiply: sizes differ")) == "mul: multiply: sizes differ");
  CHECK(text_of(std::runtime_error("x")) == "mul: x");
  CHECK(text_of(std::bad_alloc()) == "mul: out of memory");
  CHECK(text_of(17) == "mul: unknown error");
}

TEST_CASE("texts that stand by themselves stay as they are") {
  CHECK(text_of(k::bare_error("stale pointer")) == "stale pointer");
}

TEST_CASE("the text outlives the call, and a result passes") {
  std::string text(3000, 'x');
  CHECK(text_of(kiln::value_error(text)) == "mul: " + text);
  k::object five = k::guarded("mul", [] { return k::kj(5); });
  CHECK(five->long_integer == 5);
  k::r0(five);
}
