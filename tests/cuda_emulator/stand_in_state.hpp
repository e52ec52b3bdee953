// SPDX-License-Identifier: BSL-1.0
// What the stand-in for the CUDA driver remembers: memory, streams whose work waits until something needs it (as a real
// device's does, so that a missing wait shows), events, graphs, counters of calls and faults on demand.
#pragma once

#include <kiln/device/cuda/driver/driver_types.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "module.hpp"

namespace kiln::cuda {

// The driver's own types behind the handles.
struct context_object {
  int device = 0;
  int references = 0;
  std::size_t in_use = 0;
};
struct graph_object {
  std::vector<std::function<driver_result()>> work;
};
struct graph_exec_object {
  std::vector<std::function<driver_result()>> work;
  context_object* context = nullptr;
};
struct stream_object {
  context_object* context = nullptr;
  std::deque<std::function<driver_result()>> queue;
  graph_object* capture = nullptr;  // what a capture collects into; owned by the stream where it began
  bool began_capture = false;
};
struct event_state {
  stream_object* stream = nullptr;  // where it was last recorded
  std::uint64_t recorded = 0, reached = 0;
  graph_object* capture = nullptr;
};
struct event_object {
  context_object* context = nullptr;
  std::shared_ptr<event_state> state = std::make_shared<event_state>();  // queued work outlives the event
};
struct function_object {
  const emulate::module* code = nullptr;
  const emulator::kernel* kernel = nullptr;
  context_object* context = nullptr;
  std::size_t declared_shared = 0;  // 0 in a module of several kernels, where it is not told apart
  int dynamic_shared_limit = 48 << 10;
};
struct module_object {
  std::unique_ptr<emulate::module> code;
  context_object* context = nullptr;
  std::size_t kernels = 0;
  std::map<std::string, function_object> functions;
};

namespace stand_in {

struct allocation {
  std::size_t bytes = 0;
  context_object* context = nullptr;  // null: pinned host memory
};

struct state {
  std::recursive_mutex mutex;
  std::map<std::string, long long> settings{{"devices", 2},    {"version", 13000},    {"memory", 1LL << 30},
                                            {"registers", 32}, {"relu_keeps_nan", 1}, {"architecture", 90},
                                            {"seed", 1}};
  std::map<std::string, long long> counts;
  std::string report;  // what the emulator said of the kernel that failed
  driver_result final_error = driver_result::success;
  std::vector<std::unique_ptr<context_object>> contexts;
  std::map<std::uintptr_t, allocation> memory;
  std::vector<stream_object*> streams;
  std::map<context_object*, std::unique_ptr<stream_object>> default_streams;
  bool initialised = false;

  static state& instance() {
    static state& all = *new state;
    return all;
  }

  state() {
    // So that a program that is not a test of ours can be run on it too.
    for (auto& [name, value] : settings)
      if (const char* text = std::getenv(("KILN_STAND_IN_" + name).c_str()); text != nullptr) value = std::atoll(text);
  }

  // A countdown: 1 makes the next call fail, 2 the one after.
  bool fails(const std::string& what) {
    const auto found = settings.find("fail_" + what);
    if (found == settings.end() || found->second <= 0) return false;
    return --found->second == 0;
  }

  bool capturing() const {
    for (const stream_object* stream : streams)
      if (stream->capture != nullptr) return true;
    return false;
  }

  /// The block that holds all of these bytes, or null.
  const allocation* block_of(std::uint64_t address, std::size_t bytes) const {
    auto found = memory.upper_bound(address);
    if (found == memory.begin()) return nullptr;
    --found;
    const std::size_t offset = address - found->first;
    return offset <= found->second.bytes && bytes <= found->second.bytes - offset ? &found->second : nullptr;
  }
  bool is_device(std::uint64_t address, std::size_t bytes) const {
    const allocation* block = block_of(address, bytes);
    return block != nullptr && block->context != nullptr;
  }

  void* allocate(std::size_t bytes, context_object* context) {
    void* start = ::operator new (bytes, std::align_val_t{512}, std::nothrow);
    if (start == nullptr) return nullptr;
    std::memset(start, 0xff, bytes);  // NaN, so that a read of what nobody wrote shows
    memory[reinterpret_cast<std::uintptr_t>(start)] = {bytes, context};
    // Kernels reach pinned memory of the host too.
    emulate::watched_memory::instance().add(start, bytes);
    if (context != nullptr) context->in_use += bytes;
    return start;
  }
  bool release(std::uintptr_t start, bool of_device) {
    const auto found = memory.find(start);
    if (found == memory.end() || (found->second.context != nullptr) != of_device) return false;
    void* const block = reinterpret_cast<void*>(start);
    emulate::watched_memory::instance().remove(block);
    if (of_device) found->second.context->in_use -= found->second.bytes;
    memory.erase(found);
    ::operator delete (block, std::align_val_t{512});
    return true;
  }

  // ---- work of streams ----
  /// Adds work to a stream, or to the graph that it is captured into.
  driver_result enqueue(stream_object* stream, std::function<driver_result()> work) {
    if (stream->capture != nullptr)
      stream->capture->work.push_back(std::move(work));
    else
      stream->queue.push_back(std::move(work));
    return driver_result::success;
  }
  /// Does all work that waits in a stream.
  driver_result finish(stream_object* stream) {
    while (!stream->queue.empty() && final_error == driver_result::success) {
      const auto work = std::move(stream->queue.front());
      stream->queue.pop_front();
      if (const driver_result result = work(); result != driver_result::success) final_error = result;
    }
    return final_error;
  }
  /// Does the work of an event's stream until the event is reached.
  driver_result reach(const std::shared_ptr<event_state>& event, std::uint64_t which) {
    while (event->reached < which && final_error == driver_result::success) {
      if (event->stream == nullptr || event->stream->queue.empty()) break;
      const auto work = std::move(event->stream->queue.front());
      event->stream->queue.pop_front();
      if (const driver_result result = work(); result != driver_result::success) final_error = result;
    }
    return final_error;
  }
};

}  // namespace stand_in
}  // namespace kiln::cuda
