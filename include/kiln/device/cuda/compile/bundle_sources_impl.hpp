// SPDX-License-Identifier: BSL-1.0
// The definitions of bundle_sources.hpp.
#pragma once

#include <kiln/device/cuda/compile/bundle_sources.hpp>

namespace kiln::cuda {

namespace detail {

KILN_INLINE void add_common_sources(source_set& into) {
  for (int k = 0; k < dtype_count; ++k) {
    const auto type = static_cast<dtype>(k);
    const auto add = [&](dtype from, bool adds, bool sums) {
      void* const place = reinterpret_cast<void*>(std::uintptr_t{1} << 44);
      const dims to = sums ? dims{1, 0} : dims{4, 1};
      for (const launch& l : schedule_copy({place, {4, 1}, from, true}, {place, to, type, adds}, {4, 4}, {}, {}))
        into.add(print_kernel(l));
    };
    add(type, false, false);
    for (const bool adds : {false, true}) {
      add(compute_type(type), adds, false);
      if (is_floating(type)) add(compute_type(type), adds, true);
    }
    for (const random_kind kind : {random_kind::uniform, random_kind::normal, random_kind::integers})
      if (kind == random_kind::integers || is_floating(type)) into.add(print_random(kind, type));
  }
}

}  // namespace detail

KILN_INLINE std::vector<source> bundle_sources(std::vector<registered_tape> tapes, std::vector<source> more) {
  const auto place = [](const registered_tape& x) {
    const tape_key k = kiln::key(x.tape);
    return std::tuple(k.high, k.low, x.reduction_rooted, x.tape.result_count > 0 ? x.stores[0] : dtype::float32);
  };
  std::sort(tapes.begin(), tapes.end(),
            [&](const registered_tape& a, const registered_tape& b) { return place(a) < place(b); });
  std::sort(more.begin(), more.end(), [](const source& a, const source& b) { return a.name < b.name; });
  detail::source_set set;
  detail::add_common_sources(set);
  for (source& each : more) set.add(std::move(each));
  for (const registered_tape& each : tapes) {
    detail::usual_layouts usual(each, set);
    usual.add_all();
    set.add(usual.contiguous({4, 4}, detail::count_reductions(each.tape) > 0 ? 2 : 0), true);
  }
  return std::move(set.all);
}

}  // namespace kiln::cuda
