// SPDX-License-Identifier: BSL-1.0
// The pool's bookkeeping under a long random run: blocks never overlap, neighbours join again, nothing is lost.
#include <kiln/device/cuda/memory/memory.hpp>
#include <kiln/device/cuda/memory/memory_pool.hpp>

#include <cuda_emulator/stand_in.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <random>
#include <vector>

using kiln::ref;
using kiln::storage;
using kiln::cuda::stream;

TEST_CASE("sizes are rounded to what the device likes") {
  using namespace kiln::cuda::detail;
  constexpr std::size_t mega = std::size_t{1} << 20;
  CHECK(round_up(1, 512) == 512);
  CHECK(round_up(512, 512) == 512);
  CHECK(segment_size(512) == 2 * mega);
  CHECK(segment_size(mega + 512) == 20 * mega);
  CHECK(segment_size(10 * mega + 512) == 12 * mega);
}

TEST_CASE("blocks in use never overlap, and all memory comes back") {
  const auto& device = emulate::stand_in();
  kiln::cuda::empty_cache();
  const long long before = device.emulated() ? device.memory() : 0;
  std::mt19937 random(11);
  const stream streams[] = {stream::create(kiln::Cuda{0}), stream::create(kiln::Cuda{0})};
  std::vector<ref<storage>> live;
  std::map<std::uintptr_t, std::size_t> places;
  for (int step = 0; step < 20'000; ++step) {
    if (live.empty() || (random() % 2 == 0 && live.size() < 60)) {
      const std::size_t size = random() % (std::size_t{1} << (random() % 24)) + 1;
      live.push_back(kiln::cuda::new_storage(size, streams[random() % 2]));
      const auto start = reinterpret_cast<std::uintptr_t>(live.back()->data);
      const auto after = places.lower_bound(start);
      if (after != places.end()) REQUIRE(start + size <= after->first);
      if (after != places.begin()) REQUIRE(std::prev(after)->first + std::prev(after)->second <= start);
      places[start] = size;
      // The stand-in's memory is the host's: a sanitizer sees a wrong place.
      if (!emulate::on_gpu()) std::memset(live.back()->data, 1, size);
    } else {
      std::swap(live[random() % live.size()], live.back());
      places.erase(reinterpret_cast<std::uintptr_t>(live.back()->data));
      live.pop_back();
    }
  }
  const long long requests = device.emulated() ? device.count("cuMemAlloc_v2") : 0;
  live.clear();
  CHECK(requests < 60);  // of some 10,000 blocks
  CHECK(kiln::cuda::memory_stats().in_use == 0);
  kiln::cuda::empty_cache();  // frees whole segments only: all of them, if all neighbours joined
  CHECK(kiln::cuda::memory_stats().cached == 0);
  if (device.emulated()) CHECK(device.memory() == before);
}
