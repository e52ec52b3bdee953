// SPDX-License-Identifier: BSL-1.0
// Maps, row programs and reductions on the device EigenCpu in drawn layouts, with their gradients: against plain loops,
// as tests/gpu has them on Cuda. Each in one type, so that floats, doubles and a half type have some of every kind.
#include <kiln/eigen.hpp>

#include <doctest/doctest.h>

#include "support/device_maps.hpp"
#include "support/device_rows.hpp"

using namespace kiln;

namespace {

template <std::uint64_t Seed>
using type_for = std::conditional_t<Seed == 2, bfloat16, std::conditional_t<Seed % 3 == 0, double, float>>;
constexpr std::uint64_t layouts = 8;

constexpr auto check_row = []<std::uint64_t Seed>(device_test::seed<Seed>, const char* name, const auto& on_tensors,
                                                  device_test::row (*on_row)(const device_test::row&)) {
  for (std::uint64_t i = 0; i < layouts; ++i)
    device_test::check_rows<EigenCpu, type_for<Seed>>(name, Seed * 1000 + i, 2'000, on_tensors, on_row);
};

}  // namespace

TEST_CASE("EigenCpu: elementwise expressions and their gradients in drawn layouts") {
  device_test::each_floating_map([]<std::uint64_t Seed>(device_test::seed<Seed>, const char* name,
                                                        const auto& on_tensors, const auto& on_numbers) {
    for (std::uint64_t i = 0; i < layouts; ++i)
      device_test::check_map<EigenCpu, type_for<Seed>>(name, Seed * 1000 + i, 2'000, on_tensors, on_numbers);
  });
  device_test::each_integer_map(
      [](const char* name, std::uint64_t which, const auto& on_tensors, const auto& on_numbers) {
        for (std::uint64_t i = 0; i < layouts; ++i)
          device_test::check_map<EigenCpu, std::int32_t>(name, 11 + which + i, 2'000, on_tensors, on_numbers);
      });
}

TEST_CASE("EigenCpu: row programs, reductions and their gradients in drawn layouts") {
  device_test::each_row_program(check_row);
  device_test::each_reduction(check_row);
  for (std::uint64_t i = 0; i < layouts; ++i) device_test::check_several_axes<EigenCpu>(i);
}
