// SPDX-License-Identifier: BSL-1.0
// A plugin over kiln: a library with a copy of its own of all that kiln is in a process.
#include <kiln/device/cpu/memory/memory.hpp>
#include <kiln/device/cpu/threads/threads.hpp>

#include <atomic>
#include <cstdint>
#include <new>

extern "C" [[gnu::weak]] void __lsan_ignore_object(const void* object);  // there in a program under LeakSanitizer
extern "C" [[gnu::visibility("default")]] std::int64_t plugin_sum(std::int64_t count);
extern "C" [[gnu::visibility("default")]] int plugin_threads();

namespace {

/// Tells LeakSanitizer that the calling thread's copy of this library's thread-local memory is in use. The loader
/// allocates it, and only the C library's table points to it, which the sanitizer does not search here (CMakeLists).
/// Its own suppression needs llvm-symbolizer for the name of the loader's function.
void keep_thread_local_memory() {
  thread_local char in_it = 0;
  if (&__lsan_ignore_object != nullptr) __lsan_ignore_object(&in_it);
}

}  // namespace

/// The sum of the numbers below `count`, with four threads, by way of memory from the pool.
std::int64_t plugin_sum(std::int64_t count) {
  keep_thread_local_memory();
  kiln::set_num_threads(4);
  const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(std::int64_t);
  std::int64_t* const numbers = static_cast<std::int64_t*>(kiln::cpu::allocate(bytes));
  std::atomic<std::int64_t> sum{0};
  kiln::cpu::parallel_for(count, 16, [&](std::int64_t begin, std::int64_t end) {
    std::int64_t part = 0;
    for (std::int64_t i = begin; i < end; ++i) part += *new (numbers + i) std::int64_t(i);
    sum += part;
  });
  kiln::cpu::deallocate(numbers, bytes);
  return sum;
}

/// Starts the threads, and nothing else: the caller's thread keeps nothing that would hold the library.
int plugin_threads() {
  kiln::set_num_threads(4);
  std::atomic<int> chunks{0};
  kiln::cpu::parallel_for(64, 1,
                          [&](std::int64_t begin, std::int64_t end) { chunks += static_cast<int>(end - begin); });
  return chunks;
}
