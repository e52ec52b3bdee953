// SPDX-License-Identifier: BSL-1.0
#include <doctest/doctest.h>

#include <kiln/core/storage_part.hpp>
#include <kiln/device/cpu/device.hpp>

using namespace kiln;

TEST_CASE("storage_part: a part counts its own changes, knows its whole and keeps it") {
  static int ended;
  ended = 0;
  ref<storage> whole = cpu::new_storage(256);
  static void (*give_back)(storage*) noexcept;
  give_back = whole->release;
  whole->release = [](storage* s) noexcept {
    ++ended;
    give_back(s);
  };
  storage* const address = whole.get();
  ref<storage> first = detail::part_of(whole, whole->data, 128);
  const ref<storage> before = cpu::new_storage(64);
  ref<storage> second = detail::part_of(whole, static_cast<char*>(whole->data) + 128, 100, before);
  CHECK((first->bytes == 128 && second->bytes == 100));
  CHECK(before->references == 2);
  ++first->version;
  CHECK((first->version == 1 && second->version == 0 && whole->version == 0));
  second->version.continue_from(first->version);
  CHECK(second->version == 1);
  CHECK(&detail::whole_of(*second) == address);
  CHECK(&detail::whole_of(*whole) == address);
  whole = nullptr, first = nullptr;
  CHECK(ended == 0);
  second = nullptr;
  CHECK(ended == 1);
  CHECK(before->references == 1);
}
