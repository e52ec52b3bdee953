// SPDX-License-Identifier: BSL-1.0
// Memory for tensors: shared, aligned, counted, given back.
#include <doctest/doctest.h>

#include <cstdint>
#include <cstring>

#include <kiln/device/cpu/device.hpp>

using namespace kiln;

TEST_CASE("device: storage is aligned to a cache line, shared, and given back with its last owner") {
  const auto before = cpu::memory_stats().in_use;
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{100}, std::size_t{5000000}}) {
    ref<storage> a = cpu::new_storage(bytes);
    CHECK(a->bytes == bytes);
    CHECK(reinterpret_cast<std::uintptr_t>(a->data) % 64 == 0);
    CHECK(a->version == 0);
    CHECK(a.unique());
    ref<storage> b = a;
    CHECK_FALSE(a.unique());
    a = nullptr;
    CHECK(b.unique());
    CHECK(cpu::memory_stats().in_use > before);
  }
  CHECK(cpu::memory_stats().in_use == before);
}

TEST_CASE("device: large powers of two take what they are, whatever stands behind the storage") {
  for (const std::size_t bytes : {std::size_t{1} << 16, std::size_t{1} << 20, std::size_t{1} << 22}) {
    const auto before = cpu::memory_stats().in_use;
    const ref<storage> a = cpu::new_storage(bytes, 192);
    CHECK(cpu::memory_stats().in_use - before <= bytes + 512);
    CHECK(cpu::reserved_of(*a) > a.get());
    CHECK(reinterpret_cast<std::uintptr_t>(a->data) % (bytes >= std::size_t{1} << 21 ? std::size_t{1} << 21 : 64) == 0);
    std::memset(cpu::reserved_of(*a), 1, 192);  // the sanitizer looks on
    std::memset(a->data, 2, bytes);
    CHECK(a->bytes == bytes);
    CHECK(a->reserved == 192);
  }
}

TEST_CASE("device: memory that no machine has is an error") {
  const auto before = cpu::memory_stats().in_use;
  CHECK_THROWS_AS(cpu::new_storage(std::size_t{1} << 60), memory_error);
  CHECK_THROWS_AS(cpu::new_storage(~std::size_t{0}, 64), memory_error);
  CHECK(cpu::memory_stats().in_use == before);
}
