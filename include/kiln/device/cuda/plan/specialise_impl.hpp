// SPDX-License-Identifier: BSL-1.0
// The definitions of specialise.hpp.
#pragma once

#include <kiln/device/cuda/plan/specialise.hpp>

namespace kiln::cuda {

namespace detail {

KILN_INLINE std::string text_of(const operand_plan& x) {
  std::string out = name(x.how);
  constexpr const char* places[] = {"", " shared", " ahead", " memory"};
  out += places[static_cast<std::size_t>(x.kept)];
  if (x.axes == 0) return out;
  out += "(";
  for (int i = 0; i < 8; ++i)
    if (x.axes >> i & 1) out += static_cast<char>('0' + i);
  return out + ")";
}

KILN_INLINE bool aligned(const void* data, const dims& strides, std::size_t size, int step) {
  const auto bytes = static_cast<std::uintptr_t>(step) * size;
  if (reinterpret_cast<std::uintptr_t>(data) % bytes != 0) return false;
  for (int i = 0; i + 1 < strides.rank(); ++i)
    if (strides[i] % step != 0) return false;
  return true;
}

KILN_INLINE operand_plan planned(const void* data, const dims& strides, std::size_t size, int step) {
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

KILN_INLINE reach reach_of(const void* data, const dims& strides, const dims& domain, std::size_t size) {
  reach r{reinterpret_cast<std::intptr_t>(data), reinterpret_cast<std::intptr_t>(data)};
  const auto bytes = static_cast<std::int64_t>(size);
  for (int i = 0; i < strides.rank(); ++i) {
    const std::int64_t way = strides[i] * (domain[i] - 1) * bytes;
    (way < 0 ? r.low : r.high) += static_cast<std::intptr_t>(way);
  }
  r.high += static_cast<std::intptr_t>(bytes);
  return r;
}

KILN_INLINE void find_same_leaves(const task& job, plan& p) {
  for (std::size_t i = 0; i < job.leaves.size(); ++i) {
    p.same_as.push_back(static_cast<std::int16_t>(i));
    const leaf_view& x = job.leaves[i];
    for (std::size_t k = 0; k < i && x.used; ++k) {
      const leaf_view& earlier = job.leaves[k];
      if (!earlier.used || earlier.data != x.data || earlier.type != x.type || earlier.kind != x.kind ||
          is_drawn(x.kind) || !(earlier.strides == x.strides))
        continue;
      p.same_as[i] = static_cast<std::int16_t>(k);
      break;
    }
  }
}

KILN_INLINE bool all_apart(const task& job) {
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

KILN_INLINE bool needs_wide(const task& job) {
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

KILN_INLINE int step_of(const task& job, int most) {
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

KILN_INLINE int work_of(const tape_view& t) {
  int work = 0;
  for (int i = 0; i < t.size; ++i)
    if (const found_rules op = op_facts_table.find(t[i].code)) work += op->expensive ? 4 : 1;
  return work;
}

KILN_INLINE int most_neighbours(const tape_view& t) {
  const int work = work_of(t);
  return work <= 8 ? 16 : work <= 96 ? 8 : 4;
}

KILN_INLINE std::vector<bool> moving_values(const tape_view& t, const plan& p) {
  std::vector<bool> moving(static_cast<std::size_t>(t.size));
  for (int i = 0; i < t.size; ++i) {
    auto is = [&](std::int16_t k) { return k >= 0 && moving[static_cast<std::size_t>(k)]; };
    moving[static_cast<std::size_t>(i)] = t[i].code == opcode::leaf
                                              ? p.leaves[static_cast<std::size_t>(t[i].slot)].how >= access::vectors
                                              : is(t[i].a) || is(t[i].b) || is(t[i].c);
  }
  return moving;
}

KILN_INLINE bool takes_neighbours(const tape_view& t, const plan& p, const std::vector<bool>& moving, int i) {
  if (t[i].b < 0 || !is_address(t[t[i].b]) || moving[static_cast<std::size_t>(t[i].a)]) return false;
  const access how = p.leaves[static_cast<std::size_t>(t[t[i].b].slot)].how;
  return how == access::vectors || how == access::each;
}

// A thread that takes from rows finds the row once for several steps of it, whose loads do not wait for each other.
KILN_INLINE int steps_of_taken_rows(const task& job, const plan& p) {
  constexpr int most = 4;
  if (p.rank < 2 || p.step == 1 || job.domain.back() <= (most - 1) * p.step) return 1;
  const std::vector<bool> moving = moving_values(job.tape, p);
  for (int i = 0; i < job.tape.size; ++i)
    if (takes_neighbours(job.tape, p, moving, i)) return most;
  return 1;
}

KILN_INLINE void plan_operands(const task& job, plan& p) {
  for (const leaf_view& x : job.leaves)
    p.leaves.push_back(x.used ? planned(x.data, x.strides, size_of(x.type), p.step) : operand_plan{});
  for (const result_view& y : job.results) {
    p.results.push_back(y.data ? planned(y.data, y.strides, size_of(y.type), p.step) : operand_plan{});
    p.stores.push_back(y.type);
    p.adds.push_back(y.data && y.add);
  }
}

}  // namespace detail

KILN_INLINE std::string plan::key() const {
  std::string out = message(cuda::name(shape), " rank ", rank);
  if (row_axes) out += message(" row ", row_axes);
  out += message(" step ", step, wide ? " int64" : " int32");
  if (threads != 256) out += message(" threads ", threads);
  if (lanes != 32) out += message(" lanes ", lanes);
  if (cluster != 1) out += message(" cluster ", cluster);
  if (held) out += message(" held ", held);
  if (recompute) out += " recomputed";
  if (tile) out += message(" tile ", tile);
  if (at_once != 1) out += message(" at once ", at_once);
  if (reduction_rooted) out += " to rows";
  if (cut) out += " cut";
  if (even) out += filled ? " filled" : " even";
  if (!apart) out += " overlapping";
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    if (leaves[i].how == access::unused) continue;
    out += message(" x", i, " ");
    out += same_as[i] == static_cast<std::int16_t>(i) ? detail::text_of(leaves[i]) : message("= x", int{same_as[i]});
  }
  for (std::size_t r = 0; r < results.size(); ++r)
    out += message(" y", r, " ", kiln::name(stores[r]), " ", detail::text_of(results[r]), adds[r] ? " added" : "",
                   r < sums.size() ? detail::name(sums[r]) : "");
  return out;
}

KILN_INLINE plan plan_map(task& job, int most) {
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
  p.at_once = detail::steps_of_taken_rows(job, p);
  return p;
}

}  // namespace kiln::cuda
