// SPDX-License-Identifier: BSL-1.0
// Streams: which is current where, and what waits.
#include <kiln/device/cuda/driver/stream.hpp>

#include <cuda_emulator/stand_in.hpp>

#include <doctest/doctest.h>

#include <thread>

using kiln::Cuda;
using kiln::cuda::current_stream;
using kiln::cuda::stream;

TEST_CASE("the current stream is one per device unless a scope says otherwise") {
  if (emulate::lacks_second_device()) return;
  emulate::stand_in();
  CHECK(current_stream(Cuda{0}) == current_stream(Cuda{0}));
  CHECK(current_stream(Cuda{1}).device() == Cuda{1});
  const stream own = stream::create(Cuda{0}), inner = stream::create(Cuda{0});
  {
    const kiln::cuda::stream_scope scope(own);
    CHECK(current_stream(Cuda{0}) == own);
    {
      const kiln::cuda::stream_scope nested(inner);
      CHECK(current_stream(Cuda{0}) == inner);
    }
    CHECK(current_stream(Cuda{0}) == own);
    CHECK_FALSE(current_stream(Cuda{1}) == own);
    std::thread other([&] { CHECK_FALSE(current_stream(Cuda{0}) == own); });
    other.join();
  }
  CHECK_FALSE(current_stream(Cuda{0}) == own);
  CHECK_THROWS_AS(current_stream(Cuda{99}), kiln::device_error);
}

TEST_CASE("a stream ends with its last handle; a foreign one does not") {
  if (emulate::skip_on_gpu("it counts calls of the driver")) return;
  const auto& device = emulate::stand_in();
  {
    const stream first = stream::create(Cuda{0});
    const stream second = first;  // NOLINT: shares
    const stream foreign = stream::of(Cuda{0}, first.handle());
    CHECK(foreign.handle() == second.handle());
  }
  CHECK(device.count("cuStreamDestroy_v2") == 1);
}

TEST_CASE("queued work is done when the stream is waited for") {
  if (emulate::skip_on_gpu("a GPU may have done the work before this looks")) return;
  const auto& device = emulate::stand_in();
  const long long before = device.memory();
  const stream own = stream::create(Cuda{0});
  const kiln::cuda::device_scope scope(Cuda{0});
  kiln::cuda::device_pointer memory = 0;
  const auto& api = kiln::cuda::driver();
  api.memory_allocate(&memory, 16);
  CHECK(own.finished());
  api.fill_bytes(memory, 7, 16, own.handle());
  CHECK_FALSE(own.finished());
  own.synchronize();
  CHECK(own.finished());
  CHECK(*reinterpret_cast<unsigned char*>(memory) == 7);
  api.memory_free(memory);
  CHECK(device.memory() == before);
}

TEST_CASE("an empty handle is an error") {
  CHECK_FALSE(stream());
  CHECK_THROWS_WITH_AS(stream().synchronize(), doctest::Contains("has no stream"), kiln::device_error);
}
