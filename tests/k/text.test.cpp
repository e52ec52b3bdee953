// SPDX-License-Identifier: BSL-1.0
// The texts are those that libtorch prints for these tensors.
#include <kiln/k/text.hpp>

#include "k/support.hpp"
#include "support/grouping_locale.hpp"

using namespace k_test;

namespace {
std::string text(const owned& x) {
  return k::text_of(k::to_tensor(x.get()));
}
}  // namespace

TEST_CASE("whole numbers have no fraction") {
  const no_leak watch;
  CHECK(text(longs({1, 2, 3})) == " 1\n 2\n 3\n[ CPULongType{3} ]");
  CHECK(text(list(floats({1, 2}), floats({3, 40}))) == "  1   2\n  3  40\n[ CPUDoubleType{2,2} ]");
  CHECK(text(booleans("01")) == " 0\n 1\n[ CPUBoolType{2} ]");
}

TEST_CASE("fractions have four digits, in every locale") {
  const no_leak watch;
  const kiln_tests::grouping_locale german;
  CHECK(text(longs({1024, 2})) == " 1024\n    2\n[ CPULongType{2} ]");
  CHECK(text(reals({0.5f, -0.25f})) == " 0.5000\n-0.2500\n[ CPUFloatType{2} ]");
  CHECK(text(reals({1.5f, 20.25f})) == "  1.5000\n 20.2500\n[ CPUFloatType{2} ]");
}

TEST_CASE("a number by itself, nothing, and no tensor") {
  const no_leak watch;
  CHECK(text(number(2.5)) == "2.5\n[ CPUDoubleType{} ]");
  CHECK(text(empty_list()) == "[ CPUFloatType{0} ]");
  CHECK(k::text_of(k::tensor{}) == "[ Tensor (undefined) ]");
}

TEST_CASE("stacks of matrices say which one is shown") {
  const no_leak watch;
  CHECK(text(list(list(longs({1, 2})), list(longs({3, 4})))) ==
        "(1,.,.) = \n  1  2\n\n(2,.,.) = \n  3  4\n[ CPULongType{2,1,2} ]");
}
