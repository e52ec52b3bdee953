// SPDX-License-Identifier: BSL-1.0
// What the device side (device.hpp, compiled with the kernels) and the host side (block.hpp, the scheduler) know of
// each other: plain data and function pointers, so that the two may live in different shared objects. No include, since
// the kernels must compile without any.
#pragma once

namespace emulator {

using word = unsigned long long;
using bytes = decltype(sizeof 0);

/// What a thread waits for together with others.
enum class meeting {
  sync_threads,
  sync_threads_and,
  sync_threads_or,
  sync_threads_count,
  sync_cluster,
  sync_warp,
  shuffle,
  vote
};

/// What the scheduler does for a running kernel. All of it runs on the stack of the calling thread's fiber.
struct services {
  /// All threads of the block meet, or those of its cluster; the result is that of the vote over `predicate`.
  int (*barrier)(meeting kind, int line, int predicate);
  /// The lanes of `mask` meet. shuffle: the value of `source`, a lane of the warp; vote: bit i is lane i's value.
  word (*warp)(meeting kind, int line, unsigned mask, word value, int source);
  /// Lets the other threads run.
  void (*yield)();
  /// Called before each access in code that is compiled with checks.
  void (*access)(const void* address, bytes size, bool write);
  /// Called before each atomic operation.
  void (*atomic)(const void* address, bytes size);
  /// Ends the launch with this text.
  void (*fail)(const char* text);
  /// __threadfence: what the block did so far comes before its next atomic operation, for all others.
  void (*fence)();
  /// Where block `rank` of the cluster has what lies at this place of shared memory.
  void* (*peer)(const void* place, unsigned rank);
  /// cp.async: copies `size` bytes to shared memory, and zeros up to `whole`, but not before the thread waits for it.
  void (*copy_async)(void* to, const void* from, bytes size, bytes whole);
  /// Closes the group of the thread's copies since the last call.
  void (*commit_copies)();
  /// Lets all groups of the thread arrive but the latest ones.
  void (*wait_for_copies)(bytes latest);
  /// griddepcontrol.wait: the kernel before this one has ended.
  void (*grid_wait)();
};

/// A kernel behind the parameters that the driver takes: a pointer to each argument.
using entry = void (*)(void** arguments);

/// A kernel, how many bytes each of its parameters has, which is what a launch has to copy, how many threads of a block
/// it is compiled for, and a 'r' for each parameter that is read through the read-only cache, `const T* __restrict__`.
/// `declared_shared`: bytes of shared memory that it declares, -1 if its text does not tell.
struct kernel {
  entry run;
  const bytes* sizes;
  bytes count;
  bytes most_threads = 1024;
  const char* read_only = "";
  unsigned cluster = 1;  // blocks, along x
  long declared_shared = -1;
};

/// What the lanes of each warp of a block show each other in an instruction that they do together (device_mma.hpp).
struct lane_exchange {
  unsigned registers[32][32][6];
  const void* rows[32][32];
};

/// Where a unit of device code keeps what the scheduler sets, and its shared memory.
struct device_view {
  services* host;
  unsigned *thread_index, *block_index, *block_size, *grid_size;  // x, y, z each
  void** dynamic_shared;
  void** exchange;  // a lane_exchange
  char *shared_begin, *shared_end;
  bool checked;  // whether all accesses are announced
};

}  // namespace emulator
