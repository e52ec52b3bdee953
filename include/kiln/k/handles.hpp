// SPDX-License-Identifier: BSL-1.0
// What handles stand for: the objects that q holds, the table of them, and what a value of q says about being one.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <kiln/core/slot_table.hpp>
#include <kiln/k/convert.hpp>
#include <kiln/k/guard.hpp>
#include <kiln/k/temporaries.hpp>
#include <kiln/k/value.hpp>

namespace kiln::k {

/// The classes of objects that handles stand for.
enum class held_class { one_tensor, vector, dict, module, loss, optimizer, model };

inline std::string_view name(held_class c) {
  static constexpr std::string_view names[] = {"tensor", "vector", "dict", "module", "loss", "optimizer", "model"};
  return names[static_cast<std::size_t>(c)];
}

/// What a handle keeps alive. Several handles may hold one object: `share` makes what the next one holds.
class held {
 public:
  held() = default;
  held(const held&) = delete;
  held& operator=(const held&) = delete;
  virtual ~held() = default;

  virtual held_class kind() const = 0;
  /// For another handle to the same object.
  virtual std::unique_ptr<held> share() const = 0;
  /// Equal for two that hold one object.
  virtual const void* identity() const = 0;
  /// How many hold the object.
  virtual std::int64_t uses() const = 0;
  /// Empty where no tensor is in it.
  virtual std::string device() const = 0;
  /// Empty where it has no single one.
  virtual std::string dtype_name() const { return {}; }
  /// Sizes of a tensor, else how many tensors or parameters it has.
  virtual object size() const = 0;
  virtual std::int64_t elements() const = 0;
  virtual std::int64_t bytes() const = 0;
  virtual std::int64_t tensor_count() const = 0;
};

/// Thrown for a handle whose object is gone.
struct stale_handle : bare_error {
  stale_handle() : bare_error("stale pointer") {}
};

/// The objects that live, by number. A number has a slot in its low 24 bits and, above them, how often the slot was
/// taken before (32 bits) under a mark, so the number of a freed object never names another one.
class handle_table {
 public:
  std::int64_t insert(std::unique_ptr<held> what) { return number_of(slots_.insert(std::move(what))); }

  /// The object of that number; null when there is none, or none any more.
  held* find(std::int64_t number) const {
    const std::unique_ptr<held>* const what = slots_.find(slot_of(number));
    return what ? what->get() : nullptr;
  }

  /// Lets go of the object; nothing happens where there is none.
  void erase(std::int64_t number) noexcept { slots_.erase(slot_of(number)); }

  /// Puts another object in the place of one, whose number stays.
  void replace(std::int64_t number, std::unique_ptr<held> what) noexcept {
    *slots_.find(slot_of(number)) = std::move(what);
  }

  void clear() noexcept {
    slots_.for_each([&](slot_number at, const std::unique_ptr<held>&) { slots_.erase(at); });
  }

  std::size_t size() const { return slots_.size(); }

  /// Calls f(number, held&) for each object.
  template <class F>
  void for_each(F&& f) const {
    slots_.for_each([&](slot_number at, const std::unique_ptr<held>& what) { f(number_of(at), *what); });
  }

 private:
  static constexpr std::uint64_t slot_limit = std::uint64_t{1} << 24, last_turn = 0xffffffff;
  static constexpr std::uint64_t mark = 0x6b;  // keeps handles apart from small numbers of users
  static std::int64_t number_of(slot_number at) {
    return static_cast<std::int64_t>(mark << 56 | at.turn << 24 | at.place);
  }
  /// Of a number without the mark, a place that no slot has.
  static slot_number slot_of(std::int64_t number) {
    const auto bits = static_cast<std::uint64_t>(number);
    if (bits >> 56 != mark) return {slot_limit, 0};
    return {bits & (slot_limit - 1), bits >> 24 & last_turn};
  }
  slot_table<std::unique_ptr<held>, slot_limit, last_turn> slots_;
};

/// The table of this process. It is never destroyed: q's world may be gone when a library's statics are.
inline handle_table& handles() {
  static handle_table& table = *new handle_table;
  return table;
}

/// The number in a value of a handle's shape: a general list of one long.
inline std::optional<std::int64_t> handle_number(object x) {
  if (x->type != mixed_type || x->count != 1 || items<object>(x)[0]->type != -long_type) return {};
  return items<object>(x)[0]->long_integer;
}

/// The object that a value stands for; null for values that are no handles.
/// @throws stale_handle for a handle whose object is gone.
inline held* find_held(object x) {
  const auto number = handle_number(x);
  if (!number) return nullptr;
  if (held* what = handles().find(*number)) return what;
  throw stale_handle();
}

/// The same as a known class; null for values that are no handles, or handles to something else.
template <class Held>
Held* find_held_as(object x) {
  return dynamic_cast<Held*>(find_held(x));
}

/// A new handle, as q keeps it.
inline object make_handle(std::unique_ptr<held> what) {
  object handle = knk(1, kj(handles().insert(std::move(what))));
  temporaries().note(handle);
  return handle;
}

/// Frees what q has let go of, where that is wanted (temporaries.hpp).
inline void free_temporaries() {
  if (temporaries().on())
    temporaries().sweep([](object handle) { handles().erase(items<object>(handle)[0]->long_integer); });
}

/// What `class` and messages say of a value.
inline std::string describe(object x) {
  if (const auto number = handle_number(x)) {
    const held* what = handles().find(*number);
    return what ? std::string(name(what->kind())) : "stale pointer";
  }
  return kind_name(x);
}

}  // namespace kiln::k
