// SPDX-License-Identifier: BSL-1.0
// The objects that handles stand for. The number of a handle has a slot in its low 32 bits, above them how often the
// slot was taken before, and its kind on top: that of a freed object never names another one.
#pragma once

#include <pthread.h>

#include <cstdint>
#include <mutex>
#include <optional>
#include <utility>

#include <kiln/c/guard.hpp>
#include <kiln/core/slot_table.hpp>
#include <kiln/dynamic/module.hpp>
#include <kiln/dynamic/optimizers.hpp>
#include <kiln/dynamic/tensor.hpp>

namespace kiln::c {

/// What a handle of C is to C++: the type that it stands for, its kind in numbers, and its name in messages.
template <class Handle>
struct handle_traits;
template <>
struct handle_traits<kiln_tensor> {
  using type = dynamic::tensor;
  static constexpr std::uint64_t kind = 1;
  static constexpr const char* name = "tensor";
};
template <>
struct handle_traits<kiln_module> {
  using type = dynamic::module;
  static constexpr std::uint64_t kind = 2;
  static constexpr const char* name = "module";
};
template <>
struct handle_traits<kiln_optimizer> {
  using type = dynamic::optimizer;
  static constexpr std::uint64_t kind = 3;
  static constexpr const char* name = "optimizer";
};

/// The objects of one kind of handle. All functions may be called from any thread.
template <class Handle>
class handle_table {
 public:
  using traits = handle_traits<Handle>;
  using object = typename traits::type;

  /// Throws memory_error where 2^32 handles are alive.
  Handle insert(object what) {
    const std::scoped_lock lock(mutex_);
    const slot_number at = slots_.insert(std::move(what));
    return {traits::kind << kind_shift | at.turn << turn_shift | at.place};
  }
  /// Throws handle_error for a null or stale handle, and for a number of another kind.
  object find(Handle h) {
    const std::scoped_lock lock(mutex_);
    return *slots_.find(slot_of(h));
  }
  /// Throws as find.
  void erase(Handle h) {
    std::optional<object> last;  // destroyed after the lock: that may take long
    const std::scoped_lock lock(mutex_);
    last = slots_.erase(slot_of(h));
  }
  std::int64_t size() {
    const std::scoped_lock lock(mutex_);
    return static_cast<std::int64_t>(slots_.size());
  }
  /// Held while a program forks, so that its child finds the table whole and free.
  std::mutex& mutex() { return mutex_; }

 private:
  static constexpr int turn_shift = 32, kind_shift = 60;
  static constexpr std::uint64_t place_mask = 0xffffffff, last_turn = 0xfffffff;
  slot_number slot_of(Handle h) const {
    if (h.id == 0) throw handle_error(message("a null handle where a ", traits::name, " is needed"));
    if (h.id >> kind_shift != traits::kind)
      throw handle_error(message("the handle ", h.id, " is that of no ", traits::name));
    const slot_number at{h.id & place_mask, h.id >> turn_shift & last_turn};
    if (!slots_.find(at))
      throw handle_error(message("the handle ", h.id, " is stale: its ", traits::name, " was freed"));
    return at;
  }
  std::mutex mutex_;
  slot_table<object, place_mask + 1, last_turn> slots_;
};

/// The table of a kind. It is never destroyed: the host language may free handles after statics are gone.
template <class Handle>
handle_table<Handle>& handles() {
  static auto& table = *[] {
    auto* const made = new handle_table<Handle>;
    const auto go_on = [] { handles<Handle>().mutex().unlock(); };
    ::pthread_atfork([] { handles<Handle>().mutex().lock(); }, go_on, go_on);
    return made;
  }();
  return table;
}

template <class Handle>
typename handle_traits<Handle>::type get(Handle h) {
  return handles<Handle>().find(h);
}

/// Writes what `make` gives to `out` as a new handle, or the null handle where that fails.
template <class Handle, class F>
kiln_status guarded_new(const char* where, Handle* out, F&& make) noexcept {
  if (out) *out = {};
  return guarded(where, [&] {
    if (!out) throw value_error("`out` is a null pointer: nowhere to write the handle");
    *out = handles<Handle>().insert(make());
  });
}

/// Writes what `f` gives to `out`, a plain value.
template <class T, class F>
kiln_status guarded_value(const char* where, T* out, F&& f) noexcept {
  return guarded(where, [&] {
    if (!out) throw value_error("`out` is a null pointer: nowhere to write the result");
    *out = f();
  });
}

}  // namespace kiln::c
