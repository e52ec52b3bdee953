// SPDX-License-Identifier: BSL-1.0
// A map over a domain that is not one flat piece, strip by strip: of whole rows where the inner axis is long, of the
// flat index where it is short. With an operand whose fast axis is another one, in tiles of several rows.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include <kiln/device/cpu/maps/strip_operands.hpp>
#include <kiln/device/cpu/processor/isa.hpp>

namespace kiln::cpu::inline KILN_VERSION_ISA::detail {

/// The longest strip of operands that need no staging: enough to forget what a call costs, short enough to share out.
inline constexpr std::int64_t longest_direct = 32768;

/// How strips follow each other over a domain: `outer` positions, each with its inner axis in pieces.
struct strip_plan {
  std::int64_t outer = 1, inner = 1, length = 1;
  bool flat = false;          ///< strips of the flat index instead of rows
  bool direct = false;        ///< all operands and results are read and written where they lie
  bool non_temporal = false;  ///< the result is
  int tile_axis = -1;         ///< an outer axis along which some operand is contiguous
  std::int64_t tile_rows = 1;
  std::int64_t pieces() const { return (inner + length - 1) / length; }
  /// How many strips there are, or tiles: those of the tile axis are one for several rows.
  std::int64_t units(const dims& domain) const {
    if (tile_axis < 0) return pieces() * outer;
    return pieces() * (outer / domain[tile_axis] * ((domain[tile_axis] + tile_rows - 1) / tile_rows));
  }
  /// The same walk as a grid that can be cut into parts.
  part_grid grid(const dims& domain) const {
    return {domain, flat ? 0 : domain.rank() - 1, tile_axis, tile_rows, length};
  }
};

inline strip_plan plan_strips(const task& job, bool sums) {
  strip_plan plan;
  const int rank = job.domain.rank();
  plan.inner = job.domain.back();
  for (int i = 0; i + 1 < rank; ++i) plan.outer *= job.domain[i];
  if (rank > 1 && plan.inner < 32) {
    plan.flat = true;
    plan.inner *= plan.outer;
    plan.outer = 1;
    plan.length = strip_length;
    return plan;
  }
  plan.length = strip_length;
  plan.direct = !sums && program_of(job).draw_count == 0;
  for (int k = 0; k < job.program->slots; ++k) {
    if (!job.in[k].data || program_of(job).draws_of(k)) continue;
    const dims& s = job.in[k].strides;
    if (s.back() == 1 || s.back() == 0) continue;
    plan.direct = false;
    for (int i = 0; i + 1 < rank && plan.tile_axis < 0; ++i)
      if (s[i] == 1 && job.domain[i] >= 8) plan.tile_axis = i;
  }
  bool in_place = true;
  for (int r = 0; r < job.program->results; ++r)
    if (job.out[r].data) in_place &= job.out[r].strides.back() == 1 && job.out[r].type == job.program->stores[r];
  plan.direct &= in_place;
  plan.non_temporal = in_place && !sums && job.program->results == 1 && exceeds_cache(job, 0);
  if (plan.direct) plan.length = longest_direct;
  if (plan.tile_axis >= 0) {
    plan.tile_rows = 64;  // four cache lines of each run, and buffers that fit the second-level cache
    plan.length = 512;
  }
  return plan;
}

/// A pass over a row that is cut into strips, in place of a map.
struct row_pass {
  int number;
  const std::uint64_t* done;  ///< what earlier passes found
  std::uint64_t* partial;     ///< what this one finds
  void* const* kept;          ///< per kept value: a row of it
};

/// Runs the kernel on strip after strip.
class strip_runner : strip_operands {
 public:
  strip_runner(const task& job, const strip_plan& plan, strip_writer writer, part_sums* sums,
               const row_pass* pass = nullptr)
      : strip_operands(job,
                       {.outer = plan.flat ? 0 : job.domain.rank() - 1,
                        .length = plan.length,
                        .turned_axis = plan.tile_axis,
                        .turned = plan.tile_rows},
                       writer, sums),
        plan_(plan),
        pass_(pass),
        direct_(direct()) {}
  ~strip_runner() {
    if (plan_.non_temporal) stream_fence();
  }

  /// Strips or tiles [begin, end) of all that the plan makes.
  void units(std::int64_t begin, std::int64_t end) { walk(begin, end, 0, plan_.inner); }
  /// Those of a part.
  void part(const sum_part& here) {
    const std::int64_t pieces = (here.inner_end - here.inner + plan_.length - 1) / plan_.length;
    walk(here.outer * pieces, here.outer_end * pieces, here.inner, here.inner_end);
  }

 private:
  // Strips [unit, end) of those that are made of the elements [inner, inner_end) of every row or block of rows.
  void walk(std::int64_t unit, std::int64_t end, std::int64_t inner, std::int64_t inner_end) {
    const std::int64_t pieces = (inner_end - inner + plan_.length - 1) / plan_.length;
    std::int64_t row = unit / pieces, piece = unit % pieces;
    bool next = false;  // the strip after one of which all is in place: pointers only move on
    for (go_to(row); unit < end; ++unit) {
      const std::int64_t begin = inner + piece * plan_.length, n = std::min(plan_.length, inner_end - begin);
      if (plan_.tile_axis >= 0)
        tile(begin, n);
      else
        strip_at(begin, n, 0, next);
      if (++piece < pieces) continue;
      piece = 0;
      if (plan_.tile_axis >= 0)
        go_to(++row);
      else
        next = where_.advance() && pieces == 1 && direct_;
    }
  }
  // To the first row of a block of the tile axis, or to a row.
  void go_to(std::int64_t position) {
    for (int i = job_.domain.rank() - 2; i >= 0 && !plan_.flat; --i) {
      const std::int64_t step = i == plan_.tile_axis ? plan_.tile_rows : 1, n = (job_.domain[i] + step - 1) / step;
      where_.place(i, position % n * step);
      position /= n;
    }
  }
  // The strips of a tile, whose first row the odometer shows.
  void tile(std::int64_t begin, std::int64_t n) {
    const int axis = plan_.tile_axis;
    const std::int64_t first = where_[axis], rows = std::min(plan_.tile_rows, job_.domain[axis] - first);
    turn(begin, n, rows);
    for (std::int64_t row = 0; row < rows; ++row) {
      where_.place(axis, first + row);
      strip_at(begin, n, row, false);
    }
    where_.place(axis, first);
  }
  void strip_at(std::int64_t begin, std::int64_t n, std::int64_t number, bool next) {
    if (next)
      move();
    else
      place(begin, n, number);
    if (pass_)
      run_pass(begin, n);
    else
      run_strip(job_, p_, n, plan_.non_temporal);
    if (!direct_) deliver(begin, n);
  }
  void run_pass(std::int64_t begin, std::int64_t n) {
    std::array<void*, max_slots> kept;
    const std::int64_t position = program_.kept ? where_.index() * plan_.inner + begin : 0;
    for (int k = 0; k < program_.kept; ++k)
      kept[static_cast<std::size_t>(k)] = at(pass_->kept[k], position, size_of(program_.kept_types[k]));
    strip s = make_strip(job_, p_, n);
    s.rows = pass_->done;
    s.partial = pass_->partial;
    s.kept = kept.data();
    s.pass = pass_->number;
    program_.pass[s.pass].run(s);
  }

  const strip_plan& plan_;
  const row_pass* pass_;
  bool direct_;
};

}  // namespace kiln::cpu::inline KILN_VERSION_ISA::detail
