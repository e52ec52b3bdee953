// SPDX-License-Identifier: BSL-1.0
// Strips: what a kernel is called with, one after the other. Pointers to their beginnings, a position in the axes
// around them, memory to stage them in, and writing them past the cache.
#pragma once

#include <array>
#include <cstdint>

#include <kiln/device/cpu/maps/collapse.hpp>
#include <kiln/device/cpu/maps/staging.hpp>
#include <kiln/device/cpu/memory/memory.hpp>
#include <kiln/device/cpu/processor/isa.hpp>

namespace kiln::cpu::inline KILN_VERSION_ISA {

/// Elements of a strip that needs staging: all operands of a common expression stay in first-level cache.
inline constexpr std::int64_t strip_length = 512;
/// Results beyond this many bytes are written past the cache if they and their operands exceed `cache_bytes`, the
/// last-level cache of a common processor.
inline constexpr std::int64_t stream_bytes = std::int64_t{8} << 20, cache_bytes = std::int64_t{32} << 20;

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
  [[gnu::noinline]] void go_to(std::int64_t index) {
    for (int i = axes_ - 1; i >= 0; --i) {
      position_[i] = index % sizes_[i];
      index /= sizes_[i];
    }
  }
  /// To the next position; false if more than the last axis changed.
  bool advance() {
    for (int i = axes_ - 1; i >= 0; --i) {
      if (++position_[i] < sizes_[i]) return i == axes_ - 1;
      position_[i] = 0;
    }
    return false;
  }
  void place(int axis, std::int64_t position) { position_[axis] = position; }
  /// The flat index of the position.
  std::int64_t index() const {
    std::int64_t flat = 0;
    for (int i = 0; i < axes_; ++i) flat = flat * sizes_[i] + position_[i];
    return flat;
  }
  std::int64_t operator[](int axis) const { return position_[axis]; }
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
          .count = n,
          .program = &program_of(job)};
}

/// How many elements come before the first whole line at p.
inline std::int64_t elements_to_line(const void* p, std::size_t size) {
  constexpr std::uintptr_t line = 64;
  return static_cast<std::int64_t>((line - reinterpret_cast<std::uintptr_t>(p) % line) % line / size);
}

/// Calls the kernel for a strip; past the cache, first for what comes before a whole line of the result.
inline void run_strip(const task& job, strip_pointers& p, std::int64_t n, bool non_temporal) {
  const compiled& program = program_of(job);
  strip s = make_strip(job, p, n);
  if (!non_temporal) return program.map(s);
  const std::int64_t head = std::min(n, elements_to_line(p.out[0], job.out[0].size()));
  auto move = [&](std::int64_t elements) {
    for (int k = 0; k < program.slots; ++k)
      if (job.in[k].data && p.step[static_cast<std::size_t>(k)])
        p.in[static_cast<std::size_t>(k)] = at(p.in[static_cast<std::size_t>(k)], elements, job.in[k].size);
    p.out[0] = at(p.out[0], elements, job.out[0].size());
  };
  s.count = head;
  if (head > 0) program.map(s);
  move(head);
  s.count = n - head;
  s.non_temporal = true;
  if (n > head) program.map(s);
  move(-head);
}

/// Whether result r, which lies in rows of its own type, should be written past the cache: it will not be there any
/// more when it is read.
[[gnu::cold, gnu::noinline]] inline bool exceeds_cache(const task& job, int r) {
  const result_view& y = job.out[r];
  const std::int64_t total = count(job.domain), bytes = total * static_cast<std::int64_t>(y.size());
  if (y.add || bytes < stream_bytes) return false;
  // Memory of others may begin anywhere; then no element begins a line.
  if (reinterpret_cast<std::uintptr_t>(y.data) % y.size() != 0) return false;
  std::int64_t touched = bytes;
  for (int k = 0; k < job.program->slots; ++k) {
    if (!job.in[k].data) continue;
    std::int64_t elements = 1;
    for (int i = 0; i < job.domain.rank(); ++i)
      if (job.in[k].strides[i] != 0) elements *= job.domain[i];
    touched += elements * static_cast<std::int64_t>(job.in[k].size);
  }
  return touched > cache_bytes;
}

}  // namespace detail

}  // namespace kiln::cpu::inline KILN_VERSION_ISA
