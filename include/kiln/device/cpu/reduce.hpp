// SPDX-License-Identifier: BSL-1.0
// Chooses how a row program runs: rows on threads, one long row cut into strips, or (reductions over a slow axis)
// strips folded onto each other, which reads memory in its order. The entry is `run_rows`.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include <kiln/device/cpu/isa.hpp>
#include <kiln/device/cpu/rows.hpp>

namespace kiln::cpu::inline KILN_VERSION_ISA {

namespace detail {

/// Reducing over the one row axis while walking along the last kept axis, which is the fast one.
class vertical_runner {
 public:
  vertical_runner(task& job, std::int64_t chunk)
      : job_(job),
        program_(*job.program),
        chunk_(chunk),
        outer_(job.domain.rank() - 1),
        where_(job.domain, outer_ - 1),
        partial_(static_cast<std::size_t>(program_.reductions * chunk) * 8),
        total_(static_cast<std::size_t>(program_.reductions * chunk) * 8),
        values_(static_cast<std::size_t>(program_.reductions * chunk) * 8) {}

  static bool suits(const task& job) {
    const int rank = job.domain.rank();
    if (!job.program->row_root || !job.program->operands || job.program->draw_count > 0 || rank < 2 ||
        row_axes(job) != 1 || job.domain[rank - 2] < 8)
      return false;
    bool fast_axis_kept = false;
    for (int k = 0; k < job.program->slots; ++k) {
      if (!job.in[k].data) continue;
      const dims& s = job.in[k].strides;
      if (s[rank - 2] != 0 && s[rank - 2] != 1) return false;
      fast_axis_kept |= s[rank - 2] == 1 && s[rank - 1] != 0;
    }
    return fast_axis_kept;
  }

  void unit(std::int64_t unit) {
    const std::int64_t columns = job_.domain[outer_ - 1], chunks = (columns + chunk_ - 1) / chunk_;
    const std::int64_t first = unit % chunks * chunk_, n = std::min(chunk_, columns - first);
    where_.go_to(unit / chunks);
    bool direct = true;
    for (int r = 0; r < program_.reductions; ++r) {
      const reduction_facts& f = program_.reduced[r];
      direct &= f.operand_slot >= 0 && job_.in[f.operand_slot].strides[outer_ - 1] == 1;
      f.vertical.reset(partial(r), n);
      f.vertical.clear(total(r), n);
    }
    // Short runs are summed in the element type, runs of runs in double: the error does not grow with the axis.
    constexpr std::int64_t run = 64;
    for (std::int64_t row = 0; row < job_.domain.back(); row += run) {
      const std::int64_t rows = std::min(run, job_.domain.back() - row);
      if (direct)
        fold_memory(first, n, row, rows);
      else
        fold_computed(first, n, row, rows);
      for (int r = 0; r < program_.reductions; ++r) program_.reduced[r].vertical.flush(total(r), partial(r), n);
    }
    std::array<const void*, max_slots> finished;
    for (int r = 0; r < program_.reductions; ++r) {
      program_.reduced[r].vertical.finish(value(r), total(r), n);
      finished[static_cast<std::size_t>(r)] = value(r);
    }
    row_runner::finish_rows(job_, outer_, finished.data(), unit / chunks * columns + first, n);
  }

 private:
  void* partial(int r) { return partial_.get() + r * chunk_ * 8; }
  std::uint64_t* total(int r) { return reinterpret_cast<std::uint64_t*>(total_.get() + r * chunk_ * 8); }
  void* value(int r) { return values_.get() + r * chunk_ * 8; }

  const char* place(const operand_view& x, std::int64_t first, std::int64_t row) const {
    return at(x.data, where_.offset(x.strides) + first * x.strides[outer_ - 1] + row * x.strides.back(), x.size);
  }
  void fold_memory(std::int64_t first, std::int64_t n, std::int64_t row, std::int64_t rows) {
    constexpr std::int64_t together = 8;  // rows per visit of the partial sums
    for (std::int64_t i = 0; i < rows; i += together)
      for (int r = 0; r < program_.reductions; ++r) {
        const operand_view& x = job_.in[program_.reduced[r].operand_slot];
        program_.reduced[r].vertical.add(partial(r), place(x, first, row + i), x.strides.back(),
                                         std::min(together, rows - i), n);
      }
  }
  void fold_computed(std::int64_t first, std::int64_t n, std::int64_t row, std::int64_t rows) {
    strip_pointers p;
    for (std::int64_t i = 0; i < rows; ++i) {
      for (int k = 0; k < program_.slots; ++k) {
        if (!job_.in[k].data) continue;
        p.in[static_cast<std::size_t>(k)] = place(job_.in[k], first, row + i);
        p.step[static_cast<std::size_t>(k)] = job_.in[k].strides[outer_ - 1];
      }
      for (int r = 0; r < program_.reductions; ++r) p.out[static_cast<std::size_t>(r)] = value(r);
      program_.operands(make_strip(job_, p, n));
      for (int r = 0; r < program_.reductions; ++r) program_.reduced[r].vertical.add(partial(r), value(r), 0, 1, n);
    }
  }

