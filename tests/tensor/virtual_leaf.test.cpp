// SPDX-License-Identifier: BSL-1.0
// Leaves that are no memory: what expressions and tapes make of them.
#include <kiln/tensor/virtual_leaf.hpp>

#include <doctest/doctest.h>

#include <kiln/autograd/node.hpp>
#include <kiln/expr/formula.hpp>
#include <kiln/expr/reductions.hpp>

using namespace kiln;

namespace {
using uniform_leaf = detail::drawn<float, Cpu, leaf_kind::uniform>;
static_assert(Leaf<uniform_leaf> && Leaf<detail::element_place<float, Cpu>>);
static_assert(census<uniform_leaf>::leaves == 1 && census<uniform_leaf>::scalars == 2);
static_assert(census<uniform_leaf>::type != census<Tensor<float>>::type);
static_assert(census<detail::element_place<float, Cpu>>::scalars == 0);
}  // namespace

TEST_CASE("virtual leaf: brings its stream as numbers and has a shape") {
  const uniform_leaf u({3, 4}, Cpu{}, {7, 5});
  const auto e = u * 2 + Tensor<float>{1, 2, 3, 4};
  CHECK(shape_of(e) == dims{3, 4});
  const detail::collected<std::remove_const_t<decltype(e)>> c(e);
  CHECK(c.number[0] == 7);
  CHECK(c.number[1] == 5);
  CHECK(c.leaf[0]->data == reinterpret_cast<void*>(static_cast<std::uintptr_t>(random_places)));
  CHECK(formula(e) == "rand() * 2 + x0");
  constexpr const auto& t = value_tape<std::remove_const_t<decltype(e)>>;
  int drawn = 0;
  for (int i = 0; i < t.size(); ++i)
    if (t[i].code == opcode::leaf && is_drawn(kind_of(t[i]))) {
      ++drawn;
      CHECK(t[t[i].a].slot == 0);
      CHECK(t[t[i].b].slot == 1);
    }
  CHECK(drawn == 1);
}

TEST_CASE("virtual leaf: two streams in one row program stay two") {
  // Both leaves have one type, and both stand below a reduction: the tape must not take them for one.
  const uniform_leaf a({2, 8}, Cpu{}, {1, 0}), b({2, 8}, Cpu{}, {2, 0});
  const Tensor<float> x = (a * 1 - mean(a * 1, 1, true)) - (b * 1 - mean(b * 1, 1, true));
  const Tensor<float> ra = a * 1, rb = b * 1;
  for (int i = 0; i < 2; ++i) {
    double ma = 0, mb = 0;
    for (int k = 0; k < 8; ++k) ma += ra(i, k) / 8.0, mb += rb(i, k) / 8.0;
    for (int k = 0; k < 8; ++k)
      CHECK(static_cast<double>(x(i, k)) == doctest::Approx(ra(i, k) - ma - (rb(i, k) - mb)).epsilon(1e-5).scale(1));
  }
}
