// SPDX-License-Identifier: BSL-1.0
// The scheduler: runs a grid, each CUDA thread a fiber. Several blocks are resident at a time and take turns where
// their threads wait, at atomic operations and at accesses drawn from a seed, as are the order of blocks and of
// threads: what the hardware leaves open. What it leaves undefined is reported.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "block_races.hpp"
#include "fiber.hpp"
#include "interface.hpp"
#include "resident.hpp"
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
    if (how.cluster == 0 || how.cluster > most_blocks || how.grid.x % how.cluster != 0)
      throw failure("launch: a grid is made of whole clusters, of 8 blocks at most");
    static stack_pool stacks(most_blocks * 1024);
    scheduler grid(view, kernel, how, arguments, constants, stacks);
    current_ = &grid;
    grid.run_grid();
  }

 private:
  static constexpr std::size_t most_resident = 4, most_blocks = 8;  // ... where a cluster has as many
  // Up to how many turns of its threads a block has before another has its own.
  static constexpr unsigned most_turns = 16;

  scheduler(const emulator::device_view& view, emulator::entry kernel, const shape& how, void** arguments,
            const image& constants, stack_pool& stacks)
      : view_(view),
        kernel_(kernel),
        how_(how),
        arguments_(arguments),
        constants_(constants),
        stacks_(stacks),
        random_{how.seed} {
    constexpr emulator::services offered{&barrier, &warp, &yield,      &access,        &atomic,          &fail,
                                         &fence,   &peer, &copy_async, &commit_copies, &wait_for_copies, &grid_wait};
    *view_.host = offered;
    set(view_.block_size, how.block);
    set(view_.grid_size, how.grid);
  }

  static void set(unsigned* place, const size3& size) {
    place[0] = size.x;
    place[1] = size.y;
    place[2] = size.z;
  }

  // ---- turns ----
  bool natural_order() const { return how_.seed == 0; }
  order_source* random() { return natural_order() ? nullptr : &random_; }

  void run_grid() {
    std::vector<std::size_t> clusters(how_.grid.count() / how_.cluster), blocks;
    std::iota(clusters.begin(), clusters.end(), std::size_t{0});
    if (!natural_order()) random_.permute(clusters);
    for (const std::size_t cluster : clusters)
      for (std::size_t rank = 0; rank < how_.cluster; ++rank) blocks.push_back(cluster * how_.cluster + rank);
    // Blocks begin in this order, so that of a cluster all come, whoever waits.
    const std::size_t several = std::max<std::size_t>(most_resident, how_.cluster),
                      slots = natural_order() ? how_.cluster : std::min(several, blocks.size());
    for (std::size_t i = 0; i < slots; ++i) {
      resident_.push_back(std::make_unique<resident_block>(how_, declared_bytes(), view_.checked));
      resident_.back()->begin(blocks[i], how_.grid, random());
    }
    for (std::size_t begun = slots; !resident_.empty();) {
      const std::size_t turn = resident_.size() == 1 ? 0 : random_.next() % resident_.size();
      enter(*resident_[turn]);
      take_turns();
      if (!report_.empty()) return abandon();
      if (!block_->ended()) continue;
      loaded_ = nullptr;
      ended_[block_->number] = true;
      if (begun < blocks.size())
        block_->begin(blocks[begun++], how_.grid, random());
      else
        resident_.erase(resident_.begin() + static_cast<std::ptrdiff_t>(turn));
    }
  }

  // Threads of the block that was entered run, until another block has its turn.
  void take_turns() {
    turns_ = natural_order() ? ~0u : 1 + static_cast<unsigned>(random_.next() % most_turns);
    for (; turns_ > 0 && !block_->ended() && report_.empty(); --turns_) {
      if (thread_state* const thread = block_->next(); thread != nullptr)
        resume(*thread);
      else if (block_->waits_for_cluster())
        return pass_cluster();
      else if (!block_->pass_barrier(random()))
        report_ = block_words() + ": " + block_->stuck();
    }
  }

  // The block whose turn it is waits for its cluster: all go on if they are there.
  void pass_cluster() {
    for (unsigned rank = 0; rank < how_.cluster; ++rank) {
      if (ended_[number_of_peer(rank)])
        report_ = text(block_words(), ": waits for block ", rank, " of its cluster, which has ended");
      if (const resident_block* other = peer_of(rank); other == nullptr || !other->waits_for_cluster()) return;
    }
    for (unsigned rank = 0; rank < how_.cluster; ++rank) peer_of(rank)->pass_barrier(random());
  }
  std::size_t number_of_peer(unsigned rank) const { return block_->number / how_.cluster * how_.cluster + rank; }
  // A block of the running one's cluster; null if it is not resident.
  resident_block* peer_of(unsigned rank) const {
    for (const auto& other : resident_)
      if (other->number == number_of_peer(rank) && !other->ended()) return other.get();
    return nullptr;
  }

  std::size_t declared_bytes() const { return static_cast<std::size_t>(view_.shared_end - view_.shared_begin); }

  // What the text declares as shared has one address; it holds what the running block has there.
  void enter(resident_block& block) {
    block_ = &block;
    if (loaded_ == &block) return;
    if (loaded_ != nullptr) std::copy(view_.shared_begin, view_.shared_end, loaded_->declared_shared().begin());
    std::copy(block.declared_shared().begin(), block.declared_shared().end(), view_.shared_begin);
    loaded_ = &block;
    *view_.dynamic_shared = block.dynamic_shared().data();
    *view_.exchange = &block.exchange();
    std::copy(block.index.begin(), block.index.end(), view_.block_index);
    between_blocks_.turn_of(block.clock);
  }

  void resume(thread_state& thread) {
    if (thread.now == phase::fresh) {
      thread.own.prepare(stacks_.take(), &body);
      thread.now = phase::ready;
    }
    running_ = &thread;
    std::copy(thread.index.begin(), thread.index.end(), view_.thread_index);
    main_.switch_to(thread.own);
    if (report_.empty()) report_ = different_values();
    if (thread.now != phase::done) return;
    stacks_.give_back(thread.own.stack());
    std::string wrong;
    block_->end(thread, wrong);
    if (report_.empty() && !wrong.empty()) report_ = block_words() + ": " + wrong;
  }

  // Drops all fibers where they stand: device code has nothing to destroy.
  [[noreturn]] void abandon() {
    for (const auto& block : resident_)
      for (auto& thread : block->threads())
        if (thread.now != phase::done && thread.now != phase::fresh) stacks_.give_back(thread.own.stack());
    throw failure(natural_order() ? report_ : text(report_, " (seed ", how_.seed, ")"));
  }

  static void body() {
    scheduler& self = *current_;
    fiber::started(self.main_);
    self.kernel_(self.arguments_);
    if (self.how_.early && !self.running_->grid_waited)
      self.stop("was launched early, and ends without having waited for the kernel before");
    self.running_->now = phase::done;
    self.running_->own.switch_to(self.main_, true);
  }

  void suspend(phase state) {
    running_->now = state;
    running_->own.switch_to(main_);
  }

  // Another thread goes on, of another block if there is one.
  void leave() {
    turns_ = 1;
    suspend(phase::ready);
  }

  // ---- meetings ----
  static int barrier(emulator::meeting kind, int line, int predicate) {
    auto& thread = *current_->running_;
    thread.kind = kind;
    thread.line = line;
    thread.value = predicate != 0;
    current_->suspend(phase::waits_for_block);
    return static_cast<int>(thread.result);
  }

  static emulator::word warp(emulator::meeting kind, int line, unsigned mask, emulator::word value, int source) {
    auto& self = *current_;
    auto& thread = *self.running_;
    const auto lane = static_cast<unsigned>(self.block_->number_of(thread) % 32);
    if ((mask >> lane & 1) == 0)
      self.stop(
          text(name_of(kind), " in line ", line, ": the mask ", hex(mask), " does not hold the calling lane ", lane));
    thread.kind = kind;
    thread.line = line;
    thread.mask = mask;
    thread.value = value;
    thread.source = source;
    thread.now = phase::waits_for_warp;
    std::string wrong;
    if (self.block_->complete_warp(thread, wrong)) return thread.result;
    if (!wrong.empty()) self.stop(std::move(wrong));
    self.suspend(phase::waits_for_warp);
    return thread.result;
  }

  // ---- the rest of the services ----
  static void yield() { current_->leave(); }

  static void access(const void* address, std::size_t bytes, bool write) {
    current_->note(address, bytes, write ? race_log::access::write : race_log::access::read);
  }
  static void atomic(const void* address, std::size_t bytes) {
    auto& self = *current_;
    if (!self.natural_order() && self.random_.next() % 2 == 0) self.leave();
    if (!self.view_.checked) return;
    if (reinterpret_cast<std::uintptr_t>(address) % bytes != 0) self.stop("misaligned atomic operation");
    self.note(address, bytes, race_log::access::atomic);
  }

  void note(const void* address, std::size_t bytes, race_log::access kind) {
    if (std::string words = different_values(); !words.empty()) stop_with(std::move(words));
    const char* start = static_cast<const char*>(address);
    if (stacks_.holds(address)) return;
    const std::vector<char>& dynamic = block_->dynamic_shared();
    if (start >= view_.shared_begin && start + bytes <= view_.shared_end)
      return look_for_race(static_cast<std::size_t>(start - view_.shared_begin), bytes, kind);
    if (start >= dynamic.data() && start + bytes <= dynamic.data() + dynamic.size())
      return look_for_race(declared_bytes() + static_cast<std::size_t>(start - dynamic.data()), bytes, kind);
    if (start >= constants_.begin && start + bytes <= constants_.end) return;
    if (how_.early && !running_->grid_waited)
      stop("was launched early, and touches memory before it has waited for the kernel before");
    for (unsigned rank = 0; how_.cluster > 1 && rank < how_.cluster; ++rank)
      if (const resident_block* other = peer_of(rank); other != nullptr && other->has_shared(start, bytes)) return;
    if (!natural_order() && --accesses_ == 0) {
      accesses_ = 1u << random_.next() % 10;  // some near each other, a hundred on the average
      leave();  // before the access is noted, so that nothing comes between the note and the access itself
    }
    if (!in_device_memory(reinterpret_cast<std::uintptr_t>(address), bytes))
      stop(stray(start, bytes, kind != race_log::access::read));
    if (kind == race_log::access::read && last_block_.read != nullptr)
      std::fill_n(last_block_.read + (reinterpret_cast<std::uintptr_t>(address) - last_block_.start), bytes, '\1');
    if (how_.grid.count() == 1 || !view_.checked) return;
    // Reads of a copy are reads of what it is a copy of.
    const auto place = reinterpret_cast<std::uintptr_t>(address) - last_block_.start + last_block_.original;
    const block_race_log::race found = between_blocks_.note(place, bytes, kind);
    if (found.block < 0) return;
    std::string words =
        text("race between blocks: ", kind == race_log::access::read ? "reads" : "writes", " what block ", found.block,
             " of the grid used, with no __threadfence and atomic operation between");
    if (!found.both_write) stop(std::move(words));
    overwritten_ = {start, std::string(start, bytes), thread_words() + words};
  }

  // A value that two blocks write is no mistake if it is the same one, which shows once it is written.
  std::string different_values() {
    if (overwritten_.place == nullptr) return {};
    const bool differs = std::memcmp(overwritten_.place, overwritten_.before.data(), overwritten_.before.size()) != 0;
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
    if (std::string words = block_->note(offset, bytes, *running_, kind); !words.empty()) stop(std::move(words));
  }

  std::string stray(const char* start, std::size_t bytes, bool write) const {
    std::string words = text(write ? "writes " : "reads ", bytes, " bytes ");
    const std::vector<char>& dynamic = block_->dynamic_shared();
    if (!dynamic.empty() && start >= dynamic.data() && start < dynamic.data() + dynamic.size() + 4096)
      return words +
             text("at byte ", start - dynamic.data(), " of ", dynamic.size(), " bytes of dynamic shared memory");
    return words + watched_memory::instance().describe(start, bytes);
  }

  static void fail(const char* words) { current_->stop(words); }
  static void* peer(const void* place, unsigned rank) {
    auto& self = *current_;
    resident_block* const other = self.peer_of(rank);
    if (other == nullptr || !other->begun())
      self.stop(text("the shared memory of block ", rank, " of the cluster, which has ",
                     self.ended_[self.number_of_peer(rank)] ? "ended" : "not begun"));
    char* const start = const_cast<char*>(static_cast<const char*>(place));
    char* const there = other->place_like(start, self.view_.shared_begin, self.block_->dynamic_shared());
    if (there == nullptr) self.stop("asks for another block's place of what is no shared memory");
    return other == self.block_ ? start : there;
  }
  static void fence() { current_->between_blocks_.fence(); }
  static void grid_wait() { current_->running_->grid_waited = true; }

  // What a copy writes is unknown from its start until it was waited for: poison, and a write at both ends.
  static void copy_async(void* to, const void* from, std::size_t size, std::size_t whole) {
    auto& self = *current_;
    const auto misaligned = [whole](const void* place) { return reinterpret_cast<std::uintptr_t>(place) % whole != 0; };
    if (misaligned(to) || (size > 0 && misaligned(from)))
      self.stop(text("cp.async of ", whole, " bytes at an address that is no multiple of that"));
    if (self.view_.checked) {
      if (size > 0) self.note(from, size, race_log::access::read);
      self.note(to, whole, race_log::access::write);
    }
    std::memset(to, 0xff, whole);
    auto& thread = *self.running_;
    thread.copies.push_back({static_cast<char*>(to), static_cast<const char*>(from), size, whole, thread.groups});
  }
  static void commit_copies() { ++current_->running_->groups; }
  static void wait_for_copies(std::size_t latest) {
    auto& self = *current_;
    auto& thread = *self.running_;
    std::size_t kept = 0;
    for (std::size_t i = 0; i < thread.copies.size(); ++i) {
      const late_copy copy = thread.copies[i];
      if (copy.group + latest >= thread.groups) {
        thread.copies[kept++] = copy;
        continue;
      }
      if (self.view_.checked) self.note(copy.to, copy.whole, race_log::access::write);
      std::memcpy(copy.to, copy.from, copy.size);
      std::memset(copy.to + copy.size, 0, copy.whole - copy.size);
    }
    thread.copies.resize(kept);
  }

  // From a fiber: ends the launch. The fiber is never resumed, so nothing on its stack may own memory by then.
  [[noreturn]] void stop(std::string words) {
    words.insert(0, thread_words());
    stop_with(std::move(words));
  }
  [[noreturn]] void stop_with(std::string words) {
    report_ = std::move(words);
    std::string().swap(words);
    suspend(phase::ready);
    std::terminate();
  }

  std::string block_words() const {
    const auto& at = block_->index;
    return text("block (", at[0], ", ", at[1], ", ", at[2], ")");
  }
  std::string thread_words() const {
    const auto& at = running_->index;
    return text(block_words(), ", thread (", at[0], ", ", at[1], ", ", at[2], "): ");
  }

  static inline scheduler* current_ = nullptr;

  const emulator::device_view& view_;
  emulator::entry kernel_;
  const shape& how_;
  void** arguments_;
  image constants_;
  stack_pool& stacks_;
  order_source random_;
  block_race_log between_blocks_;
  struct {
    const char* place = nullptr;
    std::string before, words;
  } overwritten_;  // the last value that two blocks wrote
  std::vector<watched_block> memory_ = watched_memory::instance().blocks();
  watched_block last_block_;
  fiber main_;
  std::vector<std::unique_ptr<resident_block>> resident_;
  std::vector<bool> ended_ = std::vector<bool>(how_.grid.count());  // by the blocks' numbers
  resident_block *block_ = nullptr,
                 *loaded_ = nullptr;  // the one whose turn it is, and whose shared memory is in place
  thread_state* running_ = nullptr;
  unsigned turns_ = 0, accesses_ = 1;
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
