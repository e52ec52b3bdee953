// SPDX-License-Identifier: BSL-1.0
// The definitions of print_index.hpp.
#pragma once

#include <kiln/device/cuda/print/print_index.hpp>

namespace kiln::cuda {

KILN_INLINE source print_index(index_kernel which, dtype type, bool wide, bool wide_walk) {
  const std::string of(storage_name(type)), index = wide ? "int64" : "int32",
                                            walk = wide_walk ? "index_walk" : "index_walk32",
                                            counted = wide_walk ? "" : "_32";
  const std::string checked = message("const ", index, "* __restrict__ index, ", walk, " walk, uint32* fault");
  const std::string sum(value_name(type)),
      terms = message("const ", of, "* __restrict__ values, const uint64* __restrict__ keys, ");
  const auto kernel = [](const std::string& name, const std::string& parameters, const std::string& call) {
    return print_fixed({"index.cuh", name, parameters, call});
  };
  switch (which) {
    case index_kernel::gather:
      return kernel(message("gather_", of, "_", index, counted),
                    message(of, "* __restrict__ values, const ", of, "* __restrict__ table, ", checked),
                    "gather(values, table, index, walk, fault)");
    case index_kernel::scatter:
    case index_kernel::scatter_add: {
      const std::string name = which == index_kernel::scatter ? "scatter" : "scatter_add";
      return kernel(message(name, "_", of, "_", index, counted),
                    message(of, "* __restrict__ table, const ", of, "* __restrict__ values, ", checked),
                    message(name, "(table, values, index, walk, fault)"));
    }
    case index_kernel::make_keys:
      return kernel(message("make_keys_", index, counted), message("uint64* __restrict__ keys, ", checked),
                    "make_keys(keys, index, walk, fault)");
    case index_kernel::radix_count:
      return kernel("radix_count",
                    "const uint64* __restrict__ keys, int64 n, int32 shift, uint32* __restrict__ counts, "
                    "int64 tiles",
                    "__shared__ uint32 seen[256];\n  radix_count(keys, n, shift, counts, tiles, seen)");
    case index_kernel::radix_scan:
      return kernel("radix_scan", "uint32* __restrict__ counts, uint32* __restrict__ totals, int64 tiles",
                    "__shared__ uint32 sums[256];\n  radix_scan(counts, totals, tiles, sums)");
    case index_kernel::radix_place:
      return kernel("radix_place",
                    "const uint64* __restrict__ keys, uint64* __restrict__ sorted, int64 n, int32 shift, const uint32* "
                    "__restrict__ counts, const uint32* __restrict__ totals, int64 tiles",
                    "__shared__ uint32 places[9 * 256];\n  radix_place(keys, sorted, n, shift, counts, totals, tiles, "
                    "places)");
    case index_kernel::sum_chunks:
      return kernel(message("sum_chunks_", of, counted),
                    message(sum, "* __restrict__ sums, ", terms, walk, " walk, ", walk, " rest"),
                    "sum_chunks(sums, values, keys, walk, rest)");
    case index_kernel::sum_in_order:
      break;
  }
  return kernel(message("sum_in_order_", of, counted),
                message(of, "* __restrict__ table, ", terms, "const ", sum, "* __restrict__ sums, ", walk, " walk, ",
                        walk, " rest"),
                "sum_in_order(table, values, keys, sums, walk, rest)");
}

}  // namespace kiln::cuda
