// SPDX-License-Identifier: BSL-1.0
// The definitions of print_random.hpp.
#pragma once

#include <kiln/device/cuda/print/print_random.hpp>

namespace kiln::cuda {

KILN_INLINE source print_random(random_kind kind, dtype type) {
  if (kind != random_kind::integers && !is_floating(type))
    throw dtype_error(message("cuda: random numbers of type ", name(type),
                              " are integers: draw them from a range, or choose a floating type"));
  const std::string_view of = storage_name(type);
  const char* const what = kind == random_kind::uniform  ? "uniform"
                           : kind == random_kind::normal ? "normal"
                                                         : "integer";
  const bool integers = kind == random_kind::integers;
  const std::string maker = message(what, "_numbers<", of, ">", integers ? "{low, range}" : "{}");
  return print_fixed({"random.cuh", message("random_", what, "_", of),
                      message(of, "* __restrict__ to, int64 n, uint64 seed, uint64 first, const uint64* moved",
                              integers ? ", int64 low, uint64 range" : ""),
                      message("fill<", of, ", ", integers ? std::string("2") : message("per_block<", of, ">"),
                              ">(to, n, seed, first, *moved, ", maker, ")"),
                      256, message(what, " numbers of type ", name(type), " by Philox4x32-10")});
}

}  // namespace kiln::cuda
