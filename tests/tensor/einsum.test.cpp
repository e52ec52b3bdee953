// SPDX-License-Identifier: BSL-1.0
// einsum against the sums that equations say, written out over all values of all letters.
#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include <kiln/autograd/check_gradient.hpp>
#include <kiln/tensor/einsum.hpp>
#include <support/draw.hpp>
#include <support/said.hpp>

using namespace kiln;
using test::draw;
using test::holds;
using test::said;

namespace {

using Doubles = Tensor<double>;

double at(const Doubles& x, const std::string& letters, const std::map<char, std::int64_t>& where) {
  const double* p = x.data();
  for (std::size_t i = 0; i < letters.size(); ++i)
    if (x.size(static_cast<std::int64_t>(i)) > 1) p += where.at(letters[i]) * x.strides()[static_cast<int>(i)];
  return *p;
}

// The equation's sums, in the order of the result's elements.
std::vector<double> written_out(const std::vector<std::string>& in, const std::string& out,
                                const std::vector<Doubles>& x) {
  std::map<char, std::int64_t> sizes, where;
  for (std::size_t k = 0; k < x.size(); ++k)
    for (std::size_t i = 0; i < in[k].size(); ++i)
      sizes[in[k][i]] = std::max(sizes[in[k][i]], x[k].size(static_cast<std::int64_t>(i)));
  std::string letters = out;  // those of the result first: they change slowest
  for (const auto& each : sizes)
    if (letters.find(each.first) == letters.npos) letters += each.first;
  std::int64_t all = 1, results = 1;
  for (const char c : letters) all *= sizes[c];
  for (const char c : out) results *= sizes[c];
  std::vector<double> sums(static_cast<std::size_t>(results));
  for (std::int64_t n = 0; n < all; ++n) {
    std::int64_t rest = n;
    for (std::size_t i = letters.size(); i-- > 0;)
      where[letters[i]] = rest % sizes[letters[i]], rest /= sizes[letters[i]];
    double product = 1;
    for (std::size_t k = 0; k < x.size(); ++k) product *= at(x[k], in[k], where);
    sums[static_cast<std::size_t>(n / (all / results))] += product;
  }
  return sums;
}

bool near(const Doubles& got, const std::vector<double>& expected) {
  const Doubles here = got.contiguous();
  bool same = here.numel() == static_cast<std::int64_t>(expected.size());
  for (std::size_t i = 0; same && i < expected.size(); ++i)
    same = std::abs(here.data()[i] - expected[i]) <= 1e-12 * (1 + std::abs(expected[i]));
  return same;
}

}  // namespace

TEST_CASE("einsum: the sums that an equation says") {
  draw d(7);
  const Doubles ij = d.contiguous<double>({2, 3}, -1, 1), jk = d.contiguous<double>({3, 4}, -1, 1),
                square = d.contiguous<double>({3, 3}, -1, 1), bij = d.contiguous<double>({5, 2, 3}, -1, 1),
                bjk = d.contiguous<double>({5, 3, 4}, -1, 1), cube = d.contiguous<double>({3, 3, 3}, -1, 1),
                one = d.contiguous<double>({1, 3}, -1, 1);
  CHECK(near(einsum("ij->ji", ij), written_out({"ij"}, "ji", {ij})));
  CHECK(near(einsum("ij->j", ij), written_out({"ij"}, "j", {ij})));
  CHECK(near(einsum("ij->", ij), written_out({"ij"}, "", {ij})));
  CHECK(near(einsum("ii->i", square), written_out({"ii"}, "i", {square})));
  CHECK(near(einsum("iii->i", cube), written_out({"iii"}, "i", {cube})));
  CHECK(near(einsum("iji->j", cube), written_out({"iji"}, "j", {cube})));
  CHECK(near(einsum("ij,jk->ik", ij, jk), written_out({"ij", "jk"}, "ik", {ij, jk})));
  CHECK(near(einsum("ij, jk -> ki", ij, jk), written_out({"ij", "jk"}, "ki", {ij, jk})));
  CHECK(near(einsum("ij,kl->ljki", ij, jk), written_out({"ij", "kl"}, "ljki", {ij, jk})));
  CHECK(near(einsum("ij,ij->i", ij, ij), written_out({"ij", "ij"}, "i", {ij, ij})));
  CHECK(near(einsum("ij,jk->k", ij, jk), written_out({"ij", "jk"}, "k", {ij, jk})));
  CHECK(near(einsum("bij,bjk->bik", bij, bjk), written_out({"bij", "bjk"}, "bik", {bij, bjk})));
  CHECK(near(einsum("bij,bjk->kb", bij, bjk), written_out({"bij", "bjk"}, "kb", {bij, bjk})));
  CHECK(near(einsum("ij,jj->ij", ij, square), written_out({"ij", "jj"}, "ij", {ij, square})));
  // Three operands; a letter of the first and last only; axes of size 1, which broadcast.
  CHECK(near(einsum("ij,jk,jl->ikl", ij, jk, square), written_out({"ij", "jk", "jl"}, "ikl", {ij, jk, square})));
  CHECK(near(einsum("ij,kl,ki->jl", ij, jk, transpose(ij, 0, 1)),
             written_out({"ij", "kl", "ki"}, "jl", {ij, jk, transpose(ij, 0, 1)})));
  CHECK(near(einsum("ij,ij->ij", ij, one), written_out({"ij", "ij"}, "ij", {ij, one})));
  CHECK(near(einsum("ij,ij->", one, ij), written_out({"ij", "ij"}, "", {one, ij})));
  // Without a result: what occurs once, in alphabetical order.
  CHECK(near(einsum("kj,ji", transpose(jk, 0, 1), transpose(ij, 0, 1)), written_out({"ij", "jk"}, "ik", {ij, jk})));
  CHECK(near(einsum("ba", ij), written_out({"ij"}, "ji", {ij})));
  CHECK(near(einsum("ii", square), written_out({"ii"}, "", {square})));
}

