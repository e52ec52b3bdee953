// SPDX-License-Identifier: BSL-1.0
// A stand-in for libcuda: the functions that kiln calls, done by the CPU. KILN_LIBCUDA names the built file. Everything
// is taken as late as a device might take it: work runs when something waits for it.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string_view>

#include "stand_in_state.hpp"

namespace kiln::cuda::stand_in {
namespace {

thread_local context_object* current = nullptr;
constexpr auto ok = driver_result::success;

using guard = std::lock_guard<std::recursive_mutex>;

// Counts the call; what it returns is the error that ended the device, if one did.
driver_result enter(const char* name) {
  auto& all = state::instance();
  ++all.counts[name];
  if (!all.initialised && std::strcmp(name, "cuInit") != 0) return driver_result::not_initialized;
  return all.final_error;
}

// The same for what works in a context: there has to be a current one, and the handle must be of it. (Some drivers find
// the context by the handle. Not all do, so a call that relies on it counts as a fault: "wrong_context".)
driver_result enter_in(const char* name, const context_object* of) {
  if (const auto bad = enter(name); bad != ok) return bad;
  if (current != nullptr && (of == nullptr || of == current)) return ok;
  ++state::instance().counts["wrong_context"];
  return driver_result::invalid_context;
}

// What CUDA forbids while a stream is captured: it waits, or it changes memory.
driver_result refuse_in_capture() {
  return state::instance().capturing() ? driver_result::stream_capture_unsupported : ok;
}

// Null for the default stream, which every context has.
context_object* context_of(stream_handle handle) {
  return handle == nullptr ? nullptr : handle->context;
}

stream_object* stream_of(stream_handle handle) {
  if (handle != nullptr) return handle;
  auto& own = state::instance().default_streams[current];
  if (own == nullptr) {
    own = std::make_unique<stream_object>();
    own->context = current;
    state::instance().streams.push_back(own.get());
  }
  return own.get();
}

struct error_words {
  driver_result code;
  const char *name, *words;
};
constexpr error_words errors[] = {
    {ok, "CUDA_SUCCESS", "no error"},
    {driver_result::invalid_value, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {driver_result::out_of_memory, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {driver_result::not_initialized, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {driver_result::no_device, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {driver_result::invalid_device, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {driver_result::invalid_image, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {driver_result::invalid_context, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {driver_result::not_found, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {driver_result::not_ready, "CUDA_ERROR_NOT_READY", "device not ready"},
    {driver_result::illegal_address, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {driver_result::launch_out_of_resources, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES",
     "too many resources requested for launch"},
    {driver_result::launch_failed, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {driver_result::stream_capture_unsupported, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
     "operation not permitted when stream is capturing"},
    {driver_result::stream_capture_unjoined, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED",
     "capturing stream has unjoined work"},
    {driver_result::invalid_cluster_size, "CUDA_ERROR_INVALID_CLUSTER_SIZE", "cluster misconfiguration"},
};

// Memory that was freed before the device came to it: a real device would read or write whatever is there by then.
driver_result work_on_freed_memory(const char* what) {
  state::instance().report = std::string("a queued ") + what + " uses memory that was freed before its turn";
  return driver_result::illegal_address;
}

// As the driver does: pinned memory is read and written when the stream comes to the copy. Other memory of the host is
// read before the call returns, and written before it returns.
driver_result copy(device_pointer to, std::uint64_t from, std::size_t bytes, stream_handle stream, bool to_device,
                   bool from_device) {
  auto& all = state::instance();
  if (bytes == 0) return ok;
  if (to_device && !all.is_device(to, bytes)) return driver_result::invalid_value;
  if (from_device && !all.is_device(from, bytes)) return driver_result::invalid_value;
  stream_object* const where = stream_of(stream);
  const bool pageable_source = !from_device && all.block_of(from, bytes) == nullptr;
  const bool pageable_target = !to_device && all.block_of(to, bytes) == nullptr;
  if (where->capture != nullptr && pageable_target) return driver_result::stream_capture_unsupported;
  if (pageable_source && where->capture == nullptr) {
    auto kept = std::make_shared<std::vector<char>>(bytes);
    std::memcpy(kept->data(), reinterpret_cast<const void*>(from), bytes);
    return all.enqueue(where, [=, &all] {
      if (all.block_of(to, bytes) == nullptr) return work_on_freed_memory("copy");
      std::memcpy(reinterpret_cast<void*>(to), kept->data(), bytes);
      return ok;
    });
  }
  all.enqueue(where, [=, &all] {
    if ((!pageable_source && all.block_of(from, bytes) == nullptr) ||
        (!pageable_target && all.block_of(to, bytes) == nullptr))
      return work_on_freed_memory("copy");
    std::memmove(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes);
    return ok;
  });
  return pageable_target ? all.finish(where) : ok;
}

// How many kernels an image has: their names stand in its tables of names.
std::size_t kernels_in(std::string_view image) {
  constexpr std::string_view mark = "kiln_kernel_";
  std::set<std::string_view> names;
  for (auto at = image.find(mark); at != image.npos; at = image.find(mark, at + mark.size()))
    names.insert(image.substr(at, image.find('\0', at) - at));
  return names.size();
}

// The facts of a function's kernel: those of its code, or of its text where that is not compiled.
bool find_kernel(function_object& function) {
  const module_object& module = *function.module;
  if (module.code != nullptr) {
    const emulator::kernel* const found = module.code->find(function.name);
    if (found != nullptr) function.kernel = *found;
    return found != nullptr;
  }
  const auto& [text, headers] = *module.text;
  const auto names = emulate::kernels_of(text);
  if (std::find(names.begin(), names.end(), function.name) == names.end()) return false;
  const int threads = emulate::attribute_of(text, function.name, "__launch_bounds__", 1024),
            cluster = emulate::attribute_of(text, function.name, "__cluster_dims__", 1);
  function.kernel = {.run = nullptr,
                     .sizes = nullptr,
                     .count = 0,
                     .most_threads = static_cast<std::size_t>(threads),
                     .cluster = static_cast<unsigned>(cluster),
                     .declared_shared = emulate::declared_shared_of(text, function.name, *headers)};
  return true;
}

// Compiles the text of a function that has no code yet. Throws emulate::failure.
void need_code(function_object& function) {
  module_object& module = *function.module;
  if (module.code == nullptr) module.code = std::make_unique<emulate::module>(module.text->text, *module.text->headers);
  if (function.kernel.run == nullptr) find_kernel(function);
}

// The arguments of a launch, kept until it runs.
struct kept_arguments {
  std::vector<std::vector<unsigned char>> values;
  std::vector<void*> places;
  kept_arguments(const emulator::kernel& kernel, void** arguments) {
    for (std::size_t i = 0; i < kernel.count; ++i) {
      const auto* start = static_cast<const unsigned char*>(arguments[i]);
      values.emplace_back(start, start + kernel.sizes[i]);
    }
    for (auto& value : values) places.push_back(value.data());
  }
};

// A launch of either kind.
driver_result launched(const launch_config& config, function_handle function, void** arguments) {
  auto& all = state::instance();
  const guard lock(all.mutex);
  const context_object* const context = function->module->context;
  if (const auto bad = enter_in("cuLaunchKernel", context); bad != ok) return bad;
  if (context_of(config.stream) != context && config.stream != nullptr) return driver_result::invalid_handle;
  const launch_request request{config.grid_x,  config.grid_y,  config.grid_z,      config.block_x,
                               config.block_y, config.block_z, config.shared_bytes};
  if (const auto bad = check_launch(request, function->kernel, function->dynamic_shared_limit,
                                    static_cast<std::size_t>(all.settings["registers"]));
      bad != ok)
    return bad;
  all.counts["blocks"] += static_cast<long long>(request.blocks());
  const bool fails = all.fails("launch");
  if (!all.runs_kernels())
    return all.enqueue(stream_of(config.stream), [fails] { return fails ? driver_result::launch_failed : ok; });
  try {
    need_code(*function);
  } catch (const std::exception& caught) {
    all.report = caught.what();
    return driver_result::invalid_image;
  }
  const emulate::shape how{.grid = {config.grid_x, config.grid_y, config.grid_z},
                           .block = {config.block_x, config.block_y, config.block_z},
                           .shared_bytes = config.shared_bytes,
                           .seed = static_cast<std::uint64_t>(all.settings["seed"]),
                           .early = config.attribute_count > 0 && config.attributes->allowed != 0};
  const auto kept = std::make_shared<kept_arguments>(function->kernel, arguments);
  return all.enqueue(stream_of(config.stream), [&all, function, how, kept, fails] {
    if (fails) return driver_result::launch_failed;
    try {
      function->module->code->run(function->kernel, how, kept->places.data());
    } catch (const std::exception& caught) {
      all.report = caught.what();
      return driver_result::illegal_address;
    }
    return ok;
  });
}

}  // namespace
}  // namespace kiln::cuda::stand_in

using namespace kiln::cuda;
using namespace kiln::cuda::stand_in;

#pragma GCC visibility push(default)
extern "C" {

// ---- for tests ----
/// Settings: devices, version, memory (bytes a device has), registers (of a thread of any kernel), seed (of the order
/// of blocks and threads), run_kernels (0: texts are not compiled, launches are only checked), fail_allocation,
/// fail_launch, fail_host_allocation (countdowns), reset.
void kiln_stand_in_set(const char* name, long long value) {
  auto& all = state::instance();
  const guard lock(all.mutex);
  if (std::strcmp(name, "reset") == 0) {
    all.final_error = ok;
    all.counts.clear();
    all.report.clear();
    for (stream_object* stream : all.streams) stream->queue.clear();
    std::erase_if(all.settings, [](const auto& entry) { return entry.first.starts_with("fail_"); });
    all.settings["memory"] = 1LL << 30;
    all.settings["registers"] = 32;
    all.settings["run_kernels"] = 1;
    return;
  }
  all.settings[name] = value;
}
/// How often a function was called, by the name under which it is called (cuMemAlloc_v2); "memory": bytes in use;
/// "blocks": blocks launched; "wrong_context": calls for which the context of their handle was not the current one.
long long kiln_stand_in_get(const char* name) {
  auto& all = state::instance();
  const guard lock(all.mutex);
  if (std::strcmp(name, "memory") == 0) {
    long long sum = 0;
    for (const auto& context : all.contexts) sum += static_cast<long long>(context->in_use);
    return sum;
  }
  const auto found = all.counts.find(name);
  return found == all.counts.end() ? 0 : found->second;
}
/// What the emulator said of the last kernel that failed.
const char* kiln_stand_in_report() {
  return state::instance().report.c_str();
}

// ---- the driver ----
driver_result cuInit(unsigned) {
  auto& all = state::instance();
  const guard lock(all.mutex);
  enter(__func__);
  if (all.settings["devices"] == 0) return driver_result::no_device;
  for (int i = static_cast<int>(all.contexts.size()); i < all.settings["devices"]; ++i) {
    all.contexts.push_back(std::make_unique<context_object>());
    all.contexts.back()->device = i;
  }
  all.initialised = true;
  return ok;
}
driver_result cuDriverGetVersion(int* version) {
  *version = static_cast<int>(state::instance().settings["version"]);
  return ok;
}
driver_result cuGetErrorName(driver_result code, const char** name) {
  for (const auto& error : errors)
    if (error.code == code) return *name = error.name, ok;
  return *name = nullptr, driver_result::invalid_value;
}
driver_result cuGetErrorString(driver_result code, const char** words) {
  for (const auto& error : errors)
    if (error.code == code) return *words = error.words, ok;
  return *words = nullptr, driver_result::invalid_value;
}

driver_result cuDeviceGetCount(int* count) {
  const guard lock(state::instance().mutex);
  *count = static_cast<int>(state::instance().contexts.size());
  return enter(__func__);
}
driver_result cuDeviceGet(device_number* device, int index) {
  const guard lock(state::instance().mutex);
  if (index < 0 || index >= static_cast<int>(state::instance().contexts.size())) return driver_result::invalid_device;
  *device = index;
  return enter(__func__);
}
driver_result cuDeviceGetName(char* name, int size, device_number) {
  std::strncpy(name, "kiln stand-in", static_cast<std::size_t>(size));
  return ok;
}
driver_result cuDeviceGetAttribute(int* value, device_attribute which, device_number) {
  switch (which) {
    case device_attribute::max_threads_per_block:
      return *value = 1024, ok;
    case device_attribute::max_shared_memory_per_block:
      return *value = static_cast<int>(shared_without_permission), ok;
    case device_attribute::multiprocessor_count:
      return *value = static_cast<int>(state::instance().settings["multiprocessors"]), ok;
    case device_attribute::l2_cache_size:
      return *value = 4 << 20, ok;
    case device_attribute::max_threads_per_multiprocessor:
      return *value = 2048, ok;
    case device_attribute::compute_capability_major:
      return *value = static_cast<int>(state::instance().settings["architecture"] / 10), ok;
    case device_attribute::compute_capability_minor:
      return *value = static_cast<int>(state::instance().settings["architecture"] % 10), ok;
    case device_attribute::max_shared_memory_per_block_optin:
      return *value = static_cast<int>(limits_of(state::instance().settings["architecture"]).shared_of_a_block), ok;
    case device_attribute::memory_pools_supported:
      return *value = 0, ok;
  }
  return driver_result::invalid_value;
}
driver_result cuDeviceTotalMem_v2(std::size_t* bytes, device_number) {
  *bytes = static_cast<std::size_t>(state::instance().settings["memory"]);
  return ok;
}
driver_result cuDeviceCanAccessPeer(int* can, device_number, device_number) {
  return *can = 1, ok;
}

driver_result cuDevicePrimaryCtxRetain(context_handle* context, device_number device) {
  auto& all = state::instance();
  const guard lock(all.mutex);
  if (const auto bad = enter(__func__); bad != ok) return bad;
  *context = all.contexts.at(static_cast<std::size_t>(device)).get();
  ++(*context)->references;
  return ok;
}
driver_result cuDevicePrimaryCtxRelease_v2(device_number device) {
  --state::instance().contexts.at(static_cast<std::size_t>(device))->references;
  return ok;
}
driver_result cuCtxGetCurrent(context_handle* context) {
  const guard lock(state::instance().mutex);
  ++state::instance().counts[__func__];
  return *context = current, ok;
}
driver_result cuCtxSetCurrent(context_handle context) {
  const guard lock(state::instance().mutex);
  ++state::instance().counts[__func__];
  return current = context, ok;
}
driver_result cuCtxSynchronize() {
  auto& all = state::instance();
  const guard lock(all.mutex);
  if (const auto bad = enter_in(__func__, nullptr); bad != ok) return bad;
  if (const auto bad = refuse_in_capture(); bad != ok) return bad;
  for (std::size_t i = 0; i < all.streams.size(); ++i)
    if (all.streams[i]->context == current) all.finish(all.streams[i]);
  return all.final_error;
}
driver_result cuCtxEnablePeerAccess(context_handle, unsigned) {
  return enter(__func__);
}

// ---- memory ----
driver_result cuMemAlloc_v2(device_pointer* start, std::size_t bytes) {
  auto& all = state::instance();
  const guard lock(all.mutex);
  if (const auto bad = enter_in(__func__, nullptr); bad != ok) return bad;
  if (const auto bad = refuse_in_capture(); bad != ok) return bad;
  if (bytes == 0) return driver_result::invalid_value;
  if (all.fails("allocation") || current->in_use + bytes > static_cast<std::size_t>(all.settings["memory"]))
    return driver_result::out_of_memory;
  void* const block = all.allocate(bytes, current);
  if (block == nullptr) return driver_result::out_of_memory;
  *start = reinterpret_cast<device_pointer>(block);
  return ok;
}
driver_result cuMemFree_v2(device_pointer start) {
  auto& all = state::instance();
  const guard lock(all.mutex);
  if (const auto bad = enter(__func__); bad != ok) return bad;
  if (const auto bad = refuse_in_capture(); bad != ok) return bad;
  if (const allocation* const block = all.block_of(start, 0); block != nullptr && block->context != current) {
    ++all.counts["wrong_context"];
    return driver_result::invalid_context;
  }
  // As the driver does: it waits for all work that could use the memory.
  for (std::size_t i = 0; i < all.streams.size(); ++i) all.finish(all.streams[i]);
  return all.release(start, true) ? ok : driver_result::invalid_value;
}
driver_result cuMemHostAlloc(void** start, std::size_t bytes, unsigned) {
  auto& all = state::instance();
  const guard lock(all.mutex);
  if (const auto bad = enter_in(__func__, nullptr); bad != ok) return bad;
  if (const auto bad = refuse_in_capture(); bad != ok) return bad;
  if (all.fails("host_allocation")) return driver_result::out_of_memory;
  *start = all.allocate(bytes, nullptr);
  return *start == nullptr ? driver_result::out_of_memory : ok;
}
driver_result cuMemFreeHost(void* start) {
  auto& all = state::instance();
  const guard lock(all.mutex);
  if (const auto bad = enter_in(__func__, nullptr); bad != ok) return bad;
  return all.release(reinterpret_cast<std::uintptr_t>(start), false) ? ok : driver_result::invalid_value;
}
driver_result cuMemGetInfo_v2(std::size_t* unused, std::size_t* total) {
  auto& all = state::instance();
  const guard lock(all.mutex);
  *total = static_cast<std::size_t>(all.settings["memory"]);
  *unused = *total - std::min(*total, current->in_use);
  return enter_in(__func__, nullptr);
}
driver_result cuPointerGetAttribute(void* value, pointer_attribute which, device_pointer address) {
  auto& all = state::instance();
  const guard lock(all.mutex);
  const allocation* const block = all.block_of(address, 1);
  if (block == nullptr) return driver_result::invalid_value;
  if (which == pointer_attribute::memory_type)
    *static_cast<memory_type*>(value) = block->context != nullptr ? memory_type::device : memory_type::host;
  else
    *static_cast<int*>(value) = block->context != nullptr ? block->context->device : 0;
  return ok;
}
driver_result cuMemcpyHtoDAsync_v2(device_pointer to, const void* from, std::size_t bytes, stream_handle stream) {
  const guard lock(state::instance().mutex);
  if (const auto bad = enter_in(__func__, context_of(stream)); bad != ok) return bad;
  return copy(to, reinterpret_cast<std::uint64_t>(from), bytes, stream, true, false);
}
driver_result cuMemcpyDtoHAsync_v2(void* to, device_pointer from, std::size_t bytes, stream_handle stream) {
  const guard lock(state::instance().mutex);
  if (const auto bad = enter_in(__func__, context_of(stream)); bad != ok) return bad;
  return copy(reinterpret_cast<std::uint64_t>(to), from, bytes, stream, false, true);
}
driver_result cuMemcpyDtoDAsync_v2(device_pointer to, device_pointer from, std::size_t bytes, stream_handle stream) {
  const guard lock(state::instance().mutex);
  if (const auto bad = enter_in(__func__, context_of(stream)); bad != ok) return bad;
  return copy(to, from, bytes, stream, true, true);
}
driver_result cuMemcpyPeerAsync(device_pointer to, context_handle to_context, device_pointer from,
                                context_handle from_context, std::size_t bytes, stream_handle stream) {
  auto& all = state::instance();
  const guard lock(all.mutex);
  if (const auto bad = enter_in(__func__, context_of(stream)); bad != ok) return bad;
  if (!all.is_device(to, bytes) || all.block_of(to, bytes)->context != to_context) return driver_result::invalid_value;
  if (!all.is_device(from, bytes) || all.block_of(from, bytes)->context != from_context)
    return driver_result::invalid_value;
  return copy(to, from, bytes, stream, true, true);
}
driver_result cuMemsetD8Async(device_pointer to, unsigned char byte, std::size_t bytes, stream_handle stream) {
  auto& all = state::instance();
  const guard lock(all.mutex);
  if (const auto bad = enter_in(__func__, context_of(stream)); bad != ok) return bad;
  if (!all.is_device(to, bytes)) return driver_result::invalid_value;
  return all.enqueue(stream_of(stream), [=, &all] {
    if (all.block_of(to, bytes) == nullptr) return work_on_freed_memory("memset");
    if (all.runs_kernels()) std::memset(reinterpret_cast<void*>(to), byte, bytes);
    return ok;
  });
}

// ---- streams and events ----
driver_result cuStreamCreateWithPriority(stream_handle* stream, unsigned, int) {
  auto& all = state::instance();
  const guard lock(all.mutex);
  if (const auto bad = enter_in(__func__, nullptr); bad != ok) return bad;
  *stream = new stream_object;
  (*stream)->context = current;
  all.streams.push_back(*stream);
  return ok;
}
driver_result cuStreamDestroy_v2(stream_handle stream) {
  auto& all = state::instance();
  const guard lock(all.mutex);
  if (const auto bad = enter_in(__func__, context_of(stream)); bad == driver_result::invalid_context) return bad;
  // A device does not wait here: what is queued is still done, some time. Kept in the list until then, or for good.
  if (!stream->queue.empty()) return ok;
  std::erase(all.streams, stream);
  delete stream;
  return ok;
}
driver_result cuStreamSynchronize(stream_handle stream) {
  auto& all = state::instance();
  const guard lock(all.mutex);
  if (const auto bad = enter_in(__func__, context_of(stream)); bad != ok) return bad;
  if (const auto bad = refuse_in_capture(); bad != ok) return bad;
  return all.finish(stream_of(stream));
}
driver_result cuStreamQuery(stream_handle stream) {
  auto& all = state::instance();
  const guard lock(all.mutex);
  if (const auto bad = enter_in(__func__, context_of(stream)); bad != ok) return bad;
  return stream_of(stream)->queue.empty() ? ok : driver_result::not_ready;
}
driver_result cuStreamWaitEvent(stream_handle stream, event_handle handle, unsigned) {
  auto& all = state::instance();
  const guard lock(all.mutex);
  if (const auto bad = enter_in(__func__, context_of(stream)); bad != ok) return bad;
  stream_object* const where = stream_of(stream);
  if (handle->capture != nullptr) {  // joins the capture; the order of the calls is an order that a graph allows
    where->capture = handle->capture;
    return ok;
  }
  if (handle->mark == nullptr) return ok;
  return all.enqueue(where, [&all, mark = handle->mark] { return all.reach(*mark); });
}
driver_result cuEventCreate(event_handle* event, unsigned) {
  const guard lock(state::instance().mutex);
  if (const auto bad = enter_in(__func__, nullptr); bad != ok) return bad;
  *event = new event_object;
  (*event)->context = current;
  return ok;
}
driver_result cuEventDestroy_v2(event_handle handle) {
  const guard lock(state::instance().mutex);
  if (const auto bad = enter_in(__func__, handle->context); bad == driver_result::invalid_context) return bad;
  delete handle;
  return ok;
}
driver_result cuEventRecord(event_handle handle, stream_handle stream) {
  auto& all = state::instance();
  const guard lock(all.mutex);
  if (const auto bad = enter_in(__func__, handle->context); bad != ok) return bad;
  stream_object* const where = stream_of(stream);
  if (where->context != handle->context) return driver_result::invalid_handle;
  handle->capture = where->capture;
  if (where->capture == nullptr) handle->mark = all.mark(where);
  return ok;
}
driver_result cuEventQuery(event_handle handle) {
  const guard lock(state::instance().mutex);
  if (const auto bad = enter_in(__func__, handle->context); bad != ok) return bad;
  return handle->mark == nullptr || handle->mark->reached ? ok : driver_result::not_ready;
}
driver_result cuEventSynchronize(event_handle handle) {
  auto& all = state::instance();
  const guard lock(all.mutex);
  if (const auto bad = enter_in(__func__, handle->context); bad != ok) return bad;
  if (handle->capture != nullptr) return driver_result::stream_capture_unsupported;
  return handle->mark == nullptr ? all.final_error : all.reach(*handle->mark);
}
driver_result cuEventElapsedTime(float* milliseconds, event_handle from, event_handle to) {
  const guard lock(state::instance().mutex);
  if (const auto bad = enter_in(__func__, from->context); bad != ok) return bad;
  if (from->mark == nullptr || to->mark == nullptr) return driver_result::invalid_handle;
  if (!from->mark->reached || !to->mark->reached) return driver_result::not_ready;
  *milliseconds = 1;
  return ok;
}

// ---- modules and launches ----
driver_result cuModuleLoadData(module_handle* module, const void* image) {
  auto& all = state::instance();
  const guard lock(all.mutex);
  if (const auto bad = enter_in(__func__, nullptr); bad != ok) return bad;
  auto loaded = std::make_unique<module_object>();
  loaded->context = current;
  if (std::strncmp(static_cast<const char*>(image), kept_text_mark.data(), kept_text_mark.size()) == 0) {
    const auto number = std::strtoull(static_cast<const char*>(image) + kept_text_mark.size(), nullptr, 10);
    if (number >= all.texts.size()) return driver_result::invalid_image;
    loaded->text = &all.texts[number];
    *module = loaded.release();
    return ok;
  }
  // No size comes with the image; a shared object ends with its section headers.
  ElfW(Ehdr) head;
  std::memcpy(&head, image, sizeof head);
  if (std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_type != ET_DYN) return driver_result::invalid_image;
  const std::size_t size = head.e_shoff + std::size_t{head.e_shentsize} * head.e_shnum;
  try {
    loaded->kernels = kernels_in({static_cast<const char*>(image), size});
    loaded->code = std::make_unique<emulate::module>(std::string(static_cast<const char*>(image), size), true);
  } catch (const std::exception& caught) {
    all.report = caught.what();
    return driver_result::invalid_image;
  }
  *module = loaded.release();
  return ok;
}
driver_result cuModuleUnload(module_handle module) {
  const guard lock(state::instance().mutex);
  if (const auto bad = enter_in(__func__, module->context); bad == driver_result::invalid_context) return bad;
  delete module;
  return ok;
}
driver_result cuModuleGetFunction(function_handle* function, module_handle module, const char* name) {
  const guard lock(state::instance().mutex);
  if (const auto bad = enter_in(__func__, module->context); bad != ok) return bad;
  function_object made;
  made.module = module;
  made.name = name;
  if (!find_kernel(made)) return driver_result::not_found;
  if (made.kernel.declared_shared >= 0)
    made.declared_shared = static_cast<std::size_t>(made.kernel.declared_shared);
  else if (module->kernels == 1)
    made.declared_shared = module->code->shared_bytes();
  made.dynamic_shared_limit = shared_without_permission - made.declared_shared;
  *function = &(module->functions[name] = made);
  return ok;
}
driver_result cuFuncGetAttribute(int* value, function_attribute which, function_handle function) {
  const guard lock(state::instance().mutex);
  if (const auto bad = enter_in(__func__, function->module->context); bad != ok) return bad;
  switch (which) {
    case function_attribute::max_threads_per_block:
      return *value = static_cast<int>(function->kernel.most_threads), ok;
    case function_attribute::shared_size_bytes:
      return *value = static_cast<int>(function->declared_shared), ok;
    case function_attribute::local_size_bytes:
      return *value = 0, ok;
    case function_attribute::registers:
      return *value = static_cast<int>(state::instance().settings["registers"]), ok;
    case function_attribute::max_dynamic_shared_size_bytes:
      return *value = static_cast<int>(function->dynamic_shared_limit), ok;
  }
  return driver_result::invalid_value;
}
driver_result cuFuncGetParamInfo(function_handle function, std::size_t index, std::size_t* offset, std::size_t* size) {
  const guard lock(state::instance().mutex);
  need_code(*function);
  if (index >= function->kernel.count) return driver_result::invalid_value;
  *offset = 0;
  for (std::size_t i = 0; i <= index; ++i) {
    *size = function->kernel.sizes[i];
    *offset = (*offset + *size - 1) / *size * *size + (i < index ? *size : 0);
  }
  return ok;
}
driver_result cuFuncSetAttribute(function_handle function, function_attribute which, int value) {
  auto& all = state::instance();
  const guard lock(all.mutex);
  if (const auto bad = enter_in(__func__, function->module->context); bad != ok) return bad;
  const std::size_t most = limits_of(all.settings["architecture"]).shared_of_a_block;
  if (which != function_attribute::max_dynamic_shared_size_bytes || value < 0 ||
      static_cast<std::size_t>(value) + function->declared_shared > most)
    return driver_result::invalid_value;
  function->dynamic_shared_limit = static_cast<std::size_t>(value);
  return ok;
}
driver_result cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, function_handle function, int threads,
                                                          std::size_t shared) {
  auto& all = state::instance();
  const guard lock(all.mutex);
  if (const auto bad = enter_in(__func__, function->module->context); bad != ok) return bad;
  if (shared > function->dynamic_shared_limit) return driver_result::invalid_value;
  *blocks = resident_blocks(limits_of(all.settings["architecture"]), static_cast<std::size_t>(threads),
                            static_cast<std::size_t>(all.settings["registers"]), shared + function->declared_shared);
  return ok;
}
driver_result cuOccupancyMaxActiveClusters(int* clusters, function_handle function, const launch_config* config) {
  const unsigned cluster = function->kernel.cluster;
  if (config->attribute_count != 0) return driver_result::invalid_value;
  if (config->grid_x % cluster != 0) return driver_result::invalid_cluster_size;
  const unsigned threads = config->block_x * config->block_y * config->block_z;
  int blocks = 0;
  const driver_result result =
      cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, static_cast<int>(threads), config->shared_bytes);
  const auto all = static_cast<unsigned>(blocks) * static_cast<unsigned>(state::instance().settings["multiprocessors"]);
  *clusters = static_cast<int>(std::max(1u, all / cluster));
  return result;
}
driver_result cuLaunchKernel(function_handle function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                             unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                             stream_handle stream, void** arguments, void**) {
  const launch_config config{grid_x, grid_y, grid_z, block_x, block_y, block_z, shared, stream};
  return launched(config, function, arguments);
}
// Counts as a launch, by either name.
driver_result cuLaunchKernelEx(const launch_config* config, function_handle function, void** arguments, void**) {
  {
    auto& all = state::instance();
    const guard lock(all.mutex);
    ++all.counts[__func__];
    const bool knows = config->attributes != nullptr &&
                       config->attributes->kind == launch_attribute_kind::programmatic_stream_serialization;
    if (config->attribute_count > 1 || (config->attribute_count == 1 && !knows)) return driver_result::invalid_value;
    if (config->attribute_count == 1 && all.settings["architecture"] < 90) return driver_result::not_supported;
  }
  return launched(*config, function, arguments);
}

// ---- graphs ----
driver_result cuStreamBeginCapture_v2(stream_handle stream, capture_mode) {
  const guard lock(state::instance().mutex);
  if (const auto bad = enter_in(__func__, context_of(stream)); bad != ok) return bad;
  if (stream == nullptr) return driver_result::stream_capture_unsupported;
  stream->capture = new graph_object;
  stream->began_capture = true;
  return ok;
}
driver_result cuStreamEndCapture(stream_handle stream, graph_handle* graph) {
  auto& all = state::instance();
  const guard lock(all.mutex);
  if (const auto bad = enter_in(__func__, context_of(stream)); bad != ok) return bad;
  if (!stream->began_capture) return driver_result::invalid_value;
  *graph = stream->capture;
  for (stream_object* other : all.streams)
    if (other->capture == *graph) other->capture = nullptr;
  stream->began_capture = false;
  return ok;
}
driver_result cuStreamIsCapturing(stream_handle stream, capture_status* status) {
  const guard lock(state::instance().mutex);
  *status = stream_of(stream)->capture != nullptr ? capture_status::active : capture_status::none;
  return enter_in(__func__, context_of(stream));
}
driver_result cuGraphInstantiateWithFlags(graph_exec_handle* ready, graph_handle graph, unsigned long long) {
  const guard lock(state::instance().mutex);
  if (const auto bad = enter_in(__func__, nullptr); bad != ok) return bad;
  *ready = new graph_exec_object{graph->work, current, nullptr};
  return ok;
}
driver_result cuGraphLaunch(graph_exec_handle graph, stream_handle stream) {
  auto& all = state::instance();
  const guard lock(all.mutex);
  if (const auto bad = enter_in(__func__, graph->context); bad != ok) return bad;
  stream_object* const where = stream_of(stream);
  const bool recorded = where->capture != nullptr;
  if (graph->last != nullptr && !recorded) all.enqueue(where, [&all, mark = graph->last] { return all.reach(*mark); });
  for (const auto& work : graph->work) all.enqueue(where, work);
  if (!recorded) graph->last = all.mark(where);
  return ok;
}
driver_result cuGraphExecDestroy(graph_exec_handle graph) {
  const guard lock(state::instance().mutex);
  if (const auto bad = enter_in(__func__, graph->context); bad == driver_result::invalid_context) return bad;
  delete graph;
  return ok;
}
driver_result cuGraphDestroy(graph_handle graph) {
  const guard lock(state::instance().mutex);
  enter(__func__);
  delete graph;
  return ok;
}

}  // extern "C"
#pragma GCC visibility pop
