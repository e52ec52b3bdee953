// SPDX-License-Identifier: BSL-1.0
// What the drivers learn of a program: its slots, passes, kept values, and the folds across rows.
#include <doctest/doctest.h>

#include <vector>

#include <kiln/device/cpu/kernel/program.hpp>
#include <kiln/expr/reductions.hpp>
#include <kiln/ops/all.hpp>
#include <kiln/tensor/tensor.hpp>

using namespace kiln;

namespace {

using F = Tensor<float>;
template <class E>
constexpr const cpu::compiled& program_of = cpu::compiler<detail::value_program<E>>::program;

}  // namespace

TEST_CASE("program: a map has no passes, a row program has one per reduction that waits for another") {
  const auto& map = program_of<decltype(F() + F() * F())>;
  CHECK(map.slots == 3);
  CHECK(map.results == 1);
  CHECK(map.passes == 0);
  CHECK((map.map != nullptr));
  CHECK_FALSE(map.reduction_rooted);

  const auto& total = program_of<decltype(sum(F() * F()))>;
  CHECK(total.passes == 1);
  CHECK(total.reduction_rooted);
  CHECK((total.operands != nullptr));
  CHECK(total.reduced[0].identity == cpu::to_bits(0.0));

  const auto& soft = program_of<decltype(softmax(F()))>;
  CHECK(soft.passes == 3);
  CHECK(soft.reductions == 2);
  CHECK(soft.kept == 1);  // the exponentials
  CHECK_FALSE(soft.reduction_rooted);
  CHECK(soft.cost > map.cost);
  CHECK(soft.reduced[0].has_identity);  // max, within a function of whole rows

  const auto& variance = program_of<decltype(var(F()))>;
  CHECK(variance.passes == 2);
  CHECK(variance.reduction_rooted);
}

TEST_CASE("program: the longest strip of a pass is positive and at most 16384") {
  CHECK(program_of<decltype(sum(F()))>.pass_length <= 16384);
  CHECK(program_of<decltype(sum(tanh(F()) * exp(F()) + F()))>.pass_length >= 64);
}

TEST_CASE("program: folds across rows, for all counts") {
  const auto& f = program_of<decltype(max(F()))>.reduced[0].vertical;
  for (std::int64_t n = 1; n < 70; ++n) {
    const auto size = static_cast<std::size_t>(n);
    std::vector<float> rows(3 * size), partial(size + 1, 99), out(size + 1, 99);
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<float>((i * 37) % 101) - 200;
    std::vector<std::uint64_t> total(size + 1, 7);
    f.reset(partial.data(), n);
    f.clear(total.data(), n);
    f.add(partial.data(), rows.data(), n, 3, n);
    f.flush(total.data(), partial.data(), n);
    f.finish(out.data(), total.data(), n);
    bool right = partial[size] == 99 && out[size] == 99 && total[size] == 7;
    for (std::size_t i = 0; i < size; ++i) right &= out[i] == std::max({rows[i], rows[i + size], rows[i + 2 * size]});
    REQUIRE(right);
  }
}
