// SPDX-License-Identifier: BSL-1.0
// The device memory that kernels may touch, each block at its exact size: what a checked kernel's accesses are held
// against. buffer<T> is such a block, for tests that launch kernels themselves.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <map>
#include <mutex>
#include <new>
#include <span>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace emulate {

struct watched_block {
  std::uintptr_t start = 0;
  std::size_t bytes = 0;
  std::uintptr_t original = 0;  ///< the start, or that of the block that this one is a copy of
  char* read = nullptr;         ///< of a copy: 1 for each byte that a kernel has read
  bool holds(std::uintptr_t address, std::size_t count) const {
    return address - start < bytes && count <= bytes - (address - start);
  }
};

/// Blocks of device memory, by address. Safe to use from several threads.
class watched_memory {
 public:
  static watched_memory& instance() {
    static watched_memory& memory = *new watched_memory;  // buffers may end after other statics
    return memory;
  }

  void add(const void* start, std::size_t bytes, std::uintptr_t original = 0, char* read = nullptr) {
    const std::lock_guard lock(mutex_);
    const auto at = reinterpret_cast<std::uintptr_t>(start);
    blocks_[at] = {at, bytes, original != 0 ? original : at, read};
  }
  void remove(const void* start) {
    const std::lock_guard lock(mutex_);
    blocks_.erase(reinterpret_cast<std::uintptr_t>(start));
  }

  /// The blocks of the moment, by address.
  std::vector<watched_block> blocks() {
    const std::lock_guard lock(mutex_);
    std::vector<watched_block> all;
    for (const auto& [start, block] : blocks_) all.push_back(block);
    return all;
  }

  /// The block that holds an address; one of no bytes if none does.
  watched_block block_of(const void* address) {
    const std::lock_guard lock(mutex_);
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    const auto after = blocks_.upper_bound(at);
    if (after == blocks_.begin()) return {};
    const watched_block before = std::prev(after)->second;
    return before.holds(at, 1) ? before : watched_block{};
  }

  /// What is near an address that no block holds, in words.
  std::string describe(const void* address, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    const auto start = reinterpret_cast<std::uintptr_t>(address);
    std::ostringstream out;
    auto next = blocks_.upper_bound(start);
    const auto before = next == blocks_.begin() ? blocks_.end() : std::prev(next);
    if (before != blocks_.end() && start - before->first < before->second.bytes + 4096) {
      out << "at byte " << start - before->first << " of a block of " << before->second.bytes << " bytes";
      if (start - before->first < before->second.bytes)
        out << ", " << start - before->first + bytes - before->second.bytes << " of them past its end";
    } else if (next != blocks_.end() && next->first - start < 4096) {
      out << next->first - start << " bytes before a block of " << next->second.bytes << " bytes";
    } else {
      out << "at " << address << ", where no device memory is";
    }
    return out.str();
  }

 private:
  std::mutex mutex_;
  std::map<std::uintptr_t, watched_block> blocks_;
};

/// A copy of a block for one launch, watched as the block is, at an address of the same alignment.
class watched_copy {
 public:
  explicit watched_copy(const watched_block& of)
      : of_(of), memory_(of.bytes + alignment + of.start % alignment), read_(of.bytes) {
    const auto begin = reinterpret_cast<std::uintptr_t>(memory_.data());
    start_ = memory_.data() + (alignment - begin % alignment) % alignment + of.start % alignment;
    std::memcpy(start_, reinterpret_cast<const void*>(of.start), of.bytes);
    watched_memory::instance().add(start_, of.bytes, of.start, read_.data());
  }
  watched_copy(watched_copy&& other) noexcept
      : of_(other.of_),
        memory_(std::move(other.memory_)),
        read_(std::move(other.read_)),
        start_(std::exchange(other.start_, nullptr)) {}
  watched_copy& operator=(watched_copy&&) = delete;
  ~watched_copy() {
    if (start_ != nullptr) watched_memory::instance().remove(start_);
  }
  /// Where in the copy an address of the block is.
  void* at(const void* address) const { return start_ + (reinterpret_cast<std::uintptr_t>(address) - of_.start); }
  /// What was read here and has another value in the block by now, in words; empty if nothing.
  std::string overwritten() const {
    const char* now = reinterpret_cast<const char*>(of_.start);
    for (std::size_t i = 0; i < of_.bytes; ++i)
      if (read_[i] != 0 && start_[i] != now[i])
        return "reads byte " + std::to_string(i) + " of a block of " + std::to_string(of_.bytes) +
               " bytes through a const T* __restrict__ parameter, and writes another value there";
    return {};
  }

 private:
  static constexpr std::uintptr_t alignment = 512;
  watched_block of_;
  std::vector<char> memory_, read_;
  char* start_ = nullptr;
};

/// Device memory for exactly `size` values, filled with 0xff bytes (NaN in every floating-point type), so that a value
/// that no thread wrote shows. `offset` moves the start, in values, off its alignment of 256 bytes.
template <class T>
class buffer {
 public:
  explicit buffer(std::size_t size, std::size_t offset = 0) : size_(size), offset_(offset) {
    // Not a byte more than asked for, so that AddressSanitizer sees the end as well.
    memory_ = static_cast<char*>(::operator new ((offset + size) * sizeof(T), std::align_val_t{256}));
    std::memset(memory_, 0xff, (offset + size) * sizeof(T));
    watched_memory::instance().add(data(), size * sizeof(T));
  }
  buffer(std::initializer_list<T> values) : buffer(values.size()) { std::copy(values.begin(), values.end(), data()); }
  buffer(const buffer&) = delete;
  buffer& operator=(const buffer&) = delete;
  ~buffer() {
    watched_memory::instance().remove(data());
    ::operator delete (memory_, std::align_val_t{256});
  }

  T* data() { return reinterpret_cast<T*>(memory_) + offset_; }
  std::size_t size() const { return size_; }
  T& operator[](std::size_t index) { return data()[index]; }
  std::span<T> values() { return {data(), size_}; }

 private:
  char* memory_ = nullptr;
  std::size_t size_, offset_;
};

}  // namespace emulate
