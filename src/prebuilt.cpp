// SPDX-License-Identifier: BSL-1.0
// The kernels of the programs that prebuilt.hpp lists, made for one instruction set: this file is compiled once for
// each that the library has.
#include "prebuilt.hpp"

namespace kiln::cpu::inline KILN_VERSION_ISA {

namespace {

template <class... Program>
constexpr std::array<const compiled*, sizeof...(Program)> compiled_of(kiln::prebuilt::programs<Program...>) {
  return {&compiler<Program>::program...};
}

static_assert(
    kiln::prebuilt::all_programs::keys == prebuilt_keys,
    "src/prebuilt.hpp lists other programs than device/cpu/kernel/prebuilt_keys.hpp: run scripts/prebuilt_keys");

}  // namespace

extern const std::array<const compiled*, prebuilt_keys.size()> prebuilt_programs;
constexpr std::array<const compiled*, prebuilt_keys.size()> prebuilt_programs =
    compiled_of(kiln::prebuilt::all_programs());

}  // namespace kiln::cpu::inline KILN_VERSION_ISA
