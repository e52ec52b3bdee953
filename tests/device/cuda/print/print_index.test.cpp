// SPDX-License-Identifier: BSL-1.0
// The kernels of gather and scatter compile for four architectures, in every type. What they compute is tested by
// tensor/cuda_indexing.test.cpp.
#include <kiln/device/cuda/print/print_index.hpp>

#include "device/cuda/nvrtc_compile.hpp"

#include <doctest/doctest.h>

#include <set>
#include <string>
#include <utility>

using namespace kiln;
using cuda::index_kernel;

TEST_CASE("print_index: every kernel compiles for every type") {
  std::string text, few;  // the kernels of some types are enough for a second architecture
  std::set<std::string> seen;
  for (const index_kernel which :
       {index_kernel::gather, index_kernel::scatter, index_kernel::scatter_add, index_kernel::make_keys,
        index_kernel::radix_count, index_kernel::radix_scan, index_kernel::radix_place, index_kernel::sum_in_order})
    for (const auto& [wide, wide_walk] : {std::pair{false, false}, {true, false}, {false, true}, {true, true}})
      for (const dtype type : {dtype::boolean, dtype::uint8, dtype::int8, dtype::int16, dtype::int32, dtype::int64,
                               dtype::float16, dtype::bfloat16, dtype::float32, dtype::float64}) {
        if (which == index_kernel::scatter_add && size_of(type) == 1) continue;  // see run_index
        const cuda::source s = cuda::print_index(which, type, wide, wide_walk);
        if (!seen.insert(s.name).second) continue;
        text += s.text;
        if (type == dtype::boolean || type == dtype::bfloat16) few += s.text;
      }
  CHECK(seen.size() == 2 * (20 + 20 + 14 + 2 + 10) + 3);
  const auto& nvrtc = nvrtc_test::library::instance();
  if (!nvrtc.available()) {
    MESSAGE("SKIPPED: no libnvrtc can be opened here");
    return;
  }
  for (const int architecture : {90, 80, 100, 120}) {
    const auto made = nvrtc.compile(architecture == 90 ? text : few, architecture);
    CHECK_MESSAGE(made.log.empty(), made.log);
    CHECK(made.good);
  }
}

TEST_CASE("print_index: what 32 bits count divides nothing, but by multiplying") {
  const auto& nvrtc = nvrtc_test::library::instance();
  if (!nvrtc.available()) {
    MESSAGE("SKIPPED: no libnvrtc can be opened here");
    return;
  }
  const auto divides = [&](bool wide_walk) {
    std::string text;
    for (const index_kernel which : {index_kernel::gather, index_kernel::scatter, index_kernel::scatter_add,
                                     index_kernel::make_keys, index_kernel::sum_in_order})
      text += cuda::print_index(which, dtype::float32, true, wide_walk).text;
    const std::string ptx = nvrtc.ptx(text, 90);
    REQUIRE(!ptx.empty());
    return ptx.find("div.s64") != std::string::npos || ptx.find("div.s32") != std::string::npos ||
           ptx.find("rem.s") != std::string::npos;
  };
  CHECK_FALSE(divides(false));
  CHECK(divides(true));
}
