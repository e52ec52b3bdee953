// SPDX-License-Identifier: BSL-1.0
// A map over a domain that is not one flat piece, strip by strip: of whole rows where the inner axis is long, of the
// flat index where it is short. Operands that do not lie in strips are staged, results that do not go through a buffer.
#pragma once

#include <array>
#include <cstdint>

#include <kiln/device/cpu/kernel/draws.hpp>
#include <kiln/device/cpu/maps/strips.hpp>
#include <kiln/device/cpu/maps/sums.hpp>
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

/// Puts a strip in its place: put_strip, or, for values alone, which are of the result's type and not added,
/// put_values.
using strip_writer = void (*)(void* to, dtype to_type, std::int64_t stride, const void* from, dtype from_type,
                              std::int64_t n, bool add);
inline void put_values(void* to, dtype to_type, std::int64_t stride, const void* from, dtype, std::int64_t n, bool) {
  scatter(to, stride, from, n, size_of(to_type));
}

/// A pass over a row that is cut into strips, in place of a map.
struct row_pass {
  int number;
  const std::uint64_t* done;  ///< what earlier passes found
  std::uint64_t* partial;     ///< what this one finds
  void* const* kept;          ///< per kept value: a row of it
};

/// Stages one strip's operands and runs the kernel on it; keeps the buffers.
class strip_runner {
 public:
  strip_runner(task& job, const strip_plan& plan, strip_writer writer, part_sums* sums, const row_pass* pass = nullptr)
      : job_(job),
        plan_(plan),
        writer_(writer),
        sums_(sums),
        pass_(pass),
        slots_(job.program->slots),
        results_(job.program->results),
        non_temporal_(plan.non_temporal),
        workspace_(plan.direct ? 0
                               : static_cast<std::size_t>(slots_ * plan.tile_rows + results_) *
                                     static_cast<std::size_t>(plan.length) * 8),
        where_(job.domain, plan.flat ? job.domain.rank() : job.domain.rank() - 1) {}

  ~strip_runner() {
    if (non_temporal_) stream_fence();
  }
  strip_runner(const strip_runner&) = delete;
  strip_runner& operator=(const strip_runner&) = delete;

  /// Strips [unit_begin, unit_end) of all that the plan makes.
  void rows(std::int64_t unit_begin, std::int64_t unit_end) {
    const std::int64_t pieces = plan_.pieces();
    if (plan_.direct && pieces == 1) return direct_rows(unit_begin, unit_end);
    std::int64_t row = unit_begin / pieces, piece = unit_begin % pieces;
    where_.go_to(row);
    for (std::int64_t unit = unit_begin; unit < unit_end; ++unit) {
      const std::int64_t begin = piece * plan_.length;
      one(begin, std::min(plan_.length, plan_.inner - begin));
      if (++piece == pieces) {
        piece = 0;
        where_.advance();
      }
    }
  }
  /// The strips of a part.
  void part(const sum_part& here) {
    where_.go_to(here.outer);
    for (std::int64_t row = here.outer; row < here.outer_end; ++row, where_.advance())
      for (std::int64_t i = here.inner; i < here.inner_end; i += plan_.length)
        one(i, std::min(plan_.length, here.inner_end - i));
  }

 protected:
  char* buffer(int k) { return workspace_.get() + static_cast<std::int64_t>(k) * plan_.tile_rows * plan_.length * 8; }
  char* result_buffer(int r) {
    return workspace_.get() + (static_cast<std::int64_t>(slots_) * plan_.tile_rows + r) * plan_.length * 8;
  }

  // Rows that are read and written where they lie: pointers only move on.
  void direct_rows(std::int64_t begin, std::int64_t end) {
    const int axis = job_.domain.rank() - 2;
    where_.go_to(begin);
    bool near = false;
    for (std::int64_t row = begin; row < end; ++row) {
      for (int k = 0; k < slots_; ++k) {
        const operand_view& x = job_.in[k];
        if (!x.data) continue;
        const std::size_t i = static_cast<std::size_t>(k);
        p_.in[i] = near ? at(p_.in[i], x.strides[axis], x.size) : at(x.data, where_.offset(x.strides), x.size);
        p_.step[i] = x.strides.back();
      }
      for (int r = 0; r < results_; ++r) {
        const result_view& y = job_.out[r];
        const std::size_t i = static_cast<std::size_t>(r);
        p_.add[i] = y.add;
        if (!y.data)
          p_.out[i] = nullptr;
        else
          p_.out[i] = near ? at(p_.out[i], y.strides[axis], y.size()) : at(y.data, where_.offset(y.strides), y.size());
      }
      call(0, plan_.inner);
      near = where_.advance();
    }
  }

  // The kernel, on the strip that begins at `begin` of the odometer's row.
  void call(std::int64_t begin, std::int64_t n) {
    if (!pass_) return run_strip(job_, p_, n, non_temporal_);
    const compiled& program = program_of(job_);
    std::array<void*, max_slots> kept;
    const std::int64_t position = program.kept ? where_.index() * plan_.inner + begin : 0;
    for (int k = 0; k < program.kept; ++k)
      kept[static_cast<std::size_t>(k)] = at(pass_->kept[k], position, size_of(program.kept_types[k]));
    strip s = make_strip(job_, p_, n);
    s.rows = pass_->done;
    s.partial = pass_->partial;
    s.kept = kept.data();
    s.pass = pass_->number;
    program.pass[s.pass].run(s);
  }

