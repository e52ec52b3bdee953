// SPDX-License-Identifier: BSL-1.0
// Things that are expensive to make, kept by a key until others have been asked for more recently: no program that
// makes ever new ones grows by them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include <kiln/core/lock.hpp>

namespace kiln::detail {

/// At most `Most` things by their keys, which are compared one after the other; for any thread. An entry takes its
/// place by one write of a pointer, so that the child of a fork finds each whole.
template <class Key, class Thing, std::size_t Most>
class recently_used {
 public:
  constexpr recently_used() noexcept = default;
  recently_used(const recently_used&) = delete;
  recently_used& operator=(const recently_used&) = delete;
  constexpr ~recently_used() {
    for (entry* e : kept_) delete e;
  }

  /// What was kept by this key, or null.
  std::shared_ptr<const Thing> find(const Key& key) {
    const locked now(lock_);
    for (entry* e : kept_)
      if (e && e->key == key) {
        e->used = ++time_;
        return e->thing;
      }
    return nullptr;
  }
  /// Keeps it; in place of what has not been asked for the longest, where there is no room.
  void keep(Key key, std::shared_ptr<const Thing> thing) {
    entry* const fresh = new entry{std::move(key), std::move(thing), 0};
    delete placed(fresh);  // when the lock is free again: what is deleted may keep things itself
  }
  std::size_t size() {
    const locked now(lock_);
    std::size_t n = 0;
    for (const entry* e : kept_) n += e != nullptr;
    return n;
  }

 private:
  struct entry {
    const Key key;
    const std::shared_ptr<const Thing> thing;
    std::uint64_t used;
  };
  // What it takes the place of.
  entry* placed(entry* fresh) {
    const locked now(lock_);
    fresh->used = ++time_;
    entry** place = &kept_[0];
    for (entry*& e : kept_) {
      if (!e) {
        place = &e;
        break;
      }
      if (e->used < (*place)->used) place = &e;
    }
    return std::exchange(*place, fresh);
  }
  short_lock lock_;
  std::array<entry*, Most> kept_{};
  std::uint64_t time_ = 0;
};

}  // namespace kiln::detail
