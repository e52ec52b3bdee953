// SPDX-License-Identifier: BSL-1.0
// How ops, types and numbers are written in CUDA.
#include <kiln/device/cuda/print/spelling.hpp>

#include <doctest/doctest.h>

#include <bit>
#include <limits>

using namespace kiln;
using cuda::literal;

namespace {
std::string of_double(dtype type, double value) {
  return literal(type, std::bit_cast<std::uint64_t>(value));
}
std::string of_integer(dtype type, std::int64_t value) {
  return literal(type, static_cast<std::uint64_t>(value));
}
}  // namespace

TEST_CASE("spelling: an op is what its value rule writes, for the category of its operands") {
  const cuda::spelling& add = cuda::spelling_of(opcode_of("add"));
  CHECK(add.value(dtype::float32, {"a", "b", {}}) == "a + b");
  CHECK(add.value(dtype::bfloat16, {"a", "b", {}}) == "a + b");
  CHECK(add.value(dtype::int16, {"a", "b", {}}) == "plus(a, b)");
  CHECK(add.value(dtype::boolean, {"a", "b", {}}) == "a | b");
  CHECK(cuda::spelling_of(opcode_of("where")).value(dtype::int32, {"c", "a", "b"}) == "where(c, a, b)");
}

TEST_CASE("spelling: a reduction folds two partial results, and has what folding nothing gives") {
  const cuda::spelling& max = cuda::spelling_of(opcode_of("max"));
  CHECK(max.combine(dtype::float32, "a", "b") == "maximum(b, a)");
  CHECK(literal(dtype::float32, max.identity(dtype::float32)) == "(-infinity<float>())");
  CHECK(literal(dtype::int8, max.identity(dtype::int8)) == "int8(-128)");
}

TEST_CASE("spelling: composite and unknown ops are refused with a sentence") {
  CHECK_THROWS_WITH_AS(cuda::spelling_of(opcode_of("softmax")),
                       "cuda: the tape holds the composite op softmax: write it out with expand() first", value_error);
  CHECK_THROWS_AS(cuda::spelling_of(opcode_of("no such op")), value_error);
  CHECK_THROWS_AS(cuda::spelling_of(opcode::leaf), value_error);
}

TEST_CASE("spelling: literals read back as the number, in the type that is computed in") {
  CHECK(of_double(dtype::float32, 0.1) == "0.1f");
  CHECK(of_double(dtype::float32, 2) == "2.0f");
  CHECK(of_double(dtype::bfloat16, -0.5) == "(-0.5f)");
  CHECK(of_double(dtype::float64, 1e300) == "1e+300");
  CHECK(of_double(dtype::float32, 1e300) == "infinity<float>()");
  CHECK(of_double(dtype::float64, -std::numeric_limits<double>::infinity()) == "(-infinity<double>())");
  CHECK(of_double(dtype::float32, std::numeric_limits<double>::quiet_NaN()) == "nan<float>()");
  CHECK(of_integer(dtype::int64, std::numeric_limits<std::int64_t>::min()) == "(-9223372036854775807ll - 1)");
  CHECK(of_integer(dtype::int64, -3) == "(-3ll)");
  CHECK(of_integer(dtype::uint8, 255) == "uint8(255)");
  CHECK(of_integer(dtype::boolean, 1) == "true");
}
