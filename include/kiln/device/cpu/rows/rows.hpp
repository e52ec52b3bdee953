// SPDX-License-Identifier: BSL-1.0
// Runs rows of a row program one after the other: its reductions go over the row axes, in as many passes over each row
// as reductions depend on each other, and the row stays in cache between them. reduce.hpp hands rows to threads and
// chooses where rows are cut up (row_strips.hpp) or added to each other (vertical.hpp) instead.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

#include <kiln/core/error.hpp>
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

/// One thread's work on rows.
class row_runner {
 public:
  row_runner(task& job, part_sums* sums, std::int64_t length)
      : job_(job),
        sums_(sums),
        program_(program_of(job)),
        length_(length),
        outer_(job.domain.rank() - row_axes(job)),
        non_temporal_(!program_.reduction_rooted && program_.results == 1 && length <= 16384 && exceeds_cache(job, 0)),
        where_(job.domain, outer_),
        block_(block_rows(job, length)),
        staged_(static_cast<std::size_t>(program_.slots * block_ * length) * 8),
        kept_(static_cast<std::size_t>(program_.kept * length) * 8),
        results_(static_cast<std::size_t>(program_.reduction_rooted ? 0 : program_.results * block_ * length) * 8),
        finished_(static_cast<std::size_t>(program_.reduction_rooted ? program_.reductions * finished_rows * 8 : 0)) {
    for (int k = 0; k < program_.kept; ++k)
      kept_rows_[static_cast<std::size_t>(k)] = kept_.get() + static_cast<std::int64_t>(k) * length_ * 8;
    strip_ = make_strip(job_, p_, std::min(program_.pass_length, length_));
    strip_.rows = partial_.data();
    strip_.partial = partial_.data();
    strip_.kept = kept_rows_.data();
  }

  void rows(std::int64_t begin, std::int64_t end) {
    if (in_line()) {
      rows_in_line(begin, end);
    } else {
      const std::int64_t step = block_ > 1 ? block_ : end - begin;
      for (std::int64_t row = begin; row < end; row += step) block(row, std::min(step, end - row));
    }
    if (pending_) flush(end - pending_);
  }

  /// An operand whose rows are strided but whose neighbouring rows lie side by side is turned a block of rows at a
  /// time.
  static bool turns(const task& job, int k, int outer) {
    const dims& strides = job.in[k].strides;
    return !program_of(job).draws_of(k) && job.domain.rank() - outer == 1 && outer > 0 && strides.back() != 1 &&
           strides.back() != 0 && strides[outer - 1] == 1;
  }

 private:
  static constexpr std::int64_t finished_rows = 256;

  static std::int64_t block_rows(const task& job, std::int64_t length) {
    const int outer = job.domain.rank() - row_axes(job);
    bool any = false;
    for (int k = 0; k < job.program->slots; ++k)
      if (job.in[k].data) any |= turns(job, k, outer);
    if (!any || length > 65536) return 1;
    return std::min<std::int64_t>(16, job.domain[outer - 1]);
  }
  char* staged(int k) { return staged_.get() + static_cast<std::int64_t>(k) * block_ * length_ * 8; }
  char* result(int r) { return results_.get() + static_cast<std::int64_t>(r) * block_ * length_ * 8; }

  // The usual case: rows one stride apart that are read and written where they lie. Pointers then only move on.
  bool in_line() const {
    if (outer_ > 1 || job_.domain.rank() - outer_ != 1 || program_.draw_count) return false;
    for (int k = 0; k < program_.slots; ++k)
      if (job_.in[k].data && job_.in[k].strides.back() != 1 && job_.in[k].strides.back() != 0) return false;
    if (!program_.reduction_rooted)
      for (int r = 0; r < program_.results; ++r)
        if (job_.out[r].data &&
            (summed(r) || job_.out[r].strides.back() != 1 || job_.out[r].type != program_.stores[r]))
          return false;
    return true;
  }
  void rows_in_line(std::int64_t begin, std::int64_t end) {
    auto row_stride = [&](const dims& strides) { return outer_ == 1 ? strides[0] : 0; };
    row_bytes in_bytes, out_bytes;
    for (int k = 0; k < program_.slots; ++k) {
      const operand_view& x = job_.in[k];
      if (!x.data) continue;
      const std::size_t i = static_cast<std::size_t>(k);
      in_bytes[i] = row_stride(x.strides) * static_cast<std::int64_t>(x.size);
      p_.in[i] = at(x.data, begin * row_stride(x.strides), x.size);
      p_.step[i] = x.strides.back();
    }
    if (!program_.reduction_rooted)
      for (int r = 0; r < program_.results; ++r) {
        const result_view& y = job_.out[r];
        const std::size_t i = static_cast<std::size_t>(r);
        direct_[i] = static_cast<bool>(y.data);
        p_.out[i] = y.data ? at(y.data, begin * row_stride(y.strides), y.size()) : nullptr;
        out_bytes[i] = y.data ? row_stride(y.strides) * static_cast<std::int64_t>(y.size()) : 0;
        p_.add[i] = y.add;
      }
    if (non_temporal_) return rows_non_temporal(begin, end, in_bytes, out_bytes);
    for (std::int64_t row = begin; row < end; ++row) {
      passes();
      if (program_.reduction_rooted) keep_finished(row);
      next_row(in_bytes);
      if (!program_.reduction_rooted)
        for (int r = 0; r < program_.results; ++r)
          if (direct_[static_cast<std::size_t>(r)])
            p_.out[static_cast<std::size_t>(r)] =
                static_cast<char*>(p_.out[static_cast<std::size_t>(r)]) + out_bytes[static_cast<std::size_t>(r)];
    }
  }

