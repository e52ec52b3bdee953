// SPDX-License-Identifier: BSL-1.0
// x[mask], read and written: values and gradients by loops over the elements, and by PyTorch's rules on shapes.
#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

#include <kiln/kiln.hpp>
#include <support/compare.hpp>

using namespace kiln;

namespace {
std::vector<double> values(const Tensor<double>& t) {
  const Tensor<double> c = t.detach().clone();
  return {c.span().begin(), c.span().end()};
}
using list = std::vector<double>;
}  // namespace

TEST_CASE("masked_elements: a full mask gives the elements in row-major order") {
  const Tensor<double> x{{1, -2, 3}, {-4, 5, -6}};
  const Tensor<double> positive = x[x > 0];
  REQUIRE(positive.sizes() == dims{3});
  CHECK(values(positive) == list{1, 3, 5});
  CHECK(x[x > 9].sizes() == dims{0});
  const Tensor<double> turned = transpose(x), some = turned[turned < 0];
  CHECK(values(some) == list{-4, -2, -6});
  CHECK(sum(x[x > 0] * 2).item() == 18);
  const Tensor<double> doubled = 2 * x[x > 0] + 1;
  CHECK(values(doubled) == list{3, 7, 11});
  CHECK(mean(x[x > 0]).item() == 3);
}

TEST_CASE("masked_elements: a mask of the first axes gives rows") {
  const Tensor<double> x{{1, 2}, {3, 4}, {5, 6}};
  const Tensor<double> rows = x[Tensor<bool>{true, false, true}];
  REQUIRE(rows.sizes() == dims{2, 2});
  CHECK(values(rows) == list{1, 2, 5, 6});
  CHECK(x[sum(x, 1) > 100].sizes() == dims{0, 2});
  CHECK(x[Tensor<bool>(true)].sizes() == dims{1, 3, 2});  // as torch.ones(3, 2)[torch.tensor(True)]
  CHECK(x[Tensor<bool>(false)].sizes() == dims{0, 3, 2});
  const Tensor<bool> two{true, false};
  CHECK_THROWS_WITH_AS(x[two].sizes(), doctest::Contains("a mask of shape [2] does not fit"), shape_error);
  CHECK_THROWS_AS((x[zeros<bool>({3, 2, 1})]), shape_error);
}

TEST_CASE("masked_elements: gradients go to the elements chosen") {
  const Tensor<double> x{{1, -2, 3}, {-4, 5, -6}};
  CHECK(test::gradient_difference([](auto a) { return a[a > 0] * a[a > 0]; }, x) == "");
  const Tensor<bool> second{false, true};
  CHECK(test::gradient_difference([&](auto a) { return a[second] * a; }, x) == "");
}

TEST_CASE("masked_elements: assignment writes where the mask is true") {
  Tensor<double> x{{1, -2, 3}, {-4, 5, -6}};
  const Tensor<double> same = x;
  x[x < 0] = 0;
  CHECK(values(same) == list{1, 0, 3, 0, 5, 0});
  x[x > 0] = Tensor<double>{10, 20, 30};
  CHECK(values(x) == list{10, 0, 20, 0, 30, 0});
  x[x > 15] += 1;
  CHECK(values(x) == list{10, 0, 21, 0, 31, 0});
  x[x == 0] = x[x > 0] * 2;
  CHECK(values(x) == list{10, 20, 21, 42, 31, 62});
  x[x > 60] *= 0.5, x[x < 15] -= 1, x[x == 42] /= 2;
  CHECK(values(x) == list{9, 20, 21, 21, 31, 31});
  x[Tensor<bool>{false, true}] = Tensor<double>{7, 8, 9};  // one row for all
  CHECK(values(x) == list{9, 20, 21, 7, 8, 9});
  x[Tensor<bool>{true, true}] = Tensor<double>{{1}, {2}};  // one value for each row
  CHECK(values(x) == list{1, 1, 1, 2, 2, 2});
  x[x > 1] = Tensor<double>{5};
  CHECK(values(x) == list{1, 1, 1, 5, 5, 5});
  x[x > 9] = Tensor<double>{5};
  CHECK(values(x) == list{1, 1, 1, 5, 5, 5});
  Tensor<double> column = x.select(1, 1);
  column[column > 1] = -1;  // through a view
  CHECK(values(x) == list{1, 1, 1, 5, -1, 5});
  Tensor<std::int64_t> n{1, 2, 3};
  n[n > 1] = 0;
  CHECK(sum(n).item() == 1);
  const Tensor<double> pair{1, 2};
  CHECK_THROWS_WITH_AS((x[x > 0] = pair), doctest::Contains("do not broadcast to [5]"), shape_error);
  CHECK(values(x) == list{1, 1, 1, 5, -1, 5});
}

TEST_CASE("masked_elements: what is written has the gradient, what was overwritten has none") {
  Tensor<double> w{1, 2, 3}, x{{1, -2, 3}, {-4, 5, -6}}, c(3.0);
  w.requires_grad(), x.requires_grad(), c.requires_grad();
  Tensor<double> y = x * 2;
  y[x > 0] = w * w;
  y[x == -2] = c;
  backward(sum(y * Tensor<double>{{1, 2, 3}, {4, 5, 6}}));
  CHECK(values(w.grad()) == list{2, 12, 30});
  CHECK(values(x.grad()) == list{0, 0, 0, 8, 0, 12});
  CHECK(c.grad().item() == 2);
  CHECK_THROWS_AS((x[x > 0] = w), graph_error);
}

TEST_CASE("masked_elements: means what it meant where it was written") {
  Tensor<double> x{1, -2, 3};
  auto chosen = x[x > 0];
  auto kept = x[x > 0].eval();
  x += 1;
  CHECK_THROWS_AS(Tensor<double>(chosen * 1), graph_error);
  CHECK(values(kept) == list{1, 3});
}
