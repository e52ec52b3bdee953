// SPDX-License-Identifier: BSL-1.0
// The definitions of kernels.hpp.
#pragma once

#include <kiln/device/cuda/run/kernels.hpp>

namespace kiln::cuda {

KILN_INLINE compile_cache& process_cache() {
  static compile_cache& cache = *new compile_cache;
  return cache;
}

namespace detail {

KILN_INLINE std::string key_of(const tape_view& tape, const plan& how) {
  std::string key = how.key();
  const auto add = [&key](std::uint64_t part) { key.append(reinterpret_cast<const char*>(&part), sizeof part); };
  for (int i = 0; i < tape.size; ++i) {
    const instruction& x = tape[i];
    for (const std::uint64_t part : {static_cast<std::uint64_t>(x.code), static_cast<std::uint64_t>(x.type),
                                     static_cast<std::uint64_t>(x.a), static_cast<std::uint64_t>(x.b),
                                     static_cast<std::uint64_t>(x.c), static_cast<std::uint64_t>(x.slot), x.literal})
      add(part);
  }
  for (int r = 0; r < tape.result_count; ++r) add(static_cast<std::uint64_t>(tape.results[r]));
  return key;
}

KILN_INLINE void refuse_in_capture_of(const source& printed) {
  refuse_in_capture(message("the kernel ", printed.name, " has to be compiled or loaded"));
}

KILN_INLINE bool may_compile() {
  return !bundle_required() && find_nvrtc() != nullptr;
}

[[noreturn]] KILN_INLINE void fail_without_compiler(const std::string& what, const std::string& kernel, Cuda device) {
  const int architecture = properties(device).architecture;
  const bool required = bundle_required();
  throw device_error(message(
      "cuda: no compiled kernel for ", what, " (", kernel, ") on sm_", architecture, ": ", process_bundles().state(),
      ", and ", required ? "KILN_REQUIRE_BUNDLE=1 forbids to compile one" : "there is no compiler (",
      required ? "" : opened_nvrtc::instance().reason + ")", ". Build the program with kiln_bundle(<target> ARCHS ",
      architecture, required ? "), or unset KILN_REQUIRE_BUNDLE" : ")"));
}

}  // namespace detail

KILN_INLINE std::shared_ptr<const loaded_kernel> bundled_kernel(const std::string& key, const source& printed,
                                                                Cuda device, const bundle_list& from) {
  detail::refuse_in_capture_of(printed);
  const kernel_image image = from.find(printed.text, properties(device).architecture);
  if (!image) return nullptr;
  try {
    return detail::kernel_table::instance().add(key, device, printed, image);
  } catch (const device_error& caught) {  // compiled by a newer CUDA than the driver's: it may be compiled again
    from.note(caught.what());
    return nullptr;
  }
}

namespace detail {

// Compiled, or from the disk; what was damaged there is made anew.
KILN_INLINE std::shared_ptr<const loaded_kernel> load_compiled(const std::string& key, const source& printed,
                                                               Cuda device, compile_cache& cache, bool own) {
  const nvrtc_functions& compiler = nvrtc();
  compile_request request = request_for(printed, properties(device).architecture, compiler);
  request.own = own;
  const compile_function compile = compile_with(compiler);
  kernel_image image = cache.get(request, compile);
  try {
    return kernel_table::instance().add(key, device, printed, image);
  } catch (const bad_image&) {
    image = cache.get_anew(request, compile, image);
    if (!image) throw;
  }
  return kernel_table::instance().add(key, device, printed, image);
}

}  // namespace detail

KILN_INLINE std::shared_ptr<const loaded_kernel> load_kernel(const std::string& key, const source& printed, Cuda device,
                                                             compile_cache& cache) {
  if (auto found = bundled_kernel(key, printed, device)) return found;
  if (bundle_required()) detail::fail_without_compiler("one of kiln's own kernels", printed.name, device);
  return detail::load_compiled(key, printed, device, cache, true);
}

KILN_INLINE compile_ahead::compile_ahead() {
  if (!detail::may_compile()) return;
  process_cache();  // made before there are threads
  const unsigned count = std::clamp(std::thread::hardware_concurrency(), 2u, 32u);
  for (unsigned t = 0; t < count; ++t) threads_.emplace_back([this] { work(); });
}

KILN_INLINE compile_ahead::~compile_ahead() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  more_.notify_all();
  for (std::thread& each : threads_) each.join();
}

KILN_INLINE void compile_ahead::add(const source& printed, Cuda device) {
  if (threads_.empty()) return;
  const int architecture = properties(device).architecture;
  const std::lock_guard lock(mutex_);
  if (!seen_.emplace(printed.name, architecture).second || process_bundles().find(printed.text, architecture)) return;
  compile_request request = request_for(printed, architecture, nvrtc());
  request.own = true;
  requests_.push_back(std::move(request));
  more_.notify_one();
}

KILN_INLINE void compile_ahead::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    more_.wait(lock, [this] { return ends_ || !requests_.empty(); });
    if (ends_) return;
    const compile_request request = std::move(requests_.front());
    requests_.pop_front();
    lock.unlock();
    try {
      process_cache().get(request, compile_with(nvrtc()));
    } catch (...) {  // thrown again to whoever asks
    }
    lock.lock();
  }
}

KILN_INLINE std::shared_ptr<const loaded_kernel> load_own_kernel(const std::string& key, const source& written,
                                                                 Cuda device) {
  detail::refuse_in_capture_of(written);
  return detail::load_compiled(key, written, device, process_cache(), false);
}

KILN_INLINE std::shared_ptr<const loaded_kernel> find_kernel(const launch& what, Cuda device) {
  const std::string key = detail::key_of(what.job.tape, what.how);
  if (auto known = detail::kernel_table::instance().find(key, device.index)) return known;
  return bundled_kernel(key, print_kernel(what), device);
}

KILN_INLINE std::shared_ptr<const loaded_kernel> kernel_of(const launch& what, Cuda device) {
  const std::string key = detail::key_of(what.job.tape, what.how);
  if (auto known = detail::kernel_table::instance().find(key, device.index)) return known;
  return load_kernel(key, print_kernel(what), device);
}

}  // namespace kiln::cuda
