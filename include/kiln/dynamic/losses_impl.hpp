// SPDX-License-Identifier: BSL-1.0
// The definitions of losses.hpp.
#pragma once

#include <kiln/dynamic/losses.hpp>
#include <kiln/dynamic/losses_on.hpp>

namespace kiln::dynamic {

KILN_INLINE loss_function make_loss(std::string_view name, const options& how) {
  return [on_host = graph::loss_on<Cpu>(name, how), name = std::string(name), how](const tensor& input,
                                                                                  const tensor& target) {
    graph::check_together(name, input, target);
    return input.device().on_host() ? on_host(input, target)
                                    : graph::cuda_driver().make_loss(name, how)(input, target);
  };
}

}  // namespace kiln::dynamic
