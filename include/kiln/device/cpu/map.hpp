// SPDX-License-Identifier: BSL-1.0
// Runs a map program (no reductions) over any domain. `run_map` collapses the axes, then walks strips: of whole rows
// where the inner axis is long, of the flat index where it is short, and of tiles where an operand's fast axis is not
// the result's. Results that are narrower than the domain (gradients of broadcast leaves) are summed as they come.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include <kiln/device/cpu/collapse.hpp>
#include <kiln/device/cpu/memory.hpp>
#include <kiln/device/cpu/staging.hpp>
#include <kiln/device/cpu/sums.hpp>
#include <kiln/device/cpu/threads.hpp>

namespace kiln::cpu {

/// Elements of a strip that needs staging: all operands of a common expression stay in first-level cache.
inline constexpr std::int64_t strip_length = 512;
/// Cheap operations that are worth a thread of their own.
inline constexpr std::int64_t work_per_thread = 32768;
/// Results beyond this many bytes are written past the cache.
inline constexpr std::int64_t stream_bytes = std::int64_t{16} << 20;

namespace detail {

/// Memory for staged strips, from the pool.
class scratch {
 public:
  explicit scratch(std::size_t bytes) : bytes_(bytes), data_(bytes ? allocate(bytes) : nullptr) {}
  scratch(const scratch&) = delete;
  scratch& operator=(const scratch&) = delete;
  ~scratch() {
    if (data_) deallocate(data_, bytes_);
  }
  char* get() const { return static_cast<char*>(data_); }

 private:
  std::size_t bytes_;
  void* data_;
};

inline const char* at(const void* p, std::int64_t elements, std::size_t size) {
  return static_cast<const char*>(p) + elements * static_cast<std::int64_t>(size);
}
inline char* at(void* p, std::int64_t elements, std::size_t size) {
  return static_cast<char*>(p) + elements * static_cast<std::int64_t>(size);
}

/// A position in the outer axes of a domain, with every operand's offset kept up to date.
class odometer {
 public:
  odometer(const dims& sizes, int axes) : sizes_(sizes), axes_(axes) {}
  void go_to(std::int64_t index) {
    for (int i = axes_ - 1; i >= 0; --i) {
      position_[i] = index % sizes_[i];
      index /= sizes_[i];
    }
  }
  void advance() {
    for (int i = axes_ - 1; i >= 0; --i) {
      if (++position_[i] < sizes_[i]) return;
      position_[i] = 0;
    }
  }
  std::int64_t offset(const dims& strides) const {
    std::int64_t sum = 0;
    for (int i = 0; i < axes_; ++i) sum += position_[i] * strides[i];
    return sum;
  }

 private:
  dims sizes_;
  dims position_ = dims::filled(max_rank, 0);
  int axes_;
};

/// Everything in one piece: no strides to follow, no staging.
inline bool is_flat(const task& job) {
  if (job.domain.rank() > 1) return false;
  for (int k = 0; k < job.program->slots; ++k)
    if (job.in[k].data && job.in[k].strides[0] != 1 && job.in[k].strides[0] != 0) return false;
  for (int r = 0; r < job.program->results; ++r)
    if (job.out[r].data && (job.out[r].type != job.program->stores[r] || job.out[r].strides[0] != 1)) return false;
  return true;
}

struct strip_pointers {
  std::array<const void*, max_slots> in;
  std::array<std::int64_t, max_slots> step;
  std::array<void*, max_slots> out;
  std::array<bool, max_slots> add;
};

inline strip make_strip(const task& job, const strip_pointers& p, std::int64_t n) {
  return {.in = p.in.data(),
          .step = p.step.data(),
          .out = p.out.data(),
          .add = p.add.data(),
          .scalars = job.scalars,
          .count = n};
}

inline void run_flat(const task& job, std::int64_t begin, std::int64_t end, bool past_cache) {
  const compiled& program = *job.program;
  strip_pointers p;
  for (int k = 0; k < program.slots; ++k) {
    const operand_view& x = job.in[k];
    const std::int64_t stride = x.data ? x.strides[0] : 0;
    p.in[static_cast<std::size_t>(k)] = stride ? at(x.data, begin, x.size) : x.data;
    p.step[static_cast<std::size_t>(k)] = stride;
  }
  for (int r = 0; r < program.results; ++r) {
    p.out[static_cast<std::size_t>(r)] = job.out[r].data ? at(job.out[r].data, begin, job.out[r].size) : nullptr;
    p.add[static_cast<std::size_t>(r)] = job.out[r].add;
  }
  const std::int64_t n = end - begin;
  if (past_cache) {
    // Written through a strip in cache: whole lines then go to memory without being fetched from it first.
    alignas(64) std::array<char, 1024> line;  // short: with 4 KiB the gain over plain stores was gone
    const std::int64_t step = static_cast<std::int64_t>(line.size() / job.out[0].size);
    char* out = static_cast<char*>(p.out[0]);
    p.out[0] = line.data();
    for (std::int64_t i = 0; i < n; i += step) {
      const std::int64_t length = std::min(step, n - i);
      program.map(make_strip(job, p, length));
      stream(out + i * static_cast<std::int64_t>(job.out[0].size), line.data(),
             static_cast<std::size_t>(length) * job.out[0].size);
      for (int k = 0; k < program.slots; ++k)
        if (p.step[static_cast<std::size_t>(k)])
          p.in[static_cast<std::size_t>(k)] = at(p.in[static_cast<std::size_t>(k)], length, job.in[k].size);
    }
    stream_fence();
    return;
  }
  program.map(make_strip(job, p, n));
}

/// How strips follow each other over a domain: `rows` outer positions, each with its inner axis in pieces.
struct strip_plan {
  std::int64_t outer = 1, inner = 1, length = 1;
  bool flat = false;   ///< strips of the flat index instead of rows
  int tile_axis = -1;  ///< an outer axis along which some operand is contiguous
  std::int64_t tile_rows = 1;
};

inline strip_plan plan_strips(const task& job) {
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
  bool all_direct = true;
  for (int k = 0; k < job.program->slots; ++k) {
    if (!job.in[k].data) continue;
    const dims& s = job.in[k].strides;
    if (s.back() == 1 || s.back() == 0) continue;
    all_direct = false;
    for (int i = 0; i + 1 < rank && plan.tile_axis < 0; ++i)
      if (s[i] == 1 && job.domain[i] >= 8) plan.tile_axis = i;
  }
  for (int r = 0; r < job.program->results; ++r)
    if (job.out[r].data && job.out[r].strides.back() != 1) all_direct = false;
  if (all_direct) plan.length = 4 * strip_length;
  if (plan.tile_axis >= 0) {
    plan.tile_rows = 32;
    plan.length = 128;
  }
  return plan;
}

/// Stages one strip's operands and runs the kernel on it; keeps the buffers.
class strip_runner {
 public:
  strip_runner(task& job, const strip_plan& plan, result_sums* sums)
      : job_(job),
        plan_(plan),
        sums_(sums),
        slots_(job.program->slots),
        results_(job.program->results),
        room_(static_cast<std::size_t>(slots_ * plan.tile_rows + results_) * static_cast<std::size_t>(plan.length) * 8),
        where_(job.domain, plan.flat ? job.domain.rank() : job.domain.rank() - 1) {}

