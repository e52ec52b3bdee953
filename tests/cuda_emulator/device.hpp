// SPDX-License-Identifier: BSL-1.0
// CUDA's device side for a host compiler: what kernels may use, here, in device_math.hpp and in device_mma.hpp, and
// nothing else. Include it before the text of a kernel (`-include`); emulate.hpp runs the result. Like NVRTC without
// headers, it brings no standard header along, so text that needs one fails here too.
#pragma once

#include "interface.hpp"

#define KILN_EMULATOR 1  // for the few places that need another branch: inline PTX, dynamic shared memory

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define __grid_constant__
#define __constant__ static
// Static memory is shared memory: the scheduler poisons it, and puts there what the block has whose turn it is. In a
// module it is all memory that begins as zeros, since nothing else of a module does: g++ ignores sections inside
// templates and inline functions. In a test's own file, where that would be the test's memory, it is a section: there
// shared arrays are declared in the kernel itself.
#if defined(KILN_EMULATOR_STANDALONE)
#define __shared__ static
#else
#define __shared__ static __attribute__((section("kiln_shared")))
#endif

// For what reads the host's memory: no access check, no sanitizer.
#if defined(__clang__)
#define KILN_EMULATOR_UNCHECKED __attribute__((no_sanitize("thread", "address", "undefined")))
#else
#define KILN_EMULATOR_UNCHECKED __attribute__((no_sanitize("thread,address,undefined")))
#endif

#pragma GCC diagnostic ignored "-Wunknown-pragmas"  // unroll
#if !defined(__clang__)
#define __builtin_assume(condition) ((void)0)
#endif

#if defined(KILN_EMULATOR_STANDALONE)
using size_t = decltype(sizeof 0);
#else
#include <stddef.h>
#endif

extern "C" {
#if defined(KILN_EMULATOR_STANDALONE)
// Made by the linker around what begins as zeros.
extern char __bss_start[] __attribute__((visibility("hidden")));
extern char _end[] __attribute__((visibility("hidden")));
#endif
// Made by the linker around the section; absent if no kernel has shared memory.
extern char __start_kiln_shared[] __attribute__((weak, visibility("hidden")));
extern char __stop_kiln_shared[] __attribute__((weak, visibility("hidden")));
}

// Hidden: each shared object must have variables of its own.
#pragma GCC visibility push(hidden)

struct uint3 {
  unsigned x, y, z;
};
struct dim3 {
  unsigned x = 1, y = 1, z = 1;
};

// None of these begins as zero: that is shared memory's.
inline uint3 threadIdx{1, 1, 1}, blockIdx{1, 1, 1};
inline dim3 blockDim{}, gridDim{};
inline constexpr int warpSize = 32;

namespace emulator {

#if defined(KILN_EMULATOR_STANDALONE)
inline constexpr bool checked = true;
#else
inline constexpr bool checked = false;
#endif

inline void nothing() {}
inline services host{nullptr, nullptr, &nothing, nullptr, nullptr, nullptr,
                     nullptr, nullptr, nullptr,  nullptr, nullptr, &nothing};
inline char no_shared[1] = {1};
inline void* dynamic_shared_start = no_shared;
inline void* exchange_start = no_shared;

KILN_EMULATOR_UNCHECKED inline device_view view() {
#if defined(KILN_EMULATOR_STANDALONE)
  char *const begin = __bss_start, *const end = _end;
#else
  char *const begin = __start_kiln_shared, *const end = __stop_kiln_shared;
#endif
  return {&host,           &threadIdx.x, &blockIdx.x, &blockDim.x, &gridDim.x, &dynamic_shared_start,
          &exchange_start, begin,        end,         checked};
}

/// In place of `extern __shared__ T memory[];`, which a host compiler cannot say.
inline void* dynamic_shared() {
  return dynamic_shared_start;
}

// A kernel behind `entry`: its parameters follow from its type. Not checked itself: it reads the host's memory.
template <auto Kernel>
struct call;
template <class... Parameters, void (*Kernel)(Parameters...)>
struct call<Kernel> {
  template <int... Index>
  struct places {};
  template <int Count, int... Index>
  struct count_up : count_up<Count - 1, Count - 1, Index...> {};
  template <int... Index>
  struct count_up<0, Index...> {
    using type = places<Index...>;
  };
  template <int... Index>
  KILN_EMULATOR_UNCHECKED static void spread(void** arguments, places<Index...>) {
    (void)arguments;
    Kernel(*static_cast<Parameters*>(arguments[Index])...);
  }
  KILN_EMULATOR_UNCHECKED static void run(void** arguments) {
    spread(arguments, typename count_up<static_cast<int>(sizeof...(Parameters))>::type{});
  }
  static constexpr bytes sizes[] = {sizeof(Parameters)..., 0};
  static constexpr bytes count = sizeof...(Parameters);
};

// Bits of a value of up to eight bytes, as a word.
template <class T>
word to_word(T value) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "shuffles move 4 or 8 bytes");
  if constexpr (sizeof(T) == 4)
    return __builtin_bit_cast(unsigned, value);
  else
    return __builtin_bit_cast(word, value);
}
template <class T>
T from_word(word bits) {
  if constexpr (sizeof(T) == 4)
    return __builtin_bit_cast(T, static_cast<unsigned>(bits));
  else
    return __builtin_bit_cast(T, bits);
}

inline int lane() {
  return static_cast<int>((threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) % 32);
}

template <class T>
T shuffle(int line, unsigned mask, T value, int source) {
  return from_word<T>(host.warp(meeting::shuffle, line, mask, to_word(value), source));
}

}  // namespace emulator

