// SPDX-License-Identifier: BSL-1.0
// The definitions of all that the headers of this folder declare.
#pragma once

#include <kiln/device/cpu/interpreter/conversion_impl.hpp>
#include <kiln/device/cpu/interpreter/elementwise_impl.hpp>
#include <kiln/device/cpu/interpreter/fold_impl.hpp>
#include <kiln/device/cpu/interpreter/interpreted.hpp>
#include <kiln/device/cpu/interpreter/plan_impl.hpp>
#include <kiln/device/cpu/interpreter/run_impl.hpp>

namespace kiln::cpu::inline KILN_VERSION_ISA {

KILN_INLINE interpreted::interpreted(const tape_view& tape, const dtype* stores, bool reduction_rooted)
    : plan_(std::make_unique<interpreter::program_plan>()), program_(&plan_->program) {
  interpreter::make_plan(*plan_, tape, stores, reduction_rooted);
}
KILN_INLINE interpreted::~interpreted() = default;

KILN_INLINE std::shared_ptr<const compiled> interpret(const tape_view& tape, const dtype* stores,
                                                      bool reduction_rooted) {
  const auto kept = std::make_shared<const interpreted>(tape, stores, reduction_rooted);
  return {kept, &kept->program()};
}

}  // namespace kiln::cpu::inline KILN_VERSION_ISA
