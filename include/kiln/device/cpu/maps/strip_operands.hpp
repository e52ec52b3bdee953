// SPDX-License-Identifier: BSL-1.0
// What a kernel reads and writes on a strip. Operands and results that lie as a kernel takes them are read and written
// in place; others go through buffers in cache, filled before the strip and emptied after it. Of an operand whose fast
// axis is another one (a + transpose(b)) several neighbouring strips are turned at once, in whole cache lines.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include <kiln/device/cpu/kernel/draws.hpp>
#include <kiln/device/cpu/maps/strips.hpp>
#include <kiln/device/cpu/maps/sums.hpp>
#include <kiln/device/cpu/processor/isa.hpp>

namespace kiln::cpu::inline KILN_VERSION_ISA::detail {

/// Puts a strip in its place: put_strip, or, for values alone, which are of the result's type and not added,
/// put_values.
using strip_writer = void (*)(void* to, dtype to_type, std::int64_t stride, const void* from, dtype from_type,
                              std::int64_t n, bool add);
inline void put_values(void* to, dtype to_type, std::int64_t stride, const void* from, dtype, std::int64_t n, bool) {
  scatter(to, stride, from, n, size_of(to_type));
}

/// Which strips of a task: they run along the flat index of the axes from `outer` on.
struct strip_shape {
  int outer;
  std::int64_t length;         ///< of the longest
  int turned_axis = -1;        ///< an outer axis: operands that are contiguous along it are turned
  std::int64_t turned = 1;     ///< so many strips that follow each other along it at once
  bool through_cache = false;  ///< the result's elements are needed in a buffer, wherever they lie
};

/// Operands and results of one strip after the other. Only move() is inlined: it is all that happens between short rows
/// that lie in place.
class strip_operands {
 public:
  strip_operands(const strip_operands&) = delete;
  strip_operands& operator=(const strip_operands&) = delete;

 protected:
  [[gnu::noinline]] strip_operands(const task& job, const strip_shape& shape, strip_writer writer, part_sums* sums)
      : job_(job),
        program_(program_of(job)),
        shape_(shape),
        writer_(writer),
        sums_(sums),
        results_(program_.reduction_rooted ? 0 : program_.results),
        where_(job.domain, shape.outer),
        workspace_(find_staged() ? static_cast<std::size_t>(program_.slots * shape.turned + results_) *
                                       static_cast<std::size_t>(shape.length) * 8
                                 : 0) {}
  ~strip_operands() = default;

  /// Nothing goes through a buffer.
  bool direct() const { return !staged_ && in_place_ == results(); }
  bool in_place(int r) const { return in_place_ >> r & 1; }
  char* result_buffer(int r) { return workspace_.get() + (program_.slots * shape_.turned + r) * shape_.length * 8; }

  /// Sets the pointers of p_ to the strip [begin, begin + n) at where_, the one of this number that was turned.
  [[gnu::noinline]] void place(std::int64_t begin, std::int64_t n, std::int64_t number = 0) {
    for (int k = 0; k < program_.slots; ++k) {
      const operand_view& x = job_.in[k];
      if (!x.data) continue;
      const void*& p = p_.in[static_cast<std::size_t>(k)];
      if (!(staged_ >> k & 1)) {
        p = at(x.data, where_.offset(x.strides) + begin * p_.step[static_cast<std::size_t>(k)], x.size);
      } else if (turned_ >> k & 1) {
        p = buffer(k) + number * shape_.length * static_cast<std::int64_t>(x.size);
      } else {
        p = buffer(k);
        each_run(&strip_operands::stage, k, buffer(k), x.strides, x.size, begin, n);
      }
    }
    for (int r = 0; r < results_; ++r) {
      const result_view& y = job_.out[r];
      p_.out[static_cast<std::size_t>(r)] = !y.data       ? nullptr
                                            : in_place(r) ? at(y.data, where_.offset(y.strides) + begin, y.size())
                                                          : result_buffer(r);
    }
  }
  /// Moves the pointers of a strip of which all is in place to the next one along the last outer axis.
  void move() {
    for (std::size_t k = 0; k < static_cast<std::size_t>(program_.slots); ++k) p_.in[k] = at(p_.in[k], in_bytes_[k], 1);
    for (std::size_t r = 0; r < static_cast<std::size_t>(results_); ++r) p_.out[r] = at(p_.out[r], out_bytes_[r], 1);
  }
  /// Brings results that were made in buffers to where they belong.
  [[gnu::noinline]] void deliver(std::int64_t begin, std::int64_t n) {
    for (int r = 0; r < results_; ++r)
      if (job_.out[r].data && !in_place(r))
        each_run(&strip_operands::put, r, result_buffer(r), job_.out[r].strides, size_of(program_.stores[r]), begin, n);
  }
  /// Turns what place() takes as strips 0 to strips - 1: those from where_ on.
  [[gnu::cold, gnu::noinline]] void turn(std::int64_t begin, std::int64_t n, std::int64_t strips) {
    for (int k = 0; k < program_.slots; ++k)
      if (const operand_view& x = job_.in[k]; turned_ >> k & 1)
        transpose_block(buffer(k), shape_.length,
                        at(x.data, where_.offset(x.strides) + begin * x.strides.back(), x.size), x.strides.back(),
                        strips, n, x.size);
  }

