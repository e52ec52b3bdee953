// SPDX-License-Identifier: BSL-1.0
// The definitions of memory.hpp.
#pragma once

#include <kiln/core/storage_part.hpp>
#include <kiln/device/cuda/memory/memory.hpp>

namespace kiln::cuda {

namespace detail {

KILN_INLINE std::atomic<bool>& caching_is_on() {
  static std::atomic<bool> on = environment("KILN_MEMORY_CACHE") != "0";
  return on;
}

KILN_INLINE ref<memory_pool> new_pool(Cuda where) {
  auto* pool = new memory_pool;
  pool->device = where;
  pool->end = &end_pool;
  return ref<memory_pool>::adopt(pool);
}

struct device_memory {
  // Recursive, since the last block of a graph's pool ends the pool.
  recursive_device_lock mutex;
  Cuda device;
  ref<memory_pool> general;
  memory_statistics counts;
  std::size_t held = 0;  // taken from the driver
  std::vector<waiting_block> waiting;
  std::vector<memory_pool*> ended;  // while a graph was captured, to be freed after

  explicit device_memory(Cuda where) : device(where), general(new_pool(where)) {}

  // Never destroyed: static tensors may be freed after every other static object is gone.
  static device_memory& of(Cuda where) {
    check_device(where);
    static const std::vector<device_memory*>& all = *new std::vector<device_memory*>([] {
      std::vector<device_memory*> made;
      for (int i = 0; i < cuda_device_count(); ++i) made.push_back(new device_memory(Cuda{i}));
      return made;
    }());
    return *all[static_cast<std::size_t>(where.index)];
  }

  memory_block* allocate(std::size_t bytes, const stream& where, memory_pool* chosen) {
    const std::lock_guard lock(mutex);
    collect(false);
    memory_pool& pool = chosen != nullptr ? *chosen : *general;
    const bool direct = !caching_is_on();
    const std::size_t size =
        direct ? std::max<std::size_t>(bytes, 1) : round_up(std::max<std::size_t>(bytes, 1), block_step);
    memory_block* block = direct ? nullptr : pool.take(size, where);
    if (block == nullptr) block = request(pool, size, where, direct, bytes);
    block->pool = ref<memory_pool>(&pool);
    counts.in_use += block->size;
    counts.peak = std::max(counts.peak, counts.in_use);
    ++counts.allocations;
    return block;
  }

  void release(memory_block* block) noexcept {
    if (lost_by_fork()) return;  // it is the parent's
    // Work that waits may use it: what marks that work, or gives the memory back to the driver, comes after it.
    if (deferred != nullptr && (block->direct || !block->users.empty()) && defer([this, block] { release(block); }))
      return;
    const std::lock_guard lock(mutex);
    counts.in_use -= block->size;
    waiting_block left{block, std::move(block->pool), {}};
    try {
      // The driver must not be asked while a graph is captured.
      if (block->users.empty() && !(block->direct && capturing)) return give_back(left);
      if (!capturing) mark(left);  // else later: an event of a capture cannot be asked
      waiting.push_back(std::move(left));
    } catch (...) {  // no memory for an event, or a failed device: wait, which cannot be wrong
      if (device_is_idle()) give_back(left);
    }
  }

  // Gives blocks back that other streams are done with; with `wait`, all of them. Not while a graph is captured, when
  // the driver must not be asked.
  void collect(bool wait) {
    if (capturing) return;
    // Before anything here is looked at, since what is deferred allocates and frees.
    if (wait || !ended.empty() || !waiting.empty()) run_deferred();
    while (!ended.empty()) {
      memory_pool* const pool = ended.back();
      ended.pop_back();
      free_segments(*pool);
      delete pool;
    }
    for (std::size_t i = waiting.size(); i-- > 0;) {
      waiting_block& left = waiting[i];
      if (!left.marked) mark(left);
      if (wait) {
        for (const event& mark : left.marks) mark.synchronize();
      } else if (!std::all_of(left.marks.begin(), left.marks.end(), [](const event& m) { return m.finished(); })) {
        continue;
      }
      give_back(left);
      std::swap(left, waiting.back());
      waiting.pop_back();
    }
  }

  void free_segments(memory_pool& pool) {
    run_deferred();  // it may use what is free by now
    const device_scope scope(device);
    for (const auto& [start, size] : pool.take_free_segments()) {
      held -= size;
      driver().memory_free(start);  // nothing can be done about a failure
    }
  }

 private:
  static void mark(waiting_block& left) {
    for (const stream& user : left.block->users) {
      left.marks.emplace_back(user.device());
      left.marks.back().record(user);
    }
    left.marked = true;
  }

  void give_back(waiting_block& left) {
    memory_block* const block = left.block;
    if (!block->direct) return left.pool->give_back(block);
    const device_scope scope(device);
    driver().memory_free(block->start);
    held -= block->size;
    delete block;
  }

