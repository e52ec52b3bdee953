// SPDX-License-Identifier: BSL-1.0
// Runs a planned kernel over a strip: block by block, each step over a whole block, so that a call costs little beside
// its work and every value is still in first-level cache when it is read. The rest that fills no granule goes through
// padded copies, so that no strip function needs an end of its own.
#pragma once

#include <algorithm>
#include <cstring>

#include <kiln/device/cpu/interpreter/plan.hpp>
#include <kiln/device/cpu/maps/strips.hpp>
#include <kiln/device/cpu/simd/stream.hpp>

namespace kiln::cpu::inline KILN_VERSION_ISA {
namespace interpreter {

namespace detail {

/// Repeats the element at `workspace` until it fills places [from, to).
inline void repeat_first(void* workspace, std::size_t size, std::int64_t from, std::int64_t to) {
  auto fill = [&]<class Bits>(Bits* p) { std::fill(p + from, p + to, *p); };
  if (size == 1)
    fill(static_cast<std::uint8_t*>(workspace));
  else if (size == 2)
    fill(static_cast<std::uint16_t*>(workspace));
  else if (size == 4)
    fill(static_cast<std::uint32_t*>(workspace));
  else
    fill(static_cast<std::uint64_t*>(workspace));
}

/// A place whose pointer goes on from block to block.
struct moving {
  operand* at;
  std::int64_t size;
  std::int64_t tail;
  enum class use : std::uint8_t { read, kept, result } what;
  void* own;  ///< of a kept row: where the elements of the tail belong
};

class kernel_run {
 public:
  kernel_run(const kernel_plan& plan, const strip& s, char* workspace, operand* places, moving* moves)
      : k_(plan), s_(s), workspace_(workspace), at_(places), moves_(moves) {}

  void run() {
    for (std::size_t p = 0; p < k_.places.size(); ++p) {
      const place& x = k_.places[p];
      at_[p] = {x.fixed ? x.fixed : workspace_ + x.offset, x.mask};
    }
    read_operands();
    place_results();
    for (const step& x : k_.once) call(x, x.n);
    const std::int64_t left = s_.count % k_.granule, whole = s_.count - left;
    if (whole == 0 || (left == 0 && whole <= k_.block)) {
      whole > 0 ? block(0, whole) : rest(0, left);
      for (const fold_use& x : k_.folds)
        x.functions.whole(at_[x.place], factor(x), s_.count, k_.side_by_side, &s_.partial[x.reduction]);
      return;
    }
    std::array<fold_state, max_slots> folds;
    for (std::size_t f = 0; f < k_.folds.size(); ++f) k_.folds[f].functions.start(folds[f]);
    auto fold = [&](std::int64_t n) {
      for (std::size_t f = 0; f < k_.folds.size(); ++f) {
        const fold_use& x = k_.folds[f];
        x.functions.add(folds[f], at_[x.place], factor(x), n, k_.side_by_side);
      }
    };
    for (std::int64_t done = 0; done < whole;) {
      const std::int64_t n = std::min(k_.block, whole - done);
      if (done + n < whole) ask_ahead(n);
      block(done, n);
      fold(n);
      for (int m = 0; m < moving_; ++m)
        moves_[m].at->data = static_cast<const char*>(moves_[m].at->data) + n * moves_[m].size;
      done += n;
    }
    if (left > 0) {
      rest(whole, left);
      fold(left);
    }
    for (std::size_t f = 0; f < k_.folds.size(); ++f)
      k_.folds[f].functions.finish(folds[f], k_.side_by_side, &s_.partial[k_.folds[f].reduction]);
  }

 private:
  const operand* factor(const fold_use& x) const { return x.factor < 0 ? nullptr : &at_[x.factor]; }
  void block(std::int64_t done, std::int64_t n) {
    for (const step& x : k_.each) call(x, n);
    for (const result_use& r : k_.results) deliver(r, done, n);
  }
  // The first lines of the next block: processors foresee streams, but not from one page of memory to the next, where
  // most blocks begin.
  void ask_ahead(std::int64_t n) {
    for (int m = 0; m < moving_; ++m) {
      const char* const from = static_cast<const char*>(moves_[m].at->data) + n * moves_[m].size;
      for (int line = 0; line < 8; ++line) __builtin_prefetch(from + 64 * line);
    }
  }
  // What fills no granule.
  void rest(std::int64_t done, std::int64_t left) {
    stage(left);
    const std::int64_t padded = (left + k_.unit - 1) / k_.unit * k_.unit;
    for (const step& x : k_.each) call(x, padded);
    for (const result_use& r : k_.results) deliver_tail(r, done, left, padded);
    unstage(left);
  }
  void call(const step& x, std::int64_t n) { x.run(at_, x, n); }
  void move_along(operand& at, std::size_t size, std::int64_t tail, enum moving::use what) {
    moves_[moving_++] = {&at, static_cast<std::int64_t>(size), tail, what, nullptr};
  }

