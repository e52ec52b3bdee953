// SPDX-License-Identifier: BSL-1.0
// NVRTC compiles the conversions of float8. What they compute tests/tensor/cuda_float8.test.cpp looks at.
#include <kiln/device/cuda/print/float8_text.hpp>

#include <doctest/doctest.h>

#include "device/cuda/nvrtc_compile.hpp"

TEST_CASE("float8 texts: NVRTC compiles both, for GPUs with float8 products and without") {
  const auto& nvrtc = nvrtc_test::library::instance();
  if (!nvrtc.available()) return;
  for (const char* text : {kiln::cuda::float8_encoder_text, kiln::cuda::float8_decoder_text})
    for (const int architecture : {80, 90})
      CHECK_MESSAGE(nvrtc.compile(text, architecture).good, nvrtc.compile(text, architecture).log);
}
