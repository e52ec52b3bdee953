// SPDX-License-Identifier: BSL-1.0
// The tapes of all programs that are instantiated for the device Cuda are known before main begins.
#include <kiln/device/cuda/compile/registry.hpp>

#include <kiln/tape/infix.hpp>
#include <kiln/tensor/cuda_run.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

using namespace kiln;

namespace {

// x0 * Factor, or its sum over the row.
template <int Factor, bool OfRows>
struct scaled {
  static constexpr auto tape = finished([](program& out) {
    const auto push = [&](instruction now) { return static_cast<std::int16_t>(out.push(now)); };
    const auto x = push({.code = opcode::leaf, .type = dtype::float32, .slot = 0});
    const auto c =
        push({.code = opcode::constant, .type = dtype::float32, .literal = literal_for(dtype::float32, Factor)});
    auto y = push({.code = opcode_of("mul"), .type = dtype::float32, .a = x, .b = c});
    if (OfRows) y = push({.code = opcode_of("sum"), .type = dtype::float32, .a = y});
    out.add_result(y);
  });
  static constexpr bool reduction_rooted = OfRows;
  static constexpr std::array<dtype, 1> stores{OfRows ? dtype::bfloat16 : dtype::float32};
};

// As detail::run_on_cuda does it, for whatever it is instantiated with.
template <class Program>
[[maybe_unused]] const void* enter() {
  return &detail::registered_program<Program>;
}
// Never called: to be instantiated is enough.
[[maybe_unused]] bool evaluate() {
  return enter<scaled<3, false>>() == enter<scaled<5, true>>();
}

const cuda::registered_tape* find(const std::vector<cuda::registered_tape>& all, const std::string& formula) {
  const auto at = std::find_if(all.begin(), all.end(),
                               [&](const auto& each) { return infix(each.tape, op_rules_table) == formula; });
  return at == all.end() ? nullptr : &*at;
}

}  // namespace

TEST_CASE("registry: it has the tapes of what may be run on the device, and no others") {
  auto* volatile kept = &evaluate;
  REQUIRE(kept != nullptr);
  static_assert(scaled<7, false>::stores[0] == dtype::float32);  // a program that nobody runs
  const auto all = cuda::registered_tapes();
  const cuda::registered_tape* const map = find(all, "x0 * 3");
  REQUIRE(map != nullptr);
  CHECK(map->stores[0] == dtype::float32);
  CHECK_FALSE(map->reduction_rooted);
  const cuda::registered_tape* const rows = find(all, "sum(x0 * 5)");
  REQUIRE(rows != nullptr);
  CHECK(rows->stores[0] == dtype::bfloat16);
  CHECK(rows->reduction_rooted);
  CHECK(find(all, "x0 * 7") == nullptr);
}

TEST_CASE("registry: what registers later comes to the others") {
  static const auto& tape = scaled<11, false>::tape;
  const std::size_t before = cuda::registered_tapes().size();
  static const cuda::registration<cuda::registered_tape> late({view(tape), false, scaled<11, false>::stores.data()});
  CHECK(cuda::registered_tapes().size() == before + 1);
  CHECK(find(cuda::registered_tapes(), "x0 * 11") != nullptr);
}

TEST_CASE("registry: kernels without a tape are listed by a function of whoever has them") {
  CHECK(cuda::registered_sources().empty());
  static const cuda::registration<cuda::registered_kernels> mine(
      {[] { return std::vector<cuda::source>{{.text = "text", .name = "mine", .parameters = {}}}; }});
  REQUIRE(cuda::registered_sources().size() == 1);
  CHECK(cuda::registered_sources()[0].name == "mine");
}
