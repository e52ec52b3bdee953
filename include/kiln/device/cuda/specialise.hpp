// SPDX-License-Identifier: BSL-1.0
// From a task to a plan: the facts that types cannot tell (which leaves are the same tensor, how each is walked, what
// is aligned, whether 32 bits count its elements), in a form without sizes and addresses. Tape and plan together name
// the text to print; `plan::key` is the plan as text.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include <kiln/core/error.hpp>
#include <kiln/device/cuda/task.hpp>

namespace kiln::cuda {

/// How a kernel walks an operand along the innermost axis.
enum class access : std::uint8_t {
  unused,   ///< not read, or a result that nobody asked for
  one,      ///< one value for the whole domain
  row,      ///< one value for each run of the innermost axis
  vectors,  ///< neighbours in memory, several moved at once
  each,     ///< neighbours in memory, moved one by one: not aligned for vectors
  strided,  ///< a stride, passed as a parameter
  turned,   ///< neighbours along another axis: read along that one, a tile at a time
};

struct operand_plan {
  access how = access::unused;
  std::uint8_t axes = 0;  ///< the axes before the innermost along which it moves, as bits
  bool operator==(const operand_plan&) const = default;
};

/// What a result narrower than the domain adds up: gradients of leaves that were broadcast.
enum class summed : std::uint8_t {
  nothing,
  along_row,    ///< one value per row: added up by whoever holds the row
  across_rows,  ///< one value per place in the row: added up by each thread, then, over scratch memory, by another
                ///< kernel
  everything,   ///< one value
};

enum class kernel_shape : std::uint8_t {
  map,            ///< every element by itself
  warp_per_row,   ///< a row program whose rows a warp holds in registers
  block_per_row,  ///< ... a block holds in registers
  long_rows,      ///< ... a block walks through once per pass
  reduce_all,     ///< partial results per block, then one block
  columns,        ///< rows that lie across memory, reduced down
  transpose,      ///< a map with leaves whose fast axis is another one, turned in shared memory
};

/// The name of a shape, as it stands in keys and kernel names.
constexpr const char* name(kernel_shape shape) {
  switch (shape) {
    case kernel_shape::map:
      return "map";
    case kernel_shape::warp_per_row:
      return "warp_per_row";
    case kernel_shape::block_per_row:
      return "block_per_row";
    case kernel_shape::long_rows:
      return "long_rows";
    case kernel_shape::reduce_all:
      return "reduce_all";
    case kernel_shape::columns:
      return "columns";
    case kernel_shape::transpose:
      break;
  }
  return "transpose";
}

struct plan {
  kernel_shape shape = kernel_shape::map;
  int rank = 1;                            ///< axes of the collapsed domain
  int row_axes = 0;                        ///< how many of them, at the end, make up a row
  int step = 1;                            ///< neighbours along the innermost axis that a thread takes at once
  bool wide = false;                       ///< 64-bit indices
  bool apart = true;                       ///< no result shares memory with a leaf or another result
  int threads = 256;                       ///< per block
  int held = 0;                            ///< of row programs in registers: steps of a row that one thread holds
  bool row_root = false;                   ///< the results are one value per row
  bool cut = false;                        ///< columns: the rows are cut into parts, each with results of its own
  bool even = false;                       ///< row programs: a row is whole steps, none ends within one
  std::vector<operand_plan> leaves = {};   ///< per slot
  std::vector<std::int8_t> same_as = {};   ///< per slot: the first slot that holds the same tensor
  std::vector<operand_plan> results = {};  ///< per result
  std::vector<summed> sums = {};           ///< per result, of row programs
  std::vector<dtype> stores = {};          ///< per result: the type it is stored as
  std::vector<bool> adds = {};             ///< per result

