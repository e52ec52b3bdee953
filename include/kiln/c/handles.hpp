// SPDX-License-Identifier: BSL-1.0
// The objects that handles stand for. The number of a handle has a slot in its low 32 bits, above them how often the
// slot was taken before, and its kind on top: that of a freed object never names another one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include <kiln/c/guard.hpp>
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
    std::size_t place = slots_.size();
    if (!free_.empty()) {
      place = free_.back();
      free_.pop_back();
    } else {
      if (place > slot_mask) throw memory_error("more than 4 billion handles are alive: free some");
      slots_.emplace_back();
      free_.reserve(slots_.capacity());  // erase must not fail
    }
    slots_[place].what.emplace(std::move(what));
    ++count_;
    return {traits::kind << kind_shift | std::uint64_t{slots_[place].turn} << turn_shift | place};
  }
  /// Throws handle_error for a null or stale handle, and for a number of another kind.
  object find(Handle h) {
    const std::scoped_lock lock(mutex_);
    return *slot_of(h).what;
  }
  /// Throws as find.
  void erase(Handle h) {
    std::optional<object> last;  // destroyed after the lock: that may take long
    const std::scoped_lock lock(mutex_);
    slot& s = slot_of(h);
    last.swap(s.what);
    --count_;
    if (++s.turn <= turn_mask) free_.push_back(h.id & slot_mask);  // a slot whose turns are used up rests for ever
  }
  std::int64_t size() {
    const std::scoped_lock lock(mutex_);
    return count_;
  }

 private:
  static constexpr int turn_shift = 32, kind_shift = 60;
  static constexpr std::uint64_t slot_mask = 0xffffffff, turn_mask = 0xfffffff;
  struct slot {
    std::optional<object> what;
    std::uint32_t turn = 0;
  };
  slot& slot_of(Handle h) {
    if (h.id == 0) throw handle_error(message("a null handle where a ", traits::name, " is needed"));
    if (h.id >> kind_shift != traits::kind)
      throw handle_error(message("the handle ", h.id, " is that of no ", traits::name));
    const std::size_t place = h.id & slot_mask;
    if (place >= slots_.size() || slots_[place].turn != (h.id >> turn_shift & turn_mask) || !slots_[place].what)
      throw handle_error(message("the handle ", h.id, " is stale: its ", traits::name, " was freed"));
    return slots_[place];
  }
  std::mutex mutex_;
  std::vector<slot> slots_;
  std::vector<std::size_t> free_;
  std::int64_t count_ = 0;
};

/// The table of a kind. It is never destroyed: the host language may free handles after statics are gone.
template <class Handle>
handle_table<Handle>& handles() {
  static auto& table = *new handle_table<Handle>;
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