  task& job_;
  const compiled& program_;
  std::int64_t chunk_;
  int outer_;
  odometer where_;
  scratch partial_, total_, values_;
};

/// One long contiguous row at a time, its strips on all threads, one pass after the other.
class long_row_runner {
 public:
  explicit long_row_runner(task& job)
      : job_(job),
        program_(*job.program),
        outer_(job.domain.rank() - 1),
        length_(job.domain.back()),
        where_(job.domain, outer_),
        kept_(static_cast<std::size_t>(program_.kept * length_) * 8) {}

  static constexpr std::int64_t shortest = 32768;  ///< elements of a row that is worth cutting up

  static bool suits(const task& job, const result_sums& sums) {
    if (row_axes(job) != 1 || job.domain.back() < shortest || sums.any()) return false;
    for (int k = 0; k < job.program->slots; ++k)
      if (job.in[k].data && !job.program->draws_of(k) && job.in[k].strides.back() != 1 && job.in[k].strides.back() != 0)
        return false;
    if (!job.program->row_root)
      for (int r = 0; r < job.program->results; ++r)
        if (job.out[r].data && (job.out[r].strides.back() != 1 || job.out[r].type != job.program->stores[r]))
          return false;
    return true;
  }

  void row(std::int64_t row) {
    where_.go_to(row);
    std::array<std::uint64_t, max_slots> done;
    for (int r = 0; r < program_.reductions; ++r) done[static_cast<std::size_t>(r)] = program_.reduced[r].identity;
    const std::int64_t strips = (length_ + program_.pass_length - 1) / program_.pass_length;
    const std::int64_t grain = std::max<std::int64_t>(work_per_thread / (program_.pass_length * program_.cost), 4);
    for (int pass = 0; pass < program_.passes; ++pass) {
      // A fixed share of strips per partial result, added in order: the same sum for any number of threads.
      const std::int64_t share = std::max<std::int64_t>((strips + max_shares - 1) / max_shares, grain);
      const std::int64_t shares = (strips + share - 1) / share;
      std::array<std::array<std::uint64_t, max_slots>, max_shares>& parts = parts_;
      parallel_for(shares, 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
          auto& mine = parts[static_cast<std::size_t>(i)];
          for (int r = 0; r < program_.reductions; ++r)
            mine[static_cast<std::size_t>(r)] = program_.reduced[r].identity;
          for (std::int64_t k = i * share; k < std::min(strips, (i + 1) * share); ++k)
            strip_of(pass, k, done.data(), mine.data());
        }
      });
      for (std::int64_t i = 0; i < shares; ++i)
        for (int r = 0; r < program_.reductions; ++r)
          if (const reduction_facts& f = program_.reduced[r]; f.pass == pass) {
            std::uint64_t& total = done[static_cast<std::size_t>(r)];
            total = f.join(total, parts[static_cast<std::size_t>(i)][static_cast<std::size_t>(r)]);
          }
    }
    if (program_.row_root) finish(row, done);
  }

 private:
  static constexpr std::int64_t max_shares = 64;

  void strip_of(int pass, std::int64_t k, const std::uint64_t* done, std::uint64_t* mine) {
    const std::int64_t begin = k * program_.pass_length, n = std::min(program_.pass_length, length_ - begin);
    strip_pointers p;
    const scratch staged(program_.draw_count > 0 ? static_cast<std::size_t>(program_.slots * n) * 8 : 0);
    for (int i = 0; i < program_.slots; ++i) {
      const operand_view& x = job_.in[i];
      if (!x.data) continue;
      p.in[static_cast<std::size_t>(i)] = at(x.data, where_.offset(x.strides) + begin * x.strides.back(), x.size);
      p.step[static_cast<std::size_t>(i)] = x.strides.back();
      const draw_slot* const draws = program_.draws_of(i);
      if (!draws) continue;
      char* const to = staged.get() + i * n * 8;
      stage_draws(*draws, job_.scalars, to, p.in[static_cast<std::size_t>(i)], x.strides.back(), n);
      p.in[static_cast<std::size_t>(i)] = to;
      p.step[static_cast<std::size_t>(i)] = 1;
    }
    if (!program_.row_root)
      for (int r = 0; r < program_.results; ++r) {
        const result_view& y = job_.out[r];
        p.out[static_cast<std::size_t>(r)] = y.data ? at(y.data, where_.offset(y.strides) + begin, y.size) : nullptr;
        p.add[static_cast<std::size_t>(r)] = y.add;
      }
    std::array<void*, max_slots> kept;
    for (int i = 0; i < program_.kept; ++i)
      kept[static_cast<std::size_t>(i)] =
          kept_.get() + i * length_ * 8 + begin * static_cast<std::int64_t>(size_of(program_.kept_types[i]));
    strip s = make_strip(job_, p, n);
    s.rows = done;
    s.partial = mine;
    s.kept = kept.data();
    s.pass = pass;
    program_.pass[pass].run(s);
  }
  void finish(std::int64_t row, const std::array<std::uint64_t, max_slots>& done) {
    std::array<std::uint64_t, max_slots> values;
    std::array<const void*, max_slots> finished;
    for (int r = 0; r < program_.reductions; ++r)
      visit_dtype(program_.reduced[r].type, [&]<class T>(std::type_identity<T>) {
        const auto value = from_bits<compute_t<T>>(done[static_cast<std::size_t>(r)]);
        std::memcpy(&values[static_cast<std::size_t>(r)], &value, sizeof(value));
        finished[static_cast<std::size_t>(r)] = &values[static_cast<std::size_t>(r)];
      });
    row_runner::finish_rows(job_, outer_, finished.data(), row, 1);
  }

