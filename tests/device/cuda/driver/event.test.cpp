// SPDX-License-Identifier: BSL-1.0
// Events: order between streams without waiting on the host.
#include <kiln/device/cuda/driver/event.hpp>

#include <cuda_emulator/stand_in.hpp>

#include <doctest/doctest.h>

#include <utility>

using kiln::Cuda;
using kiln::cuda::driver;
using kiln::cuda::event;
using kiln::cuda::stream;

namespace {

// A byte of device memory that streams write.
struct device_byte {
  kiln::cuda::device_scope scope{Cuda{0}};
  kiln::cuda::device_pointer place = 0;
  device_byte() { driver().memory_allocate(&place, 1); }
  ~device_byte() { driver().memory_free(place); }
  device_byte(const device_byte&) = delete;
  device_byte& operator=(const device_byte&) = delete;
  void set(unsigned char value, const stream& where) { driver().fill_bytes(place, value, 1, where.handle()); }
  int value() const {
    unsigned char found = 0;
    driver().copy_to_host(&found, place, 1, nullptr);
    return found;
  }
};

}  // namespace

TEST_CASE("a stream that is held back does its work after the mark, and the host does not wait") {
  const auto& device = emulate::stand_in();
  const stream early = stream::create(Cuda{0}), late = stream::create(Cuda{0});
  device_byte byte;
  byte.set(1, early);
  kiln::cuda::hold_back(late, early);
  byte.set(2, late);
  if (device.emulated()) CHECK(device.count("cuStreamSynchronize") + device.count("cuEventSynchronize") == 0);
  late.synchronize();
  early.synchronize();
  CHECK(byte.value() == 2);  // without the mark the early one would have come last
}

TEST_CASE("a mark is reached when the work before it is done") {
  const auto& device = emulate::stand_in();
  const stream own = stream::create(Cuda{0});
  device_byte byte;
  event mark(Cuda{0}), unset(Cuda{0});
  byte.set(3, own);
  mark.record(own);
  CHECK(unset.finished());
  if (device.emulated()) CHECK_FALSE(mark.finished());
  mark.synchronize();
  CHECK(mark.finished());
  CHECK(byte.value() == 3);
}

TEST_CASE("a stream that is held back waits for the mark of that moment, whatever the event marks later") {
  emulate::stand_in();
  const stream early = stream::create(Cuda{0}), other = stream::create(Cuda{0}), late = stream::create(Cuda{0});
  device_byte byte;
  event mark(Cuda{0});
  byte.set(1, early);
  mark.record(early);
  mark.hold_back(late);
  byte.set(2, late);
  mark.record(other);
  late.synchronize();
  early.synchronize();
  CHECK(byte.value() == 2);
}

TEST_CASE("events move, and end once") {
  if (emulate::lacks_second_device()) return;
  const auto& device = emulate::stand_in();
  {
    event first(Cuda{0});
    event second = std::move(first);
    event third(Cuda{1});
    third = std::move(second);
    CHECK(third.device() == Cuda{0});
  }
  if (device.emulated()) CHECK(device.count("cuEventCreate") == 2);
  if (device.emulated()) CHECK(device.count("cuEventDestroy_v2") == 2);
}

TEST_CASE("the time between two marks is had once both are reached") {
  const auto& device = emulate::stand_in();
  const stream own = stream::create(Cuda{0});
  event from(Cuda{0}, true), to(Cuda{0}, true);
  from.record(own);
  to.record(own);
  if (device.emulated())
    CHECK_THROWS_WITH_AS(kiln::cuda::milliseconds(from, to), doctest::Contains("not ready"), kiln::device_error);
  to.synchronize();
  CHECK(kiln::cuda::milliseconds(from, to) >= 0);
}

TEST_CASE("an event on a stream of another device is an error with both numbers") {
  if (emulate::lacks_second_device()) return;
  emulate::stand_in();
  event mark(Cuda{0});
  CHECK_THROWS_WITH_AS(mark.record(stream::create(Cuda{1})),
                       doctest::Contains("an event of device 0 on a stream of device 1"), kiln::device_error);
}
