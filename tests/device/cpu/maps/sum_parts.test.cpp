// SPDX-License-Identifier: BSL-1.0
// Parts cover a domain once, and reach no offset that was not said; beside loops over every element.
#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <vector>

#include <kiln/device/cpu/maps/sum_parts.hpp>

using namespace kiln;
using cpu::offset_range;
using cpu::part_cut;
using cpu::part_grid;
using cpu::sum_part;

namespace {

// The flat indices of a part, by walking over all of it.
template <class F>
void each_element(const part_grid& grid, const sum_part& part, F f) {
  dims blocks, inner_sizes;
  for (int i = 0; i < grid.domain.rank(); ++i) {
    const std::int64_t n = grid.domain[i];
    if (i >= grid.split)
      inner_sizes.push_back(n);
    else
      blocks.push_back(i == grid.tile_axis ? (n + grid.tile_rows - 1) / grid.tile_rows : n);
  }
  for (std::int64_t o = part.outer; o < part.outer_end; ++o) {
    dims at = dims::filled(grid.domain.rank(), 0);
    std::int64_t left = o;
    for (int i = grid.split - 1; i >= 0; --i) at[i] = left % blocks[i], left /= blocks[i];
    std::int64_t first = 0, last = 1;
    if (grid.tile_axis >= 0) {
      first = at[grid.tile_axis] * grid.tile_rows;
      last = std::min(first + grid.tile_rows, grid.domain[grid.tile_axis]);
    }
    for (std::int64_t row = first; row < last; ++row) {
      if (grid.tile_axis >= 0) at[grid.tile_axis] = row;
      for (std::int64_t i = part.inner; i < part.inner_end; ++i) {
        std::int64_t rest = i;
        for (int k = grid.domain.rank() - 1; k >= grid.split; --k)
          at[k] = rest % grid.domain[k], rest /= grid.domain[k];
        f(at);
      }
    }
  }
}

const std::vector<part_grid> grids{
    {.domain = {100, 1000}, .split = 1, .step = 512},
    {.domain = {7, 9, 11}, .split = 2, .step = 4},
    {.domain = {7, 9, 11}, .split = 0, .step = 50},
    {.domain = {5, 100, 30}, .split = 2, .tile_axis = 1, .tile_rows = 64, .step = 8},
    {.domain = {64, 3, 30}, .split = 2, .tile_axis = 0, .tile_rows = 64, .step = 8},
    {.domain = {12, 6, 5, 4}, .split = 2, .step = 20},
};

}  // namespace

TEST_CASE("sum_parts: every element is in one part, and within its reach") {
  for (const part_grid& grid : grids) {
    CAPTURE(grid.domain);
    const int rank = grid.domain.rank();
    for (const part_cut cut : {part_cut{1, 1}, part_cut{2, 1}, part_cut{3, 2}, part_cut{1, 3}, part_cut{5, 4}}) {
      if (cut.rows > grid.outer() || cut.columns > (grid.inner() + grid.step - 1) / grid.step) continue;
      std::vector<int> visits(static_cast<std::size_t>(count(grid.domain)));
      const dims places = contiguous_strides(grid.domain);
      for (std::int64_t k = 0; k < cut.parts(); ++k) {
        const sum_part part = cut.part(grid, k);
        CHECK((part.inner % grid.step == 0 || part.inner == grid.inner()));
        for (std::uint32_t kept = 0; kept < 1u << rank; ++kept) {  // the strides of each narrower result
          dims strides = dims::filled(rank, 0);
          std::int64_t size = 1;
          for (int i = rank - 1; i >= 0; --i)
            if (kept >> i & 1) strides[i] = size, size *= grid.domain[i];
          const offset_range reach = cpu::reach_of(grid, part, strides);
          std::int64_t least = std::numeric_limits<std::int64_t>::max(), most = 0;
          each_element(grid, part, [&](const dims& at) {
            std::int64_t offset = 0, place = 0;
            for (int i = 0; i < rank; ++i) offset += at[i] * strides[i], place += at[i] * places[i];
            least = std::min(least, offset), most = std::max(most, offset);
            if (kept == 0) ++visits[static_cast<std::size_t>(place)];
          });
          CHECK(reach.first >= 0);
          CHECK(reach.first <= least);
          CHECK(reach.first + reach.size > most);
          CHECK(reach.first + reach.size <= size);
        }
      }
      CHECK(std::count(visits.begin(), visits.end(), 1) == count(grid.domain));
    }
  }
}

TEST_CASE("sum_parts: a result that moves along with the outer positions is apart in every part") {
  const part_grid grid{.domain = {100, 1000}, .split = 1, .step = 512};
  const part_cut cut{8, 1};
  std::int64_t reached = 0;
  for (std::int64_t k = 0; k < cut.parts(); ++k) reached += cpu::reach_of(grid, cut.part(grid, k), {1, 0}).size;
  CHECK(reached == 100);
}

TEST_CASE("sum_parts: as many parts as are wanted and have room") {
  const part_grid grid{.domain = {100, 5000}, .split = 1, .step = 512};
  const auto by_rows = [](const part_cut& cut) { return cut.rows * 5000; };
  CHECK(cpu::cut_into_parts(grid, 0, 0, by_rows).parts() == 1);
  CHECK(cpu::cut_into_parts(grid, 1000, 1000000, by_rows).parts() == cpu::most_parts);
  const part_cut few = cpu::cut_into_parts(grid, 12, 10000, by_rows);
  CHECK(few.rows == 2);
  CHECK(few.columns == 4);  // of 1024 elements and more
  CHECK(cpu::cut_into_parts(grid, 64, 1000000, [](const part_cut& cut) { return cut.rows * 100000; }).columns == 1);
  const part_cut none = cpu::cut_into_parts(grid, 12, 0, by_rows);
  CHECK(none.parts() == 1);
}
