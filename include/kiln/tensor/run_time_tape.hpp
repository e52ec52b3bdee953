// SPDX-License-Identifier: BSL-1.0
// A tape that is made while the program runs, and what the devices that ran it keep for the next time.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include <kiln/core/growing_list.hpp>
#include <kiln/tape/program.hpp>

namespace kiln::detail {

struct run_time_tape {
  program tape;               ///< composite ops written out
  std::vector<dtype> stores;  ///< per result
  int slots = 0, reductions = 0;
  bool reduction_rooted = false;

  tape_view view() const { return {&tape[0], tape.size(), tape.results, tape.result_count}; }

  /// What `make()` gave when this was first asked for by `whom`.
  template <class X, class Make>
  std::shared_ptr<X> prepared(const void* whom, Make make) const {
    if (const auto* known = kept_.find([whom](const prepared_by& each) { return each.whom == whom; }))
      return std::static_pointer_cast<X>(known->what);
    return std::static_pointer_cast<X>(kept_.add({whom, make()}).what);
  }

 private:
  struct prepared_by {
    const void* whom;
    std::shared_ptr<void> what;
  };
  mutable growing_list<prepared_by> kept_;
};

}  // namespace kiln::detail
