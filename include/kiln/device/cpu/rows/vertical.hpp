// SPDX-License-Identifier: BSL-1.0
// Reductions over slow axes: whole strips of the fast axis, which is kept, are folded onto each other, which reads
// memory in its order. Strips of columns are cut, and long columns too, by sizes only; parts are joined in their order.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include <kiln/device/cpu/processor/isa.hpp>
#include <kiln/device/cpu/rows/rows.hpp>

namespace kiln::cpu::inline KILN_VERSION_ISA::detail {

/// Reducing over the row axes while walking along the last kept axis, which is the fast one.
class vertical_runner {
 public:
  /// How the work is cut: columns in chunks, and the rows above each other in runs if the chunks are few.
  struct cut {
    std::int64_t length, columns, chunk, chunks, units, parts;
    std::int64_t part_begin(std::int64_t part) const { return (length + run - 1) / run * part / parts * run; }
    std::int64_t part_end(std::int64_t part) const { return std::min(part_begin(part + 1), length); }
  };
  static cut cut_of(const task& job) {
    const int outer = job.domain.rank() - row_axes(job);
    cut c{.length = 1, .columns = job.domain[outer - 1], .chunk = 0, .chunks = 0, .units = 1, .parts = 1};
    for (int i = outer; i < job.domain.rank(); ++i) c.length *= job.domain[i];
    const std::int64_t total = count(job.domain), above = total / c.length / c.columns;
    const std::int64_t wanted = std::min(total * program_of(job).cost / work_per_thread, most_parts) / above;
    // Long columns first: parts of 512 rows, which are read whole, hide what it costs to join them. Then narrow chunks.
    c.parts = std::clamp<std::int64_t>(wanted, 1, std::max<std::int64_t>(c.length / (8 * run), 1));
    const std::int64_t widest = std::clamp<std::int64_t>(c.columns * c.parts / std::clamp<std::int64_t>(wanted, 1, 8),
                                                         narrowest_chunk, widest_chunk);
    const std::int64_t fewest = (c.columns + widest - 1) / widest;
    c.chunk = ((c.columns + fewest - 1) / fewest + 63) / 64 * 64;  // whole registers: no column in the rest of one
    c.chunks = (c.columns + c.chunk - 1) / c.chunk;
    c.units = above * c.chunks;
    return c;
  }

  [[gnu::noinline]] vertical_runner(const task& job, const cut& by)
      : job_(job),
        program_(program_of(job)),
        by_(by),
        outer_(job.domain.rank() - row_axes(job)),
        where_(job.domain, outer_ - 1),
        partial_(workspace()),
        total_(workspace()),
        values_(workspace()) {}

  static bool suits(const task& job) {
    const int outer = job.domain.rank() - row_axes(job);
    if (!job.program->reduction_rooted || !program_of(job).operands || program_of(job).draw_count > 0 || outer < 1 ||
        job.domain[outer - 1] < 8)
      return false;
    bool fast_axis_kept = false;
    for (int k = 0; k < job.program->slots; ++k) {
      if (!job.in[k].data) continue;
      const dims& s = job.in[k].strides;
      if (s[outer - 1] != 0 && s[outer - 1] != 1) return false;
      for (int i = outer; i < s.rank(); ++i) fast_axis_kept |= s[outer - 1] == 1 && s[i] != 0;
    }
    return fast_axis_kept;
  }

  /// Folds a part of the rows of a unit into `into`, or finishes the unit if that is null.
  void fold(std::int64_t unit, std::int64_t part, std::uint64_t* into) {
    start(unit);
    bool direct = true;
    for (int r = 0; r < program_.reductions; ++r) {
      const reduction_facts& f = program_.reduced[r];
      direct &= f.operand_slot >= 0 && job_.in[f.operand_slot].strides[outer_ - 1] == 1;
      f.vertical.reset(partial(r), n_);
      f.vertical.clear(total(into, r), n_);
    }
    // Short runs are summed in the element type, runs of runs in double: the error does not grow with the axis.
    const std::int64_t end = by_.part_end(part);
    for (std::int64_t row = by_.part_begin(part); row < end; row += run) {
      const std::int64_t rows = std::min(run, end - row);
      if (direct)
        fold_memory(row, rows);
      else
        fold_computed(row, rows);
      for (int r = 0; r < program_.reductions; ++r) program_.reduced[r].vertical.flush(total(into, r), partial(r), n_);
    }
    if (!into) finish();
  }
  /// Joins what the parts of a unit were folded into, and finishes it.
  [[gnu::cold]] void join(std::int64_t unit, const std::uint64_t* folded) {
    start(unit);
    for (int r = 0; r < program_.reductions; ++r) {
      program_.reduced[r].vertical.clear(total(nullptr, r), n_);
      for (std::int64_t part = 0; part < by_.parts; ++part)
        program_.reduced[r].vertical.join(total(nullptr, r), folded + (part * program_.reductions + r) * by_.chunk, n_);
    }
    finish();
  }

