// SPDX-License-Identifier: BSL-1.0
// The definitions of print_index.hpp.
#pragma once

#include <kiln/device/cuda/print/print_index.hpp>

namespace kiln::cuda {

KILN_INLINE source print_index(index_kernel which, dtype type, bool wide) {
  const std::string of(storage_name(type)), index = wide ? "int64" : "int32";
  const std::string checked = message("const ", index, "* __restrict__ index, index_walk walk, uint32* fault");
  const auto kernel = [](const std::string& name, const std::string& parameters, const std::string& call,
                         int threads = 256) {
    return print_fixed({"index.cuh", name, parameters, call, threads});
  };
  switch (which) {
    case index_kernel::gather:
      return kernel(message("gather_", of, "_", index),
                    message(of, "* __restrict__ values, const ", of, "* __restrict__ table, ", checked),
                    "gather(values, table, index, walk, fault)");
    case index_kernel::scatter:
    case index_kernel::scatter_add: {
      const std::string name = which == index_kernel::scatter ? "scatter" : "scatter_add";
      return kernel(message(name, "_", of, "_", index),
                    message(of, "* __restrict__ table, const ", of, "* __restrict__ values, ", checked),
                    message(name, "(table, values, index, walk, fault)"));
    }
    case index_kernel::make_keys:
      return kernel(message("make_keys_", index), message("uint64* __restrict__ keys, int64 room, ", checked),
                    "make_keys(keys, room, index, walk, fault)");
    case index_kernel::sort_step:
      return kernel("sort_step", "uint64* keys, int64 room, int64 run, int64 way", "sort_step(keys, room, run, way)");
    case index_kernel::sort_tiles:
      return kernel("sort_tiles", "uint64* keys, int64 room, int64 first_run, int64 last_run",
                    message("sort_tiles<", sort_threads, ">(keys, room, first_run, last_run)"), sort_threads);
    case index_kernel::sum_in_order:
      break;
  }
  return kernel(message("sum_in_order_", of),
                message(of, "* __restrict__ table, const ", of,
                        "* __restrict__ values, const uint64* __restrict__ keys, index_walk walk, index_walk rest"),
                "sum_in_order(table, values, keys, walk, rest)");
}

}  // namespace kiln::cuda
