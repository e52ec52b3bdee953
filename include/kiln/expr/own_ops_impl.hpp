// SPDX-License-Identifier: BSL-1.0
// The definitions of own_ops.hpp.
#pragma once

#include <kiln/core/version.hpp>
#include <kiln/expr/own_ops.hpp>

namespace kiln::detail {

KILN_INLINE const rule_table& compiled_rules() {
  return op_rules_table;
}

}  // namespace kiln::detail