 private:
  static constexpr std::int64_t run = 64;             ///< rows that are added up in the element type
  static constexpr std::int64_t widest_chunk = 2048;  ///< columns whose sums stay in first-level cache
  static constexpr std::int64_t narrowest_chunk = 256;

  std::size_t workspace() const { return static_cast<std::size_t>(program_.reductions * by_.chunk) * 8; }
  void* partial(int r) { return partial_.get() + r * by_.chunk * 8; }
  std::uint64_t* total(std::uint64_t* into, int r) {
    return (into ? into : reinterpret_cast<std::uint64_t*>(total_.get())) + r * by_.chunk;
  }
  void* value(int r) { return values_.get() + r * by_.chunk * 8; }

  void start(std::int64_t unit) {
    above_ = unit / by_.chunks;
    first_ = unit % by_.chunks * by_.chunk;
    n_ = std::min(by_.chunk, by_.columns - first_);
    where_.go_to(above_);
  }
  void finish() {
    std::array<const void*, max_slots> finished;
    for (int r = 0; r < program_.reductions; ++r) {
      program_.reduced[r].vertical.finish(value(r), total(nullptr, r), n_);
      finished[static_cast<std::size_t>(r)] = value(r);
    }
    row_runner::finish_rows(job_, outer_, finished.data(), above_ * by_.columns + first_, n_);
  }

  const char* place(const operand_view& x, std::int64_t row) const {
    std::int64_t offset = where_.offset(x.strides) + first_ * x.strides[outer_ - 1];
    for (int i = job_.domain.rank() - 1; i > outer_; --i) {
      offset += row % job_.domain[i] * x.strides[i];
      row /= job_.domain[i];
    }
    return at(x.data, offset + row * x.strides[outer_], x.size);
  }
  void fold_memory(std::int64_t row, std::int64_t rows) {
    constexpr std::int64_t together = 16;  // rows per visit of the partial sums
    const std::int64_t along = job_.domain.back();
    for (const std::int64_t end = row + rows; row < end;) {
      const std::int64_t now = std::min({together, end - row, along - row % along});
      for (int r = 0; r < program_.reductions; ++r) {
        const operand_view& x = job_.in[program_.reduced[r].operand_slot];
        program_.reduced[r].vertical.add(partial(r), place(x, row), x.strides.back(), now, n_);
      }
      row += now;
    }
  }
  void fold_computed(std::int64_t row, std::int64_t rows) {
    strip_pointers p;
    for (std::int64_t i = row; i < row + rows; ++i) {
      for (int k = 0; k < program_.slots; ++k) {
        if (!job_.in[k].data) continue;
        p.in[static_cast<std::size_t>(k)] = place(job_.in[k], i);
        p.step[static_cast<std::size_t>(k)] = job_.in[k].strides[outer_ - 1];
      }
      for (int r = 0; r < program_.reductions; ++r) p.out[static_cast<std::size_t>(r)] = value(r);
      program_.operands(make_strip(job_, p, n_));
      for (int r = 0; r < program_.reductions; ++r) program_.reduced[r].vertical.add(partial(r), value(r), 0, 1, n_);
    }
  }

  const task& job_;
  const compiled& program_;
  cut by_;
  int outer_;
  odometer where_;
  std::int64_t above_ = 0, first_ = 0, n_ = 0;
  scratch partial_, total_, values_;
};

/// Runs a task that suits it.
inline void run_vertical(const task& job) {
  const vertical_runner::cut by = vertical_runner::cut_of(job);
  const std::int64_t work = by.chunk * (by.length / by.parts) * program_of(job).cost;
  const std::int64_t grain = std::max<std::int64_t>(work_per_thread / std::max<std::int64_t>(work, 1), 1);
  const std::int64_t size = job.program->reductions * by.chunk;
  const scratch workspace(by.parts == 1 ? 0 : static_cast<std::size_t>(by.units * by.parts * size) * 8);
  std::uint64_t* const folded = reinterpret_cast<std::uint64_t*>(workspace.get());
  parallel_for(by.units * by.parts, grain, [&](std::int64_t begin, std::int64_t end) {
    vertical_runner runner(job, by);
    for (std::int64_t i = begin; i < end; ++i)
      runner.fold(i / by.parts, i % by.parts, folded ? folded + i * size : nullptr);
  });
  if (!folded) return;
  parallel_for(by.units, std::max<std::int64_t>(work_per_thread / (by.parts * size), 1),
               [&](std::int64_t begin, std::int64_t end) {
                 vertical_runner runner(job, by);
                 for (std::int64_t unit = begin; unit < end; ++unit) runner.join(unit, folded + unit * by.parts * size);
               });
}

}  // namespace kiln::cpu::inline KILN_VERSION_ISA::detail