  using row_bytes = std::array<std::int64_t, max_slots>;
  void next_row(const row_bytes& in_bytes) {
    for (int k = 0; k < program_.slots; ++k)
      if (job_.in[k].data)
        p_.in[static_cast<std::size_t>(k)] =
            static_cast<const char*>(p_.in[static_cast<std::size_t>(k)]) + in_bytes[static_cast<std::size_t>(k)];
  }
  // A result that will have left the cache when it is read: made in a row of cache, written past it.
  void rows_non_temporal(std::int64_t begin, std::int64_t end, const row_bytes& in_bytes, const row_bytes& out_bytes) {
    char* to = static_cast<char*>(p_.out[0]);
    p_.out[0] = result(0);
    for (std::int64_t row = begin; row < end; ++row) {
      passes();
      stream(to, result(0), static_cast<std::size_t>(length_) * job_.out[0].size());
      next_row(in_bytes);
      to += out_bytes[0];
    }
    stream_fence();
  }

  void block(std::int64_t first, std::int64_t rows) {
    where_.go_to(first);
    // A block must not run over the end of the axis along which its rows are neighbours.
    if (block_ > 1) {
      const std::int64_t along = job_.domain[outer_ - 1], left = along - first % along;
      if (rows > left) {
        block(first, left);
        return block(first + left, rows - left);
      }
      for (int k = 0; k < program_.slots; ++k) {
        const operand_view& x = job_.in[k];
        if (x.data && turns(job_, k, outer_))
          transpose_block(staged(k), length_, at(x.data, where_.offset(x.strides), x.size), x.strides.back(), rows,
                          length_, x.size);
      }
    }
    for (std::int64_t r = 0; r < rows; ++r) {
      one(first + r, r);
      where_.advance();
    }
  }

  void one(std::int64_t row, std::int64_t in_block) {
    for (int k = 0; k < program_.slots; ++k) {
      const operand_view& x = job_.in[k];
      if (!x.data) continue;
      const std::size_t i = static_cast<std::size_t>(k);
      const char* p = at(x.data, where_.offset(x.strides), x.size);
      const draw_slot* const draws = program_.draws_of(k);
      if (block_ > 1 && turns(job_, k, outer_)) {
        p_.in[i] = staged(k) + in_block * length_ * static_cast<std::int64_t>(x.size);
        p_.step[i] = 1;
      } else if (!draws && job_.domain.rank() - outer_ == 1 && (x.strides.back() == 1 || x.strides.back() == 0)) {
        p_.in[i] = p;
        p_.step[i] = x.strides.back();
      } else {
        gather_row(staged(k), p, x.strides, x.size, draws);
        p_.in[i] = staged(k);
        p_.step[i] = 1;
      }
    }
    if (!program_.reduction_rooted)
      for (int r = 0; r < program_.results; ++r) {
        const result_view& y = job_.out[r];
        p_.out[static_cast<std::size_t>(r)] = nullptr;
        p_.add[static_cast<std::size_t>(r)] = false;
        if (!y.data) continue;
        direct_[static_cast<std::size_t>(r)] =
            !summed(r) && job_.domain.rank() - outer_ == 1 && y.strides.back() == 1 && y.type == program_.stores[r];
        p_.out[static_cast<std::size_t>(r)] =
            direct_[static_cast<std::size_t>(r)] ? at(y.data, where_.offset(y.strides), y.size()) : result(r);
        p_.add[static_cast<std::size_t>(r)] = direct_[static_cast<std::size_t>(r)] && y.add;
      }
    passes();
    if (program_.reduction_rooted)
      keep_finished(row);
    else
      for (int r = 0; r < program_.results; ++r)
        if (job_.out[r].data && !direct_[static_cast<std::size_t>(r)]) put_row(r);
  }
  bool summed(int r) const { return sums_ && sums_->wanted(r); }

