// SPDX-License-Identifier: BSL-1.0
// A map with an operand whose fast axis is not the result's (a + transpose(b)): tiles of `tile_rows` neighbouring
// positions of that axis at once, so that the operand is read in whole cache lines and turned in cache.
#pragma once

#include <array>
#include <cstdint>

#include <kiln/device/cpu/maps/strip_runner.hpp>
#include <kiln/device/cpu/processor/isa.hpp>

namespace kiln::cpu::inline KILN_VERSION_ISA::detail {

/// How often the rows of tiles are visited: the positions of the outer axes, those of the tile axis in blocks.
inline std::int64_t tile_count(const task& job, const strip_plan& plan) {
  const std::int64_t along = job.domain[plan.tile_axis];
  return plan.outer / along * ((along + plan.tile_rows - 1) / plan.tile_rows);
}

class tile_runner : strip_runner {
 public:
  using strip_runner::strip_runner;

  /// Tiles [begin, end) of all that the plan makes.
  void tiles(std::int64_t begin, std::int64_t end) {
    const std::int64_t pieces = plan_.pieces();
    for (std::int64_t unit = begin; unit < end; ++unit) {
      const std::int64_t from = unit % pieces * plan_.length;
      go_to(unit / pieces);
      tile(plan_.tile_axis, from, std::min(plan_.length, plan_.inner - from));
    }
  }
  /// The tiles of a part.
  void part(const sum_part& here) {
    for (std::int64_t block = here.outer; block < here.outer_end; ++block)
      for (std::int64_t i = here.inner; i < here.inner_end; i += plan_.length) {
        go_to(block);
        tile(plan_.tile_axis, i, std::min(plan_.length, here.inner_end - i));
      }
  }

 private:
  // To the first row of a block of the tile axis.
  void go_to(std::int64_t position) {
    for (int i = job_.domain.rank() - 2; i >= 0; --i) {
      const std::int64_t step = i == plan_.tile_axis ? plan_.tile_rows : 1, n = (job_.domain[i] + step - 1) / step;
      where_.place(i, position % n * step);
      position /= n;
    }
  }
  bool turns(int k, int axis) const {
    const operand_view& x = job_.in[k];
    return x.data && !program_of(job_).draws_of(k) && x.strides[axis] == 1 && x.strides.back() != 1 &&
           x.strides.back() != 0;
  }
  // The tile whose first row the odometer shows.
  void tile(int axis, std::int64_t begin, std::int64_t n) {
    const std::int64_t first = where_[axis], rows = std::min(plan_.tile_rows, job_.domain[axis] - first);
    for (int k = 0; k < slots_; ++k) {
      const operand_view& x = job_.in[k];
      if (turns(k, axis)) transpose_block(buffer(k), plan_.length, here(x, begin), x.strides.back(), rows, n, x.size);
    }
    for (std::int64_t row = 0; row < rows; ++row) {
      where_.place(axis, first + row);
      for (int k = 0; k < slots_; ++k) {
        const operand_view& x = job_.in[k];
        if (!x.data) continue;
        if (turns(k, axis)) {
          p_.in[static_cast<std::size_t>(k)] = at(buffer(k), row * plan_.length, x.size);
          p_.step[static_cast<std::size_t>(k)] = 1;
        } else {
          set_input(k, here(x, begin), x.strides.back(), n);
        }
      }
      run(begin, n, false);
    }
  }
  const char* here(const operand_view& x, std::int64_t begin) const {
    return at(x.data, where_.offset(x.strides) + begin * x.strides.back(), x.size);
  }
};

}  // namespace kiln::cpu::inline KILN_VERSION_ISA::detail
