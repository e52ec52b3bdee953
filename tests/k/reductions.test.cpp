// SPDX-License-Identifier: BSL-1.0
#include <kiln/k/reductions.hpp>

#include <kiln/k/tensors.hpp>

#include "k/support.hpp"

#include <cmath>

using namespace k_test;

namespace {
const library q{k::offer_reductions, k::offer_objects, k::offer_tensors};
owned matrix() {
  return list(floats({1, 2, 3}), floats({4, 6, 8}));
}
}  // namespace

TEST_CASE("a mean keeps the type of a floating array and is an atom without dimensions") {
  const no_leak watch;
  const owned m = q("mean", reals({1, 2, 6}));
  CHECK(m.get()->type == -k::real_type);
  CHECK(near(m, {3}));
  CHECK(near(q("mean", matrix()), {4}));
  CHECK(near(q("mean", list(matrix(), number(0))), {2.5, 4, 5.5}));
  const owned kept = q("mean", list(matrix(), number(-1), flag(true)));
  CHECK(kept.get()->type == k::mixed_type);
  CHECK(near(kept, {2, 6}));
  CHECK(near(q("Sum", list(matrix(), longs({0, 1}))), {24}));
  CHECK(near(q("prod", floats({2, 3, 4})), {24}));
  CHECK(near(q("Sum", list(longs({1, 2}), symbol("double"))), {3}));
  CHECK(q.error_of("mean", list(matrix(), number(2))).find("mean: ") == 0);
}

TEST_CASE("spreads, unbiased unless told otherwise") {
  const no_leak watch;
  CHECK(near(q("variance", floats({1, 2, 3, 4})), {5.0 / 3}));
  CHECK(near(q("variance", list(floats({1, 2, 3, 4}), flag(false))), {1.25}));
  CHECK(near(q("std", list(matrix(), number(1))), {1, 2}));
  CHECK(near(q("meanstd", list(matrix(), number(1))), {2, 6, 1, 2}));
  CHECK(near(q("meanvar", floats({1, 2, 3, 4})), {2.5, 5.0 / 3}));
}

TEST_CASE("extremes and their places") {
  const no_leak watch;
  CHECK(near(q("Max", floats({1, 5, 3})), {5}));
  const owned both = q("Max", list(matrix(), number(1)));
  CHECK(both.get()->type == k::mixed_type);
  CHECK(near(both, {3, 8, 2, 2}));
  CHECK(near(q("Min", list(matrix(), number(0))), {1, 2, 3, 0, 0, 0}));
  CHECK(near(q("argmax", floats({1, 5, 3})), {1}));
  CHECK(near(q("argmax", list(matrix(), number(1))), {2, 2}));
  CHECK(near(q("argmin", list(matrix(), number(0))), {0, 0, 0}));
  CHECK(near(q("amax", list(matrix(), number(1))), {3, 8}));
  const owned t = q("tensor", floats({1, 5}));
  const owned larger = q("Max", list(copy(t), floats({2, 2})));
  CHECK(near(q("return", larger), {2, 5}));
  const owned mean = q("mean", t);
  CHECK(near(q("return", mean), {3}));
  q("free", t);
}

TEST_CASE("All, Any and what leaves NaN out") {
  const no_leak watch;
  CHECK(q("All", booleans("110")).get()->byte == 0);
  CHECK(q("Any", booleans("110")).get()->byte == 1);
  CHECK(near(q("nansum", floats({1, k::null_float, 3})), {4}));
  CHECK(near(q("nanmean", floats({1, k::null_float, 3})), {2}));
  CHECK(near(q("logsumexp", list(floats({0, 0}), number(0))), {std::log(2.0)}));
}