  void passes() {
    // The first kept row can live in the result's own: it is read where the result is written, just before.
    if (program_.kept > 0)
      kept_rows_[0] = !program_.reduction_rooted && program_.results == 1 && direct_[0] && !job_.out[0].add &&
                              program_.stores[0] == program_.kept_types[0] && !aliases(p_.out[0])
                          ? p_.out[0]
                          : kept_.get();
    for (int r = 0; r < program_.reductions; ++r) partial_[static_cast<std::size_t>(r)] = program_.reduced[r].identity;
    for (int pass = 0; pass < program_.passes; ++pass) {
      strip_.pass = pass;
      program_.pass[pass].run(strip_);
      if (length_ > program_.pass_length) rest_of(pass);
    }
  }
  // A long row: strip after strip, pointers moved along.
  void rest_of(int pass) {
    strip_pointers here = p_;
    std::array<void*, max_slots> kept = kept_rows_;
    for (std::int64_t i = program_.pass_length; i < length_; i += program_.pass_length) {
      for (int k = 0; k < program_.slots; ++k)
        if (job_.in[k].data && here.step[static_cast<std::size_t>(k)])
          here.in[static_cast<std::size_t>(k)] =
              at(here.in[static_cast<std::size_t>(k)], program_.pass_length, job_.in[k].size);
      if (!program_.reduction_rooted)
        for (int r = 0; r < program_.results; ++r)
          if (job_.out[r].data)
            here.out[static_cast<std::size_t>(r)] =
                at(here.out[static_cast<std::size_t>(r)], program_.pass_length, size_of(program_.stores[r]));
      for (int k = 0; k < program_.kept; ++k)
        kept[static_cast<std::size_t>(k)] =
            at(kept[static_cast<std::size_t>(k)], program_.pass_length, size_of(program_.kept_types[k]));
      strip s = make_strip(job_, here, std::min(program_.pass_length, length_ - i));
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

  template <class F>
  void pieces(F f) {  // contiguous pieces of a row whose axes do not collapse into one
    const int rank = job_.domain.rank();
    const std::int64_t inner = job_.domain.back();
    dims sizes;
    for (int i = outer_; i + 1 < rank; ++i) sizes.push_back(job_.domain[i]);
    odometer here(sizes, sizes.rank());
    here.go_to(0);
    for (std::int64_t done = 0; done < length_; done += inner) {
      f(here, done, inner);
      here.advance();
    }
  }
  dims row_strides(const dims& strides) const {
    dims s;
    for (int i = outer_; i + 1 < job_.domain.rank(); ++i) s.push_back(strides[i]);
    return s;
  }
  void gather_row(char* to, const char* from, const dims& strides, std::size_t size, const draw_slot* draws) {
    const dims s = row_strides(strides);
    pieces([&](const odometer& here, std::int64_t done, std::int64_t n) {
      const char* const first = at(static_cast<const void*>(from), here.offset(s), size);
      char* const piece = to + done * static_cast<std::int64_t>(size);
      if (draws)
        stage_draws(*draws, job_.scalars, piece, first, strides.back(), n);
      else
        gather(piece, first, strides.back(), n, size);
    });
  }
  void put_row(int r) {
    const result_view& y = job_.out[r];
    const dims s = row_strides(y.strides);
    const std::int64_t base = where_.offset(y.strides);
    const std::size_t size = size_of(program_.stores[r]);
    pieces([&](const odometer& here, std::int64_t done, std::int64_t n) {
      const char* values = result(r) + done * static_cast<std::int64_t>(size);
      const std::int64_t offset = base + here.offset(s);
      if (summed(r))
        sums_->add(r, values, offset, y.strides.back(), n);
      else
        put_strip(at(y.data, offset, y.size()), y.type, y.strides.back(), values, program_.stores[r], n, y.add);
    });
  }

  // One value per row: collected for many rows, then finished together.
  void keep_finished(std::int64_t row) {
    for (int k = 0; k < program_.reductions; ++k) {
      char* to = finished_.get() + k * finished_rows * 8;
      const std::uint64_t bits = partial_[static_cast<std::size_t>(k)];
      if (program_.reduced[k].type == dtype::float32)
        reinterpret_cast<float*>(to)[pending_] = from_bits<float>(bits);
      else
        visit_dtype(program_.reduced[k].type, [&]<class T>(std::type_identity<T>) {
          reinterpret_cast<compute_t<T>*>(to)[pending_] = from_bits<compute_t<T>>(bits);
        });
    }
    if (++pending_ == finished_rows) flush(row + 1 - finished_rows);
  }
  void flush(std::int64_t first) {
    std::array<const void*, max_slots> finished;
    for (int k = 0; k < program_.reductions; ++k)
      finished[static_cast<std::size_t>(k)] = finished_.get() + k * finished_rows * 8;
    finish_rows(job_, outer_, finished.data(), first, pending_);
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

 private:
  task& job_;
  part_sums* sums_;
  const compiled& program_;
  std::int64_t length_;
  int outer_;
  bool non_temporal_;
  odometer where_;
  std::int64_t block_;
  scratch staged_, kept_, results_, finished_;
  strip_pointers p_;
  strip strip_;  ///< points into p_ and the arrays below
  std::array<bool, max_slots> direct_{};
  std::array<void*, max_slots> kept_rows_;
  std::array<std::uint64_t, max_slots> partial_;
  std::int64_t pending_ = 0;
};

}  // namespace detail

}  // namespace kiln::cpu::inline KILN_VERSION_ISA