  /// The plan as text: "map step 4 int32 x0 vectors x1 row(0) y0 vectors". Equal plans have equal keys.
  std::string key() const;
};

namespace detail {

inline const char* name(access how) {
  constexpr const char* names[] = {"unused", "one", "row", "vectors", "each", "strided", "turned"};
  return names[static_cast<std::size_t>(how)];
}
inline const char* name(summed what) {
  constexpr const char* names[] = {"", " summed along the row", " summed across rows", " summed"};
  return names[static_cast<std::size_t>(what)];
}
inline std::string text_of(const operand_plan& x) {
  std::string out = name(x.how);
  if (x.axes == 0) return out;
  out += "(";
  for (int i = 0; i < 8; ++i)
    if (x.axes >> i & 1) out += static_cast<char>('0' + i);
  return out + ")";
}

inline bool aligned(const void* data, const dims& strides, std::size_t size, int step) {
  const auto bytes = static_cast<std::uintptr_t>(step) * size;
  if (reinterpret_cast<std::uintptr_t>(data) % bytes != 0) return false;
  for (int i = 0; i + 1 < strides.rank(); ++i)
    if (strides[i] % step != 0) return false;
  return true;
}
inline operand_plan planned(const void* data, const dims& strides, std::size_t size, int step) {
  operand_plan p;
  for (int i = 0; i + 1 < strides.rank(); ++i)
    if (strides[i] != 0) p.axes |= static_cast<std::uint8_t>(1u << i);
  const std::int64_t inner = strides.rank() == 0 ? 0 : strides.back();
  if (inner == 0)
    p.how = p.axes ? access::row : access::one;
  else if (inner != 1)
    p.how = access::strided;
  else
    p.how = step > 1 && aligned(data, strides, size, step) ? access::vectors : access::each;
  return p;
}

/// The elements from the first to the last in memory that an operand reaches, as bytes.
struct reach {
  std::intptr_t low = 0, high = 0;
  bool meets(const reach& other) const { return low < other.high && other.low < high; }
};
inline reach reach_of(const void* data, const dims& strides, const dims& domain, std::size_t size) {
  reach r{reinterpret_cast<std::intptr_t>(data), reinterpret_cast<std::intptr_t>(data)};
  const auto bytes = static_cast<std::int64_t>(size);
  for (int i = 0; i < strides.rank(); ++i) {
    const std::int64_t way = strides[i] * (domain[i] - 1) * bytes;
    (way < 0 ? r.low : r.high) += static_cast<std::intptr_t>(way);
  }
  r.high += static_cast<std::intptr_t>(bytes);
  return r;
}

inline void find_same_leaves(const task& job, plan& p) {
  for (std::size_t i = 0; i < job.leaves.size(); ++i) {
    p.same_as.push_back(static_cast<std::int8_t>(i));
    const leaf_view& x = job.leaves[i];
    for (std::size_t k = 0; k < i && x.used; ++k) {
      const leaf_view& earlier = job.leaves[k];
      if (!earlier.used || earlier.data != x.data || earlier.type != x.type || earlier.kind != x.kind ||
          is_drawn(x.kind) || !(earlier.strides == x.strides))
        continue;
      p.same_as[i] = static_cast<std::int8_t>(k);
      break;
    }
  }
}
inline bool all_apart(const task& job) {
  std::vector<reach> written;
  for (const result_view& y : job.results) {
    if (!y.data) continue;
    const reach here = reach_of(y.data, y.strides, job.domain, size_of(y.type));
    for (const reach& other : written)
      if (here.meets(other)) return false;
    written.push_back(here);
  }
  for (const leaf_view& x : job.leaves)
    if (x.used)
      for (const reach& y : written)
        if (y.meets(reach_of(x.data, x.strides, job.domain, size_of(x.type)))) return false;
  return true;
}
/// 32 bits hold every index and offset, with room for a last step beyond the end.
inline bool needs_wide(const task& job) {
  constexpr std::int64_t most = std::int64_t{1} << 30;
  std::int64_t total = 1;
  for (int i = 0; i < job.domain.rank(); ++i) total *= job.domain[i];
  if (total >= most) return true;
  auto far = [&](const dims& strides) {
    std::int64_t way = 0;
    for (int i = 0; i < strides.rank(); ++i) way += std::abs(strides[i]) * (job.domain[i] - 1);
    return way >= most;
  };
  for (const leaf_view& x : job.leaves)
    if (x.used && far(x.strides)) return true;
  for (const result_view& y : job.results)
    if (y.data && far(y.strides)) return true;
  return false;
}

/// Elements a thread takes at once: 16 bytes of the widest operand whose neighbours lie side by side, lowered until the
/// first such result is aligned. The other operands are looked at one by one: none spoils the rest.
inline int step_of(const task& job, int most) {
  std::size_t widest = 1;
  const result_view* first = nullptr;
  bool any = false;
  auto see = [&](const dims& strides, dtype type) {
    if (strides.rank() == 0 || strides.back() != 1) return;
    widest = std::max(widest, size_of(type));
    any = true;
  };
  for (const leaf_view& x : job.leaves)
    if (x.used && x.kind != leaf_kind::address) see(x.strides, x.type);
  for (const result_view& y : job.results) {
    if (!y.data) continue;
    see(y.strides, y.type);
    if (!first && y.strides.rank() > 0 && y.strides.back() == 1) first = &y;
  }
  if (!any || job.domain.rank() == 0) return 1;
  int step = std::min(most, static_cast<int>(16 / widest));
  while (step > 1 &&
         (job.domain.back() < step || (first && !aligned(first->data, first->strides, size_of(first->type), step))))
    step /= 2;
  return step;
}

inline void plan_operands(const task& job, plan& p) {
  for (const leaf_view& x : job.leaves)
    p.leaves.push_back(x.used ? planned(x.data, x.strides, size_of(x.type), p.step) : operand_plan{});
  for (const result_view& y : job.results) {
    p.results.push_back(y.data ? planned(y.data, y.strides, size_of(y.type), p.step) : operand_plan{});
    p.stores.push_back(y.type);
    p.adds.push_back(y.data && y.add);
  }
}

}  // namespace detail

inline std::string plan::key() const {
  std::string out = message(cuda::name(shape), " rank ", rank);
  if (row_axes) out += message(" row ", row_axes);
  out += message(" step ", step, wide ? " int64" : " int32");
  if (threads != 256) out += message(" threads ", threads);
  if (held) out += message(" held ", held);
  if (row_root) out += " to rows";
  if (cut) out += " cut";
  if (even) out += " even";
  if (!apart) out += " overlapping";
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    if (leaves[i].how == access::unused) continue;
    out += message(" x", i, " ");
    out += same_as[i] == static_cast<std::int8_t>(i) ? detail::text_of(leaves[i]) : message("= x", int{same_as[i]});
  }
  for (std::size_t r = 0; r < results.size(); ++r)
    out += message(" y", r, " ", kiln::name(stores[r]), " ", detail::text_of(results[r]), adds[r] ? " added" : "",
                   r < sums.size() ? detail::name(sums[r]) : "");
  return out;
}

/// The plan of a map. Orders and collapses the axes of `job`; what it leaves in `job.domain` has at least one axis.
/// `most` limits how many neighbours one thread takes (long programs would not fit the registers).
inline plan plan_map(task& job, int most = 16) {
  order_axes(job);
  collapse(job);
  if (job.domain.rank() == 0) {
    detail::each_operand(job, [](dims& strides) { strides.push_back(0); });
    job.domain.push_back(1);
    for (result_view& y : job.results)
      if (y.data) y.strides[0] = 1;
  }
  plan p{.shape = kernel_shape::map, .rank = job.domain.rank()};
  p.wide = detail::needs_wide(job);
  p.apart = detail::all_apart(job);
  detail::find_same_leaves(job, p);
  p.step = detail::step_of(job, most);
  detail::plan_operands(job, p);
  return p;
}

}  // namespace kiln::cuda