TEST_CASE("einsum: ... stands for the other axes, which broadcast") {
  draw d(8);
  const Doubles x = d.contiguous<double>({5, 2, 3}, -1, 1), y = d.contiguous<double>({3, 4}, -1, 1);
  const Doubles stack = einsum("...ij,...jk->...ik", x, y);
  CHECK(stack.sizes() == dims{5, 2, 4});
  CHECK(near(stack, written_out({"bij", "jk"}, "bik", {x, y})));
  CHECK(near(einsum("...j,jk", x, y), written_out({"bij", "jk"}, "bik", {x, y})));
  CHECK(near(einsum("i...->...", x), written_out({"bij"}, "ij", {x})));
  CHECK(near(einsum("...i->i", x), written_out({"bij"}, "j", {x})));
  CHECK(einsum("...", x).sizes() == x.sizes());
}

TEST_CASE("einsum: integers, expressions, nothing, and gradients") {
  const Tensor<int> a{{1, 2}, {3, 4}};
  const Tensor<int> product = einsum("ij,jk->ik", a, a + 1);
  CHECK(product(1, 0) == 3 * 2 + 4 * 4);
  CHECK(einsum("ij->j", a)(1) == 6);
  const Doubles none = einsum("ij,jk->ik", zeros<double>({2, 0}), zeros<double>({0, 3}));
  CHECK(near(none, {0, 0, 0, 0, 0, 0}));
  draw d(9);
  const auto check = check_gradient(
      [](const auto& x, const auto& y, const auto& z) { return einsum("ij,jk,kki->ij", x, y, z); },
      d.contiguous<double>({2, 3}, -1, 1), d.contiguous<double>({3, 4}, -1, 1), d.contiguous<double>({4, 4, 2}, -1, 1));
  CHECK_MESSAGE(check.agrees, check.text);
}

TEST_CASE("einsum: equations that are none, and shapes that do not fit") {
  const Doubles x = zeros<double>({2, 3}), y = zeros<double>({4, 5});
  CHECK(holds(said<value_error>([&] { einsum("ij,jk->ik", x); }), "\"ij,jk->ik\" is for 2 operands, given 1"));
  CHECK(holds(said<value_error>([&] { einsum("i1->i", x); }), "has '1' in \"i1\""));
  CHECK(holds(said<value_error>([&] { einsum("ij->k", x); }), "has 'k' in the result and in no operand"));
  CHECK(holds(said<value_error>([&] { einsum("ij->ii", x); }), "has 'i' twice in the result"));
  CHECK(holds(said<value_error>([&] { einsum("......", x); }), "\"...\" stands once"));
  CHECK(holds(said<shape_error>([&] { einsum("i->i", x); }), "\"i\" names 1 axes, operand 0 has shape [2, 3]"));
  CHECK(holds(said<shape_error>([&] { einsum("ijk...->i", x); }), "names 3 axes"));
  CHECK(holds(said<shape_error>([&] { einsum("ij,jk->ik", x, y); }), "'j' has axes of 3 and 4 elements"));
  CHECK(holds(said<shape_error>([&] { einsum("...,...->...", x, y); }), "\"...\" has axes of"));
  CHECK(holds(said<shape_error>([&] { einsum("ii->i", zeros<double>({1, 3})); }), "one letter for axes of 1 and 3"));
  CHECK(holds(said<shape_error>([&] { einsum("ii->i", x); }), "'i' has axes of 2 and 3 elements"));
}
