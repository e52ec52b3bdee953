// SPDX-License-Identifier: BSL-1.0
// What instrumented kernels call: the compilers' announcements of memory accesses (those made for
// ThreadSanitizer, which leave no access out) and of undefined behaviour,
// answered by the emulator in place of a sanitizer's run time, so that every build of the tests sees stray accesses and
// a report ends the launch, not the program. Included into a module only, after device.hpp.
#pragma once

#include "interface.hpp"

#define KILN_EMULATOR_HOOK __attribute__((visibility("hidden"), used)) KILN_EMULATOR_UNCHECKED

#define KILN_EMULATOR_ACCESS(size)                                                   \
  KILN_EMULATOR_HOOK inline void __tsan_read##size(const void* address) {            \
    emulator::host.access(address, size, false);                                     \
  }                                                                                  \
  KILN_EMULATOR_HOOK inline void __tsan_write##size(const void* address) {           \
    emulator::host.access(address, size, true);                                      \
  }                                                                                  \
  KILN_EMULATOR_HOOK inline void __tsan_unaligned_read##size(const void* address) {  \
    emulator::host.access(address, size, false);                                     \
  }                                                                                  \
  KILN_EMULATOR_HOOK inline void __tsan_unaligned_write##size(const void* address) { \
    emulator::host.access(address, size, true);                                      \
  }

extern "C" {
KILN_EMULATOR_ACCESS(1)
KILN_EMULATOR_ACCESS(2)
KILN_EMULATOR_ACCESS(4)
KILN_EMULATOR_ACCESS(8)
KILN_EMULATOR_ACCESS(16)
KILN_EMULATOR_HOOK inline void __tsan_read_range(const void* address, unsigned long size) {
  emulator::host.access(address, size, false);
}
KILN_EMULATOR_HOOK inline void __tsan_write_range(const void* address, unsigned long size) {
  emulator::host.access(address, size, true);
}
KILN_EMULATOR_HOOK inline void __tsan_init() {}
KILN_EMULATOR_HOOK inline void __tsan_func_entry(void*) {}
KILN_EMULATOR_HOOK inline void __tsan_func_exit() {}
// clang turns copies of whole objects into these.
KILN_EMULATOR_HOOK inline void* memcpy(void* to, const void* from, unsigned long size) noexcept {
  emulator::host.access(from, size, false);
  emulator::host.access(to, size, true);
  for (unsigned long i = 0; i < size; ++i) static_cast<char volatile*>(to)[i] = static_cast<const char*>(from)[i];
  return to;
}
KILN_EMULATOR_HOOK inline void* memset(void* to, int value, unsigned long size) noexcept {
  emulator::host.access(to, size, true);
  for (unsigned long i = 0; i < size; ++i) static_cast<char volatile*>(to)[i] = static_cast<char>(value);
  return to;
}

KILN_EMULATOR_HOOK inline void* __tsan_memcpy(void* to, const void* from, unsigned long size) {
  return memcpy(to, from, size);
}
KILN_EMULATOR_HOOK inline void* __tsan_memset(void* to, int value, unsigned long size) {
  return memset(to, value, size);
}

KILN_EMULATOR_HOOK inline void __ubsan_handle_type_mismatch_v1(void*, unsigned long address) {
  emulator::host.fail(address == 0 ? "access through a null pointer"
                                   : "misaligned access: the address does not suit the type, as a 16-byte vector "
                                     "needs a multiple of 16");
}
KILN_EMULATOR_HOOK inline void __ubsan_handle_out_of_bounds(void*, unsigned long) {
  emulator::host.fail("index outside the bounds of an array");
}
KILN_EMULATOR_HOOK inline void __ubsan_handle_divrem_overflow(void*, unsigned long, unsigned long) {
  emulator::host.fail("integer division by zero");
}
KILN_EMULATOR_HOOK inline void __ubsan_handle_shift_out_of_bounds(void*, unsigned long, unsigned long) {
  emulator::host.fail("shift by more bits than the type has");
}
}

#undef KILN_EMULATOR_ACCESS
#undef KILN_EMULATOR_HOOK
