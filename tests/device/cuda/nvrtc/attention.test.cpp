// SPDX-License-Identifier: BSL-1.0
// NVRTC compiles every text of attention: of each floating type and padded width. What
// they compute is tested by run/attention.test.cpp.
#include <kiln/device/cuda/run/attention.hpp>

#include "device/cuda/nvrtc/nvrtc_compile.hpp"

#include <doctest/doctest.h>

#include <array>
#include <string>

using namespace kiln;
using cuda::attention_kernel;

TEST_CASE("nvrtc: every text of attention compiles") {
  const auto& nvrtc = nvrtc_test::library::instance();
  if (!nvrtc.available()) return;
  constexpr std::array architectures{80, 90, 100};
  std::size_t texts = 0;
  for (const dtype type : {dtype::float16, dtype::bfloat16, dtype::float32, dtype::float64}) {
    std::string in_turn[architectures.size()];
    for (const cuda::attention_text& what : cuda::attention_texts(type))
      in_turn[texts++ % architectures.size()] += print_attention(what).text;
    for (std::size_t k = 0; k < architectures.size(); ++k) nvrtc.check_compiles(in_turn[k], {architectures[k]});
  }
  CHECK(texts == 2 * 19 + 2 * 10);
}
