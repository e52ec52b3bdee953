// SPDX-License-Identifier: BSL-1.0
// Objects by number, for those who hold handles: a place, and how often it was taken before, so that the number of an
// object that is gone never names another one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include <kiln/core/error.hpp>

namespace kiln {

/// Where an object of a slot_table stands: `place` is below its limit, `turn` within its mask.
struct slot_number {
  std::uint64_t place = 0, turn = 0;
};

/// At most `Limit` objects at a time; a place is taken `LastTurn` + 1 times, then it rests for ever. Not locked.
template <class T, std::uint64_t Limit, std::uint64_t LastTurn>
class slot_table {
 public:
  /// Throws memory_error where `Limit` objects are there; then nothing has changed.
  slot_number insert(T what) {
    if (free_.empty()) {
      if (slots_.size() >= Limit) throw memory_error(message("more than ", Limit, " handles are alive: free some"));
      if (slots_.size() == slots_.capacity()) {  // room in both first: nothing fails halfway, and erase never
        const std::size_t capacity = 2 * slots_.size() + 16;
        free_.reserve(capacity);
        slots_.reserve(capacity);
      }
      free_.push_back(slots_.size());
      slots_.emplace_back();
    }
    const std::size_t place = free_.back();
    slots_[place].what.emplace(std::move(what));
    free_.pop_back();
    ++count_;
    return {place, slots_[place].turn};
  }

  /// The object of that number; null when there is none, or none any more.
  T* find(slot_number number) { return has(number) ? &*slots_[number.place].what : nullptr; }
  const T* find(slot_number number) const { return has(number) ? &*slots_[number.place].what : nullptr; }

  /// Takes the object out, for the caller to end; nothing where there is none.
  std::optional<T> erase(slot_number number) noexcept {
    std::optional<T> last;
    if (!has(number)) return last;
    slot& s = slots_[number.place];
    last.swap(s.what);
    --count_;
    if (++s.turn <= LastTurn) free_.push_back(number.place);
    return last;
  }

  /// How many objects there are.
  std::size_t size() const { return count_; }

  /// Calls f(number, object) for each, by their places. `f` may erase the object it is called with.
  template <class F>
  void for_each(F&& f) const {
    for (std::size_t place = 0; place < slots_.size(); ++place)
      if (slots_[place].what) f(slot_number{place, slots_[place].turn}, *slots_[place].what);
  }

 private:
  struct slot {
    std::optional<T> what;
    std::uint64_t turn = 0;
  };
  bool has(slot_number number) const {
    return number.place < slots_.size() && slots_[number.place].what && slots_[number.place].turn == number.turn;
  }
  std::vector<slot> slots_;
  std::vector<std::size_t> free_;
  std::size_t count_ = 0;
};

}  // namespace kiln
