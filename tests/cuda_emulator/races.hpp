// SPDX-License-Identifier: BSL-1.0
// Finds races on shared memory: two accesses of a byte by different threads, one of them a write, with no barrier
// between. A missing __syncthreads is so reported whatever order the threads ran in.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace emulate {

/// The last accesses of each byte of a block's shared memory.
class race_log {
 public:
  enum class access { read, write, atomic };

  race_log(std::size_t bytes, std::size_t threads) : bytes_(bytes), warps_((threads + 31) / 32) {}

  /// All threads have met, or another block begins.
  void next_phase() { ++phase_; }
  /// The lanes of a warp have met at __syncwarp. Shuffles and votes order no memory.
  void next_phase_of_warp(std::size_t thread) { ++warps_[thread / 32]; }

  /// Notes an access. Returns the other thread if it races with an earlier one, else -1.
  int note(std::size_t offset, std::size_t count, unsigned thread, access kind) {
    for (std::size_t i = offset; i < std::min(offset + count, bytes_.size()); ++i) {
      byte& now = bytes_[i];
      const bool both_atomic = kind == access::atomic && now.written_atomically;
      if (!both_atomic && unordered(now.write, thread)) return static_cast<int>(now.write.thread);
      if (kind == access::read) {
        // Of many readers one in another warp is worth most: __syncwarp does not order it.
        if (now.read.phase != phase_ || now.read.thread / 32 == thread / 32) {
          now.several = now.read.phase == phase_ && now.read.warp_phase == warps_[thread / 32] &&
                        (now.several || now.read.thread != thread);
          now.read = mark(thread);
        } else {
          now.several_warps = phase_;
        }
        continue;
      }
      if (now.several_warps == phase_ || unordered(now.read, thread) ||
          (now.several && now.read.phase == phase_ && !same_step(now.read, thread)))
        return static_cast<int>(now.read.thread);
      now.write = mark(thread);
      now.written_atomically = kind == access::atomic;
    }
    return -1;
  }

 private:
  struct moment {
    std::uint32_t phase = 0, warp_phase = 0, thread = 0;
  };
  struct byte {
    moment write, read;
    std::uint32_t several_warps = 0;  // the phase in which lanes of several warps read it
    bool several = false;             // several lanes of one warp read it since their last meeting
    bool written_atomically = false;
  };

  moment mark(unsigned thread) const { return {phase_, warps_[thread / 32], thread}; }
  // True if the warp has met since.
  bool same_step(const moment& before, unsigned thread) const {
    return before.thread / 32 == thread / 32 && before.warp_phase != warps_[thread / 32];
  }
  bool unordered(const moment& before, unsigned thread) const {
    return before.phase == phase_ && before.thread != thread && !same_step(before, thread);
  }

  std::vector<byte> bytes_;
  std::vector<std::uint32_t> warps_;
  std::uint32_t phase_ = 1;
};

}  // namespace emulate
