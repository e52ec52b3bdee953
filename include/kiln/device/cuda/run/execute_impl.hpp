// SPDX-License-Identifier: BSL-1.0
// The definitions of execute.hpp.
#pragma once

#include <kiln/device/cuda/run/execute.hpp>
#include <kiln/tape/infix.hpp>

namespace kiln::cuda {

namespace detail {

KILN_INLINE scratch_memory planned_scratch(std::size_t& bytes) {
  return [&bytes](std::size_t wanted) {
    return reinterpret_cast<void*>(scratch_base + std::exchange(bytes, bytes + (wanted + 255) / 256 * 256));
  };
}

KILN_INLINE std::uint8_t state_of(const leaf_view& x) {
  return static_cast<std::uint8_t>(x.used ? 1 : 0);
}

KILN_INLINE std::uint8_t state_of(const result_view& y) {
  return static_cast<std::uint8_t>((y.data ? 1 : 0) + (y.add ? 2 : 0) + 4 * static_cast<int>(y.type));
}

KILN_INLINE std::uint8_t offset_of(const void* data) {
  return static_cast<std::uint8_t>(reinterpret_cast<std::uintptr_t>(data) % 16);
}

KILN_INLINE std::uint8_t meeting(const reach& a, const void* at, const reach& b, const void* bt) {
  const auto x = reinterpret_cast<std::intptr_t>(at), y = reinterpret_cast<std::intptr_t>(bt);
  return static_cast<std::uint8_t>((x == y ? 2 : 0) + (x + a.low < y + b.high && y + b.low < x + a.high ? 1 : 0));
}

KILN_INLINE layout_facts facts_of(const task& job, Cuda device) {
  layout_facts f;
  f.device = device;
  f.domain = job.domain;
  f.reduced_axes = job.reduced_axes;
  std::vector<const void*> at;
  each_place(job, [&](const void* data, const dims& strides, std::uint8_t state, std::size_t size) {
    f.strides.push_back(strides);
    f.offset.push_back(offset_of(data));
    f.state.push_back(state);
    f.extent.push_back(reach_of(nullptr, strides, job.domain, size));
    at.push_back(data);
  });
  for (std::size_t i = 0; i < at.size(); ++i)
    for (std::size_t k = 0; k < i; ++k)
      if (f.state[i] % 2 != 0 && f.state[k] % 2 != 0)
        f.meets.push_back(meeting(f.extent[i], at[i], f.extent[k], at[k]));
  return f;
}

KILN_INLINE bool has_facts(const layout_facts& f, const task& job, Cuda device) {
  if (!(f.device == device) || f.reduced_axes != job.reduced_axes || !(f.domain == job.domain)) return false;
  // Kept by the thread, so that an evaluation allocates nothing.
  static thread_local std::vector<const void*> at;
  at.clear();
  bool same = true;
  each_place(job, [&](const void* data, const dims& strides, std::uint8_t state, std::size_t) {
    if (!same) return;
    const std::size_t i = at.size();
    same = f.state[i] == state && (state % 2 == 0 || (f.offset[i] == offset_of(data) && f.strides[i] == strides));
    at.push_back(data);
  });
  if (!same) return false;
  std::size_t pair = 0;
  for (std::size_t i = 0; i < at.size(); ++i)
    for (std::size_t k = 0; k < i; ++k)
      if (f.state[i] % 2 != 0 && f.state[k] % 2 != 0)
        if (f.meets[pair++] != meeting(f.extent[i], at[i], f.extent[k], at[k])) return false;
  return true;
}

KILN_INLINE argument argument_for(const parameter& x, std::uint64_t value, const task& part, const task& job) {
  using origin = argument::origin;
  switch (x.kind) {
    case parameter_kind::number:
      return {origin::number, x.index, x.type, 0};
    case parameter_kind::draw_offset:
      return {origin::draw_offset, 0, dtype::int64, 0};
    case parameter_kind::finished:
      return {origin::finished, 0, dtype::int64, 0};
    case parameter_kind::leaf:
    case parameter_kind::result:
    case parameter_kind::scratch:
      break;
    default:
      return {origin::value, 0, dtype::int64, value};
  }
  if (value >= scratch_base) return {origin::scratch, 0, dtype::int64, value - scratch_base};
  const std::uint64_t moved = x.kind == parameter_kind::leaf
                                  ? static_cast<std::uint64_t>(part.leaves[static_cast<std::size_t>(x.index)].moved)
                                  : 0;
  const auto is = [=](const void* data) { return reinterpret_cast<std::uintptr_t>(data) + moved == value; };
  for (std::size_t i = 0; i < job.leaves.size(); ++i)
    if (job.leaves[i].used && is(job.leaves[i].data))
      return {origin::leaf, static_cast<std::int16_t>(i), dtype::int64, moved};
  for (std::size_t r = 0; r < job.results.size(); ++r)
    if (job.results[r].data && is(job.results[r].data))
      return {origin::result, static_cast<std::int16_t>(r), dtype::int64, 0};
  return {origin::value, 0, dtype::int64, value};
}

KILN_INLINE device_shape shape_of(Cuda device) {
  const device_properties& p = properties(device);
  return {.processors = p.multiprocessors,
          .blocks_on_each = std::max(1, p.threads_per_multiprocessor / 256),
          .shared_bytes = static_cast<std::size_t>(p.shared_bytes_per_block),
          .cluster = p.architecture >= 90 ? most_cluster : 1};
}

// "x0 / x1 (kernel kiln_map_...)".
KILN_INLINE std::string name_of(const task& job, const loaded_kernel& kernel) {
  return message(infix(job.tape, op_facts_table), " (kernel ", kernel.function.name(), ")");
}

KILN_INLINE std::shared_ptr<const ready_task> try_ready(const task& job, Cuda device, kernel_choice choice) {
  auto made = std::make_shared<ready_task>();
  const scratch_memory scratch = planned_scratch(made->scratch_bytes);
  const bool general = choice == kernel_choice::general;
  device_shape shape = shape_of(device);
  if (choice == kernel_choice::bundled_unshared) shape.shared_bytes = 0, shape.cluster = 1;
  for (const launch& each : general ? schedule_general(job, shape, scratch) : schedule(job, shape, scratch)) {
    ready_launch next;
    next.kernel = choice == kernel_choice::compiled ? kernel_of(each, device) : find_kernel(each, device);
    if (!next.kernel) return nullptr;
    next.size.grid_x = static_cast<unsigned>(fitting_blocks(each, next.kernel->resident));
    next.size.block_x = static_cast<unsigned>(each.how.threads);
    next.size.shared_bytes = next.kernel->shared_bytes;
    const std::vector<parameter>& parameters = next.kernel->parameters;
    // Addresses of pinned memory are the same for host and device.
    bool faults = false;
    for (const parameter& x : parameters) faults |= x.kind == parameter_kind::fault;
    const std::uint64_t fault =
        faults ? reinterpret_cast<std::uintptr_t>(fault_word(device, name_of(job, *next.kernel))) : 0;
    const std::vector<std::uint64_t> values =
        arguments_of({.text = {}, .name = {}, .parameters = parameters}, each.how, each.job, each.scratch, fault);
    for (std::size_t i = 0; i < parameters.size(); ++i)
      next.arguments.push_back(argument_for(parameters[i], values[i], each.job, job));
    if (values.size() * 8 > 4096 && driver().version < 12010)
      throw device_error(message("launch of ", next.kernel->function.name(), ": its ", values.size(),
                                 " parameters need a driver of CUDA 12.1 or newer: evaluate a part of the expression "
                                 "into a Tensor first"));
    made->launches.push_back(std::move(next));
  }
  made->facts = facts_of(job, device);
  if (profiling()) made->formula = infix(job.tape, op_facts_table);
  return made;
}

KILN_INLINE std::shared_ptr<const ready_task> make_ready(const task& job, Cuda device) {
  if (may_compile()) return try_ready(job, device, kernel_choice::compiled);
  for (const kernel_choice choice : {kernel_choice::bundled, kernel_choice::bundled_unshared, kernel_choice::general})
    if (auto made = try_ready(job, device, choice)) return made;
  if (process_bundles().empty() && !bundle_required()) nvrtc();  // says what to install
  std::size_t scratch = 0;
  std::string missed;
  for (const launch& each : schedule(job, shape_of(device), planned_scratch(scratch)))
    if (missed.empty() && !find_kernel(each, device)) missed = each.how.key();
  fail_without_compiler(infix(job.tape, op_facts_table), missed, device);
}

KILN_INLINE void run_ready(const ready_task& ready, const task& job, Cuda device) {
  const profiler_range range(ready.formula);
  const stream& where = current_stream(device);
  // Freed at the end of this call, used by the launches after it: the next owner's work comes later in the stream.
  const ref<storage> scratch = ready.scratch_bytes > 0 ? new_storage(ready.scratch_bytes, where) : nullptr;
  const std::uint64_t scratch_at = scratch ? reinterpret_cast<std::uintptr_t>(scratch->data) : 0;
  const device_scope here(device);
  static thread_local std::vector<std::uint64_t> values;
  static thread_local std::vector<void*> places;
  for (const ready_launch& each : ready.launches) {
    values.clear();
    places.clear();
    for (const argument& a : each.arguments) {
      const std::size_t k = static_cast<std::size_t>(a.index);
      switch (a.from) {
        case argument::origin::value:
          values.push_back(a.value);
          break;
        case argument::origin::leaf:
          values.push_back(reinterpret_cast<std::uintptr_t>(job.leaves[k].data) + a.value);
          break;
        case argument::origin::result:
          values.push_back(reinterpret_cast<std::uintptr_t>(job.results[k].data));
          break;
        case argument::origin::scratch:
          values.push_back(scratch_at + a.value);
          break;
        case argument::origin::number:
          values.push_back(number_bits(job.numbers[k], a.type));
          break;
        case argument::origin::draw_offset:
          values.push_back(reinterpret_cast<std::uintptr_t>(draw_offset(device)));
          break;
        case argument::origin::finished:
          values.push_back(reinterpret_cast<std::uintptr_t>(finished_word(where)));
          break;
      }
    }
    for (std::uint64_t& v : values) places.push_back(&v);
    each.kernel->function.launch(each.size, where, places.data(), here);
  }
}

}  // namespace detail

namespace detail {

// The threads that compile for this one while it warms up.
inline constinit thread_local compile_ahead* compiling_ahead = nullptr;

KILN_INLINE warm_up_scope::warm_up_scope() {
  if (deferred != nullptr || compiling_ahead != nullptr) return;  // within another one
  compiler_ = std::make_unique<compile_ahead>();
  compiling_ahead = compiler_.get();
  deferred = &calls_;
}

KILN_INLINE warm_up_scope::~warm_up_scope() {
  if (!compiler_) return;
  try {
    run_deferred();  // calls are left only if the work has thrown, which is the error to report
  } catch (...) {
  }
  deferred = nullptr;
  compiling_ahead = nullptr;
}

KILN_INLINE bool defer_task(launch_table& table, const task& job, Cuda device) {
  if (!table.find(job, device)) {
    std::size_t scratch = 0;
    for (const launch& each : schedule(job, shape_of(device), planned_scratch(scratch)))
      if (!kernel_table::instance().find(key_of(each.job.tape, each.how), device.index))
        compiling_ahead->add(print_kernel(each), device);
  } else if (deferred->empty()) {
    return false;
  }
  std::size_t count = 0;
  for (int i = 0; i < job.tape.size; ++i)
    if (job.tape[i].code == opcode::scalar) count = std::max(count, static_cast<std::size_t>(job.tape[i].slot) + 1);
  std::vector<std::uint64_t> numbers(job.numbers, job.numbers + count);
  return defer([&table, kept = job, numbers = std::move(numbers), device, where = current_stream(device)]() mutable {
    kept.numbers = numbers.data();
    const stream_scope here(where);
    execute(table, kept, device);
  });
}

}  // namespace detail

KILN_INLINE void execute(launch_table& table, const task& job, Cuda device) {
  if (detail::deferred != nullptr && !detail::capturing && detail::defer_task(table, job, device)) return;
  auto ready = table.find(job, device);
  if (!ready) {
    ready = detail::make_ready(job, device);
    table.add(ready);
  }
  detail::run_ready(*ready, job, device);
}

}  // namespace kiln::cuda
