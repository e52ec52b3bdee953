// SPDX-License-Identifier: BSL-1.0
// The scheduler: runs a grid one block at a time, each CUDA thread a fiber that runs until it waits for others. What
// the hardware leaves open is drawn from a seed (the order of blocks and of threads); what it leaves undefined is
// reported.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <numeric>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "block_races.hpp"
#include "fiber.hpp"
#include "interface.hpp"
#include "races.hpp"
#include "threads.hpp"
#include "watch.hpp"

namespace emulate {
inline namespace KILN_EMULATOR_SWITCH {

namespace detail {

class scheduler {
 public:
  using phase = thread_state::phase;

  static void run(const emulator::device_view& view, emulator::entry kernel, const shape& how, void** arguments,
                  const image& constants) {
    static std::mutex one_launch;  // the device side keeps its indices in plain variables
    const std::lock_guard lock(one_launch);
    const std::size_t threads = how.block.count();
    if (threads == 0 || threads > 1024 || how.grid.count() == 0)
      throw failure("launch: a block has 1 to 1024 threads and a grid at least one block");
    if (how.shared_bytes > (std::size_t{227} << 10))
      throw failure("launch: more than 227 KiB of dynamic shared memory");
    static stack_pool stacks(1024);
    scheduler block(view, kernel, how, arguments, constants, stacks);
    current_ = &block;
    block.run_grid();
  }

 private:
  scheduler(const emulator::device_view& view, emulator::entry kernel, const shape& how, void** arguments,
            const image& constants, stack_pool& stacks)
      : view_(view),
        kernel_(kernel),
        how_(how),
        arguments_(arguments),
        constants_(constants),
        stacks_(stacks),
        random_{how.seed},
        shared_(how.shared_bytes),
        races_(view.checked ? static_cast<std::size_t>(view.shared_end - view.shared_begin) + how.shared_bytes : 0,
               how.block.count()),
        threads_(how.block.count()),
        order_(threads_.size()) {
    std::iota(order_.begin(), order_.end(), 0u);
    for (unsigned i = 0; i < threads_.size(); ++i)
      threads_[i].index = {i % how.block.x, i / how.block.x % how.block.y, i / how.block.x / how.block.y};
    constexpr emulator::services offered{&barrier, &warp, &yield, &access, &atomic, &fail, &fence};
    *view_.host = offered;
    *view_.dynamic_shared = shared_.data();
    set(view_.block_size, how.block);
    set(view_.grid_size, how.grid);
  }

  static void set(unsigned* place, const size3& size) {
    place[0] = size.x;
    place[1] = size.y;
    place[2] = size.z;
  }

  void run_grid() {
    std::vector<std::size_t> blocks(how_.grid.count());
    std::iota(blocks.begin(), blocks.end(), std::size_t{0});
    if (how_.seed != 0) random_.permute(blocks);
    for (const std::size_t number : blocks) {
      between_blocks_.begin_block(number);
      view_.block_index[0] = static_cast<unsigned>(number % how_.grid.x);
      view_.block_index[1] = static_cast<unsigned>(number / how_.grid.x % how_.grid.y);
      view_.block_index[2] = static_cast<unsigned>(number / how_.grid.x / how_.grid.y);
      run_block();
    }
  }

  void run_block() {
    // What an earlier block left in shared memory must not be of use.
    std::fill(view_.shared_begin, view_.shared_end, '\xff');
    std::fill(shared_.begin(), shared_.end(), '\xff');
    races_.next_phase();
    for (auto& thread : threads_) thread.now = phase::fresh;
    remaining_ = threads_.size();
    if (how_.seed != 0) random_.permute(order_);
    while (remaining_ > 0) {
      bool moved = false;
      for (const unsigned number : order_) {
        auto& thread = threads_[number];
        if (thread.now != phase::fresh && thread.now != phase::ready) continue;
        moved = true;
        resume(thread);
        if (!report_.empty()) return abandon();
      }
      if (!moved && !release_block()) return abandon();
    }
    if (std::string words = different_values(); !words.empty()) throw failure(block_words() + ": " + words);
  }

  void resume(thread_state& thread) {
    if (thread.now == phase::fresh) {
      thread.own.prepare(stacks_.take(), &body);
      thread.now = phase::ready;
    }
    running_ = &thread;
    view_.thread_index[0] = thread.index[0];
    view_.thread_index[1] = thread.index[1];
    view_.thread_index[2] = thread.index[2];
    main_.switch_to(thread.own);
    if (thread.now == phase::done) {
      stacks_.give_back(thread.own.stack());
      --remaining_;
      const lanes warp = warp_of(thread);  // whose others need not wait for it any longer
      for (unsigned i = 0; i < warp.count && report_.empty(); ++i)
        if (warp.first[i].now == phase::waits_for_warp) complete_warp(warp, warp.first[i], false);
    }
  }

  // Drops all fibers where they stand: device code has nothing to destroy.
  [[noreturn]] void abandon() {
    for (auto& thread : threads_)
      if (thread.now != phase::done && thread.now != phase::fresh) stacks_.give_back(thread.own.stack());
    throw failure(report_);
  }

  static void body() {
    scheduler& self = *current_;
    fiber::started(self.main_);
    self.kernel_(self.arguments_);
    self.running_->now = phase::done;
    self.running_->own.switch_to(self.main_, true);
  }

  void suspend(phase state) {
    running_->now = state;
    running_->own.switch_to(main_);
  }

  // ---- meetings of the block ----
  static int barrier(emulator::meeting kind, int line, int predicate) {
    auto& thread = *current_->running_;
    thread.kind = kind;
    thread.line = line;
    thread.value = predicate != 0;
    current_->suspend(phase::waits_for_block);
    return static_cast<int>(thread.result);
  }

  // When no thread can go on: all of them stand at one barrier, or something is wrong.
  bool release_block() {
    const auto& first = threads_.front();
    emulator::word count = 0;
    for (const auto& thread : threads_) {
      if (thread.now != phase::waits_for_block || thread.line != first.line || thread.kind != first.kind) {
        report_ = stuck();
        return false;
      }
      count += thread.value;
    }
    races_.next_phase();
    for (auto& thread : threads_) {
      thread.now = phase::ready;
      switch (thread.kind) {
        case emulator::meeting::sync_threads_and:
          thread.result = count == threads_.size();
          break;
        case emulator::meeting::sync_threads_or:
          thread.result = count != 0;
          break;
        default:
          thread.result = count;
      }
    }
    if (how_.seed != 0) random_.permute(order_);
    return true;
  }

  // ---- meetings of a warp ----
  struct lanes {
    thread_state* first;
    unsigned count;
  };
  lanes warp_of(const thread_state& thread) {
    const auto start = static_cast<std::size_t>(&thread - threads_.data()) / 32 * 32;
    return {&threads_[start], static_cast<unsigned>(std::min<std::size_t>(32, threads_.size() - start))};
  }

  static emulator::word warp(emulator::meeting kind, int line, unsigned mask, emulator::word value, int source) {
    auto& self = *current_;
    auto& thread = *self.running_;
    const lanes warp = self.warp_of(thread);
    const auto lane = static_cast<unsigned>(&thread - warp.first);
    if ((mask >> lane & 1) == 0)
      self.stop(
          text(name_of(kind), " in line ", line, ": the mask ", hex(mask), " does not hold the calling lane ", lane));
    thread.kind = kind;
    thread.line = line;
    thread.mask = mask;
    thread.value = value;
    thread.source = source;
    thread.now = phase::waits_for_warp;
    if (self.complete_warp(warp, thread, true)) return thread.result;
    self.suspend(phase::waits_for_warp);
    return thread.result;
  }

  // Ends the meeting that `any` waits for, if all lanes of its mask that have not ended are there.
  // In a fiber a mistake ends the launch at once; outside, run_block looks at report_.
  bool complete_warp(lanes warp, const thread_state& any, bool in_fiber) {
    const unsigned mask = any.mask;
    const auto kind = any.kind;
    const int line = any.line;
    unsigned present = 0;
    emulator::word votes = 0;
    for (unsigned i = 0; i < warp.count; ++i) {
      const auto& other = warp.first[i];
      if ((mask >> i & 1) == 0 || other.now == phase::done) continue;
      if (other.now != phase::waits_for_warp || other.mask != mask || other.kind != kind) return false;
      if (other.line != line && kind != emulator::meeting::sync_warp) return false;
      present |= 1u << i;
      votes |= (other.value & 1) << i;
    }
    if (kind == emulator::meeting::sync_warp)
      races_.next_phase_of_warp(static_cast<std::size_t>(warp.first - threads_.data()));
    for (unsigned i = 0; i < warp.count; ++i) {
      if ((present >> i & 1) == 0) continue;
      auto& lane = warp.first[i];
      lane.now = phase::ready;
      if (kind == emulator::meeting::vote) lane.result = votes;
      if (kind != emulator::meeting::shuffle) continue;
      if (lane.source < 0 || lane.source > 31 || (present >> lane.source & 1) == 0) {
        std::string words = text("shuffle in line ", lane.line, ": lane ", i, " reads lane ", lane.source,
                                 ", which is not among those that take part (", hex(present), ")");
        if (in_fiber) stop(std::move(words));
        report_ = std::move(words);
        return false;
      }
      lane.result = warp.first[lane.source].value;
    }
    return true;
  }

  // ---- the rest of the services ----
  static void yield() { current_->suspend(phase::ready); }

  static void access(const void* address, std::size_t bytes, bool write) {
    current_->note(address, bytes, write ? race_log::access::write : race_log::access::read);
  }
  static void atomic(const void* address, std::size_t bytes) {
    if (!current_->view_.checked) return;
    if (reinterpret_cast<std::uintptr_t>(address) % bytes != 0) current_->stop("misaligned atomic operation");
    current_->note(address, bytes, race_log::access::atomic);
  }

  void note(const void* address, std::size_t bytes, race_log::access kind) {
    if (overwritten_.place != nullptr)
      if (std::string words = different_values(); !words.empty()) stop(std::move(words));
    const char* start = static_cast<const char*>(address);
    const auto static_bytes = static_cast<std::size_t>(view_.shared_end - view_.shared_begin);
    if (stacks_.holds(address)) return;
    if (start >= view_.shared_begin && start + bytes <= view_.shared_end)
      return look_for_race(static_cast<std::size_t>(start - view_.shared_begin), bytes, kind);
    if (start >= shared_.data() && start + bytes <= shared_.data() + shared_.size())
      return look_for_race(static_bytes + static_cast<std::size_t>(start - shared_.data()), bytes, kind);
    if (start >= constants_.begin && start + bytes <= constants_.end) return;
    if (!in_device_memory(reinterpret_cast<std::uintptr_t>(address), bytes))
      stop(stray(start, bytes, kind != race_log::access::read));
    if (how_.grid.count() == 1 || !view_.checked) return;
    // Reads of a copy are reads of what it is a copy of.
    const auto place = reinterpret_cast<std::uintptr_t>(address) - last_block_.start + last_block_.original;
    const block_race_log::race found = between_blocks_.note(place, bytes, kind);
    if (found.block < 0) return;
    std::string words =
        text("race between blocks: ", kind == race_log::access::read ? "reads" : "writes", " what block ", found.block,
             " of the grid used, with no __threadfence and atomic operation between");
    if (!found.both_write) stop(std::move(words));
    overwritten_ = {start, std::string(start, bytes), std::move(words)};
  }

  // A value that two blocks write is no mistake if it is the same one, which shows once it is written.
  std::string different_values() {
    const bool differs = overwritten_.place != nullptr &&
                         std::memcmp(overwritten_.place, overwritten_.before.data(), overwritten_.before.size()) != 0;
    overwritten_.place = nullptr;
    return differs ? overwritten_.words : std::string();
  }

  // Without a lock and mostly without a search: each access of each thread comes here.
  bool in_device_memory(std::uintptr_t address, std::size_t bytes) {
    if (last_block_.holds(address, bytes)) return true;
    const auto after = std::upper_bound(memory_.begin(), memory_.end(), address,
                                        [](std::uintptr_t at, const watched_block& block) { return at < block.start; });
    if (after == memory_.begin() || !std::prev(after)->holds(address, bytes)) return false;
    last_block_ = *std::prev(after);
    return true;
  }

  void look_for_race(std::size_t offset, std::size_t bytes, race_log::access kind) {
    const auto thread = static_cast<unsigned>(running_ - threads_.data());
    const int other = races_.note(offset, bytes, thread, kind);
    if (other < 0) return;
    stop(text("race on shared memory: ", kind == race_log::access::read ? "reads" : "writes", " what thread ", other,
              " of the block used, with no barrier between"));
  }

  std::string stray(const char* start, std::size_t bytes, bool write) const {
    std::string words = text(write ? "writes " : "reads ", bytes, " bytes ");
    if (!shared_.empty() && start >= shared_.data() && start < shared_.data() + shared_.size() + 4096)
      return words +
             text("at byte ", start - shared_.data(), " of ", shared_.size(), " bytes of dynamic shared memory");
    return words + watched_memory::instance().describe(start, bytes);
  }

  static void fail(const char* words) { current_->stop(words); }
  static void fence() { current_->between_blocks_.fence(); }

  // From a fiber: ends the launch. The fiber is never resumed, so nothing on its stack may own memory by then.
  [[noreturn]] void stop(std::string words) {
    const auto& at = running_->index;
    report_ = text(block_words(), ", thread (", at[0], ", ", at[1], ", ", at[2], "): ", words);
    std::string().swap(words);
    suspend(phase::ready);
    std::terminate();
  }

  std::string block_words() const {
    return text("block (", view_.block_index[0], ", ", view_.block_index[1], ", ", view_.block_index[2], ")");
  }

  // Who waits where when nobody can go on: one line for each kind of wait.
  std::string stuck() const {
    std::vector<std::pair<std::string, std::size_t>> groups;
    for (const auto& thread : threads_) {
      std::string where;
      if (thread.now == phase::done) where = "ended";
      if (thread.now == phase::waits_for_block) where = text("at __syncthreads in line ", thread.line);
      if (thread.now == phase::waits_for_warp)
        where = text("at ", name_of(thread.kind), " in line ", thread.line, " with mask ", hex(thread.mask));
      auto found = std::find_if(groups.begin(), groups.end(), [&](const auto& group) { return group.first == where; });
      if (found == groups.end())
        groups.emplace_back(where, 1);
      else
        ++found->second;
    }
    std::string words = block_words() + ": divergent barrier:";
    for (const auto& [where, count] : groups) words += text(" ", count, " threads ", where, ";");
    return words;
  }

  template <class... Parts>
  static std::string text(const Parts&... parts) {
    std::ostringstream out;
    (out << ... << parts);
    return out.str();
  }
  static std::string hex(unsigned value) {
    std::ostringstream out;
    out << "0x" << std::hex << value;
    return out.str();
  }

  static inline scheduler* current_ = nullptr;

  const emulator::device_view& view_;
  emulator::entry kernel_;
  const shape& how_;
  void** arguments_;
  image constants_;
  stack_pool& stacks_;
  order_source random_;
  std::vector<char> shared_;
  race_log races_;
  block_race_log between_blocks_;
  struct {
    const char* place = nullptr;
    std::string before, words;
  } overwritten_;  // the last value that two blocks wrote
  std::vector<watched_block> memory_ = watched_memory::instance().blocks();
  watched_block last_block_;
  std::vector<thread_state> threads_;
  std::vector<unsigned> order_;
  std::size_t remaining_ = 0;
  fiber main_;
  thread_state* running_ = nullptr;
  std::string report_;
};

}  // namespace detail

/// Runs a kernel over its grid. Throws failure if a thread does what is undefined; other memory stays as it is then.
inline void run(const emulator::device_view& view, emulator::entry kernel, const shape& how, void** arguments,
                const image& constants = {}) {
  detail::scheduler::run(view, kernel, how, arguments, constants);
}

}  // namespace KILN_EMULATOR_SWITCH
}  // namespace emulate