  // A strip of the inner axis at the odometer's row.
  void one(std::int64_t begin, std::int64_t n) {
    if (plan_.flat) return one_flat(begin, n);
    for (int k = 0; k < slots_; ++k) {
      const operand_view& x = job_.in[k];
      if (!x.data) continue;
      const std::int64_t stride = x.strides.back();
      set_input(k, at(x.data, where_.offset(x.strides) + begin * stride, x.size), stride, n);
    }
    run(begin, n, false);
  }

  void set_input(int k, const char* p, std::int64_t stride, std::int64_t n) {
    const std::size_t i = static_cast<std::size_t>(k);
    p_.in[i] = p;
    p_.step[i] = stride;
    if (const draw_slot* draws = program_of(job_).draws_of(k)) {
      stage_draws(*draws, job_.scalars, buffer(k), p, stride, n);
    } else if (stride != 0 && stride != 1) {
      gather(buffer(k), p, stride, n, job_.in[k].size);
    } else {
      return;
    }
    p_.in[i] = buffer(k);
    p_.step[i] = 1;
  }

  // Results that lie in place are written there; others through a buffer.
  void run(std::int64_t begin, std::int64_t n, bool flat) {
    for (int r = 0; r < results_; ++r) {
      const std::size_t i = static_cast<std::size_t>(r);
      const result_view& y = job_.out[r];
      p_.out[i] = nullptr, p_.add[i] = false;
      if (!y.data) continue;
      const bool direct = !summed(r) && !flat && y.strides.back() == 1 && y.type == job_.program->stores[r];
      p_.out[i] = direct ? at(y.data, where_.offset(y.strides) + begin, y.size()) : result_buffer(r);
      p_.add[i] = direct && y.add;
    }
    call(begin, n);
    for (int r = 0; r < results_; ++r) {
      const result_view& y = job_.out[r];
      if (!y.data) continue;
      if (summed(r)) {
        if (flat)
          pieces_of(begin, n, [&](const odometer& here, std::int64_t from, std::int64_t done, std::int64_t length) {
            const std::int64_t stride = y.strides.back();
            sums_->add(r, result_buffer(r) + done * static_cast<std::int64_t>(size_of(job_.program->stores[r])),
                       here.offset(y.strides) + from * stride, stride, length);
          });
        else
          sums_->add(r, result_buffer(r), where_.offset(y.strides) + begin * y.strides.back(), y.strides.back(), n);
      } else if (flat) {
        scatter_flat(y, r, begin, n);
      } else if (!plan_.direct && p_.out[static_cast<std::size_t>(r)] == result_buffer(r)) {
        put(r, where_.offset(y.strides) + begin * y.strides.back(), y.strides.back(), result_buffer(r), n);
      }
    }
  }
  bool summed(int r) const { return sums_ && sums_->wanted(r); }

  void put(int r, std::int64_t offset, std::int64_t stride, const char* values, std::int64_t n) {
    const result_view& y = job_.out[r];
    writer_(at(y.data, offset, y.size()), y.type, stride, values, job_.program->stores[r], n, y.add);
  }

  // A strip of the flat index: several short rows, the first and last perhaps in part.
  template <class F>
  void pieces_of(std::int64_t begin, std::int64_t n, F f) {
    const std::int64_t row = job_.domain.back();
    odometer here(job_.domain, job_.domain.rank() - 1);
    here.go_to(begin / row);
    std::int64_t from = begin % row;
    for (std::int64_t done = 0; done < n;) {
      const std::int64_t length = std::min(row - from, n - done);
      f(here, from, done, length);
      done += length;
      from = 0;
      here.advance();
    }
  }
  void one_flat(std::int64_t begin, std::int64_t n) {
    for (int k = 0; k < slots_; ++k) {
      const operand_view& x = job_.in[k];
      if (!x.data) continue;
      const std::size_t i = static_cast<std::size_t>(k);
      const draw_slot* const draws = program_of(job_).draws_of(k);
      bool constant = true;
      for (std::int64_t s : x.strides) constant &= s == 0;
      if (!draws && (constant || is_contiguous(job_.domain, x.strides))) {
        p_.in[i] = constant ? static_cast<const char*>(x.data) : at(x.data, begin, x.size);
        p_.step[i] = constant ? 0 : 1;
        continue;
      }
      pieces_of(begin, n, [&](const odometer& here, std::int64_t from, std::int64_t done, std::int64_t length) {
        const std::int64_t stride = x.strides.back();
        const char* const first = at(x.data, here.offset(x.strides) + from * stride, x.size);
        char* const to = buffer(k) + done * static_cast<std::int64_t>(x.size);
        if (draws)
          stage_draws(*draws, job_.scalars, to, first, stride, length);
        else
          gather(to, first, stride, length, x.size);
      });
      p_.in[i] = buffer(k);
      p_.step[i] = 1;
    }
    run(begin, n, true);
  }
  void scatter_flat(const result_view& y, int r, std::int64_t begin, std::int64_t n) {
    pieces_of(begin, n, [&](const odometer& here, std::int64_t from, std::int64_t done, std::int64_t length) {
      const std::int64_t stride = y.strides.back();
      put(r, here.offset(y.strides) + from * stride, stride,
          result_buffer(r) + done * static_cast<std::int64_t>(size_of(job_.program->stores[r])), length);
    });
  }

  task& job_;
  const strip_plan& plan_;
  strip_writer writer_;
  part_sums* sums_;
  const row_pass* pass_;
  int slots_, results_;
  bool non_temporal_;
  scratch workspace_;
  odometer where_;
  strip_pointers p_;
};

}  // namespace kiln::cpu::inline KILN_VERSION_ISA::detail
