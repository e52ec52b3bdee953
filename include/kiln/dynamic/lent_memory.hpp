// SPDX-License-Identifier: BSL-1.0
// How memory that belongs to somebody else is told from other memory: by what gives it back. Apart from lent.hpp, whose
// functions need tensors, as the definitions of tensors need this.
#pragma once

#include <kiln/core/storage.hpp>
#include <kiln/tensor/state.hpp>

namespace kiln::dynamic {

namespace graph {
/// Who owns lent memory, and what is called, on whatever thread lets go of it last.
struct lender {
  void* owner = nullptr;
  void (*give_back)(void* owner) noexcept = nullptr;
};
inline void release_lent(storage* block) noexcept {
  const lender from = *static_cast<lender*>(block->owner);
  delete static_cast<lender*>(block->owner);
  delete block;
  from.give_back(from.owner);
}
inline bool is_lent(const tensor_state& t) noexcept {
  return t.memory && t.memory->release == &release_lent;
}
}  // namespace graph

}  // namespace kiln::dynamic
