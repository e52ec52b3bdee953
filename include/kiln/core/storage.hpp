// SPDX-License-Identifier: BSL-1.0
// Shared ownership: `ref<T>` counts references inside the object, `storage` is the memory that tensors share.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <kiln/core/single_threaded.hpp>

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
  explicit ref(T* object) noexcept : object_(object) { retain(); }
  ref(const ref& other) noexcept : object_(other.object_) { retain(); }
  ref(ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  ref& operator=(ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  [[gnu::always_inline]] ~ref() {  // most are empty: what was moved from
    if (object_) release();
  }

  T* get() const noexcept { return object_; }
  T* operator->() const noexcept { return object_; }
  T& operator*() const noexcept { return *object_; }
  explicit operator bool() const noexcept { return object_ != nullptr; }
  friend bool operator==(const ref& a, const ref& b) noexcept { return a.object_ == b.object_; }
  /// True if nobody else holds the object.
  bool unique() const noexcept { return object_ && object_->references.load(std::memory_order_acquire) == 1; }

 private:
  void retain() noexcept {
    if (!object_) return;
    auto& count = object_->references;
    if (detail::single_threaded())
      count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    else
      count.fetch_add(1, std::memory_order_relaxed);
  }
  [[gnu::noinline]] void release() noexcept {
    auto& count = object_->references;
    // The plain load spares the sole owner a locked instruction; nobody can start to share what only we hold.
    const auto before = count.load(std::memory_order_acquire);
    if (before == 1)
      destroy(object_);
    else if (detail::single_threaded())
      count.store(before - 1, std::memory_order_relaxed);
    else if (count.fetch_sub(1, std::memory_order_acq_rel) == 1)
      destroy(object_);
  }
  T* object_ = nullptr;
};

/// A block of memory that tensors and their views share.
struct storage {
  std::atomic<std::uint32_t> references{1};
  /// Counts in-place changes, so that a backward pass that needs an old value can tell.
  std::uint32_t version = 0;
  /// The number of its device, of a kind of which there are several.
  int device = 0;
  /// Set once a tensor of it was given out as a gradient: a backward pass may add to it.
  bool lent_gradient = false;
  void* data = nullptr;
  std::size_t bytes = 0;
  /// Bytes between this and `data` for what whoever made the block keeps there.
  std::size_t room = 0;
  /// Gives the block back to where it came from.
  void (*release)(storage*) noexcept = nullptr;
  /// For `release`: what owns foreign memory.
  void* owner = nullptr;
};

inline void destroy(storage* block) noexcept {
  block->release(block);
}

}  // namespace kiln
