// SPDX-License-Identifier: BSL-1.0
// Over the list of all ops and every element type that each accepts: the printed map and that of its gradient compile
// with NVRTC. Each op meets every architecture, by way of its types.
#include "device/cuda/every_op_kernels.hpp"
#include "device/cuda/nvrtc_compile.hpp"

#include <doctest/doctest.h>

#include <array>

using namespace kiln;

namespace {

void check_compiles(const std::deque<one_op::job>& jobs) {
  const auto& nvrtc = nvrtc_test::library::instance();
  if (!nvrtc.available()) return;
  constexpr std::array<int, 4> architectures{80, 90, 100, 120};
  std::array<std::string, 4> texts;
  std::set<std::string> seen;
  std::size_t turn = 0;
  for (const one_op::job& j : jobs)
    if (seen.insert(j.printed.name).second) texts[turn++ % 4] += j.printed.text;
  for (std::size_t k = 0; k < 4; ++k) {
    const auto made = nvrtc.compile(texts[k], architectures[k]);
    CHECK_MESSAGE(made.good, "sm_", architectures[k], ": ", made.log);
    CHECK_MESSAGE(made.log.empty(), "sm_", architectures[k], ": ", made.log);
    CHECK(made.image.size() > 100000);
  }
}

}  // namespace

TEST_CASE("every op on CUDA: its map compiles on every type that it accepts") {
  const std::deque<one_op::job> values = one_op::all_values(8);
  CHECK(values.size() > 400);
  check_compiles(values);
}

TEST_CASE("every op on CUDA: its gradient compiles") {
  const std::deque<one_op::job> gradients = one_op::all_gradients(8);
  CHECK(gradients.size() > 100);
  check_compiles(gradients);
}
