// SPDX-License-Identifier: BSL-1.0
// Pinned memory: kept for reuse, but not while a copy is under way.
#include <kiln/device/cuda/memory/memory_pinned.hpp>

#include <kiln/device/cuda/memory/memory_copy.hpp>

#include <cuda_emulator/stand_in.hpp>

#include <doctest/doctest.h>

using kiln::Cuda;
using kiln::ref;
using kiln::storage;
using kiln::cuda::new_pinned_storage;
using kiln::cuda::pinned_memory_stats;
using kiln::cuda::stream;

TEST_CASE("freed pinned memory is used again") {
  const auto& device = emulate::stand_in();
  kiln::cuda::empty_pinned_cache();
  const void* const first = new_pinned_storage(10'000)->data;
  const ref<storage> second = new_pinned_storage(16'000);
  CHECK(second->data == first);
  CHECK(kiln::cuda::is_pinned(*second));
  if (device.emulated()) CHECK(device.count("cuMemHostAlloc") == 1);
  CHECK(pinned_memory_stats().in_use == 16'384);
}

TEST_CASE("pinned memory whose copy is under way is not handed out") {
  if (emulate::skip_on_gpu("a GPU may have done the work before this looks")) return;
  emulate::stand_in();
  kiln::cuda::empty_pinned_cache();
  const stream own = stream::create(Cuda{0});
  const ref<storage> there = kiln::cuda::new_storage(8192, own);
  ref<storage> here = new_pinned_storage(8192);
  const void* const place = here->data;
  kiln::cuda::copy_to_device(there->data, here->data, 8192, own);
  kiln::cuda::record_pinned_use(*here, own);
  here = nullptr;
  const ref<storage> next = new_pinned_storage(8192);
  CHECK(next->data != place);
  own.synchronize();
  CHECK(new_pinned_storage(8192)->data == place);
}

TEST_CASE("a system that pins no more is an error with the size, after the cache was emptied") {
  if (emulate::skip_on_gpu("it lets the driver fail")) return;
  const auto& device = emulate::stand_in();
  kiln::cuda::empty_pinned_cache();
  device.reset();
  (void)new_pinned_storage(5000);
  device.set("fail_host_allocation", 1);
  CHECK_NOTHROW((void)new_pinned_storage(50'000));
  CHECK(device.count("cuMemFreeHost") == 1);
  CHECK_THROWS_AS((void)new_pinned_storage(std::size_t{1} << 60), kiln::memory_error);
}
