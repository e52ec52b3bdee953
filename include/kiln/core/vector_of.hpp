// SPDX-License-Identifier: BSL-1.0
// What std::vector does for the lists that every file compiles: those of a backward pass. A std::vector is some fifty
// functions for each type of element, of which this has a dozen.
#pragma once

#include <cstddef>
#include <new>
#include <type_traits>

namespace kiln::detail {

/// Elements that move without throwing, one after the other in memory that grows. Cannot be copied.
template <class T>
class vector_of {
  static_assert(std::is_nothrow_move_constructible_v<T> && alignof(T) <= alignof(std::max_align_t));

 public:
  vector_of() noexcept = default;
  vector_of(vector_of&& other) noexcept : at_(other.at_), size_(other.size_), capacity_(other.capacity_) {
    other.at_ = nullptr;
    other.size_ = other.capacity_ = 0;
  }
  /// `other` has what was here.
  vector_of& operator=(vector_of&& other) noexcept {
    T* const at = at_;
    const std::size_t size = size_, capacity = capacity_;
    at_ = other.at_, size_ = other.size_, capacity_ = other.capacity_;
    other.at_ = at, other.size_ = size, other.capacity_ = capacity;
    return *this;
  }
  ~vector_of() {
    clear();
    ::operator delete(at_);
  }

  std::size_t size() const { return size_; }
  std::size_t capacity() const { return capacity_; }
  bool empty() const { return size_ == 0; }
  T* begin() { return at_; }
  T* end() { return at_ + size_; }
  const T* begin() const { return at_; }
  const T* end() const { return at_ + size_; }
  T& operator[](std::size_t i) { return at_[i]; }
  const T& operator[](std::size_t i) const { return at_[i]; }
  T& front() { return at_[0]; }
  T& back() { return at_[size_ - 1]; }

  /// Nothing has changed if there is no memory.
  [[gnu::noinline]] void reserve(std::size_t capacity) {
    if (capacity <= capacity_) return;
    T* const wider = static_cast<T*>(::operator new(capacity * sizeof(T)));
    for (std::size_t i = 0; i < size_; ++i) {
      ::new (static_cast<void*>(wider + i)) T(static_cast<T&&>(at_[i]));
      at_[i].~T();
    }
    ::operator delete(at_);
    at_ = wider;
    capacity_ = capacity;
  }
  void push_back(T one) {
    if (size_ == capacity_) reserve(2 * size_ + 8);
    ::new (static_cast<void*>(at_ + size_)) T(static_cast<T&&>(one));
    ++size_;
  }
  void pop_back() { at_[--size_].~T(); }
  void clear() {
    while (size_ > 0) pop_back();
  }

 private:
  T* at_ = nullptr;
  std::size_t size_ = 0, capacity_ = 0;
};

}  // namespace kiln::detail