  void rows(std::int64_t unit_begin, std::int64_t unit_end) {
    const std::int64_t pieces = (plan_.inner + plan_.length - 1) / plan_.length;
    if (plan_.tile_axis >= 0) return tiles(unit_begin, unit_end, pieces);
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

 private:
  char* buffer(int k) { return room_.get() + static_cast<std::int64_t>(k) * plan_.tile_rows * plan_.length * 8; }
  char* result_buffer(int r) {
    return room_.get() + (static_cast<std::int64_t>(slots_) * plan_.tile_rows + r) * plan_.length * 8;
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
    if (stride != 0 && stride != 1) {
      gather(buffer(k), p, stride, n, job_.in[k].size);
      p_.in[i] = buffer(k);
      p_.step[i] = 1;
    }
  }

  // Results that lie in place are written there; others through a buffer.
  void run(std::int64_t begin, std::int64_t n, bool flat) {
    for (int r = 0; r < results_; ++r) {
      const std::size_t i = static_cast<std::size_t>(r);
      const result_view& y = job_.out[r];
      p_.out[i] = nullptr, p_.add[i] = false;
      if (!y.data) continue;
      const bool direct = !summed(r) && !flat && y.strides.back() == 1 && y.type == job_.program->stores[r];
      p_.out[i] = direct ? at(y.data, where_.offset(y.strides) + begin, y.size) : result_buffer(r);
      p_.add[i] = direct && y.add;
    }
    job_.program->map(make_strip(job_, p_, n));
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
      } else if (p_.out[static_cast<std::size_t>(r)] == result_buffer(r)) {
        put(r, where_.offset(y.strides) + begin * y.strides.back(), y.strides.back(), result_buffer(r), n);
      }
    }
  }
  bool summed(int r) const { return sums_ && sums_->wanted(r); }

