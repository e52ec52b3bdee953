// SPDX-License-Identifier: BSL-1.0
// Large blocks: pieces of mappings, split where a block is wanted and merged with their neighbours where it is given
// back, so that one size becomes another. A free span is wet while its pages are there, and dry once the system has
// them back, or has never given them: its addresses can be used again at the price of fresh pages.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#include <kiln/core/version.hpp>

// Declared here, not included, so that a build without the sanitizer needs nothing of it.
extern "C" {
void __asan_poison_memory_region(void const volatile*, std::size_t);
void __asan_unpoison_memory_region(void const volatile*, std::size_t);
}

namespace kiln::cpu::process {

#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool address_sanitizer = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
inline constexpr bool address_sanitizer = true;
#else
inline constexpr bool address_sanitizer = false;
#endif
#else
inline constexpr bool address_sanitizer = false;
#endif

inline constexpr std::size_t huge_page = std::size_t{1} << 21;
inline constexpr std::size_t block_alignment = 64;  // one cache line, one AVX-512 register
inline constexpr std::size_t largest_block = std::size_t{1} << 62;
inline constexpr std::size_t largest_small = std::size_t{64} << 10;  // what threads keep for themselves

// Block sizes: 64, 128, 192, 256, then four steps to each further power of two, so at most a quarter is wasted. Of
// those beyond what threads keep, which are most of a program's memory, multiples of 16 KiB, sixteen steps from 256 KiB
// on, and eight from a huge page on: of that, what finer ones left would be in memory all the same.
[[gnu::noinline]] constexpr std::size_t large_class_of(std::size_t last, std::size_t power) {
  if (power < 18) return 32 + (last >> 14);
  if (power < 21) return 32 + 16 * (power - 18) + (last >> (power - 4));
  return 88 + 8 * (power - 21) + (last >> (power - 3));
}
[[gnu::noinline]] constexpr std::size_t large_class_size(std::size_t index) {
  if (index < 48) return (index - 31) << 14;
  if (index < 96) return (index % 16 + 17) << (index / 16 + 11);
  return (index % 8 + 9) << (index / 8 + 6);
}
constexpr std::size_t class_of(std::size_t bytes) {
  if (bytes <= 256) return bytes == 0 ? 0 : (bytes - 1) / 64;
  const std::size_t last = bytes - 1, power = static_cast<std::size_t>(std::bit_width(last)) - 1;
  return power < 16 ? 4 * (power - 8) + (last >> (power - 2)) : large_class_of(last, power);  // what is shifted is 4..7
}
constexpr std::size_t class_size(std::size_t index) {
  if (index < 4) return 64 * (index + 1);
  return index < 36 ? (index % 4 + 5) << (index / 4 + 5) : large_class_size(index);
}
inline constexpr std::size_t class_count = class_of(largest_block) + 1;
inline constexpr std::size_t small_classes = class_of(largest_small) + 1;

struct span {
  enum kind : std::uint8_t { wet, dry, used };
  char* begin = nullptr;
  std::size_t size = 0;
  span *before = nullptr, *after = nullptr;   // the neighbours in its mapping
  span *previous = nullptr, *next = nullptr;  // in the list of its kind and size; used ones: the next of its bucket
  kind state = used;
};

// Not for several threads at a time. All sizes are those of classes above `largest_small`: multiples of 16 KiB.
class span_heap {
 public:
  span_heap() = default;
  span_heap(const span_heap&) = delete;
  span_heap& operator=(const span_heap&) = delete;
  /// Everything must have been given back.
  [[gnu::cold]] ~span_heap() {
    while (spares_ != nullptr) delete take_spare();
    delete[] buckets_;
  }

  /// A block of a free span of that kind, or null if there is none. Blocks of 2 MiB and more are aligned to that.
  [[gnu::cold]] char* take(std::size_t size, span::kind from) noexcept {
    const std::size_t last = size < huge_page ? class_of(small_mapping) : class_count - 1;
    for (std::size_t index = class_of(size); index <= last; ++index) {
      int looked_at = 0;
      for (span* each = free_[from][index]; each != nullptr && looked_at < 16; each = each->next, ++looked_at) {
        const std::size_t gap = gap_before(*each, size);
        if (gap + size <= each->size && make_spares()) return carve(*each, gap, size);
      }
    }
    return nullptr;
  }

