// SPDX-License-Identifier: BSL-1.0
// A list that only grows and is read without a lock: for what is worked out once and kept. An entry is there whole or
// not at all, so the child of a fork finds it in order whatever other threads did.
#pragma once

#include <atomic>
#include <utility>

namespace kiln::detail {

/// Entries stay where they are until the list ends.
template <class T>
class growing_list {
 public:
  constexpr growing_list() noexcept = default;
  growing_list(const growing_list&) = delete;
  growing_list& operator=(const growing_list&) = delete;
  constexpr ~growing_list() {
    for (entry* each = first_.load(std::memory_order_relaxed); each != nullptr;) delete std::exchange(each, each->next);
  }

  /// The latest entry for which this holds, or null.
  template <class Holds>
  const T* find(Holds holds) const {
    for (const entry* each = first_.load(std::memory_order_acquire); each != nullptr; each = each->next)
      if (holds(each->value)) return &each->value;
    return nullptr;
  }
  /// What two threads add at the same time stays both.
  const T& add(T value) {
    entry* const fresh = new entry{std::move(value), first_.load(std::memory_order_relaxed)};
    while (!first_.compare_exchange_weak(fresh->next, fresh, std::memory_order_release, std::memory_order_relaxed)) {
    }
    return fresh->value;
  }

 private:
  struct entry {
    T value;
    entry* next;
  };
  std::atomic<entry*> first_{nullptr};
};

/// For a static object that is used until the program has ended, by destructors of other static objects too.
template <class T>
union never_destroyed {
  constexpr never_destroyed() : value() {}
  constexpr ~never_destroyed() {}
  T value;
};

}  // namespace kiln::detail
