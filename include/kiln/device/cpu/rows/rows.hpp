// SPDX-License-Identifier: BSL-1.0
// Runs rows of a row program one after the other: its reductions go over the row axes, in as many passes over each row
// as reductions depend on each other, and the row stays in cache between them. reduce.hpp hands rows to threads and
// chooses where rows are cut up (row_strips.hpp) or added to each other (vertical.hpp) instead.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include <kiln/device/cpu/maps/map.hpp>
#include <kiln/device/cpu/processor/isa.hpp>

namespace kiln::cpu::inline KILN_VERSION_ISA {

namespace detail {

/// The row axes behind the others, each group in its order.
inline void rows_last(task& job) {
  for (int i = 1; i < job.domain.rank(); ++i)
    for (int j = i; j > 0 && (job.reduced_axes >> (j - 1) & 1) && !(job.reduced_axes >> j & 1); --j)
      swap_axes(job, j - 1, j);
}

inline int row_axes(const task& job) {
  return std::popcount(job.reduced_axes);
}

/// Whether rows of an operand are strided while neighbouring rows lie side by side: they are turned a block of rows at
/// a time.
inline bool turned_in_rows(const task& job, int k) {
  const dims& strides = job.in[k].strides;
  const int last = job.domain.rank() - 1;
  return row_axes(job) == 1 && last > 0 && strides.back() != 1 && strides.back() != 0 && strides[last - 1] == 1 &&
         !program_of(job).draws_of(k);
}

/// One thread's work on rows.
class row_runner : strip_operands {
 public:
  row_runner(const task& job, strip_writer writer, part_sums* sums, std::int64_t length)
      : strip_operands(job, shape_of_rows(job, length), writer, sums),
        non_temporal_(shape_.through_cache && direct()),
        kept_(static_cast<std::size_t>(program_.kept * length) * 8),
        finished_(static_cast<std::size_t>(program_.reduction_rooted ? program_.reductions * finished_rows * 8 : 0)) {
    for (int k = 0; k < program_.kept; ++k)
      kept_rows_[static_cast<std::size_t>(k)] = kept_.get() + static_cast<std::int64_t>(k) * shape_.length * 8;
    strip_ = make_strip(job_, p_, std::min(program_.pass_length, shape_.length));
    strip_.rows = partial_.data();
    strip_.partial = partial_.data();
    strip_.kept = kept_rows_.data();
  }

  void rows(std::int64_t begin, std::int64_t end) {
    const bool in_place = direct();
    const int axis = shape_.outer - 1;
    where_.go_to(begin);
    for (std::int64_t row = begin; row < end; where_.advance()) {
      // Rows that follow each other along the last of the other axes: as many as are turned together, or all.
      const std::int64_t first = axis < 0 ? 0 : where_[axis], along = axis < 0 ? 1 : job_.domain[axis];
      const std::int64_t n = std::min({end - row, along - first, shape_.turned > 1 ? shape_.turned : along});
      if (shape_.turned > 1) turn(0, shape_.length, n);
      place(0, shape_.length);
      for (std::int64_t i = 0;;) {
        if (non_temporal_)
          pass_cache();
        else
          passes();
        if (program_.reduction_rooted)
          keep_finished(row);
        else if (!in_place)
          deliver(0, shape_.length);
        ++row;
        if (++i == n) break;
        where_.place(axis, first + i);
        if (in_place)
          move();
        else
          place(0, shape_.length, i);
      }
    }
    if (pending_) flush(end - pending_);
    if (non_temporal_) stream_fence();
  }

 private:
  static constexpr std::int64_t finished_rows = 256;

  static std::int64_t block_rows(const task& job, std::int64_t length) {
    bool any = false;
    for (int k = 0; k < job.program->slots; ++k)
      if (job.in[k].data) any |= turned_in_rows(job, k);
    return any && length <= 65536 ? std::min<std::int64_t>(16, job.domain[job.domain.rank() - 2]) : 1;
  }
  // A result that will have left the cache when it is read.
  static bool leaves_cache(const task& job, std::int64_t length) {
    return !job.program->reduction_rooted && job.program->results == 1 && length <= 16384 && exceeds_cache(job, 0);
  }
  static strip_shape shape_of_rows(const task& job, std::int64_t length) {
    const int outer = job.domain.rank() - row_axes(job);
    const std::int64_t block = block_rows(job, length);
    return {.outer = outer,
            .length = length,
            .turned_axis = block > 1 ? outer - 1 : -1,
            .turned = block,
            .through_cache = leaves_cache(job, length)};
  }

  // A result that is written past the cache is made in a row of it.
  [[gnu::noinline]] void pass_cache() {
    void* const to = std::exchange(p_.out[0], result_buffer(0));
    passes();
    stream(to, p_.out[0], static_cast<std::size_t>(shape_.length) * job_.out[0].size());
    p_.out[0] = to;
  }

