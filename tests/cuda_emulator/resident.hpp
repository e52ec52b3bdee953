// SPDX-License-Identifier: BSL-1.0
// A block that is resident on the emulated multiprocessor: its threads, where they meet, and its shared memory. Several
// are at a time, and take turns (block.hpp).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <memory>
#include <numeric>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "block_races.hpp"
#include "interface.hpp"
#include "races.hpp"
#include "threads.hpp"

namespace emulate {
inline namespace KILN_EMULATOR_SWITCH {

namespace detail {

template <class... Parts>
std::string text(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return out.str();
}
inline std::string hex(unsigned value) {
  std::ostringstream out;
  out << "0x" << std::hex << value;
  return out.str();
}

class resident_block {
 public:
  using phase = thread_state::phase;

  /// For blocks of this shape, in a text that declares `declared` bytes of shared memory.
  resident_block(const shape& how, std::size_t declared, bool checked)
      : declared_(declared),
        dynamic_(how.shared_bytes),
        races_(checked ? declared + how.shared_bytes : 0, how.block.count()),
        threads_(how.block.count()),
        order_(threads_.size()) {
    std::iota(order_.begin(), order_.end(), 0u);
    for (unsigned i = 0; i < threads_.size(); ++i)
      threads_[i].index = {i % how.block.x, i / how.block.x % how.block.y, i / how.block.x / how.block.y};
  }

  /// Becomes block `which` of the grid. What an earlier one left in shared memory must not be of use.
  void begin(std::size_t which, const size3& grid, order_source* random) {
    index = {static_cast<unsigned>(which % grid.x), static_cast<unsigned>(which / grid.x % grid.y),
             static_cast<unsigned>(which / grid.x / grid.y)};
    number = which;
    clock = block_race_log::clock(which);
    std::fill(declared_.begin(), declared_.end(), '\xff');
    std::fill(dynamic_.begin(), dynamic_.end(), '\xff');
    for (auto& thread : threads_) thread.now = phase::fresh, thread.copies.clear(), thread.grid_waited = false;
    remaining_ = threads_.size();
    next_phase(random);
  }

  bool ended() const { return remaining_ == 0; }
  bool begun() const {
    return std::any_of(threads_.begin(), threads_.end(), [](const auto& t) { return t.now != phase::fresh; });
  }
  /// Whether all threads wait for the other blocks of the cluster.
  bool waits_for_cluster() const {
    return std::all_of(threads_.begin(), threads_.end(), [&](const auto& t) {
      return t.now == phase::waits_for_block && t.kind == emulator::meeting::sync_cluster && t.line == threads_[0].line;
    });
  }
  /// Where it has, while another block runs, what lies at this place of the running one's memory, whose text declares
  /// what begins at `declared` and which has `dynamic`; null if that is no shared memory.
  char* place_like(const char* place, const char* declared, const std::vector<char>& dynamic) {
    if (place >= declared && place < declared + declared_.size()) return declared_.data() + (place - declared);
    if (place >= dynamic.data() && place < dynamic.data() + dynamic.size())
      return dynamic_.data() + (place - dynamic.data());
    return nullptr;
  }
  bool has_shared(const char* start, std::size_t bytes) const {
    const auto within = [&](const std::vector<char>& memory) {
      return start >= memory.data() && start + bytes <= memory.data() + memory.size();
    };
    return within(declared_) || within(dynamic_);
  }

  /// The thread whose turn it is; null if none can go on.
  thread_state* next() {
    for (std::size_t looked = 0; looked < order_.size(); ++looked) {
      auto& thread = threads_[order_[at_]];
      at_ = at_ + 1 < order_.size() ? at_ + 1 : 0;
      if (thread.now == phase::fresh || thread.now == phase::ready) return &thread;
    }
    return nullptr;
  }

  /// When no thread can go on: all of them stand at one barrier and pass it, or something is wrong: false.
  bool pass_barrier(order_source* random) {
    const auto& first = threads_.front();
    emulator::word count = 0;
    for (const auto& thread : threads_) {
      if (thread.now != phase::waits_for_block || thread.line != first.line || thread.kind != first.kind) return false;
      count += thread.value;
    }
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
    next_phase(random);
    return true;
  }

  /// Ends the meeting that `any` waits for, if all lanes of its mask that have not ended are there. `wrong` says what
  /// they ask for that cannot be.
  bool complete_warp(const thread_state& any, std::string& wrong) {
    const std::size_t start = number_of(any) / 32 * 32;
    thread_state* const lanes = &threads_[start];
    const auto count = static_cast<unsigned>(std::min<std::size_t>(32, threads_.size() - start));
    const auto [kind, line, mask] = std::tuple(any.kind, any.line, any.mask);
    unsigned present = 0;
    emulator::word votes = 0;
    for (unsigned i = 0; i < count; ++i) {
      const auto& other = lanes[i];
      if ((mask >> i & 1) == 0 || other.now == phase::done) continue;
      if (other.now != phase::waits_for_warp || other.mask != mask || other.kind != kind) return false;
      if (other.line != line && kind != emulator::meeting::sync_warp) return false;
      present |= 1u << i;
      votes |= (other.value & 1) << i;
    }
    if (kind == emulator::meeting::sync_warp) races_.next_phase_of_warp(start);
    for (unsigned i = 0; i < count; ++i) {
      if ((present >> i & 1) == 0) continue;
      auto& lane = lanes[i];
      lane.now = phase::ready;
      if (kind == emulator::meeting::vote) lane.result = votes;
      if (kind != emulator::meeting::shuffle) continue;
      if (lane.source < 0 || lane.source > 31 || (present >> lane.source & 1) == 0) {
        wrong = text("shuffle in line ", lane.line, ": lane ", i, " reads lane ", lane.source,
                     ", which is not among those that take part (", hex(present), ")");
        return false;
      }
      lane.result = lanes[lane.source].value;
    }
    return true;
  }

  /// A thread has ended: the others of its warp need not wait for it any longer.
  void end(const thread_state& thread, std::string& wrong) {
    --remaining_;
    if (!thread.copies.empty()) wrong = text("a thread ends with ", thread.copies.size(), " copies under way");
    const std::size_t start = number_of(thread) / 32 * 32;
    for (std::size_t i = start; i < std::min(start + 32, threads_.size()) && wrong.empty(); ++i)
      if (threads_[i].now == phase::waits_for_warp) complete_warp(threads_[i], wrong);
  }

  /// Notes an access of shared memory. What it races with, in words; empty if nothing.
  std::string note(std::size_t offset, std::size_t bytes, const thread_state& by, race_log::access kind) {
    const int other = races_.note(offset, bytes, static_cast<unsigned>(number_of(by)), kind);
    if (other < 0) return {};
    return text("race on shared memory: ", kind == race_log::access::read ? "reads" : "writes", " what thread ", other,
                " of the block used, with no barrier between");
  }

  /// Who waits where when nobody can go on: one line for each kind of wait.
  std::string stuck() const {
    std::vector<std::pair<std::string, std::size_t>> groups;
    for (const auto& thread : threads_) {
      std::string where;
      if (thread.now == phase::done) where = "ended";
      if (thread.now == phase::waits_for_block) where = text("at ", name_of(thread.kind), " in line ", thread.line);
      if (thread.now == phase::waits_for_warp)
        where = text("at ", name_of(thread.kind), " in line ", thread.line, " with mask ", hex(thread.mask));
      auto found = std::find_if(groups.begin(), groups.end(), [&](const auto& group) { return group.first == where; });
      if (found == groups.end())
        groups.emplace_back(where, 1);
      else
        ++found->second;
    }
    std::string words = "divergent barrier:";
    for (const auto& [where, count] : groups) words += text(" ", count, " threads ", where, ";");
    return words;
  }

  std::size_t number_of(const thread_state& thread) const {
    return static_cast<std::size_t>(&thread - threads_.data());
  }
  std::vector<thread_state>& threads() { return threads_; }
  std::vector<char>& dynamic_shared() { return dynamic_; }
  /// The text's own shared memory, which has one address for all blocks: the block's while it runs, else kept here.
  std::vector<char>& declared_shared() { return declared_; }
  emulator::lane_exchange& exchange() { return *exchange_; }

  std::array<unsigned, 3> index{};
  std::size_t number = 0;
  block_race_log::clock clock;

 private:
  void next_phase(order_source* random) {
    races_.next_phase();
    at_ = 0;
    if (random != nullptr) random->permute(order_);
  }

  std::vector<char> declared_, dynamic_;
  std::unique_ptr<emulator::lane_exchange> exchange_ = std::make_unique<emulator::lane_exchange>();
  race_log races_;
  std::vector<thread_state> threads_;
  std::vector<unsigned> order_;
  std::size_t at_ = 0, remaining_ = 0;
};

}  // namespace detail
}  // namespace KILN_EMULATOR_SWITCH
}  // namespace emulate
