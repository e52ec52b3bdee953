// SPDX-License-Identifier: BSL-1.0
// Memory between pages that can't be read, and tests that run in it: a kernel reads and writes what it was given and no
// byte more, or its process ends by a signal. (What lies in memory of kiln's own is held by the address sanitizer in
// the same way: tests/device/cpu/memory/memory.test.cpp.)
#pragma once

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <memory>

#include <kiln/device/cpu/threads/threads.hpp>
#include <kiln/tensor/creation.hpp>

#include "support/child.hpp"

namespace kiln::support {

enum class edge { before, after };  // where there is no memory

inline std::size_t page() {
  return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

// Pages between two that can't be read; the numbers lie against one of those.
template <class T>
Tensor<T> guarded(const dims& sizes, const dims& strides, std::int64_t reach, edge where) {
  const std::size_t bytes = static_cast<std::size_t>(reach) * sizeof(T), inner = (bytes / page() + 1) * page();
  char* const all = static_cast<char*>(
      ::mmap(nullptr, inner + 2 * page(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  REQUIRE(static_cast<void*>(all) != MAP_FAILED);
  REQUIRE(::mprotect(all, page(), PROT_NONE) == 0);
  REQUIRE(::mprotect(all + page() + inner, page(), PROT_NONE) == 0);
  T* const first = reinterpret_cast<T*>(where == edge::before ? all + page() : all + page() + inner - bytes);
  for (std::int64_t i = 0; i < reach; ++i) first[i] = static_cast<T>(static_cast<float>(i % 7 + 1));
  const std::size_t mapped = inner + 2 * page();
  return from_blob(first, sizes, strides, std::shared_ptr<void>(all, [mapped](void* p) { ::munmap(p, mapped); }));
}
template <class T>
Tensor<T> guarded(const dims& sizes, edge where) {
  return guarded<T>(sizes, contiguous_strides(sizes), count(sizes), where);
}

inline constexpr std::int64_t lengths[] = {1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 31, 33, 63, 65, 129, 1031};

// Calls work(n, edge) for both edges and all lengths, in a child process: a signal is a failure, not an end.
template <class Work>
void walk(const char* what, Work work) {
  for (const edge where : {edge::before, edge::after}) {
    const int end = run_in_child([&] {
      ::signal(SIGSEGV, SIG_DFL);
      set_num_threads(1);
      for (const std::int64_t n : lengths) work(n, where);
      return 0;
    });
    INFO(what << (where == edge::before ? ", at the beginning" : ", at the end"));
    CHECK(end == 0);
  }
}

}  // namespace kiln::support