  void read_operands() {
    for (const leaf_use& x : k_.leaves) {
      operand& at = at_[x.place];
      if (x.once || s_.step[x.slot] == 0) {
        void* const workspace = const_cast<void*>(at.data);
        std::memcpy(workspace, s_.in[x.slot], x.size);
        repeat_first(workspace, x.size, 1, vector_bytes / static_cast<std::int64_t>(x.size));
        at.mask = 0;
      } else {
        at.data = s_.in[x.slot];
        move_along(at, x.size, x.tail, moving::use::read);
      }
    }
    for (const number_use& x : k_.numbers)
      x.spread(const_cast<void*>(at_[x.place].data), x.of_row ? s_.rows[x.index] : s_.scalars[x.index]);
    for (const row_use& x : k_.rows) {
      operand& at = at_[x.place];
      at.data = x.how == row_use::how::finished ? s_.finished[x.index] : s_.kept[x.index];
      move_along(at, x.size, x.tail, x.how == row_use::how::kept_here ? moving::use::kept : moving::use::read);
    }
  }
  // Results that their last step may write where they belong: not added, not over what a later step reads, and not
  // where another result is added before all that read the value have read it.
  void place_results() {
    for (const result_use& r : k_.results) {
      void* const out = s_.out[r.index];
      if (!r.direct || !out || s_.non_temporal || adds(r)) continue;
      const bool added_to = r.shared && std::any_of(k_.results.begin(), k_.results.end(), [&](const result_use& o) {
        return s_.out[o.index] == out && adds(o);
      });
      if (added_to) continue;
      const bool read_later =
          !r.made_last && std::any_of(moves_, moves_ + moving_, [&](const moving& m) { return m.at->data == out; });
      if (read_later) continue;
      at_[r.value].data = out;
      move_along(at_[r.value], r.size, r.tail, moving::use::result);
    }
  }
  bool adds(const result_use& r) const { return r.add && s_.add[r.index]; }
  char* own_place(const result_use& r, std::int64_t done) const {
    return static_cast<char*>(s_.out[r.index]) + done * static_cast<std::int64_t>(r.size);
  }

  void deliver(const result_use& r, std::int64_t done, std::int64_t n) {
    if (!s_.out[r.index]) return;  // a gradient nobody asked for
    char* const to = own_place(r, done);
    const operand& values = at_[r.value];
    if (values.data == to && !adds(r)) return;
    if (s_.non_temporal && r.non_temporal)
      stream(to, values.data, static_cast<std::size_t>(n) * r.size);
    else
      put(r, to, n);
  }
  void put(const result_use& r, void* to, std::int64_t n) {
    const std::array<operand, 3> places{at_[r.value], operand{to, -1}, operand{workspace_ + k_.conversions, -1}};
    auto move = [&](strip_function f, std::int16_t from, std::int16_t into) {
      f(places.data(), step{.run = f, .out = into, .a = from}, n);
    };
    if (!adds(r)) return move(r.store, 0, 1);
    if (!r.to_stored) return move(r.add, 0, 1);
    move(r.to_stored, 0, 2);
    move(r.add, 2, 1);
  }

  // The last elements of what moves, copied to where there is room beyond them.
  void stage(std::int64_t left) {
    for (int m = 0; m < moving_; ++m) {
      moving& x = moves_[m];
      char* const tail = workspace_ + x.tail;
      if (x.what == moving::use::kept) x.own = const_cast<void*>(x.at->data);
      if (x.what == moving::use::read) {
        std::memcpy(tail, x.at->data, static_cast<std::size_t>(left * x.size));
        repeat_first(tail, static_cast<std::size_t>(x.size), left, (left + k_.unit - 1) / k_.unit * k_.unit);
      }
      x.at->data = tail;
    }
  }
  void unstage(std::int64_t left) {
    for (int m = 0; m < moving_; ++m)
      if (moves_[m].own)
        std::memcpy(moves_[m].own, moves_[m].at->data, static_cast<std::size_t>(left * moves_[m].size));
  }
  // One result after the other: two, gradients of one tensor, may lie in the same place.
  void deliver_tail(const result_use& r, std::int64_t done, std::int64_t left, std::int64_t padded) {
    if (!s_.out[r.index]) return;
    char *const to = own_place(r, done), *const workspace = workspace_ + r.tail;
    const std::size_t bytes = static_cast<std::size_t>(left) * r.size;
    if (at_[r.value].data != workspace) {
      if (adds(r)) std::memcpy(workspace, to, bytes);
      put(r, workspace, padded);
    }
    std::memcpy(to, workspace, bytes);
  }

  const kernel_plan& k_;
  const strip& s_;
  char* workspace_;
  operand* at_;
  moving* moves_;
  int moving_ = 0;
};

}  // namespace detail

KILN_INLINE void run_kernel(const kernel_plan& plan, const strip& s) {
  if (s.count == 0) return;
  constexpr std::size_t most_places = 128, most_bytes = 40960;
  if (plan.places.size() <= most_places && plan.bytes <= most_bytes) {
    alignas(64) std::array<char, most_bytes> workspace;
    std::array<operand, most_places> places;
    std::array<detail::moving, most_places> moves;
    return detail::kernel_run(plan, s, workspace.data(), places.data(), moves.data()).run();
  }
  const std::size_t tables = plan.places.size() * (sizeof(operand) + sizeof(detail::moving)) + 64;
  const cpu::detail::scratch memory(plan.bytes + tables);
  operand* const places = reinterpret_cast<operand*>(memory.get() + (plan.bytes + 63) / 64 * 64);
  detail::moving* const moves = reinterpret_cast<detail::moving*>(places + plan.places.size());
  detail::kernel_run(plan, s, memory.get(), places, moves).run();
}

}  // namespace interpreter
}  // namespace kiln::cpu::inline KILN_VERSION_ISA