  void passes() {
    // The first kept row can live in the result's own: it is read where the result is written, just before.
    if (program_.kept > 0)
      kept_rows_[0] = results_ == 1 && job_.out[0].data && in_place(0) && !job_.out[0].add &&
                              program_.stores[0] == program_.kept_types[0] && !aliases(p_.out[0])
                          ? p_.out[0]
                          : kept_.get();
    for (int r = 0; r < program_.reductions; ++r) partial_[static_cast<std::size_t>(r)] = program_.reduced[r].identity;
    for (int pass = 0; pass < program_.passes; ++pass) {
      strip_.pass = pass;
      program_.pass[pass].run(strip_);
      if (shape_.length > program_.pass_length) rest_of(pass);
    }
  }
  // A long row: strip after strip, pointers moved along.
  [[gnu::cold, gnu::noinline]] void rest_of(int pass) {
    strip_pointers here = p_;
    std::array<void*, max_slots> kept = kept_rows_;
    for (std::int64_t i = program_.pass_length; i < shape_.length; i += program_.pass_length) {
      for (int k = 0; k < program_.slots; ++k)
        if (job_.in[k].data && here.step[static_cast<std::size_t>(k)])
          here.in[static_cast<std::size_t>(k)] =
              at(here.in[static_cast<std::size_t>(k)], program_.pass_length, job_.in[k].size);
      for (int r = 0; r < results_; ++r)
        if (job_.out[r].data)
          here.out[static_cast<std::size_t>(r)] =
              at(here.out[static_cast<std::size_t>(r)], program_.pass_length, size_of(program_.stores[r]));
      for (int k = 0; k < program_.kept; ++k)
        kept[static_cast<std::size_t>(k)] =
            at(kept[static_cast<std::size_t>(k)], program_.pass_length, size_of(program_.kept_types[k]));
      strip s = make_strip(job_, here, std::min(program_.pass_length, shape_.length - i));
      s.rows = partial_.data();
      s.partial = partial_.data();
      s.kept = kept.data();
      s.pass = pass;
      program_.pass[pass].run(s);
    }
  }
  // In place, the result's row is also an operand's: nothing may be written there before the last pass.
  bool aliases(const void* out) const {
    for (int k = 0; k < program_.slots; ++k)
      if (job_.in[k].data && p_.in[static_cast<std::size_t>(k)] == out) return true;
    return false;
  }

  // One value per row: collected for many rows, then finished together.
  void keep_finished(std::int64_t row) {
    for (int k = 0; k < program_.reductions; ++k) {
      char* const to = finished_.get() + k * finished_rows * 8;
      const std::uint64_t bits = partial_[static_cast<std::size_t>(k)];
      if (const dtype type = program_.reduced[k].type; type == dtype::float32)
        reinterpret_cast<float*>(to)[pending_] = from_bits<float>(bits);
      else
        put_bits(at(to, pending_, size_of(compute_type(type))), type, bits);
    }
    if (++pending_ == finished_rows) flush(row + 1 - finished_rows);
  }
  [[gnu::noinline]] void flush(std::int64_t first) {
    std::array<const void*, max_slots> finished;
    for (int k = 0; k < program_.reductions; ++k)
      finished[static_cast<std::size_t>(k)] = finished_.get() + k * finished_rows * 8;
    finish_rows(job_, shape_.outer, finished.data(), first, pending_);
    pending_ = 0;
  }

 public:
  /// Runs the `rows` kernel for rows [first, first + n) whose reductions stand in `finished`.
  static void finish_rows(const task& job, int outer, const void* const* finished, std::int64_t first, std::int64_t n) {
    const result_view& y = job.out[0];
    alignas(64) std::array<char, 4096> buffer;
    std::array<const void*, max_slots> from;
    for (int k = 0; k < job.program->reductions; ++k) from[static_cast<std::size_t>(k)] = finished[k];
    constexpr std::int64_t most = 512;
    odometer where(job.domain, outer);
    for (std::int64_t i = 0; i < n; i += most) {
      const std::int64_t length = std::min(most, n - i);
      const bool direct = outer == 1 && y.strides[0] == 1;
      void* out = direct ? at(y.data, first + i, y.size()) : buffer.data();
      const bool add = false;
      strip s{.out = &out,
              .add = &add,
              .scalars = job.scalars,
              .finished = from.data(),
              .count = length,
              .program = &program_of(job)};
      program_of(job).rows(s);
      if (!direct) {
        where.go_to(first + i);
        for (std::int64_t r = 0; r < length; ++r) {
          std::memcpy(at(y.data, where.offset(y.strides), y.size()),
                      buffer.data() + r * static_cast<std::int64_t>(y.size()), y.size());
          where.advance();
        }
      }
      for (int k = 0; k < job.program->reductions; ++k)
        from[static_cast<std::size_t>(k)] =
            at(from[static_cast<std::size_t>(k)], length, size_of(program_of(job).reduced[k].type));
    }
  }
  /// The same for one row, whose reductions found this.
  [[gnu::noinline]] static void finish_row(const task& job, int outer, const std::uint64_t* found, std::int64_t row) {
    const compiled& program = program_of(job);
    std::array<std::uint64_t, max_slots> values;
    std::array<const void*, max_slots> finished;
    for (int r = 0; r < program.reductions; ++r) {
      const std::size_t i = static_cast<std::size_t>(r);
      put_bits(&values[i], program.reduced[r].type, found[i]);
      finished[i] = &values[i];
    }
    finish_rows(job, outer, finished.data(), row, 1);
  }

 private:
  bool non_temporal_;
  scratch kept_, finished_;
  strip strip_;  ///< points to p_ and the arrays below
  std::array<void*, max_slots> kept_rows_;
  std::array<std::uint64_t, max_slots> partial_;
  std::int64_t pending_ = 0;
};

}  // namespace detail

}  // namespace kiln::cpu::inline KILN_VERSION_ISA