  /// Adds a dry span in which there is room for a block of this size; false if the system has no addresses for it.
  [[gnu::cold]] bool map(std::size_t size) noexcept {
    if (!make_spares()) return false;
    std::size_t bytes = (size + huge_page - 1) / huge_page * huge_page;
    char* begin = nullptr;
    if (size < huge_page) begin = system_map(small_mapping);
    if (begin != nullptr)
      bytes = small_mapping;
    else
      begin = system_map(bytes);
    if (begin == nullptr) return false;
#if defined(MADV_HUGEPAGE)
    if (!address_sanitizer && size >= huge_page) ::madvise(begin, bytes, MADV_HUGEPAGE);  // advice only: may fail
#endif
    span* const whole = take_spare();
    *whole = {begin, bytes, nullptr, nullptr, nullptr, nullptr, span::dry};
    list(*whole);
    return true;
  }

  /// Takes a block back. It is wet, and merges with wet neighbours.
  [[gnu::cold]] void put(char* block) noexcept {
    span* const each = find_used(block);
    each->state = span::wet;
    list(*merge(each));
  }

  /// Gives pages of wet spans, the largest of at most `most` bytes first, back to the system until it has `wanted`
  /// bytes of them; returns how many it has.
  [[gnu::cold]] std::size_t give_back(std::size_t wanted, std::size_t most = largest_block) noexcept {
    std::size_t given = 0;
    for (std::size_t index = class_of(most) + 1; index-- > 0 && given < wanted;) {
      while (free_[span::wet][index] != nullptr && given < wanted) {
        span* const each = free_[span::wet][index];
        given += each->size;
        unlist(*each);
        const bool alone = each->before == nullptr && each->after == nullptr;
        if (!alone) drop_pages(each->begin, each->size);
        each->state = span::dry;
        span* const merged = merge(each);
        if (merged->before == nullptr && merged->after == nullptr && system_unmap(merged->begin, merged->size)) {
          give_spare(merged);
        } else {
          if (alone) drop_pages(merged->begin, merged->size);  // the system keeps the addresses, and so do we
          list(*merged);
        }
      }
    }
    return given;
  }

 private:
  // Where blocks below 2 MiB come from, so that they don't split what larger ones need whole.
  static constexpr std::size_t small_mapping = std::size_t{8} << 20;

  static std::size_t gap_before(const span& each, std::size_t size) {
    const auto address = reinterpret_cast<std::uintptr_t>(each.begin);
    return size < huge_page ? 0 : (huge_page - address % huge_page) % huge_page;
  }

  [[gnu::cold]] char* carve(span& whole, std::size_t gap, std::size_t size) noexcept {
    unlist(whole);
    if (gap > 0) {
      span* const front = take_spare();
      *front = {whole.begin, gap, whole.before, &whole, nullptr, nullptr, whole.state};
      if (whole.before != nullptr) whole.before->after = front;
      whole.before = front;
      whole.begin += gap;
      whole.size -= gap;
      list(*front);
    }
    if (whole.size > size) {
      span* const rest = take_spare();
      *rest = {whole.begin + size, whole.size - size, &whole, whole.after, nullptr, nullptr, whole.state};
      if (whole.after != nullptr) whole.after->before = rest;
      whole.after = rest;
      whole.size = size;
      list(*rest);
    }
    whole.state = span::used;
    span*& bucket = bucket_of(whole.begin);
    whole.next = std::exchange(bucket, &whole);
    ++used_;
    return whole.begin;
  }

  // Joins a span that stands in no list with its neighbours of the same kind.
  [[gnu::cold]] span* merge(span* each) noexcept {
    if (span* const front = each->before; front != nullptr && front->state == each->state) {
      unlist(*front);
      front->size += each->size;
      front->after = each->after;
      if (each->after != nullptr) each->after->before = front;
      give_spare(each);
      each = front;
    }
    if (span* const back = each->after; back != nullptr && back->state == each->state) {
      unlist(*back);
      each->size += back->size;
      each->after = back->after;
      if (back->after != nullptr) back->after->before = each;
      give_spare(back);
    }
    return each;
  }

