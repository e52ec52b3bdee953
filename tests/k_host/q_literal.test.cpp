// SPDX-License-Identifier: BSL-1.0
// Numeric literals: the type that a suffix, a point or nothing gives, and values.
#include "q_literal.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <string>

using namespace k_host;

namespace {

value literal(std::initializer_list<std::string> words) {
  return literal_of(words);
}

TEST_CASE("literal: types of atoms") {
  const struct {
    const char* word;
    int type;
  } cases[] = {{"1", -7},    {"1j", -7},          {"1h", -5},     {"1i", -6},        {"1e", -8},
               {"1f", -9},   {"1.", -9},          {"1e5", -9},    {"1.5e", -8},      {"0N", -7},
               {"0Nh", -5},  {"0n", -9},          {"0w", -9},     {"0Ne", -8},       {"1b", -1},
               {"0x1f", -4}, {"2020.01.31", -14}, {"10:30", -17}, {"10:30:01", -18}, {"10:30:01.250", -19}};
  for (auto& one : cases) {
    CAPTURE(one.word);
    CHECK(literal({one.word}).type() == one.type);
  }
}

TEST_CASE("literal: values") {
  CHECK(literal({"-12"})->long_integer == -12);
  CHECK(literal({"0N"})->long_integer == k::null_long);
  CHECK(literal({"0Ni"})->integer == k::null_int);
  CHECK(literal({"-0Wh"})->short_integer == -k::infinite_short);
  CHECK(literal({"1.5e"})->real == 1.5f);
  CHECK(literal({"-1e-3"})->floating == -1e-3);
  CHECK(std::isnan(literal({"0n"})->floating));
  CHECK(literal({"-0w"})->floating == -k::infinite_float);
  CHECK(literal({"0x1f"})->byte == 31);
  CHECK(literal({"2000.03.01"})->integer == 60);
  CHECK(literal({"01:01"})->integer == 61);
  CHECK(literal({"00:01:01.250"})->integer == 61250);
}

TEST_CASE("literal: the last word's suffix is the vector's type") {
  value reals = literal({"1", "2", "3e"});
  CHECK(reals.type() == k::real_type);
  CHECK(k::items<float>(reals.get())[2] == 3);
  value floats = literal({"1", "2.5", "3"});
  CHECK(floats.type() == k::float_type);
  CHECK(k::items<double>(floats.get())[1] == 2.5);
  CHECK(literal({"1", "0N", "2"}).type() == k::long_type);
  CHECK(literal({"0n", "1"}).type() == k::float_type);
  CHECK(literal({"0101b"}).type() == k::boolean_type);
  CHECK(literal({"0101b"})->count == 4);
  CHECK(literal({"0x0102"})->count == 2);
  CHECK(literal({"0x"})->count == 0);
}

TEST_CASE("literal: what is none is named") {
  for (const char* word : {"1x", "0x1g", "1.2.3.4", "12ab"}) {
    CAPTURE(word);
    CHECK_THROWS_AS(literal({word}), q_error);
  }
}

}  // namespace