  void put(int r, std::int64_t offset, std::int64_t stride, const char* values, std::int64_t n) {
    const result_view& y = job_.out[r];
    put_strip(at(y.data, offset, y.size), y.type, stride, values, job_.program->stores[r], n, y.add);
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
      bool constant = true;
      for (std::int64_t s : x.strides) constant &= s == 0;
      if (constant || is_contiguous(job_.domain, x.strides)) {
        p_.in[i] = constant ? static_cast<const char*>(x.data) : at(x.data, begin, x.size);
        p_.step[i] = constant ? 0 : 1;
        continue;
      }
      pieces_of(begin, n, [&](const odometer& here, std::int64_t from, std::int64_t done, std::int64_t length) {
        const std::int64_t stride = x.strides.back();
        gather(buffer(k) + done * static_cast<std::int64_t>(x.size),
               at(x.data, here.offset(x.strides) + from * stride, x.size), stride, length, x.size);
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

  // Tiles: `tile_rows` neighbouring positions of the tile axis at once, so that an operand which is contiguous along it
  // is read in whole cache lines and turned in cache.
  void tiles(std::int64_t unit_begin, std::int64_t unit_end, std::int64_t pieces) {
    const int axis = plan_.tile_axis;
    dims outer = job_.domain;
    outer[axis] = (outer[axis] + plan_.tile_rows - 1) / plan_.tile_rows;
    for (std::int64_t unit = unit_begin; unit < unit_end; ++unit) {
      odometer block(outer, outer.rank() - 1);
      block.go_to(unit / pieces);
      const std::int64_t begin = unit % pieces * plan_.length, n = std::min(plan_.length, plan_.inner - begin);
      tile(block, axis, begin, n);
    }
  }
  void tile(const odometer& block, int axis, std::int64_t begin, std::int64_t n) {
    dims blocked = dims::filled(job_.domain.rank(), 0);
    blocked[axis] = 1;
    const std::int64_t first = block.offset(blocked) * plan_.tile_rows;
    const std::int64_t rows = std::min(plan_.tile_rows, job_.domain[axis] - first);
    auto origin = [&](const dims& strides) {
      dims s = strides;
      s[axis] = 0;
      return block.offset(s) + first * strides[axis];
    };
    std::array<bool, max_slots> turned;
    for (int k = 0; k < slots_; ++k) {
      const operand_view& x = job_.in[k];
      turned[static_cast<std::size_t>(k)] =
          x.data && x.strides[axis] == 1 && x.strides.back() != 1 && x.strides.back() != 0;
      if (turned[static_cast<std::size_t>(k)])
        transpose_block(buffer(k), plan_.length, at(x.data, origin(x.strides) + begin * x.strides.back(), x.size),
                        x.strides.back(), rows, n, x.size);
    }
    for (std::int64_t row = 0; row < rows; ++row) {
      // The odometer counts whole rows; find this one's number from its position.
      std::int64_t index = 0;
      for (int i = 0; i + 1 < job_.domain.rank(); ++i) {
        dims unit = dims::filled(job_.domain.rank(), 0);
        unit[i] = 1;
        const std::int64_t position = i == axis ? first + row : block.offset(unit);
        index = index * job_.domain[i] + position;
      }
      where_.go_to(index);
      for (int k = 0; k < slots_; ++k) {
        const operand_view& x = job_.in[k];
        if (!x.data) continue;
        if (turned[static_cast<std::size_t>(k)]) {
          p_.in[static_cast<std::size_t>(k)] = buffer(k) + row * plan_.length * static_cast<std::int64_t>(x.size);
          p_.step[static_cast<std::size_t>(k)] = 1;
        } else {
          set_input(k, at(x.data, where_.offset(x.strides) + begin * x.strides.back(), x.size), x.strides.back(), n);
        }
      }
      run(begin, n, false);
    }
  }

  task& job_;
  const strip_plan& plan_;
  result_sums* sums_;
  int slots_, results_;
  scratch room_;
  odometer where_;
  strip_pointers p_;
};

}  // namespace detail

/// Runs a map program. Results broadcast over an axis of the domain (stride 0 there) receive the sum along it; they
/// must be of a floating type.
inline void run_map(task& job) {
  const compiled& program = *job.program;
  const std::int64_t total = count(job.domain);
  result_sums sums(job);
  if (total == 0) return sums.deliver();
  if (job.domain.rank() > 1) order_by_result(job);
  collapse(job);
  if (job.domain.rank() == 0) detail::insert_axis(job);
  const std::int64_t grain = std::max<std::int64_t>(work_per_thread / program.cost, 64);
  if (!sums.any() && detail::is_flat(job)) {
    if (total <= grain) return detail::run_flat(job, 0, total, false);
    const bool past_cache =
        program.results == 1 && !job.out[0].add && total * static_cast<std::int64_t>(job.out[0].size) >= stream_bytes;
    parallel_for(total, grain,
                 [&](std::int64_t begin, std::int64_t end) { detail::run_flat(job, begin, end, past_cache); });
    return;
  }
  const detail::strip_plan plan = detail::plan_strips(job);
  const std::int64_t pieces = (plan.inner + plan.length - 1) / plan.length;
  std::int64_t outer = plan.outer;
  if (plan.tile_axis >= 0) {
    const std::int64_t along = job.domain[plan.tile_axis];
    outer = outer / along * ((along + plan.tile_rows - 1) / plan.tile_rows);
  }
  const std::int64_t per_unit = std::max<std::int64_t>(total / (outer * pieces), 1);
  sums.prepare(job);
  parallel_for(outer * pieces, std::max<std::int64_t>(grain / per_unit, 1), [&](std::int64_t begin, std::int64_t end) {
    detail::strip_runner(job, plan, sums.any() ? &sums : nullptr).rows(begin, end);
  });
  sums.deliver();
}

}  // namespace kiln::cpu
