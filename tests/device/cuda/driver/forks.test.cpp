// SPDX-License-Identifier: BSL-1.0
// Children of a process that has started CUDA, over the stand-in: they are told, whatever other threads of the parent
// hold at that moment, and what they destroy asks the driver for nothing.
#include <kiln/device/cuda/driver/forks.hpp>
#include <kiln/device/cuda/memory/memory.hpp>
#include <kiln/device/cuda/memory/memory_pinned.hpp>
#include <kiln/device/cuda/run/draw_offset.hpp>
#include <kiln/device/cuda/run/fault.hpp>
#include <kiln/device/cuda/run/graph.hpp>

#include <cuda_emulator/stand_in.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "support/child.hpp"

using namespace kiln::cuda;
using kiln::Cuda;

namespace {

// Whether `work` throws what a child is to read.
template <class Work>
bool refused(Work work) {
  try {
    work();
  } catch (const kiln::device_error& caught) {
    return std::string(caught.what()).find("child of a fork") != std::string::npos;
  }
  return false;
}

}  // namespace

TEST_CASE("forks: a child starts CUDA if its parent has not") {
  emulate::stand_in();
  if (detail::driver_generation != 0) return;  // other cases of this program came first
  if (emulate::skip_on_gpu("what a driver leaves behind in a child is its own affair")) return;
  CHECK(kiln::support::run_in_child([] { return kiln::cuda_available() && new_storage(100) ? 0 : 1; }) == 0);
}

TEST_CASE("forks: the child of a process that has started CUDA is told so by whatever it calls") {
  emulate::stand_in();
  const stream where = current_stream(Cuda{});
  const kiln::ref<kiln::storage> block = new_storage(100), pinned = new_pinned_storage(100);
  event mark(Cuda{});
  mark.record(where);
  CHECK(kiln::support::run_in_child([&] {
          if (kiln::cuda_available() || kiln::cuda_device_count() != 0) return 1;
          if (kiln::cuda_unavailable_reason().find("child of a fork") == std::string::npos) return 2;
          if (!refused([] { driver(); }) || !refused([] { check_device(Cuda{}); })) return 3;
          if (!refused([] { new_storage(100); }) || !refused([] { new_pinned_storage(100); })) return 4;
          if (!refused([&] { where.synchronize(); }) || !refused([] { stream::create(Cuda{}); })) return 5;
          if (!refused([&] { mark.synchronize(); }) || !refused([] { event(Cuda{}); })) return 6;
          if (!refused([] { memory_stats(); }) || !refused([] { empty_cache(); })) return 7;
          if (!refused([] { pinned_memory_stats(); }) || !refused([] { empty_pinned_cache(); })) return 8;
          if (!refused([] { fault_word(Cuda{}, "x0 / x1"); }) || !refused([] { draw_offset(Cuda{}); })) return 9;
          if (!refused([&] { record_use(*block, stream::of(Cuda{}, nullptr)); })) return 10;
          if (!refused([] { context_of(Cuda{}); }) || !refused([] { connect(Cuda{0}, Cuda{1}); })) return 11;
          if (!refused([] { capture([] {}); }) || !refused([] { synchronize(Cuda{}); })) return 12;
          char byte = 0;
          return refused([&] { copy_to_host(&byte, block->data, 1, where); }) ? 0 : 13;
        }) == 0);
  // What the parent has goes on.
  where.synchronize();
  CHECK(mark.finished());
}

TEST_CASE("forks: what a child destroys asks the driver for nothing") {
  const auto& device = emulate::stand_in();
  if (emulate::skip_on_gpu("it counts calls")) return;
  std::optional<stream> where(stream::create(Cuda{}));
  std::optional<event> mark(Cuda{});
  kiln::ref<kiln::storage> block = new_storage(100, *where), large = new_storage(std::size_t{64} << 20),
                           used = new_storage(100), pinned = new_pinned_storage(100);
  record_use(*used, *where);
  std::optional<graph> recorded(capture([&] { fill_bytes(large->data, 0, 100, current_stream(Cuda{})); }));
  CHECK(kiln::support::run_in_child([&] {
          const auto calls = [&] {
            long long all = 0;
            for (const char* name :
                 {"cuMemFree_v2", "cuMemFreeHost", "cuStreamDestroy_v2", "cuEventDestroy_v2", "cuEventCreate",
                  "cuEventRecord", "cuEventQuery", "cuGraphExecDestroy", "cuCtxGetCurrent"})
              all += device.count(name);
            return all;
          };
          const long long before = calls();
          {
            const stream_scope chosen(*where);
            const detail::pool_scope pool(detail::new_pool(Cuda{}));
          }
          recorded.reset();
          block = {};
          large = {};
          used = {};
          pinned = {};
          mark.reset();
          where.reset();
          return calls() == before ? 0 : 1;
        }) == 0);
  const long long before = device.count("cuGraphExecDestroy");
  recorded.reset();
  CHECK(device.count("cuGraphExecDestroy") == before + 1);
}

TEST_CASE("forks: no child waits for what another thread of its parent holds") {
  emulate::stand_in();
  std::atomic<bool> over{false};
  std::vector<std::thread> busy;
  for (int t = 0; t < 3; ++t)
    busy.emplace_back([&] {
      const stream own = stream::create(Cuda{});
      while (!over) {
        new_storage(1000, own);
        new_pinned_storage(5000);
        memory_stats();
      }
    });
  int wrong = 0;
  for (int i = 0; i < 60; ++i)
    wrong += kiln::support::run_in_child([] {
               return refused([] { memory_stats(); }) && refused([] { pinned_memory_stats(); }) &&
                              refused([] { new_storage(1000); })
                          ? 0
                          : 1;
             }) != 0;
  over = true;
  for (std::thread& t : busy) t.join();
  CHECK(wrong == 0);
}

TEST_CASE("forks: the lock of the device's memory may be taken again by who holds it") {
  detail::recursive_device_lock lock;
  int sum = 0;
  const auto add = [&] {
    for (int i = 0; i < 5000; ++i) {
      lock.lock();
      lock.lock();
      ++sum;
      lock.unlock();
      ++sum;
      lock.unlock();
    }
  };
  std::thread other(add);
  add();
  other.join();
  CHECK(sum == 20000);
}
