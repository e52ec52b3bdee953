// SPDX-License-Identifier: BSL-1.0
// Finds races between the blocks of a launch: two accesses of a byte of device memory by different blocks, one of them
// a write, with nothing that orders them. Blocks run one after the other here, so their order would hide such a race.
// Two atomic operations on one place never race; what a block did before a __threadfence and an atomic operation is
// ordered before what another does after its own atomic operation on the same place.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "races.hpp"

namespace emulate {

/// The last accesses of device memory by the blocks of one launch.
class block_race_log {
 public:
  using access = race_log::access;

  void begin_block(std::size_t number) {
    block_ = static_cast<std::uint32_t>(std::min<std::size_t>(number + 1, most_blocks));
    epoch_ = 1;
    fenced_ = 0;
    known_.clear();
    joined_.clear();
  }
  /// What the block did so far is seen by who learns of its next atomic operation.
  void fence() {
    fenced_ = epoch_;
    epoch_ = std::min(epoch_ + 1, most_epochs);
  }

  /// Another block that an access races with.
  struct race {
    int block = -1;           ///< -1: there is none
    bool both_write = false;  ///< which harms nobody if both write the same value
  };

  /// Notes an access.
  race note(std::uintptr_t address, std::size_t bytes, access kind) {
    if (kind == access::atomic) meet(address);
    race found;
    for (std::size_t done = 0; done < bytes;) {
      const std::uintptr_t at = address + done;
      page& here = page_of(at);
      if (here.grain > 1 && (at % 4 != 0 || bytes - done < 4)) split(here);
      entry& now = here.entries[at % page_bytes / here.grain];
      if (const race one = note(now, at, kind); one.block >= 0 && (found.block < 0 || found.both_write)) found = one;
      done += here.grain;
    }
    return found;
  }

 private:
  static constexpr std::size_t page_bytes = 4096;
  static constexpr std::uint32_t most_blocks = (1u << 19) - 2, most_epochs = (1u << 12) - 1, several = 0xffffffffu;

  // A moment: block and epoch, and whether the access was atomic; 0 for none.
  static constexpr std::uint32_t moment(std::uint32_t block, std::uint32_t epoch, bool atomic) {
    return block << 13 | epoch << 1 | (atomic ? 1 : 0);
  }
  static constexpr std::uint32_t block_of(std::uint32_t moment) { return moment >> 13; }

  struct entry {
    std::uint32_t write = 0, read = 0;
  };
  struct page {
    unsigned grain = 4;  // bytes of an entry
    std::vector<entry> entries = std::vector<entry>(page_bytes / 4);
  };

  page& page_of(std::uintptr_t at) {
    if (at / page_bytes != last_number_ || last_ == nullptr) {
      last_number_ = at / page_bytes;
      last_ = &pages_[last_number_];  // stays where it is when others come
    }
    return *last_;
  }
  static void split(page& one) {
    std::vector<entry> bytes(page_bytes);
    for (std::size_t i = 0; i < page_bytes; ++i) bytes[i] = one.entries[i / 4];
    one.entries = std::move(bytes);
    one.grain = 1;
  }

  bool ordered(std::uint32_t before, std::uintptr_t at) const {
    if (before == 0 || block_of(before) == block_) return true;
    if ((before & 1) != 0 && joined_.count(at) != 0) return true;
    const auto found = known_.find(block_of(before));
    return found != known_.end() && found->second >= (before >> 1 & most_epochs);
  }

  race note(entry& now, std::uintptr_t at, access kind) {
    const bool atomic = kind == access::atomic;
    race found;
    if (!(atomic && (now.write & 1) != 0) && !ordered(now.write, at))
      found = {static_cast<int>(block_of(now.write)) - 1, kind == access::write && (now.write & 1) == 0};
    const std::uint32_t own = moment(block_, epoch_, atomic);
    if (kind == access::read) {
      if (now.read == 0 || block_of(now.read) == block_ || (now.read != several && ordered(now.read, at)))
        now.read = own;
      else
        now.read = several;
      return found;
    }
    if (now.read == several ? known_.empty() : !ordered(now.read, at))
      found = {now.read == several ? 0 : static_cast<int>(block_of(now.read)) - 1, false};
    now = {own, 0};
    return found;
  }

  // An atomic operation: takes what the place's earlier visitors made known, and leaves its own.
  void meet(std::uintptr_t at) {
    joined_.insert(at);
    const auto found = released_.find(at);
    if (found != released_.end())
      for (const auto& [block, epoch] : found->second) known_[block] = std::max(known_[block], epoch);
    if (fenced_ == 0 && known_.empty()) return;
    auto& left = released_[at];
    for (const auto& [block, epoch] : known_) left[block] = std::max(left[block], epoch);
    if (fenced_ != 0) left[block_] = std::max(left[block_], fenced_);
  }

  std::unordered_map<std::uintptr_t, page> pages_;
  std::uintptr_t last_number_ = 0;
  page* last_ = nullptr;
  std::uint32_t block_ = 1, epoch_ = 1, fenced_ = 0;
  std::unordered_map<std::uint32_t, std::uint32_t> known_;  // block -> what of it comes before now
  std::unordered_set<std::uintptr_t> joined_;               // places of this block's own atomic operations
  std::unordered_map<std::uintptr_t, std::unordered_map<std::uint32_t, std::uint32_t>> released_;
};

}  // namespace emulate
