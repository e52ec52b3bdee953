// SPDX-License-Identifier: BSL-1.0
// Memory of the CPU device: a pool that keeps what it was given, since a fresh page costs far more than a kernel.
// What a user's file needs of it; memory_impl.hpp, memory_pool.hpp and memory_spans.hpp are how it is done.
#pragma once

#include <cstddef>

#include <kiln/core/version.hpp>
#include <kiln/device/cpu/memory/memory_statistics.hpp>

namespace kiln::cpu {

/// A block of at least `bytes` bytes, aligned to 64 (to 2 MiB, and advised to huge pages, from 2 MiB on). Its content
/// is whatever was there. Zero bytes are legal and give a block that must be freed like any other.
/// Throws memory_error when the system has no memory, after the cache was emptied.
void* allocate(std::size_t bytes);

/// Gives a block of allocate() back; `bytes` must be what was asked for. Any thread may do so. Null is ignored.
void deallocate(void* block, std::size_t bytes) noexcept;

/// Numbers of the moment, over all threads.
memory_statistics memory_stats();

/// Returns all cached blocks to the system, except the few small ones that other threads keep for themselves.
void empty_cache();

/// How many bytes the shared level may keep for reuse: unless set, a quarter of the memory that this process may use,
/// which is the machine's or less if a control group says so. It keeps less where that memory runs short. Zero keeps
/// nothing but the small blocks (at most 64 KiB each, 4 MiB together) that each thread has at hand.
void set_cache_limit(std::size_t bytes);

/// For tests: every block is handed out filled with this byte (0 to 255), so that a read of memory that nobody wrote
/// shows: 255 makes floating-point values NaN. A negative value, the default, turns it off.
void set_memory_fill(int byte);

}  // namespace kiln::cpu

#ifndef KILN_COMPILED
#include <kiln/device/cpu/memory/memory_impl.hpp>
#endif
