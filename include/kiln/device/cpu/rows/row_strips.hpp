// SPDX-License-Identifier: BSL-1.0
// Rows that are long, or that lie in pieces: pass by pass, in strips like those of a map, whose sums are taken in
// shares. The shares depend on sizes only and are joined in their order, whichever threads did them.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <new>
#include <optional>

#include <kiln/device/cpu/processor/isa.hpp>
#include <kiln/device/cpu/rows/rows.hpp>

namespace kiln::cpu::inline KILN_VERSION_ISA::detail {

class row_strips {
 public:
  [[gnu::cold]] row_strips(const task& job, strip_writer writer)
      : job_(job),
        program_(program_of(job)),
        writer_(writer),
        outer_(job.domain.rank() - row_axes(job)),
        where_(job.domain, outer_),
        views_(static_cast<std::size_t>(program_.slots) * sizeof(operand_view) +
               static_cast<std::size_t>(program_.results) * sizeof(result_view)),
        row_(job) {
    row_.domain = row_part(job.domain);
    row_.reduced_axes = 0;
    char* workspace = views_.get();
    row_.in = reinterpret_cast<operand_view*>(workspace);
    for (int k = 0; k < program_.slots; ++k, workspace += sizeof(operand_view))
      new (workspace) operand_view{job.in[k].data, row_part(job.in[k].strides), job.in[k].size};
    row_.out = reinterpret_cast<result_view*>(workspace);
    for (int r = 0; r < program_.results; ++r, workspace += sizeof(result_view)) {
      const result_view& y = job.out[r];
      new (workspace) result_view{program_.reduction_rooted ? nullptr : y.data, row_part(y.strides), y.type, y.add};
    }
    plan_ = plan_strips(row_, false);
    plan_.non_temporal = false;
    plan_.length = std::min(plan_.length, program_.pass_length);
    units_ = plan_.units(row_.domain);
    const std::int64_t length = count(row_.domain), each = std::max<std::int64_t>(length / units_, 1);
    const std::int64_t least = std::max<std::int64_t>(work_per_thread / (each * program_.cost), 1);
    share_ = std::max<std::int64_t>((units_ + most_parts - 1) / most_parts, least);
    shares_ = (units_ + share_ - 1) / share_;
    kept_.emplace(static_cast<std::size_t>(program_.kept * length) * 8);
    for (int k = 0; k < program_.kept; ++k) kept_rows_[static_cast<std::size_t>(k)] = kept_->get() + k * length * 8;
    partial_.emplace(static_cast<std::size_t>(shares_ * program_.reductions) * 8);
  }

  [[gnu::cold]] void row(std::int64_t row) {
    where_.go_to(row);
    for (int k = 0; k < program_.slots; ++k)
      if (job_.in[k].data) row_.in[k].data = at(job_.in[k].data, where_.offset(job_.in[k].strides), job_.in[k].size);
    std::array<std::uint64_t, max_slots> done;
    for (int r = 0; r < program_.reductions; ++r) done[static_cast<std::size_t>(r)] = program_.reduced[r].identity;
    for (int pass = 0; pass < program_.passes; ++pass) {
      if (!program_.reduction_rooted) place_results(pass + 1 == program_.passes);
      parallel_for(shares_, 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) share(pass, i, done.data());
      });
      for (std::int64_t i = 0; i < shares_; ++i) join(pass, done, partial(i));
    }
    if (program_.reduction_rooted) finish(row, done);
  }

 private:
  [[gnu::noinline]] dims row_part(const dims& all) const {
    dims part;
    for (int i = outer_; i < all.rank(); ++i) part.push_back(all[i]);
    return part;
  }
  std::uint64_t* partial(std::int64_t share) {
    return reinterpret_cast<std::uint64_t*>(partial_->get()) + share * program_.reductions;
  }
  void join(int pass, std::array<std::uint64_t, max_slots>& done, const std::uint64_t* share) const {
    for (int r = 0; r < program_.reductions; ++r)
      if (const reduction_facts& f = program_.reduced[r]; f.pass == pass)
        done[static_cast<std::size_t>(r)] = f.join(done[static_cast<std::size_t>(r)], share[r]);
  }
  // Results are there for the last pass only, which writes them.
  void place_results(bool last) {
    for (int r = 0; r < program_.results; ++r) {
      const result_view& y = job_.out[r];
      row_.out[r].data = last && y.data ? at(y.data, where_.offset(y.strides), y.size()) : nullptr;
    }
  }
  [[gnu::cold]] void share(int pass, std::int64_t i, const std::uint64_t* done) {
    std::uint64_t* const mine = partial(i);
    for (int r = 0; r < program_.reductions; ++r) mine[r] = program_.reduced[r].identity;
    const row_pass now{pass, done, mine, kept_rows_.data()};
    const std::int64_t begin = i * share_, end = std::min(units_, begin + share_);
    strip_runner(row_, plan_, writer_, nullptr, &now).units(begin, end);
  }
  void finish(std::int64_t row, const std::array<std::uint64_t, max_slots>& done) {
    row_runner::finish_row(job_, outer_, done.data(), row);
  }

  const task& job_;
  const compiled& program_;
  strip_writer writer_;
  int outer_;
  odometer where_;
  scratch views_;  ///< what row_.in and row_.out point to
  task row_;       ///< one row as a domain of its own
  strip_plan plan_;
  std::int64_t units_ = 0, share_ = 0, shares_ = 0;  ///< strips or tiles, how many of them a share has, shares
  std::optional<scratch> kept_, partial_;
  std::array<void*, max_slots> kept_rows_;
};

/// Runs all rows that way: many on threads each, few with their shares on threads; the sums are the same.
[[gnu::cold]] inline void run_row_strips(const task& job, strip_writer writer, std::int64_t rows) {
  auto some = [&](std::int64_t begin, std::int64_t end) {
    row_strips runner(job, writer);
    for (std::int64_t row = begin; row < end; ++row) runner.row(row);
  };
  if (rows >= 4 * num_threads())
    parallel_for(rows, std::max<std::int64_t>(work_per_thread / (count(job.domain) / rows * program_of(job).cost), 1),
                 some);
  else
    some(0, rows);
}

}  // namespace kiln::cpu::inline KILN_VERSION_ISA::detail
