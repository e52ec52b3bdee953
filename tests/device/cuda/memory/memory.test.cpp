// SPDX-License-Identifier: BSL-1.0
// Memory of the device over the stand-in: reuse in a stream's order, other streams waited for, and running out.
#include <kiln/device/cuda/memory/memory.hpp>

#include <cuda_emulator/stand_in.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using kiln::Cuda;
using kiln::ref;
using kiln::storage;
using kiln::cuda::current_stream;
using kiln::cuda::memory_stats;
using kiln::cuda::new_storage;
using kiln::cuda::stream;

namespace {

constexpr std::size_t mega = std::size_t{1} << 20;

// Nothing cached, nothing in use, no faults.
const emulate::stand_in_library& fresh() {
  const auto& device = emulate::stand_in();
  kiln::cuda::empty_cache(Cuda{0});
  if (kiln::cuda_device_count() > 1) kiln::cuda::empty_cache(Cuda{1});
  device.reset();
  return device;
}

}  // namespace

TEST_CASE("small tensors share one segment of the driver") {
  const auto& device = fresh();
  {
    std::vector<ref<storage>> many;
    for (int i = 0; i < 1000; ++i) many.push_back(new_storage(1000));
    if (device.emulated()) CHECK(device.count("cuMemAlloc_v2") == 1);
    if (device.emulated()) CHECK_THROWS_AS(device.count("cuMemAlloc"), std::logic_error);  // nobody calls it so
    for (std::size_t i = 1; i < many.size(); ++i) CHECK(many[i]->data != many[i - 1]->data);
    CHECK(reinterpret_cast<std::uintptr_t>(many[7]->data) % 512 == 0);
    CHECK(many[7]->bytes == 1000);
    CHECK(memory_stats().in_use == 1024 * 1000);
    CHECK(kiln::cuda::device_of(*many[7]) == Cuda{0});
  }
  CHECK(memory_stats().in_use == 0);
  CHECK(memory_stats().cached == 2 * mega);
  if (device.emulated()) CHECK(device.count("cuMemFree_v2") == 0);
  kiln::cuda::empty_cache();
  CHECK(memory_stats().cached == 0);
  if (device.emulated()) CHECK(device.memory() == 0);
}

TEST_CASE("a freed block is reused by its own stream at once, without waiting") {
  const auto& device = fresh();
  const void* first = new_storage(5 * mega)->data;
  const ref<storage> second = new_storage(5 * mega);
  CHECK(second->data == first);
  if (!device.emulated()) return;
  CHECK(device.count("cuMemAlloc_v2") == 1);
  CHECK(device.count("cuStreamSynchronize") + device.count("cuEventSynchronize") + device.count("cuCtxSynchronize") ==
        0);
}

TEST_CASE("another stream does not get a block that its own stream may still use") {
  fresh();
  const stream other = stream::create(Cuda{0});
  const void* first = new_storage(5 * mega)->data;
  CHECK(new_storage(5 * mega, other)->data != first);
}

TEST_CASE("a block that another stream uses is kept until that stream is past") {
  if (emulate::skip_on_gpu("a GPU may have done the work before this looks")) return;
  fresh();
  const stream other = stream::create(Cuda{0});
  ref<storage> memory = new_storage(5 * mega);
  const void* const place = memory->data;
  kiln::cuda::driver().fill_bytes(reinterpret_cast<std::uintptr_t>(place), 1, 100, other.handle());
  kiln::cuda::record_use(*memory, other);
  memory = nullptr;
  const ref<storage> next = new_storage(5 * mega);
  CHECK(next->data != place);
  other.synchronize();
  CHECK(new_storage(5 * mega)->data == place);
}

TEST_CASE("a use in the block's own stream keeps nothing") {
  fresh();
  ref<storage> memory = new_storage(5 * mega);
  const void* const place = memory->data;
  kiln::cuda::record_use(*memory, current_stream(Cuda{0}));
  memory = nullptr;
  CHECK(new_storage(5 * mega)->data == place);
}

