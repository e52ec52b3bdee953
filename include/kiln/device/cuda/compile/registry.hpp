// SPDX-License-Identifier: BSL-1.0
// The tapes that a program may run on a GPU, known before main begins: each program type that is instantiated for the
// device adds one entry. So do parts of kiln that have kernels without a tape. Whoever compiles kernels ahead of time
// reads them.
#pragma once

#include <atomic>
#include <utility>
#include <vector>

#include <kiln/core/dtype.hpp>
#include <kiln/core/version.hpp>
#include <kiln/device/cuda/plan/source.hpp>
#include <kiln/tape/program.hpp>

namespace kiln::cuda {

/// A tape and what else its type says.
struct registered_tape {
  tape_view tape = {};
  bool reduction_rooted = false;    ///< the results are one value per row
  const dtype* stores = nullptr;    ///< per result: the type that it is usually stored as
  registered_tape* next = nullptr;  ///< registered before it
};

/// Kernels without a tape that a program may launch.
struct registered_kernels {
  std::vector<source> (*list)() = nullptr;
  registered_kernels* next = nullptr;
};

namespace detail {

template <class Entry>
inline constinit std::atomic<Entry*> last_registered{nullptr};

template <class Entry>
void enter(Entry& entry) noexcept {
  entry.next = last_registered<Entry>.load();
  while (!last_registered<Entry>.compare_exchange_weak(entry.next, &entry)) {
  }
}
template <class Entry>
std::vector<Entry> entered() {
  std::vector<Entry> all;
  for (const Entry* at = last_registered<Entry>.load(); at != nullptr; at = at->next) all.push_back(*at);
  return all;
}

}  // namespace detail

/// Enters a tape, or a function that lists kernels, for as long as the program runs: a variable of static storage
/// duration. Those of a library that is opened later enter theirs then.
template <class Entry>
class registration {
 public:
  explicit registration(const Entry& what) noexcept : entry_(what) { detail::enter(entry_); }
  registration(const registration&) = delete;
  registration& operator=(const registration&) = delete;

 private:
  Entry entry_;
};

/// All tapes that were registered so far, in no order.
std::vector<registered_tape> registered_tapes();
/// All kernels without a tape that were registered so far, in no order.
std::vector<source> registered_sources();

}  // namespace kiln::cuda

#ifndef KILN_COMPILED
#include <kiln/device/cuda/compile/registry_impl.hpp>
#endif
