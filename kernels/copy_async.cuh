// SPDX-License-Identifier: BSL-1.0
// Copies from global to shared memory that go on while the thread computes (cp.async, sm_80 and later). A thread closes
// a group of its copies with commit_copies and waits for groups with wait_for_copies; a barrier after that shows the
// bytes to the other threads.
#pragma once

#include <kernels/types.cuh>

namespace kiln::kernels {

/// Starts a copy of 16 bytes between addresses that are multiples of 16. Writes zeros unless `there`; `from` is not
/// read then.
__device__ inline void copy_async16(void* to, const void* from, bool there) {
#if defined(KILN_EMULATOR)
  emulator::copy_async(to, from, there ? 16 : 0, 16);
#else
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(uint32(__cvta_generic_to_shared(to))),
               "l"(from), "r"(there ? 16 : 0)
               : "memory");
#endif
}
/// The same of 8 bytes.
__device__ inline void copy_async8(void* to, const void* from, bool there) {
#if defined(KILN_EMULATOR)
  emulator::copy_async(to, from, there ? 8 : 0, 8);
#else
  asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(uint32(__cvta_generic_to_shared(to))), "l"(from),
               "r"(there ? 8 : 0)
               : "memory");
#endif
}
/// Closes the group of the copies that the thread started since the last call. It may be empty.
__device__ inline void commit_copies() {
#if defined(KILN_EMULATOR)
  emulator::commit_copies();
#else
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
/// Waits until all of the thread's groups but the latest `Groups` have arrived.
template <int Groups>
__device__ inline void wait_for_copies() {
#if defined(KILN_EMULATOR)
  emulator::wait_for_copies(Groups);
#else
  asm volatile("cp.async.wait_group %0;" ::"n"(Groups) : "memory");
#endif
}

}  // namespace kiln::kernels
