// SPDX-License-Identifier: BSL-1.0
// Positions in a domain, and which results are written past the cache.
#include <doctest/doctest.h>

#include <vector>

#include <kiln/device/cpu/maps/strips.hpp>

using namespace kiln;
using cpu::detail::odometer;

TEST_CASE(
    "strips: an odometer goes through all positions in row-major order, and tells when more than one axis moves") {
  const dims sizes{2, 3, 2}, strides{100, 10, 1};
  odometer at(sizes, 3);
  at.go_to(0);
  for (std::int64_t i = 0; i < 12; ++i) {
    CAPTURE(i);
    CHECK(at.offset(strides) == i / 6 * 100 + i / 2 % 3 * 10 + i % 2);
    CHECK(at.advance() == (i % 2 == 0));
  }
  CHECK(at.offset(strides) == 0);  // and begins anew
  at.go_to(11);
  CHECK(at.offset(strides) == 121);
  at.place(1, 0);
  CHECK(at.offset(strides) == 101);
  CHECK(at[2] == 1);
}

namespace {
struct copies {  // y = x over n elements of 4 bytes
  cpu::compiled program;
  std::vector<cpu::operand_view> in;
  cpu::result_view out;
  cpu::task job;
  copies(const dims& domain, const dims& x_strides, bool add = false) {
    program.slots = program.results = 1;
    in = {{this, x_strides, 4}};
    out = {this, contiguous_strides(domain), dtype::float32, add};
    job = {.program = &program, .domain = domain, .in = in.data(), .out = &out};
  }
  bool past() const { return cpu::detail::exceeds_cache(job, 0); }
};
}  // namespace

TEST_CASE(
    "strips: a result goes past the cache if it and what it is made from do not fit there, and nothing is added") {
  const std::int64_t mebi = std::int64_t{1} << 20;
  CHECK_FALSE(copies({4 * mebi}, {1}).past());        // 16 MiB from 16 MiB: they just fit
  CHECK(copies({4 * mebi + 1}, {1}).past());          // they do not
  CHECK_FALSE(copies({8 * mebi - 1}, {0}).past());    // 32 MiB with the number that it is made from
  CHECK(copies({8 * mebi}, {0}).past());              // 4 bytes more
  CHECK_FALSE(copies({8 * mebi}, {1}, true).past());  // what is added to is read as well
}
