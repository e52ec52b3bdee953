// SPDX-License-Identifier: BSL-1.0
// What a rank asks for in a collective, in 16 bytes that all ranks compare before any element goes: MPI itself writes
// five elements into a hundred, or floats into doubles, and says nothing.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include <kiln/core/error.hpp>
#include <kiln/distributed/process_group.hpp>

namespace kiln::distributed::detail {

enum class collective : std::uint8_t { all_reduce, broadcast, all_gather, barrier };

/// "all_reduce" ...
constexpr std::string_view name(collective which) {
  constexpr std::string_view names[] = {"all_reduce", "broadcast", "all_gather", "barrier"};
  return names[static_cast<int>(which)];
}

struct signature {
  std::int64_t count = 0;
  std::int32_t root = 0;
  collective which = collective::barrier;
  std::uint8_t type = 0, op = 0, unused = 0;

  static signature of(collective which, const elements& x, reduce_op op = {}, int root = 0) {
    return {x.count, root, which, static_cast<std::uint8_t>(x.type), static_cast<std::uint8_t>(op)};
  }
  friend bool operator==(const signature&, const signature&) = default;

  /// "all_reduce (sum) of 5 float32 elements"
  std::string text() const {
    if (which == collective::barrier) return "barrier";
    const std::string how = which == collective::all_reduce  ? message(" (", distributed::name(reduce_op(op)), ")")
                            : which == collective::broadcast ? message(" from rank ", root)
                                                             : std::string();
    return message(name(which), how, " of ", count, " ", kiln::name(dtype(type)), " elements");
  }
};
static_assert(sizeof(signature) == 16);

/// Throws value_error, on every rank alike but for its name, unless all ranks ask for the same.
inline void check_agreement(std::span<const signature> all, int rank) {
  std::string calls;
  int listed = 0;
  for (std::size_t r = 0; r < all.size(); ++r) {
    bool first = true;
    for (std::size_t before = 0; before < r && first; ++before) first = !(all[before] == all[r]);
    if (first && ++listed <= 4) calls += message(listed > 1 ? ", rank " : "rank ", r, " calls ", all[r].text());
  }
  if (listed <= 1) return;
  throw value_error(message("distributed::", name(all[static_cast<std::size_t>(rank)].which), ", rank ", rank,
                            ": the ranks differ: ", calls, listed > 4 ? ", and others call others" : "",
                            "; let all ranks call the same collectives in the same order, with tensors of one size and "
                            "type. Nothing was sent"));
}

}  // namespace kiln::distributed::detail
