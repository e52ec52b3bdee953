// SPDX-License-Identifier: BSL-1.0
// Elementwise expressions of every kind, in every type and in drawn layouts, with their gradients: the device against
// plain loops over doubles, gradients against central differences of those.
#include "operands.hpp"
#include "support/device_maps.hpp"

using namespace gpu_test;

namespace {

int tried = 0;

template <class T, class OnTensors, class OnNumbers>
void check_layouts(const char* name, std::uint64_t seed, const OnTensors& on_tensors, const OnNumbers& on_numbers) {
  const std::uint64_t layouts = everything() ? 5 : 1;
  for (std::uint64_t i = 0; i < layouts; ++i, ++tried)
    device_test::check_map<Cuda, T>(name, seed * 1000 + i, most_elements(), on_tensors, on_numbers);
}
template <class T>
void check_integers(std::uint64_t seed) {
  device_test::each_integer_map(
      [&](const char* name, std::uint64_t which, const auto& on_tensors, const auto& on_numbers) {
        check_layouts<T>(name, seed + which, on_tensors, on_numbers);
      });
}

}  // namespace

TEST_CASE("gpu: elementwise expressions and their gradients are those of plain loops") {
  emulate::stand_in();
  // In all floating types, or one of them.
  device_test::each_floating_map([](auto seed, const char* name, const auto& on_tensors, const auto& on_numbers) {
    if constexpr (all_types || seed % 3 == 1) check_layouts<float>(name, seed, on_tensors, on_numbers);
    if constexpr (all_types || seed == 2) check_layouts<bfloat16>(name, seed, on_tensors, on_numbers);
    if constexpr (all_types) check_layouts<double>(name, seed, on_tensors, on_numbers);
    if constexpr (all_types) check_layouts<half>(name, seed, on_tensors, on_numbers);
  });
  MESSAGE(tried, " expressions in layouts");
}

TEST_CASE("gpu: whole numbers are exact") {
  emulate::stand_in();
  check_integers<std::int32_t>(11);
  if constexpr (all_types) {
    check_integers<std::int64_t>(13);
    check_integers<std::int8_t>(15);
    check_integers<std::int16_t>(17);
  }
}
