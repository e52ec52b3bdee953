// SPDX-License-Identifier: BSL-1.0
// Reductions and row programs over drawn axes and layouts, with their gradients, against plain loops over doubles.
#include "operands.hpp"
#include "support/device_rows.hpp"

using namespace gpu_test;

namespace {

// In all floating types, or one of them.
constexpr auto check_floating = [](auto seed, const char* name, const auto& on_tensors,
                                   device_test::row (*on_row)(const device_test::row&)) {
  for (std::uint64_t i = 0; i < (everything() ? 5 : 1); ++i) {
    const std::uint64_t each = seed * 1000 + i;
    if constexpr (all_types || seed % 3 == 1)
      device_test::check_rows<Cuda, float>(name, each, most_elements(), on_tensors, on_row);
    if constexpr (all_types || seed == 2)
      device_test::check_rows<Cuda, bfloat16>(name, each, most_elements(), on_tensors, on_row);
    if constexpr (all_types) device_test::check_rows<Cuda, double>(name, each, most_elements(), on_tensors, on_row);
  }
};

}  // namespace

TEST_CASE("gpu: row programs and their gradients are those of plain loops") {
  emulate::stand_in();
  device_test::each_row_program(check_floating);
}

TEST_CASE("gpu: reductions and their gradients are those of plain loops") {
  emulate::stand_in();
  device_test::each_reduction(check_floating);
}

TEST_CASE("gpu: reductions over several axes") {
  emulate::stand_in();
  for (std::uint64_t seed = 0; seed < (everything() ? 20 : 1); ++seed) device_test::check_several_axes<Cuda>(seed);
}