// ---- barriers ----
// The line is where the call stands: threads that meet at different barriers are a mistake to report.
inline void __syncthreads(int line = __builtin_LINE()) {
  emulator::host.barrier(emulator::meeting::sync_threads, line, 0);
}
inline int __syncthreads_and(int predicate, int line = __builtin_LINE()) {
  return emulator::host.barrier(emulator::meeting::sync_threads_and, line, predicate);
}
inline int __syncthreads_or(int predicate, int line = __builtin_LINE()) {
  return emulator::host.barrier(emulator::meeting::sync_threads_or, line, predicate);
}
inline int __syncthreads_count(int predicate, int line = __builtin_LINE()) {
  return emulator::host.barrier(emulator::meeting::sync_threads_count, line, predicate);
}
// The blocks of a cluster: who arrives does so when it waits, since nothing here lies between the two.
inline void __cluster_barrier_arrive() {}
inline void __cluster_barrier_wait(int line = __builtin_LINE()) {
  emulator::host.barrier(emulator::meeting::sync_cluster, line, 0);
}
inline void* __cluster_map_shared_rank(const void* place, unsigned rank) {
  return emulator::host.peer(place, rank);
}
inline void __syncwarp(unsigned mask = 0xffffffffu, int line = __builtin_LINE()) {
  emulator::host.warp(emulator::meeting::sync_warp, line, mask, 0, -1);
}
inline void __threadfence() {
  emulator::host.fence();
}
inline void __threadfence_block() {}
// griddepcontrol.wait, which NVRTC has as inline PTX only.
inline void __grid_dependency_wait() {
  emulator::host.grid_wait();
}
inline void __nanosleep(unsigned) {
  emulator::host.yield();
}
inline void __trap() {
  emulator::host.fail("__trap was called");
}

// ---- shuffles and votes ----
// Within a segment of `width` lanes, as CUDA defines it: who would read past the segment's end keeps its own value.
template <class T>
T __shfl_sync(unsigned mask, T value, int source, int width = 32, int line = __builtin_LINE()) {
  const int own = emulator::lane(), first = own & ~(width - 1);
  return emulator::shuffle(line, mask, value, first + (source & (width - 1)));
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned step, int width = 32, int line = __builtin_LINE()) {
  const int own = emulator::lane(), last = own | (width - 1), source = own + static_cast<int>(step);
  return emulator::shuffle(line, mask, value, source > last ? own : source);
}
template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned step, int width = 32, int line = __builtin_LINE()) {
  const int own = emulator::lane(), first = own & ~(width - 1), source = own - static_cast<int>(step);
  return emulator::shuffle(line, mask, value, source < first ? own : source);
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int flip, int width = 32, int line = __builtin_LINE()) {
  const int own = emulator::lane(), last = own | (width - 1), source = own ^ flip;
  return emulator::shuffle(line, mask, value, source > last ? own : source);
}
inline unsigned __ballot_sync(unsigned mask, int predicate, int line = __builtin_LINE()) {
  return static_cast<unsigned>(emulator::host.warp(emulator::meeting::vote, line, mask, predicate != 0, -1));
}
inline int __any_sync(unsigned mask, int predicate, int line = __builtin_LINE()) {
  return __ballot_sync(mask, predicate, line) != 0;
}
inline int __all_sync(unsigned mask, int predicate, int line = __builtin_LINE()) {
  return __ballot_sync(mask, !predicate, line) == 0;
}

// ---- atomics ----
// Announced as a whole, since two of them never race. Threads change before that and not after it, so a plain access is
// atomic.
namespace emulator {
template <class T, class Next>
KILN_EMULATOR_UNCHECKED T update(T* place, Next next) {
  host.atomic(place, sizeof(T));
  const T old = *place;
  *place = next(old);
  return old;
}
}  // namespace emulator
template <class T>
T atomicExch(T* place, T value) {
  return emulator::update(place, [=](T old) { return (void)old, value; });
}
template <class T>
T atomicAdd(T* place, T value) {
  return emulator::update(place, [=](T old) { return static_cast<T>(old + value); });
}
template <class T>
T atomicSub(T* place, T value) {
  return emulator::update(place, [=](T old) { return static_cast<T>(old - value); });
}
template <class T>
T atomicMax(T* place, T value) {
  return emulator::update(place, [=](T old) { return old < value ? value : old; });
}
template <class T>
T atomicMin(T* place, T value) {
  return emulator::update(place, [=](T old) { return value < old ? value : old; });
}
template <class T>
T atomicAnd(T* place, T value) {
  return emulator::update(place, [=](T old) { return static_cast<T>(old & value); });
}
template <class T>
T atomicOr(T* place, T value) {
  return emulator::update(place, [=](T old) { return static_cast<T>(old | value); });
}
template <class T>
T atomicXor(T* place, T value) {
  return emulator::update(place, [=](T old) { return static_cast<T>(old ^ value); });
}
template <class T>
T atomicCAS(T* place, T expected, T value) {
  return emulator::update(place, [=](T old) { return old == expected ? value : old; });
}
inline unsigned atomicInc(unsigned* place, unsigned limit) {
  return emulator::update(place, [=](unsigned old) { return old >= limit ? 0 : old + 1; });
}

// ---- loads and stores with a cache hint ----
template <class T>
T __ldg(const T* place) {
  return *place;
}
template <class T>
T __ldcs(const T* place) {
  return *place;
}
template <class T>
T __ldcg(const T* place) {
  return *place;
}
template <class T>
T __ldlu(const T* place) {
  return *place;
}
template <class T>
void __stcs(T* place, T value) {
  *place = value;
}
template <class T>
void __stcg(T* place, T value) {
  *place = value;
}

#pragma GCC visibility pop

#include "device_math.hpp"
#include "device_mma.hpp"
