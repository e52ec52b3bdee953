// SPDX-License-Identifier: BSL-1.0
// NVRTC compiles the kernels whose texts depend on types alone: gather and scatter, poolings, random numbers, float8.
// What they compute is tested on the emulator.
#include <kiln/device/cuda/print/float8_text.hpp>
#include <kiln/device/cuda/print/print_index.hpp>
#include <kiln/device/cuda/print/print_random.hpp>
#include <kiln/device/cuda/run/pooling_kernels.hpp>

#include "device/cuda/nvrtc/nvrtc_compile.hpp"

#include <doctest/doctest.h>

#include <array>
#include <set>
#include <string>
#include <utility>

using namespace kiln;
using cuda::index_kernel;
using nvrtc_test::count;

namespace {

constexpr std::array floating_types{dtype::float16, dtype::bfloat16, dtype::float32, dtype::float64};
constexpr std::array all_types{dtype::boolean, dtype::uint8,   dtype::int8,     dtype::int16,   dtype::int32,
                               dtype::int64,   dtype::float16, dtype::bfloat16, dtype::float32, dtype::float64};

// Each text for one architecture.
void check_in_turn(const std::array<std::string, 4>& texts) {
  constexpr std::array architectures{80, 90, 100, 120};
  for (std::size_t k = 0; k < texts.size(); ++k)
    nvrtc_test::library::instance().check_compiles(texts[k], {architectures[k]});
}

}  // namespace

TEST_CASE("nvrtc: every kernel of gather and scatter compiles for every type") {
  const auto& nvrtc = nvrtc_test::library::instance();
  if (!nvrtc.available()) return;
  std::array<std::string, 4> texts;
  std::set<std::string> seen;
  for (const dtype type : all_types)
    for (const cuda::source& s : cuda::index_kernels_of(type))
      if (seen.insert(s.name).second) texts[seen.size() % 4] += s.text;
  // Of two walks: those of an element type and an index, sums in two steps, what only sorts; and one pass alone.
  CHECK(seen.size() == 2 * (20 + 20 + 14 + 20 + 2 + 2 + 2) + 1);
  check_in_turn(texts);
}

TEST_CASE("nvrtc: gather and scatter with 32-bit counts divide nothing, but by multiplying") {
  const auto& nvrtc = nvrtc_test::library::instance();
  if (!nvrtc.available()) return;
  const auto divides = [&](bool wide_walk) {
    std::string text;
    for (const index_kernel which : cuda::all_index_kernels)
      if (which != index_kernel::next_pass) text += cuda::print_index(which, {dtype::float32, true, wide_walk, 1}).text;
    const std::string ptx = nvrtc.ptx(text, 90);
    REQUIRE(!ptx.empty());
    return count(ptx, "div.s64") + count(ptx, "div.s32") + count(ptx, "rem.s") > 0;
  };
  CHECK_FALSE(divides(false));
  CHECK(divides(true));
}

TEST_CASE("nvrtc: poolings compile for every floating type") {
  const auto& nvrtc = nvrtc_test::library::instance();
  if (!nvrtc.available()) return;
  std::array<std::string, 4> texts;
  std::size_t turn = 0;
  for (const dtype type : floating_types)
    for (const int which : {0, 1, 2, 3})
      texts[turn++ / 4] += cuda::print_pooling(static_cast<cuda::pooling_kernel>(which), type).text;
  check_in_turn(texts);
}

TEST_CASE("nvrtc: random numbers compile for every type") {
  const auto& nvrtc = nvrtc_test::library::instance();
  if (!nvrtc.available()) return;
  std::array<std::string, 4> texts;
  std::size_t turn = 0;
  for (const dtype type : floating_types)
    for (const auto kind : {cuda::random_kind::uniform, cuda::random_kind::normal})
      texts[turn++ % 4] += cuda::print_random(kind, type).text;
  for (const dtype type : all_types) texts[turn++ % 4] += cuda::print_random(cuda::random_kind::integers, type).text;
  check_in_turn(texts);
}

TEST_CASE("nvrtc: conversions of float8 compile for GPUs with float8 products and without") {
  const auto& nvrtc = nvrtc_test::library::instance();
  if (!nvrtc.available()) return;
  for (const char* text : {kiln::cuda::float8_encoder_text, kiln::cuda::float8_decoder_text})
    nvrtc.check_compiles(text, {80, 90, 100});
}
