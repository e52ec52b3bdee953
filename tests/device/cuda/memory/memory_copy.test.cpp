// SPDX-License-Identifier: BSL-1.0
// Copies between host and devices: they are queued, keep order, and say which pointer is wrong.
#include <kiln/device/cuda/memory/memory_copy.hpp>

#include <cuda_emulator/stand_in.hpp>

#include <doctest/doctest.h>

#include <vector>

using kiln::Cuda;
using kiln::ref;
using kiln::storage;
using kiln::cuda::current_stream;
using kiln::cuda::new_storage;
using kiln::cuda::stream;

namespace {

long long waits(const emulate::stand_in_library& device) {
  return device.count("cuStreamSynchronize") + device.count("cuEventSynchronize") + device.count("cuCtxSynchronize");
}

}  // namespace

TEST_CASE("values go to the device and back, through the host only at the end") {
  const auto& device = emulate::stand_in();
  const stream& own = current_stream(Cuda{0});
  const ref<storage> first = new_storage(12), second = new_storage(12);
  std::vector<float> values{1, 2, 3};
  kiln::cuda::copy_to_device(first->data, values.data(), 12, own);
  values = {0, 0, 0};  // ordinary memory was read already
  kiln::cuda::copy_on_device(second->data, first->data, 12, own);
  if (device.emulated()) CHECK(waits(device) == 0);
  if (device.emulated()) CHECK_FALSE(own.finished());
  kiln::cuda::copy_to_host(values.data(), second->data, 12, own);
  CHECK(values == std::vector<float>{1, 2, 3});
}

TEST_CASE("pinned memory is read and written when the stream comes to it") {
  if (emulate::skip_on_gpu("a GPU may have done the work before this looks")) return;
  const auto& device = emulate::stand_in();
  const stream& own = current_stream(Cuda{0});
  const ref<storage> pinned = kiln::cuda::new_pinned_storage(4), back = kiln::cuda::new_pinned_storage(4),
                     there = new_storage(4);
  auto* value = static_cast<int*>(pinned->data);
  *value = 1;
  kiln::cuda::copy_to_device(there->data, pinned->data, 4, own);
  *value = 2;
  kiln::cuda::copy_to_host(back->data, there->data, 4, own);
  if (device.emulated()) CHECK(waits(device) == 0);
  own.synchronize();
  CHECK(*static_cast<int*>(back->data) == 2);
}

TEST_CASE("a copy between devices keeps the order of both streams") {
  if (emulate::lacks_second_device()) return;
  const auto& device = emulate::stand_in();
  const stream &here = current_stream(Cuda{0}), &there = current_stream(Cuda{1});
  const ref<storage> from = new_storage(8, Cuda{0}), to = new_storage(8, Cuda{1});
  kiln::cuda::fill_bytes(from->data, 5, 8, here);
  kiln::cuda::copy_between_devices(to->data, there, from->data, here, 8);
  kiln::cuda::fill_bytes(from->data, 6, 8, here);  // must not overtake the copy
  if (device.emulated()) CHECK(waits(device) == 0);
  here.synchronize();
  CHECK(kiln::cuda::read_value<unsigned char>(to->data, there) == 5);
  CHECK(kiln::cuda::read_value<unsigned char>(from->data, here) == 6);
  kiln::cuda::copy_between_devices(from->data, here, from->data, here, 0);
}

TEST_CASE("a copy between streams of one device keeps order too") {
  emulate::stand_in();
  const stream &first = current_stream(Cuda{0}), second = stream::create(Cuda{0});
  const ref<storage> from = new_storage(8, first), to = new_storage(8, second);
  kiln::cuda::fill_bytes(from->data, 7, 8, first);
  kiln::cuda::copy_between_devices(to->data, second, from->data, first, 8);
  CHECK(kiln::cuda::read_value<unsigned char>(to->data, second) == 7);
}

TEST_CASE("a host pointer in the place of a device's is an error that says which") {
  const auto& device = emulate::stand_in();
  const stream& own = current_stream(Cuda{0});
  const ref<storage> there = new_storage(16);
  int here[4] = {};
  CHECK_THROWS_WITH_AS(kiln::cuda::copy_to_device(here, here, 16, own), doctest::Contains("the target"),
                       kiln::device_error);
  CHECK_THROWS_WITH_AS(kiln::cuda::copy_to_host(here, here, 16, own), doctest::Contains("the source"),
                       kiln::device_error);
  CHECK_THROWS_WITH_AS(kiln::cuda::fill_bytes(here, 0, 16, own), doctest::Contains("is not memory of a CUDA device"),
                       kiln::device_error);
  if (device.emulated())
    CHECK_THROWS_WITH_AS(kiln::cuda::copy_to_device(there->data, here, std::size_t{1} << 30, own),
                         doctest::Contains("reach outside"), kiln::device_error);
  CHECK_NOTHROW(kiln::cuda::copy_to_device(there->data, here, 16, own));  // the next call works
}
