// SPDX-License-Identifier: BSL-1.0
// What the scheduler is told of a launch, and what it knows of each thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <utility>
#include <vector>

#include "fiber.hpp"
#include "interface.hpp"

namespace emulate {
inline namespace KILN_EMULATOR_SWITCH {

/// A kernel did what CUDA leaves undefined; the text says which thread and what.
struct failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Sizes along x, y, z.
struct size3 {
  unsigned x = 1, y = 1, z = 1;
  std::size_t count() const { return std::size_t{x} * y * z; }
};

/// How a kernel is launched. Seed 0 runs blocks and threads in their natural order.
struct shape {
  size3 grid, block;
  std::size_t shared_bytes = 0;
  std::uint64_t seed = 1;
  unsigned cluster = 1;  ///< blocks, along x, that reach each other's shared memory
  bool early = false;    ///< launched while the kernel before may still run: each thread has to wait for its end
};

/// Memory that the code of a kernel may read besides device memory: the constants of its shared object.
struct image {
  const char *begin = nullptr, *end = nullptr;
};

namespace detail {

/// A copy to shared memory that is under way.
struct late_copy {
  char* to = nullptr;
  const char* from = nullptr;
  std::size_t size = 0, whole = 0;  // bytes from there, and with the zeros behind them
  std::uint64_t group = 0;
};

struct thread_state {
  enum class phase { fresh, ready, waits_for_block, waits_for_warp, done };
  fiber own;
  phase now = phase::fresh;
  std::array<unsigned, 3> index{};
  bool grid_waited = false;  // for the kernel before
  // What it waits for.
  emulator::meeting kind{};
  int line = 0;
  unsigned mask = 0;
  int source = -1;
  emulator::word value = 0, result = 0;
  // Copies that it has not waited for, and how many groups of them it has closed.
  std::vector<late_copy> copies;
  std::uint64_t groups = 0;
};

inline const char* name_of(emulator::meeting kind) {
  switch (kind) {
    case emulator::meeting::sync_warp:
      return "__syncwarp";
    case emulator::meeting::shuffle:
      return "shuffle";
    case emulator::meeting::vote:
      return "vote";
    case emulator::meeting::sync_cluster:
      return "__cluster_barrier_wait";
    default:
      return "__syncthreads";
  }
}

// A generator of a few instructions: the order has to differ, not to be good.
struct order_source {
  std::uint64_t state;
  std::uint64_t next() {
    state += 0x9e3779b97f4a7c15u;
    std::uint64_t mixed = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9u;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
    return mixed ^ (mixed >> 31);
  }
  template <class T>
  void permute(std::vector<T>& items) {
    for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[next() % i]);
  }
};

}  // namespace detail
}  // namespace KILN_EMULATOR_SWITCH
}  // namespace emulate
