// SPDX-License-Identifier: BSL-1.0
// Handles that nobody in q holds any more: what they stand for is freed at the next call, where that is wanted.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include <kiln/k/value.hpp>

namespace kiln::k {

/// One more reference to each handle that was given out, so that its own count tells when q has let go of it. A handle
/// that q put together anew of its long is another object, and is not seen: hence off unless it is asked for.
class temporary_handles {
 public:
  bool on() const { return on_; }
  void set(bool on) {
    on_ = on;
    if (!on) given_.clear();
  }
  void note(object handle) {
    if (on_) given_.push_back(owned::share(handle));
  }
  /// Calls free(handle) for those that only this holds. A call looks at 64 that are new and 64 of the others, in turn.
  template <class F>
  void sweep(F free) {
    std::size_t left = 64;
    for (std::size_t i = given_.size(); i-- > 0 && left > 0; --left) look_at(i, free);
    for (left = std::min<std::size_t>(given_.size(), 64); left > 0 && !given_.empty(); --left) {
      if (next_ >= given_.size()) next_ = 0;
      if (!look_at(next_, free)) ++next_;
    }
  }

 private:
  template <class F>
  bool look_at(std::size_t i, F& free) {
    if (given_[i].get()->references != 0) return false;
    free(given_[i].get());
    if (i + 1 < given_.size()) given_[i] = std::move(given_.back());
    given_.pop_back();
    return true;
  }
  bool on_ = false;
  std::size_t next_ = 0;
  std::vector<owned> given_;
};

/// Those of this process; never destroyed, as the table of handles.
inline temporary_handles& temporaries() {
  static temporary_handles& all = *new temporary_handles;
  return all;
}

}  // namespace kiln::k
