// SPDX-License-Identifier: BSL-1.0
// The definitions of print_index.hpp.
#pragma once

#include <set>
#include <string>
#include <utility>

#include <kiln/device/cuda/print/print_index.hpp>

namespace kiln::cuda {

KILN_INLINE source print_index(index_kernel which, const index_kernel_types& types) {
  const std::string of(storage_name(types.type)), index = types.wide ? "int64" : "int32",
                                                  walk = types.wide_walk ? "index_walk" : "index_walk32",
                                                  counted = types.wide_walk ? "" : "_32";
  const std::string indices = message("const ", index, "* __restrict__ index, ", walk, " walk"),
                    checked = indices + ", uint32* fault", sort = indices + ", uint32 places, int32 bits, ",
                    counts = "const uint32* __restrict__ counts, int32 counting, uint32* states, uint32* next_tile";
  const auto kernel = [](const std::string& name, const std::string& parameters, const std::string& call) {
    return print_fixed({"index.cuh", name, parameters, call});
  };
  const auto sorting = [](const std::string& name, const std::string& parameters, const std::string& call,
                          const std::string& shared = "__shared__ sort_memory memory;\n  ", int threads = sort_threads,
                          int least_blocks = 0) {
    return print_fixed({.file = "index_sums.cuh",
                        .name = name,
                        .parameters = parameters,
                        .call = shared + call,
                        .threads = threads,
                        .least_blocks = least_blocks});
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
    case index_kernel::count_digits:
      return sorting(message("count_digits_", index, counted),
                     message("uint32* __restrict__ counts, ", sort,
                             "int32 passes, uint32* __restrict__ zeroed, int64 words, uint32* fault"),
                     "count_digits(counts, index, walk, places, bits, passes, zeroed, words, fault, seen)",
                     message("__shared__ uint32 seen[", most_passes << most_digit_bits, "];\n  "), count_threads);
    case index_kernel::sort_tile:
      return sorting(message("sort_tile_", index, counted),
                     message("sort_entry* first, sort_entry* second, ", sort,
                             "int32 passes, uint32* __restrict__ zeroed, int64 words, uint32* fault"),
                     "sort_tile(first, second, index, walk, places, bits, passes, zeroed, words, fault, memory)");
    case index_kernel::first_pass:
      return sorting(message("first_pass_", index, counted), message("sort_entry* __restrict__ sorted, ", sort, counts),
                     "radix_pass_of_index(sorted, index, walk, places, bits, counts, counting, states, next_tile, "
                     "memory)");
    case index_kernel::next_pass:
      return sorting("next_pass",
                     "sort_entry* __restrict__ sorted, const sort_entry* __restrict__ entries, int64 n, int32 shift, "
                     "int32 bits, " +
                         counts,
                     "radix_pass_of_entries(sorted, entries, n, shift, bits, counts, counting, states, next_tile, "
                     "memory)");
    case index_kernel::sum_in_order:
      break;
  }
  const std::string sum(value_name(types.type));
  // Rows in vectors: as many threads as fit without spilled registers (ptxas of CUDA 13).
  const int least_blocks = types.wide_walk || types.step == 1 || types.step > 8 ? 0 : types.step > 4 ? 3 : 4;
  return sorting(
      message("sum_in_order_", of, types.step > 1 ? message("_", types.step) : "", counted),
      message(of, "* __restrict__ table, const ", of, "* __restrict__ values, const sort_entry* __restrict__ entries, ",
              "vec<", sum, ", ", types.step, ">* sums, uint32* arrived, ", walk, " walk, ", walk,
              " rest, int64 unit, uint32 places, int32 window_bits"),
      message("sum_in_order<", sum, ", ", types.step,
              ">(table, values, entries, sums, arrived, walk, rest, unit, places, window_bits)"),
      {}, sort_threads, least_blocks);
}

KILN_INLINE std::vector<source> index_kernels_of(dtype type) {
  std::vector<source> all;
  std::set<std::string> seen;
  for (const index_kernel which : all_index_kernels)
    for (const bool wide : {false, true})
      for (const bool wide_walk : {false, true})
        for (const int step : {1, widest_step(type)}) {
          if (which == index_kernel::scatter_add && size_of(type) == 1) continue;  // added in order, see run_index
          source made = print_index(which, {type, wide, wide_walk, step});
          if (seen.insert(made.name).second) all.push_back(std::move(made));
        }
  return all;
}

}  // namespace kiln::cuda