  bool device_is_idle() noexcept {
    try {
      synchronize(device);
      return true;
    } catch (...) {
      return false;
    }
  }

  memory_block* request(memory_pool& pool, std::size_t size, const stream& where, bool direct, std::size_t bytes) {
    if (capturing) {
      throw device_error(message("capture: ", bytes,
                                 " bytes would have to be asked of the driver, which a graph cannot; "
                                 "let capture() run the work once more before (warm_ups), with the same shapes"));
    }
    const device_scope scope(device);
    device_pointer start = 0;
    std::size_t segment = direct ? size : segment_size(size);
    driver_result result = driver().memory_allocate(&start, segment);
    if (result == driver_result::out_of_memory) {
      ++counts.retries;
      collect(true);
      free_segments(*general);
      result = driver().memory_allocate(&start, segment);
    }
    if (result == driver_result::out_of_memory && segment > size) {
      // The room for others in a shared segment is a convenience; this block alone may still fit.
      segment = size;
      result = driver().memory_allocate(&start, segment);
    }
    if (result == driver_result::out_of_memory) throw memory_error(out_of_memory(bytes));
    check(result, "cuMemAlloc");
    held += segment;
    ++counts.driver_requests;
    return pool.add(start, segment, size, where, direct);
  }

  std::string out_of_memory(std::size_t bytes) const {
    std::size_t unused = 0, total = 0;
    driver().memory_get_info(&unused, &total);
    return message("allocate: device ", device.index, " (", properties(device).name, ") has no ", bytes, " bytes: of ",
                   total, " tensors use ", counts.in_use, ", kiln keeps ", held - counts.in_use,
                   " in parts that do not fit, ", unused,
                   " are free, the rest is other programs' or the driver's; use smaller tensors or batches, free "
                   "some, or stop other programs on the device");
  }
};

KILN_INLINE void end_pool(memory_pool* pool) noexcept {
  if (lost_by_fork()) return;
  device_memory& memory = device_memory::of(pool->device);
  const std::lock_guard lock(memory.mutex);
  try {
    if (capturing) return memory.ended.push_back(pool);
    memory.free_segments(*pool);
  } catch (...) {  // the device is gone, and its memory with it
  }
  delete pool;
}

KILN_INLINE memory_block* block_of(const storage& owned) {
  return static_cast<memory_block*>(owned.owner);
}

KILN_INLINE void release_storage(storage* block) noexcept {
  if (!lost_by_fork()) device_memory::of(block_of(*block)->pool->device).release(block_of(*block));
  delete block;
}

}  // namespace detail

KILN_INLINE ref<storage> new_storage(std::size_t bytes, const stream& where) {
  if (bytes > detail::largest_allocation) {
    throw memory_error(message("allocate: ", bytes, " bytes are more than any device has; use smaller tensors"));
  }
  detail::memory_pool* const pool =
      detail::chosen_pool != nullptr && detail::chosen_pool->device == where.device() ? detail::chosen_pool : nullptr;
  detail::memory_block* const block = detail::device_memory::of(where.device()).allocate(bytes, where, pool);
  auto* made = new storage;
  made->data = reinterpret_cast<void*>(block->start);
  made->bytes = bytes;
  made->device = where.device().index;
  made->release = &detail::release_storage;
  made->owner = block;
  return ref<storage>::adopt(made);
}

KILN_INLINE ref<storage> new_storage(std::size_t bytes, Cuda device) {
  return new_storage(bytes, current_stream(device));
}

KILN_INLINE Cuda device_of(const storage& memory) {
  return {memory.device};
}

KILN_INLINE void record_use(const storage& of, const stream& user) {
  const storage& memory = kiln::detail::whole_of(of);
  if (memory.release != &detail::release_storage) return;  // another owner's
  detail::memory_block* const block = detail::block_of(memory);
  if (block->home == user.state()) return;
  const std::lock_guard lock(detail::device_memory::of(block->home->device).mutex);
  if (std::find(block->users.begin(), block->users.end(), user) == block->users.end()) block->users.push_back(user);
}

KILN_INLINE memory_statistics memory_stats(Cuda device) {
  detail::device_memory& memory = detail::device_memory::of(device);
  const std::lock_guard lock(memory.mutex);
  memory_statistics result = memory.counts;
  result.cached = memory.held - result.in_use;
  return result;
}

KILN_INLINE void empty_cache(Cuda device) {
  detail::refuse_in_capture("empty_cache");
  detail::device_memory& memory = detail::device_memory::of(device);
  const std::lock_guard lock(memory.mutex);
  memory.collect(true);
  memory.free_segments(*memory.general);
}

KILN_INLINE void set_memory_caching(bool on) {
  detail::caching_is_on() = on;
}

}  // namespace kiln::cuda
