// SPDX-License-Identifier: BSL-1.0
#include <kiln/k/autograd.hpp>

#include <kiln/k/math.hpp>
#include <kiln/k/reductions.hpp>
#include <kiln/k/tensors.hpp>

#include "k/support.hpp"

using namespace k_test;

namespace {
const library q{k::offer_autograd, k::offer_math, k::offer_reductions, k::offer_objects, k::offer_tensors};
}  // namespace

TEST_CASE("the first session: a gradient of a mean of squares") {
  const no_leak watch;
  const owned x = q("tensor", list(floats({1, 2, 3}), symbol("grad")));
  const owned y = q("mul", list(copy(x), copy(x)));
  const owned z = q("mean", y);
  CHECK(k::is_null(q("grad", x).get()));
  CHECK(k::is_null(q("backward", z).get()));
  const owned gradient = q("grad", x);
  CHECK(gradient.get()->type == k::float_type);
  CHECK(near(gradient, {2.0 / 3, 4.0 / 3, 2}));
  CHECK(k::is_null(q("free", list(copy(x), copy(y), copy(z))).get()));
}

TEST_CASE("gradients for tensors, modes, flags") {
  const no_leak watch;
  const owned x = q("tensor", list(floats({1, 2}), symbol("grad")));
  const owned y = q("mul", list(copy(x), number(3)));
  CHECK(k::is_null(q("backward", list(copy(y), floats({1, 10}), symbol("retain"))).get()));
  CHECK(near(q("grad", x), {3, 30}));
  CHECK(k::is_null(q("backward", list(copy(y), floats({1, 1}))).get()));
  CHECK(near(q("grad", x), {6, 33}));
  CHECK(q.error_of("backward", list(copy(y), floats({1, 1}))).find("backward: ") == 0);
  const owned handle = q("grad", list(copy(x)));
  CHECK(near(q("return", handle), {6, 33}));
  CHECK(k::is_null(q("zerograd", x).get()));
  CHECK(near(q("grad", x), {0, 0}));
  CHECK(k::is_null(q("nograd", x).get()));
  CHECK(k::is_null(q("grad", x).get()));
  CHECK(q.error_of("grad", list(copy(x))) == "grad: no gradient defined");
  CHECK(q("gradflag", x).get()->byte == 1);
  CHECK(k::is_null(q("gradflag", list(copy(x), flag(false))).get()));
  CHECK(q("gradflag", x).get()->byte == 0);
  CHECK(q.error_of("backward", list(copy(y), symbol("kept"))) ==
        "backward: unrecognized mode `kept, expected one of free retain create createfree");
  CHECK(q.error_of("backward", number(1)) ==
        "backward: argument 1 is a long scalar, expected a tensor's handle or a "
        "model");
  q("free", list(copy(x), copy(y)));
}
