// SPDX-License-Identifier: BSL-1.0
// Fibers: many stacks on one thread, switched by hand. Twenty lines of assembly on x86-64 (about 5 ns a switch), else
// ucontext (about 500 ns, as it calls the kernel). Tells AddressSanitizer of each switch.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>
#include <vector>

#if defined(__x86_64__) && !defined(KILN_EMULATOR_UCONTEXT)
#define KILN_EMULATOR_ASSEMBLY 1
#define KILN_EMULATOR_SWITCH by_assembly  // an inline namespace: one program may hold both forms
#else
#define KILN_EMULATOR_ASSEMBLY 0
#define KILN_EMULATOR_SWITCH by_ucontext
#include <ucontext.h>
#endif

#if defined(__SANITIZE_ADDRESS__)
#define KILN_EMULATOR_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define KILN_EMULATOR_ASAN 1
#endif
#endif
#if !defined(KILN_EMULATOR_ASAN)
#define KILN_EMULATOR_ASAN 0
#endif

#if KILN_EMULATOR_ASAN
extern "C" {
void __sanitizer_start_switch_fiber(void** fake_stack_save, const void* bottom, std::size_t size);
void __sanitizer_finish_switch_fiber(void* fake_stack_save, const void** bottom_old, std::size_t* size_old);
void __asan_unpoison_memory_region(void const volatile*, std::size_t);
}
#endif

namespace emulate {
inline namespace KILN_EMULATOR_SWITCH {

namespace detail {

#if KILN_EMULATOR_ASSEMBLY
// Keeps what a call must keep on the stack it leaves, and takes the same from the stack it enters.
__attribute__((naked, noinline, no_sanitize_address)) inline void switch_stack(void** /*left: rdi*/,
                                                                               void* /*entered: rsi*/) {
  asm volatile(
      "pushq %rbp\n\tpushq %rbx\n\tpushq %r12\n\tpushq %r13\n\tpushq %r14\n\tpushq %r15\n\t"
      "movq %rsp, (%rdi)\n\tmovq %rsi, %rsp\n\t"
      "popq %r15\n\tpopq %r14\n\tpopq %r13\n\tpopq %r12\n\tpopq %rbx\n\tpopq %rbp\n\tret");
}
#endif

inline constexpr std::size_t stack_bytes = std::size_t{KILN_EMULATOR_ASAN ? 256 : 64} << 10;

}  // namespace detail

/// Memory for the stacks of up to `capacity` fibers, handed out last in, first out, so that threads that end without
/// waiting all run on one warm stack. Pages cost nothing until they are touched.
class stack_pool {
 public:
  explicit stack_pool(std::size_t capacity) : bytes_(capacity * detail::stack_bytes) {
    void* memory = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    memory_ = static_cast<char*>(memory);
    for (std::size_t i = capacity; i-- > 0;) free_.push_back(memory_ + i * detail::stack_bytes);
  }
  stack_pool(const stack_pool&) = delete;
  stack_pool& operator=(const stack_pool&) = delete;
  ~stack_pool() { ::munmap(memory_, bytes_); }

  char* take() {
    char* stack = free_.back();
    free_.pop_back();
    return stack;
  }
  void give_back(char* stack) {
#if KILN_EMULATOR_ASAN
    __asan_unpoison_memory_region(stack, detail::stack_bytes);  // an abandoned fiber leaves its frames behind
#endif
    free_.push_back(stack);
  }
  /// True for the address of anything on any of the stacks.
  bool holds(const void* address) const {
    return reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(memory_) < bytes_;
  }

 private:
  std::size_t bytes_;
  char* memory_ = nullptr;
  std::vector<char*> free_;
};

/// One side of a switch: a fiber, or the thread that resumes fibers.
class fiber {
 public:
  /// Prepares `body`, which must not return, to run on `stack` at the first switch to this.
  void prepare(char* stack, void (*body)()) {
    stack_ = stack;
#if KILN_EMULATOR_ASSEMBLY
    // Stacks a power of two apart would meet in the same few lines of the cache; start each a little lower.
    const auto number = reinterpret_cast<std::uintptr_t>(stack) / detail::stack_bytes;
    char* top = stack + detail::stack_bytes - 64 * (number % 61) - 64;
    auto* slot = reinterpret_cast<void**>(top);
    *--slot = nullptr;  // the return address of body; leaves rsp as a call would
    *--slot = reinterpret_cast<void*>(body);
    for (int i = 0; i < 6; ++i) *--slot = nullptr;
    pointer_ = slot;
#else
    ::getcontext(&context_);
    context_.uc_stack.ss_sp = stack;
    context_.uc_stack.ss_size = detail::stack_bytes;
    context_.uc_link = nullptr;
    ::makecontext(&context_, body, 0);
#endif
  }

  /// Leaves this one, which is running, for `other`; returns when something switches back. With `last`, never.
  void switch_to(fiber& other, [[maybe_unused]] bool last = false) {
#if KILN_EMULATOR_ASAN
    __sanitizer_start_switch_fiber(last ? nullptr : &fake_stack_, other.bottom(), other.size());
#endif
#if KILN_EMULATOR_ASSEMBLY
    detail::switch_stack(&pointer_, other.pointer_);
#else
    ::swapcontext(&context_, &other.context_);
#endif
    arrived();
  }

  /// The first thing that `body` does, with the side it was resumed from.
  static void started([[maybe_unused]] fiber& from) {
#if KILN_EMULATOR_ASAN
    const void* bottom = nullptr;
    std::size_t size = 0;
    __sanitizer_finish_switch_fiber(nullptr, &bottom, &size);
    if (from.stack_ == nullptr) {  // the thread's own stack, of which only the sanitizer knows
      from.thread_stack_ = bottom;
      from.thread_stack_size_ = size;
    }
#endif
  }

  char* stack() const {
    return stack_;
  }

 private:
#if KILN_EMULATOR_ASAN
  void arrived() {
    __sanitizer_finish_switch_fiber(fake_stack_, nullptr, nullptr);
  }
  const void* bottom() const {
    return stack_ ? stack_ : thread_stack_;
  }
  std::size_t size() const {
    return stack_ ? detail::stack_bytes : thread_stack_size_;
  }
  void* fake_stack_ = nullptr;
  const void* thread_stack_ = nullptr;
  std::size_t thread_stack_size_ = 0;
#else
  void arrived() {}
#endif
  char* stack_ = nullptr;
#if KILN_EMULATOR_ASSEMBLY
  void* pointer_ = nullptr;
#else
  ucontext_t context_{};
#endif
};

}  // namespace KILN_EMULATOR_SWITCH
}  // namespace emulate
