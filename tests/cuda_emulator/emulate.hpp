// SPDX-License-Identifier: BSL-1.0
// Launches kernels that are part of the including file: include device.hpp and the kernels' text first. They run as
// plain code of the test, so the sanitizers of the build see them; module.hpp runs text with checks in every build.
#pragma once

#include <array>
#include <tuple>
#include <type_traits>

#include "block.hpp"
#include "device.hpp"

namespace emulate {
inline namespace KILN_EMULATOR_SWITCH {

/// Runs `Kernel` over the grid: `launch<softmax>({{rows}, {256}}, in, out, columns)`. Throws failure.
template <auto Kernel, class... Arguments>
void launch(const shape& how, Arguments... arguments) {
  static_assert(std::is_invocable_v<decltype(Kernel), Arguments...>, "the arguments do not suit the kernel");
  const auto with = [&]<class... Parameters>(void (*)(Parameters...)) {
    // Converted first: the kernel reads each as its parameter's type.
    std::tuple<Parameters...> converted(static_cast<Parameters>(arguments)...);
    std::array<void*, sizeof...(Parameters)> places = std::apply(
        [](auto&... value) {
          return std::array<void*, sizeof...(Parameters)>{const_cast<void*>(static_cast<const void*>(&value))...};
        },
        converted);
    run(emulator::view(), &emulator::call<Kernel>::run, how, places.data());
  };
  with(Kernel);
}

}  // namespace KILN_EMULATOR_SWITCH
}  // namespace emulate
