// SPDX-License-Identifier: BSL-1.0
// Finds races between the blocks of a launch: two accesses of a byte of device memory by different blocks, one of them
// a write, with nothing that orders them, whatever order they happened in. Two atomic operations on one place never
// race; what a block did before a __threadfence and an atomic operation is ordered before what another does after its
// own atomic operation on the same place.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "races.hpp"

namespace emulate {

/// The last accesses of device memory by the blocks of one launch.
class block_race_log {
 public:
  using access = race_log::access;

  /// What a block has fenced, and what it knows of others.
  struct clock {
    clock() = default;
    explicit clock(std::size_t number)
        : block(static_cast<std::uint32_t>(std::min<std::size_t>(number + 1, most_blocks))) {}
    std::uint32_t block = 1, epoch = 1, fenced = 0;
    std::unordered_map<std::uint32_t, std::uint32_t> known;  // block -> what of it comes before now
  };

  /// What follows is done by the block whose clock this is.
  void turn_of(clock& own) { own_ = &own; }
  /// What the block did so far is seen by who learns of its next atomic operation.
  void fence() {
    own_->fenced = own_->epoch;
    own_->epoch = std::min(own_->epoch + 1, most_epochs);
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
      if (const race one = note(now, kind); one.block >= 0 && (found.block < 0 || found.both_write)) found = one;
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

  bool ordered(std::uint32_t before) const {
    if (before == 0 || block_of(before) == own_->block) return true;
    const auto found = own_->known.find(block_of(before));
    return found != own_->known.end() && found->second >= (before >> 1 & most_epochs);
  }

  race note(entry& now, access kind) {
    const bool atomic = kind == access::atomic;
    race found;
    if (!(atomic && (now.write & 1) != 0) && !ordered(now.write))
      found = {static_cast<int>(block_of(now.write)) - 1, kind == access::write && (now.write & 1) == 0};
    const std::uint32_t own = moment(own_->block, own_->epoch, atomic);
    if (kind == access::read) {
      if (now.read == 0 || block_of(now.read) == own_->block || (now.read != several && ordered(now.read)))
        now.read = own;
      else
        now.read = several;
      return found;
    }
    if (now.read == several ? own_->known.empty() : !ordered(now.read))
      found = {now.read == several ? 0 : static_cast<int>(block_of(now.read)) - 1, false};
    now = {own, 0};
    return found;
  }

  // An atomic operation: takes what the place's earlier visitors made known, and leaves its own.
  void meet(std::uintptr_t at) {
    const auto found = released_.find(at);
    if (found != released_.end())
      for (const auto& [block, epoch] : found->second) own_->known[block] = std::max(own_->known[block], epoch);
    if (own_->fenced == 0 && own_->known.empty()) return;
    auto& left = released_[at];
    for (const auto& [block, epoch] : own_->known) left[block] = std::max(left[block], epoch);
    if (own_->fenced != 0) left[own_->block] = std::max(left[own_->block], own_->fenced);
  }

  std::unordered_map<std::uintptr_t, page> pages_;
  std::uintptr_t last_number_ = 0;
  page* last_ = nullptr;
  clock* own_ = nullptr;
  std::unordered_map<std::uintptr_t, std::unordered_map<std::uint32_t, std::uint32_t>> released_;
};

}  // namespace emulate