  task& job_;
  const compiled& program_;
  int outer_;
  std::int64_t length_;
  odometer where_;
  scratch kept_;
  std::array<std::array<std::uint64_t, max_slots>, max_shares> parts_;
};

/// Rows without elements: every reduction is its identity, if it has one.
inline void reduce_nothing(task& job, std::int64_t rows) {
  const compiled& program = *job.program;
  for (int r = 0; r < program.reductions; ++r)
    if (!program.reduced[r].has_identity)
      throw value_error(message(program.reduced[r].name, ": no elements along the reduced axes of a tensor of shape ",
                                job.domain, ", and the ", program.reduced[r].name,
                                " of nothing is not defined: check for empty tensors first"));
  std::array<std::array<std::uint64_t, 1>, max_slots> values;
  std::array<const void*, max_slots> finished;
  for (int r = 0; r < program.reductions; ++r)
    visit_dtype(program.reduced[r].type, [&]<class T>(std::type_identity<T>) {
      const auto value = from_bits<compute_t<T>>(program.reduced[r].identity);
      std::memcpy(values[static_cast<std::size_t>(r)].data(), &value, sizeof(value));
      finished[static_cast<std::size_t>(r)] = values[static_cast<std::size_t>(r)].data();
    });
  rows_last(job);
  const int outer = job.domain.rank() - row_axes(job);
  for (std::int64_t row = 0; row < rows; ++row) row_runner::finish_rows(job, outer, finished.data(), row, 1);
}

}  // namespace detail

/// Runs a row program. Throws value_error if a reduction without an identity (max, min) has nothing to reduce.
inline void run_rows(task& job) {
  const compiled& program = *job.program;
  const std::int64_t total = count(job.domain);
  result_sums sums(job);
  if (total == 0) {
    std::int64_t rows = 1;
    for (int i = 0; i < job.domain.rank(); ++i)
      if (!(job.reduced_axes >> i & 1)) rows *= job.domain[i];
    if (program.row_root && rows > 0) detail::reduce_nothing(job, rows);
    return sums.deliver();
  }
  detail::rows_last(job);
  collapse(job);
  if (detail::row_axes(job) == 0) {
    detail::insert_axis(job);
    job.reduced_axes |= 1u << (job.domain.rank() - 1);
  }
  const int outer = job.domain.rank() - detail::row_axes(job);
  std::int64_t length = 1;
  for (int i = outer; i < job.domain.rank(); ++i) length *= job.domain[i];
  const std::int64_t rows = total / length,
                     grain = std::max<std::int64_t>(work_per_thread / (length * program.cost), 1);

  if (detail::vertical_runner::suits(job)) {
    const std::int64_t columns = job.domain[outer - 1], threads = num_threads();
    const std::int64_t chunk =
        std::clamp<std::int64_t>((columns + threads - 1) / threads, std::min<std::int64_t>(columns, 256), 2048);
    const std::int64_t units = rows / columns * ((columns + chunk - 1) / chunk);
    return parallel_for(units, std::max<std::int64_t>(work_per_thread / (chunk * length * program.cost), 1),
                        [&](std::int64_t begin, std::int64_t end) {
                          detail::vertical_runner runner(job, chunk);
                          for (std::int64_t u = begin; u < end; ++u) runner.unit(u);
                        });
  }
  if (rows < 4 * num_threads() && detail::long_row_runner::suits(job, sums)) {
    detail::long_row_runner runner(job);
    for (std::int64_t row = 0; row < rows; ++row) runner.row(row);
    return;
  }
  sums.prepare(job);
  parallel_for(rows, grain, [&](std::int64_t begin, std::int64_t end) {
    detail::row_runner(job, sums.any() ? &sums : nullptr, length).rows(begin, end);
  });
  sums.deliver();
}

}  // namespace kiln::cpu::inline KILN_VERSION_ISA
