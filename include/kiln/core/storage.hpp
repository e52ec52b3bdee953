// SPDX-License-Identifier: BSL-1.0
// Shared ownership: `ref<T>` counts references inside the object, `storage` is the memory that tensors share.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <kiln/core/single_threaded.hpp>
#include <kiln/core/version.hpp>

namespace kiln {

/// A pointer that shares its object. The object holds the count (`references`) and knows how to end (`destroy(T*)`).
template <class T>
class ref {
 public:
  constexpr ref() noexcept = default;
  constexpr ref(std::nullptr_t) noexcept {}
  /// Takes over an object whose count is already one.
  static ref adopt(T* object) noexcept {
    ref result;
    result.object_ = object;
    return result;
  }
  explicit ref(T* object) noexcept : object_(object) {
    if (object) retain(*object);
  }
  ref(const ref& other) noexcept : ref(other.object_) {}
  // Moves are what expressions are mostly made of; std::exchange would be two functions for each to be inlined.
  ref(ref&& other) noexcept : object_(other.object_) { other.object_ = nullptr; }
  ref& operator=(ref other) noexcept {
    T* const before = object_;
    object_ = other.object_;
    other.object_ = before;
    return *this;
  }
  [[gnu::always_inline]] ~ref() {  // most are empty: what was moved from
    if (object_) release(*object_);
  }

  T* get() const noexcept { return object_; }
  T* operator->() const noexcept { return object_; }
  T& operator*() const noexcept { return *object_; }
  explicit operator bool() const noexcept { return object_ != nullptr; }
  friend bool operator==(const ref& a, const ref& b) noexcept { return a.object_ == b.object_; }
  /// True if nobody else holds the object.
  bool unique() const noexcept { return object_ && object_->references.load(std::memory_order_acquire) == 1; }

 private:
  static void retain(T& object) noexcept {
    auto& count = object.references;
    if (detail::single_threaded())
      count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    else
      count.fetch_add(1, std::memory_order_relaxed);
  }
  // Told of the object, not of the pointer: a pointer whose address is handed on would have to stay in memory.
  [[gnu::noinline]] static void release(T& object) noexcept {
    auto& count = object.references;
    // The plain load spares the sole owner a locked instruction; nobody can start to share what only we hold.
    const auto before = count.load(std::memory_order_acquire);
    if (before == 1)
      destroy(&object);
    else if (detail::single_threaded())
      count.store(before - 1, std::memory_order_relaxed);
    else if (count.fetch_sub(1, std::memory_order_acq_rel) == 1)
      destroy(&object);
  }
  T* object_ = nullptr;
};

namespace detail {
/// In-place changes that this thread has made, of any memory.
inline constinit thread_local std::uint32_t changes_made = 0;
}  // namespace detail

/// A number that grows with each in-place change of a block. Several threads may change parts of one block.
class change_counter {
 public:
  operator std::uint32_t() const noexcept { return count_.load(std::memory_order_relaxed); }
  void operator++() noexcept {
    ++detail::changes_made;
    if (detail::single_threaded())
      count_.store(count_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    else
      count_.fetch_add(1, std::memory_order_relaxed);
  }
  /// For memory that takes over the elements of other memory, which nobody changed by that.
  void continue_from(const change_counter& other) noexcept { count_.store(other, std::memory_order_relaxed); }

 private:
  std::atomic<std::uint32_t> count_{0};
};

/// A block of memory that tensors and their views share.
struct storage {
  std::atomic<std::uint32_t> references{1};
  /// In-place changes, so that a backward pass or an expression that needs an old value can tell.
  change_counter version;
  /// The number of its device, of a kind of which there are several.
  int device = 0;
  /// Set once a tensor of it was given out as a gradient: a backward pass may add to it.
  std::atomic<bool> lent_gradient{false};
  /// Memory that is not kiln's: never taken for other values.
  bool foreign = false;
  void* data = nullptr;
  std::size_t bytes = 0;
  /// Bytes between this and `data` for what whoever made the block keeps there.
  std::size_t reserved = 0;
  /// Gives the block back to where it came from.
  void (*release)(storage*) noexcept = nullptr;
  /// For `release`: what owns foreign memory.
  void* owner = nullptr;
};

namespace detail {
/// Waits until no copy to another device reads a block; null until a device makes memory that it reads by itself.
inline constinit std::atomic<void (*)(const storage&)> wait_for_copies = nullptr;
}  // namespace detail

/// Before the host overwrites elements of a block in place: copies to other devices that are under way end first.
inline void before_overwriting(const storage& block) {
  if (!block.foreign) return;
  if (const auto wait = detail::wait_for_copies.load(std::memory_order_acquire)) wait(block);
}

/// When the elements of a block were as an expression wants them.
class moment {
 public:
  /// No moment: whatever the elements are is right.
  constexpr moment() = default;
  explicit moment(const storage& block) noexcept : version_(block.version), thread_(changes_here()) {}
  /// Whether the block is certainly as it was.
  bool is_now(const storage& block) const noexcept { return version_ == block.version; }
  /// Whether this thread changed the block since, or took the moment over from another thread. What other threads
  /// changed meanwhile are other elements, or the program has a race that nothing here could mend.
  bool has_passed(const storage& block) const noexcept {
    return version_ != none && version_ != block.version && thread_ != changes_here();
  }

 private:
  static constexpr std::uint32_t none = ~std::uint32_t{0};
  // The changes that this thread has made, from a number on that no other thread begins with.
  static std::uint32_t changes_here() noexcept {
    const auto place = reinterpret_cast<std::uintptr_t>(&detail::changes_made);
    return detail::changes_made + static_cast<std::uint32_t>(place >> 4) * 0x9e3779b1u;
  }
  std::uint32_t version_ = none, thread_ = 0;
};

inline void destroy(storage* block) noexcept {
  block->release(block);
}

}  // namespace kiln