 private:
  char* buffer(int k) { return workspace_.get() + k * shape_.turned * shape_.length * 8; }
  std::uint64_t results() const { return (std::uint64_t{1} << results_) - 1; }

  // How an operand is walked along a strip: 0 or 1 elements on, or another number if it has to be staged.
  std::int64_t step_of(const dims& strides) const {
    const int rank = strides.rank();
    if (shape_.outer == rank - 1) return strides.back();
    bool constant = true, contiguous = true;
    std::int64_t size = 1;
    for (int i = rank - 1; i >= shape_.outer; --i) {
      constant &= strides[i] == 0;
      contiguous &= strides[i] == size || job_.domain[i] == 1;
      size *= job_.domain[i];
    }
    return constant ? 0 : contiguous ? 1 : -1;
  }
  // From one strip to the next along the last outer axis.
  std::int64_t bytes_along(const dims& strides, std::size_t size) const {
    return shape_.outer > 0 ? strides[shape_.outer - 1] * static_cast<std::int64_t>(size) : 0;
  }
  // Finds out what is in place; whether anything is not.
  bool find_staged() {
    static_assert(max_slots <= 64);
    for (int k = 0; k < program_.slots; ++k) {
      const operand_view& x = job_.in[k];
      in_bytes_[static_cast<std::size_t>(k)] = x.data ? bytes_along(x.strides, x.size) : 0;
      p_.in[static_cast<std::size_t>(k)] = nullptr;
      if (!x.data) continue;
      std::int64_t& step = p_.step[static_cast<std::size_t>(k)];
      step = step_of(x.strides);
      const bool drawn = program_.draws_of(k) != nullptr;
      if (!drawn && (step == 0 || step == 1)) continue;
      step = 1;
      staged_ |= std::uint64_t{1} << k;
      if (!drawn && shape_.turned_axis >= 0 && x.strides[shape_.turned_axis] == 1) turned_ |= std::uint64_t{1} << k;
    }
    for (int r = 0; r < results_; ++r) {
      const result_view& y = job_.out[r];
      const bool lies = !y.data || (!summed(r) && shape_.outer == job_.domain.rank() - 1 && y.strides.back() == 1 &&
                                    y.type == program_.stores[r]);
      if (lies) in_place_ |= std::uint64_t{1} << r;
      out_bytes_[static_cast<std::size_t>(r)] = y.data ? bytes_along(y.strides, y.size()) : 0;
      p_.add[static_cast<std::size_t>(r)] = lies && y.add;
    }
    return !direct() || shape_.through_cache;
  }
  bool summed(int r) const { return sums_ && sums_->wanted(r); }

  // Calls f for the runs along the last axis that a strip is made of: one, or if it goes over several axes as many as
  // it reaches, the first and the last perhaps in part.
  using run_function = void (*)(strip_operands& self, int number, char* buffer, std::int64_t offset,
                                std::int64_t stride, std::int64_t n);
  [[gnu::noinline]] void each_run(run_function f, int number, char* buffer, const dims& strides, std::size_t size,
                                  std::int64_t begin, std::int64_t n) {
    const std::int64_t stride = strides.back(), offset = where_.offset(strides);
    const int last = job_.domain.rank() - 1;
    if (shape_.outer == last) return f(*this, number, buffer, offset + begin * stride, stride, n);
    const std::int64_t row = job_.domain.back();
    odometer here(job_.domain, last);  // in the axes of the strip: along the outer ones it stays at 0
    here.go_to(begin / row);
    std::int64_t from = begin % row, place = offset + here.offset(strides);
    for (std::int64_t done = 0; done < n;) {
      const std::int64_t length = std::min(row - from, n - done);
      f(*this, number, buffer + done * static_cast<std::int64_t>(size), place + from * stride, stride, length);
      done += length;
      from = 0;
      place = here.advance() ? place + strides[last - 1] : offset + here.offset(strides);
    }
  }
  static void stage(strip_operands& self, int k, char* buffer, std::int64_t offset, std::int64_t stride,
                    std::int64_t n) {
    const operand_view& x = self.job_.in[k];
    const char* const from = at(x.data, offset, x.size);
    if (const draw_slot* draws = self.program_.draws_of(k))
      stage_draws(*draws, self.job_.scalars, buffer, from, stride, n);
    else
      gather(buffer, from, stride, n, x.size);
  }
  static void put(strip_operands& self, int r, char* buffer, std::int64_t offset, std::int64_t stride, std::int64_t n) {
    const result_view& y = self.job_.out[r];
    if (self.summed(r))
      self.sums_->add(r, buffer, offset, stride, n);
    else
      self.writer_(at(y.data, offset, y.size()), y.type, stride, buffer, self.program_.stores[r], n, y.add);
  }

 protected:
  const task& job_;
  const compiled& program_;
  const strip_shape shape_;

 private:
  strip_writer writer_;
  part_sums* sums_;

 protected:
  int results_;
  odometer where_;  ///< the position in the outer axes
  strip_pointers p_;

 private:
  std::array<std::int64_t, max_slots> in_bytes_, out_bytes_;  ///< what move() adds
  std::uint64_t staged_ = 0, turned_ = 0, in_place_ = 0;      ///< bit k: of operand k, of result k
  scratch workspace_;
};

}  // namespace kiln::cpu::inline KILN_VERSION_ISA::detail