TEST_CASE("when the driver has no memory the cache is emptied and the request repeated") {
  if (emulate::skip_on_gpu("it limits the memory of the device")) return;
  const auto& device = fresh();
  device.set("memory", 64 * mega);
  (void)new_storage(40 * mega);  // cached now
  const ref<storage> other_size = new_storage(50 * mega);
  CHECK(memory_stats().retries >= 1);
  CHECK(memory_stats().in_use == 50 * mega);
  CHECK(memory_stats().cached == 0);
}

TEST_CASE("memory that another stream holds is waited for before giving up") {
  if (emulate::skip_on_gpu("it limits the memory of the device")) return;
  const auto& device = fresh();
  device.set("memory", 64 * mega);
  const stream other = stream::create(Cuda{0});
  ref<storage> memory = new_storage(40 * mega);
  kiln::cuda::driver().fill_bytes(reinterpret_cast<std::uintptr_t>(memory->data), 1, 100, other.handle());
  kiln::cuda::record_use(*memory, other);
  memory = nullptr;
  CHECK_NOTHROW((void)new_storage(50 * mega));
}

TEST_CASE("running out of memory is an error with the numbers, and the next request works") {
  if (emulate::skip_on_gpu("it limits the memory of the device")) return;
  const auto& device = fresh();
  device.set("memory", 64 * mega);
  const ref<storage> held = new_storage(30 * mega);
  std::string words;
  try {
    (void)new_storage(40 * mega);
  } catch (const kiln::memory_error& caught) {
    words = caught.what();
  }
  INFO(words);
  for (const char* part : {"device 0 (kiln stand-in)", "has no 41943040 bytes", "of 67108864", "tensors use 31457280"})
    CHECK(words.find(part) != words.npos);
  CHECK_NOTHROW((void)new_storage(20 * mega));
  CHECK_THROWS_AS((void)new_storage(std::size_t{1} << 50), kiln::memory_error);
}

TEST_CASE("a small tensor fits where no whole segment does") {
  if (emulate::skip_on_gpu("it limits the memory of the device")) return;
  const auto& device = fresh();
  device.set("memory", 64 * mega);
  const ref<storage> most = new_storage(62 * mega), little = new_storage(mega);
  device.set("memory", 64 * mega + 512 * 1024);
  const ref<storage> middle = new_storage(1000);
  CHECK(middle->data != nullptr);
}

TEST_CASE("each device has memory of its own") {
  if (emulate::lacks_second_device()) return;
  fresh();
  const ref<storage> first = new_storage(mega, Cuda{0}), second = new_storage(mega, Cuda{1});
  CHECK(kiln::cuda::device_of(*second) == Cuda{1});
  CHECK(memory_stats(Cuda{0}).in_use == mega);
  CHECK(memory_stats(Cuda{1}).in_use == mega);
  CHECK_THROWS_AS(new_storage(1, Cuda{99}), kiln::device_error);
}

TEST_CASE("no bytes are a block like any other") {
  fresh();
  const ref<storage> none = new_storage(0);
  CHECK(none->bytes == 0);
  CHECK(none->data != nullptr);
}

TEST_CASE("without caching each tensor has a block of exactly its size") {
  const auto& device = fresh();
  kiln::cuda::set_memory_caching(false);
  {
    const ref<storage> odd = new_storage(1001);
    if (device.emulated()) CHECK(device.memory() == 1001);
  }
  kiln::cuda::set_memory_caching(true);
  if (device.emulated()) CHECK(device.memory() == 0);
  CHECK(memory_stats().in_use == 0);
}

TEST_CASE("threads take and free blocks at once, also each other's") {
  fresh();
  std::vector<ref<storage>> handed(64);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < 4; ++t)
    threads.emplace_back([&handed, t] {
      for (std::size_t i = 0; i < 500; ++i) handed[t * 16 + i % 16] = new_storage((i * 7919 + t) % (3 * mega));
    });
  for (auto& thread : threads) thread.join();
  handed.clear();
  CHECK(memory_stats().in_use == 0);
  kiln::cuda::empty_cache();
  CHECK(memory_stats().cached == 0);
}