  // Lists hold what is at least of their class's size.
  span*& head_of(const span& each) {
    return free_[each.state][class_of(each.size + 1) - 1];
  }
  [[gnu::cold]] void list(span& each) noexcept {
    span*& head = head_of(each);
    each.previous = nullptr;
    each.next = head;
    if (head != nullptr) head->previous = &each;
    head = &each;
  }
  [[gnu::cold]] void unlist(span& each) noexcept {
    (each.previous != nullptr ? each.previous->next : head_of(each)) = each.next;
    if (each.next != nullptr) each.next->previous = each.previous;
  }

  // Used spans by address.
  span*& bucket_of(const char* begin) noexcept {
    const auto number = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(begin) >> 14);
    return buckets_[(number * 0x9e3779b97f4a7c15u >> 32) & (bucket_count_ - 1)];
  }
  [[gnu::cold]] span* find_used(const char* begin) noexcept {
    span** link = &bucket_of(begin);
    while ((*link)->begin != begin) link = &(*link)->next;
    span* const found = *link;
    *link = found->next;
    --used_;
    return found;
  }
  [[gnu::cold]] void grow_buckets() noexcept {
    const std::size_t count = 4 * std::max<std::size_t>(bucket_count_, 64), before = bucket_count_;
    span** const more = new (std::nothrow) span* [count] {};
    if (more == nullptr) return;
    span** const less = std::exchange(buckets_, more);
    bucket_count_ = count;
    for (std::size_t i = 0; i < before; ++i) {
      for (span* each = less[i]; each != nullptr;) {
        span*& bucket = bucket_of(each->begin);
        each = std::exchange(each->next, std::exchange(bucket, each));
      }
    }
    delete[] less;
  }

  // What a call can need: two spans to split one, and buckets that hold few.
  [[gnu::cold]] bool make_spares() noexcept {
    if (used_ >= bucket_count_) grow_buckets();
    while (spares_ == nullptr || spares_->next == nullptr) {
      span* const fresh = new (std::nothrow) span;
      if (fresh == nullptr) return false;
      give_spare(fresh);
    }
    return bucket_count_ > 0;
  }
  span* take_spare() noexcept {
    return std::exchange(spares_, spares_->next);
  }
  void give_spare(span* each) noexcept {
    each->next = std::exchange(spares_, each);
  }

  static std::size_t page_size() {
    const long size = ::sysconf(_SC_PAGESIZE);
    return size > 0 ? static_cast<std::size_t>(size) : 4096;
  }
  [[gnu::cold]] static void drop_pages(char* begin, std::size_t size) noexcept {
    if constexpr (!address_sanitizer) {
      const auto page = page_size(), first = reinterpret_cast<std::uintptr_t>(begin);
      const std::uintptr_t from = (first + page - 1) / page * page, to = (first + size) / page * page;
      if (from < to) ::madvise(begin + (from - first), to - from, MADV_DONTNEED);
    }
  }
  // Whole pages, aligned to 2 MiB.
  [[gnu::cold]] static char* system_map(std::size_t bytes) noexcept {
    if constexpr (address_sanitizer) {  // which looks for lost memory only in what it gave itself
      return static_cast<char*>(::operator new (bytes, std::align_val_t{huge_page}, std::nothrow));
    } else {
      void* const raw = ::mmap(nullptr, bytes + huge_page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (raw == MAP_FAILED) return nullptr;
      char* const begin = static_cast<char*>(raw);
      const std::size_t front = (huge_page - reinterpret_cast<std::uintptr_t>(begin) % huge_page) % huge_page;
      if (front > 0) ::munmap(begin, front);
      if (front < huge_page) ::munmap(begin + front + bytes, huge_page - front);
      return begin + front;
    }
  }
  // False where the system can't: a hole in the midst of what it sees as one mapping takes it memory of its own.
  [[gnu::cold]] static bool system_unmap(char* begin, std::size_t bytes) noexcept {
    if constexpr (address_sanitizer) {
      __asan_unpoison_memory_region(begin, bytes);
      ::operator delete (begin, std::align_val_t{huge_page});
      return true;
    } else {
      return ::munmap(begin, bytes) == 0;
    }
  }

  std::array<std::array<span*, class_count>, 2> free_{};
  span** buckets_ = nullptr;
  std::size_t bucket_count_ = 0, used_ = 0;
  span* spares_ = nullptr;
};

}  // namespace kiln::cpu::process
