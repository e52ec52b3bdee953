// SPDX-License-Identifier: BSL-1.0
// Primary contexts over the stand-in with its two devices.
#include <kiln/device/cuda/driver/context.hpp>

#include <kiln/device/cuda/driver/event.hpp>
#include <kiln/device/cuda/driver/stream.hpp>
#include <kiln/device/cuda/memory/memory_copy.hpp>
#include <kiln/device/cuda/memory/memory_pinned.hpp>

#include <cuda_emulator/stand_in.hpp>

#include <doctest/doctest.h>

#include <optional>

using kiln::Cuda;
using kiln::cuda::context_handle;
using kiln::cuda::driver;

TEST_CASE("each device has one primary context, retained once") {
  if (emulate::lacks_second_device()) return;
  const auto& device = emulate::stand_in();
  const context_handle first = kiln::cuda::context_of(Cuda{0}), second = kiln::cuda::context_of(Cuda{1});
  CHECK(first != second);
  const long long retained = device.emulated() ? device.count("cuDevicePrimaryCtxRetain") : 0;
  CHECK(kiln::cuda::context_of(Cuda{0}) == first);
  if (device.emulated()) CHECK(device.count("cuDevicePrimaryCtxRetain") == retained);
  CHECK_THROWS_AS(kiln::cuda::context_of(Cuda{99}), kiln::device_error);
}

TEST_CASE("a device scope leaves the thread's context as it was") {
  if (emulate::lacks_second_device()) return;
  emulate::stand_in();
  context_handle now = nullptr;
  driver().context_set_current(nullptr);
  {
    const kiln::cuda::device_scope outer(Cuda{1});
    driver().context_get_current(&now);
    CHECK(now == kiln::cuda::context_of(Cuda{1}));
    {
      const kiln::cuda::device_scope inner(Cuda{0});
      driver().context_get_current(&now);
      CHECK(now == kiln::cuda::context_of(Cuda{0}));
    }
    driver().context_get_current(&now);
    CHECK(now == kiln::cuda::context_of(Cuda{1}));
  }
  driver().context_get_current(&now);
  CHECK(now == nullptr);
}

TEST_CASE("a thread without a context keeps that of device 0, as from CUDA's runtime, and no other device's") {
  const auto& device = emulate::stand_in();
  context_handle now = nullptr;
  driver().context_set_current(nullptr);
  const auto changes = [&] { return device.emulated() ? device.count("cuCtxSetCurrent") : 0; };
  const long long before = changes();
  for (int i = 0; i < 3; ++i) const kiln::cuda::device_scope scope(Cuda{0});
  if (device.emulated()) CHECK(changes() - before == 1);
  driver().context_get_current(&now);
  CHECK(now == kiln::cuda::context_of(Cuda{0}));
  if (emulate::lacks_second_device()) return;
  driver().context_set_current(nullptr);
  { const kiln::cuda::device_scope scope(Cuda{1}); }
  driver().context_get_current(&now);
  CHECK(now == nullptr);
  // What the program chose itself is never changed.
  driver().context_set_current(kiln::cuda::context_of(Cuda{1}));
  { const kiln::cuda::device_scope scope(Cuda{0}); }
  driver().context_get_current(&now);
  CHECK(now == kiln::cuda::context_of(Cuda{1}));
  driver().context_set_current(nullptr);
}

TEST_CASE("devices are connected once, and not with themselves") {
  if (emulate::lacks_second_device()) return;
  const auto& device = emulate::stand_in();
  for (int i = 0; i < 2; ++i) kiln::cuda::connect(Cuda{0}, Cuda{1});
  kiln::cuda::connect(Cuda{0}, Cuda{0});
  if (device.emulated()) CHECK(device.count("cuCtxEnablePeerAccess") == 1);
}

TEST_CASE("handles end in the context of their device, whichever is current") {
  if (emulate::lacks_second_device()) return;
  const auto& device = emulate::stand_in();
  std::optional own(kiln::cuda::stream::create(Cuda{1}));
  std::optional<kiln::cuda::event> mark(Cuda{1});
  mark->record(*own);
  kiln::ref<kiln::storage> pinned = kiln::cuda::new_pinned_storage(100, Cuda{1});
  kiln::ref<kiln::storage> block = kiln::cuda::new_storage(std::size_t{64} << 20, *own);
  for (const context_handle elsewhere : {kiln::cuda::context_of(Cuda{0}), context_handle{}}) {
    driver().context_set_current(elsewhere);
    mark.reset();
    block = nullptr;
    kiln::cuda::empty_cache(Cuda{1});
    own.reset();
    pinned = nullptr;
    kiln::cuda::empty_pinned_cache();
    context_handle now = nullptr;
    driver().context_get_current(&now);
    CHECK(now == elsewhere);
    own.emplace(kiln::cuda::stream::create(Cuda{1}));
    mark.emplace(Cuda{1});
  }
  if (!device.emulated()) return;
  CHECK(device.count("cuEventDestroy_v2") >= 2);
  CHECK(device.count("cuStreamDestroy_v2") >= 1);
  CHECK(device.count("cuMemFreeHost") == 1);
  CHECK(device.wrong_contexts() == 0);
}
