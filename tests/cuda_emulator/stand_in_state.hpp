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
#include <string_view>
#include <utility>
#include <vector>

#include "fake_driver/limits.hpp"
#include "module.hpp"

namespace kiln::cuda {

namespace stand_in {
/// A text that NVRTC took without compiling it: see the setting run_kernels.
struct kept_text {
  std::string text;
  std::shared_ptr<const std::vector<emulate::named_text>> headers;  // those of the text before, if they are the same
};
/// What the image of such a text begins with, before its number.
constexpr std::string_view kept_text_mark = "text of the fake driver ";
}  // namespace stand_in

// The driver's own types behind the handles.
struct context_object {
  int device = 0;
  int references = 0;
  std::size_t in_use = 0;
};
/// A place in a stream's work, which is reached when all work before it is done. Who waits for it holds it: an event
/// that is recorded anew gets another one.
struct stream_mark {
  stream_object* stream = nullptr;
  bool reached = false;
};
struct graph_object {
  std::vector<std::function<driver_result()>> work;
};
struct graph_exec_object {
  std::vector<std::function<driver_result()>> work;
  context_object* context = nullptr;
  std::shared_ptr<stream_mark> last;  // the end of its last launch: the next one comes after, in whatever stream
};
struct stream_object {
  context_object* context = nullptr;
  std::deque<std::function<driver_result()>> queue;
  graph_object* capture = nullptr;  // what a capture collects into; owned by the stream where it began
  bool began_capture = false;
};
struct event_object {
  context_object* context = nullptr;
  std::shared_ptr<stream_mark> mark;  // of the last record; null before the first
  graph_object* capture = nullptr;
};
struct function_object {
  module_object* module = nullptr;
  std::string name;
  emulator::kernel kernel;  // its facts; `run` is null until there is code
  std::size_t declared_shared = 0;
  std::size_t dynamic_shared_limit = 0;
};
struct module_object {
  std::unique_ptr<emulate::module> code;      // null: a text that is compiled when one of its kernels is to run
  const stand_in::kept_text* text = nullptr;  // of a module without code
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
                                            {"seed", 1},       {"run_kernels", 1},    {"multiprocessors", 4}};
  std::map<std::string, long long> counts;
  std::string report;  // what the emulator said of the kernel that failed
  driver_result final_error = driver_result::success;
  std::vector<std::unique_ptr<context_object>> contexts;
  std::map<std::uintptr_t, allocation> memory;
  std::vector<stream_object*> streams;
  std::map<context_object*, std::unique_ptr<stream_object>> default_streams;
  std::deque<kept_text> texts;
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

  /// Whether kernels run. Else texts are not compiled, launches are checked and do nothing, and memory is not filled.
  bool runs_kernels() { return settings["run_kernels"] != 0; }

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
    if (runs_kernels()) std::memset(start, 0xff, bytes);  // NaN, so that a read of what nobody wrote shows
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
  /// Marks the end of all work so far of a stream.
  std::shared_ptr<stream_mark> mark(stream_object* stream) {
    auto made = std::make_shared<stream_mark>(stream_mark{stream});
    // Reached when the stream is done with this piece of work, or has lost it by a reset.
    const std::shared_ptr<void> passed(nullptr, [made](void*) { made->reached = true; });
    enqueue(stream, [passed] { return driver_result::success; });
    return made;
  }
  /// Does the work of a mark's stream until the mark is reached.
  driver_result reach(const stream_mark& mark) {
    while (!mark.reached && final_error == driver_result::success) {
      if (mark.stream->queue.empty()) break;
      const auto work = std::move(mark.stream->queue.front());
      mark.stream->queue.pop_front();
      if (const driver_result result = work(); result != driver_result::success) final_error = result;
    }
    return final_error;
  }
};

}  // namespace stand_in
}  // namespace kiln::cuda
