// SPDX-License-Identifier: BSL-1.0
// How often each instruction is computed, and in which pass it can be had.
#include <kiln/tape/levels.hpp>

#include <doctest/doctest.h>

#include <vector>

#include "sheet.hpp"

using namespace kiln;

namespace {
struct analysed : sheet {
  level level_at(symbol x) {
    std::vector<level> levels;
    for (int i = 0; i < p.size(); ++i) levels.push_back(level_of(p[i], levels.data(), op_rules_table));
    return levels[static_cast<std::size_t>(x.id)];
  }
  int phase_at(symbol x) {
    std::vector<std::int16_t> phases;
    for (int i = 0; i < p.size(); ++i)
      phases.push_back(static_cast<std::int16_t>(phase_of(p[i], phases.data(), op_rules_table)));
    return phases[static_cast<std::size_t>(x.id)];
  }
};
}  // namespace

TEST_CASE("levels: numbers once, leaves per element, reductions per row, and the highest operand decides") {
  analysed s;
  const symbol x = s.leaf(0), n = s.number(0), row = s.leaf(1, dtype::float32, true);
  const symbol total = row_sum(x), two = n * 2;
  CHECK(s.level_at(x) == level::element);
  CHECK(s.level_at(n) == level::number);
  CHECK(s.level_at(two) == level::number);
  CHECK(s.level_at(row) == level::row);
  CHECK(s.level_at(total) == level::row);
  CHECK(s.level_at(total * n) == level::row);
  CHECK(s.level_at(total + row) == level::row);
  CHECK(s.level_at(x - total) == level::element);
  CHECK(s.level_at(row_sum(total)) == level::row);
  CHECK(s.level_at(where(total > 0, n, x)) == level::element);
}

TEST_CASE("phases: a reduction is ready one pass after its operand") {
  analysed s;
  const symbol x = s.leaf(0);
  const symbol top = row_max(x), e = exp(x - top), total = row_sum(e);
  CHECK(s.phase_at(x) == 0);
  CHECK(s.phase_at(top) == 1);
  CHECK(s.phase_at(e) == 1);
  CHECK(s.phase_at(total) == 2);
  CHECK(s.phase_at(e / total) == 2);
  CHECK(s.phase_at(row_sum(x)) == 1);
}
