// SPDX-License-Identifier: BSL-1.0
// NVRTC compiles every text of attention: forward, backward and common, of each floating type and padded width. What
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
  int texts = 0, turn = 0;
  for (const dtype type : {dtype::float16, dtype::bfloat16, dtype::float32, dtype::float64}) {
    for (const int width : cuda::attention_widths) {
      std::string text;
      for (const auto which :
           {attention_kernel::forward, attention_kernel::backward_keys, attention_kernel::backward_queries})
        text += print_attention(which, type, width).text, ++texts;
      // Each type meets each of the three in turn.
      nvrtc.check_compiles(text, {std::array{80, 90, 100}[static_cast<std::size_t>(turn++ % 3)]});
    }
    nvrtc.check_compiles(print_attention(attention_kernel::common, type, cuda::attention_widths[0]).text, {90});
    ++texts;
  }
  CHECK(texts == 40);
}
