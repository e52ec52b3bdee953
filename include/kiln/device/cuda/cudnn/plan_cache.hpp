// SPDX-License-Identifier: BSL-1.0
// Plans for cuDNN's graphs, kept for each layout, as is that cuDNN has none: it is asked once. Making one takes about a
// second, since cuDNN compiles a kernel for it.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <kiln/device/cuda/compile/nvrtc.hpp>
#include <kiln/device/cuda/cudnn/operation_graph.hpp>
#include <kiln/device/cuda/driver/device.hpp>
#include <kiln/device/cuda/driver/stream.hpp>
#include <kiln/device/cuda/libraries/convolution.hpp>

namespace kiln::cuda::detail {

/// A graph, the numbers of its tensors, and its plan or the reason why there is none.
template <class Graph>
struct planned_graph {
  Graph graph;
  graph_plan plan;
};

/// The plans of one kind of graph on one device. To be used within cudnn_library::use().
template <class Key, class Graph>
class plan_cache {
 public:
  /// More layouts than this are left to kiln's kernels: a program with ever new sizes would wait for cuDNN's compiler
  /// all the time.
  static constexpr std::size_t most_plans = 64;

  static plan_cache& of(Cuda device) {
    check_device(device);
    static std::vector<plan_cache>& all =
        *new std::vector<plan_cache>(static_cast<std::size_t>(cuda_device_count()));  // as cudnn_library::of()
    return all[static_cast<std::size_t>(device.index)];
  }

  /// The entry of a key, from the graph that make() gives if it is new; null if there may be no more, or while a graph
  /// of launches is captured, when no kernel can be loaded.
  template <class Make>
  const planned_graph<Graph>* find(const Key& key, const plan_limits& limits, cudnn_handle handle, Make&& make) {
    auto found = plans_.find(key);
    if (found == plans_.end() && plans_.size() < most_plans && !capturing) {
      Graph graph = make();
      graph_plan plan = graph.graph.plan({.handle = handle}, limits);
      found = plans_.emplace(key, planned_graph<Graph>{std::move(graph), std::move(plan)}).first;
    }
    return found == plans_.end() ? nullptr : &found->second;
  }

 private:
  std::map<Key, planned_graph<Graph>> plans_;
};

/// Why an entry has no plan; empty if it has one.
template <class Graph>
std::string refusal_of(const planned_graph<Graph>* entry) {
  if (entry == nullptr) return "no more layouts are planned";
  return entry->plan ? std::string() : entry->plan.refusal();
}

/// Why this machine's cuDNN takes no graphs; empty if it may. `least_version` is 91002 for 9.10.2.
inline std::string cudnn_graph_hindrance(std::size_t least_version) {
  static const std::string missing = []() -> std::string {
    try {
      // cuDNN looks for NVRTC by its name alone, and so finds the one that is open already.
      static_cast<void>(find_nvrtc());
      static_cast<void>(cudnn_api());
      return cudnn_backend().complete ? "" : "this cuDNN has no backend API";
    } catch (const device_error& caught) {
      return caught.what();
    }
  }();
  if (!missing.empty()) return missing;
  const std::size_t version = cudnn_api().version;
  return version < least_version ? message("version ", version, " of cuDNN is too old for it") : std::string();
}

/// Asks within cudnn_library::use(). A cuDNN that opens but does not start is a refusal too: kiln's kernels report it
/// if the device has failed.
template <class Ask>
std::string asked_cudnn(Cuda device, Ask&& ask) {
  std::string why;
  try {
    const device_scope scope(device);
    cudnn_library::of(device).use(current_stream(device), [&](cudnn_handle handle) { why = ask(handle); });
  } catch (const device_error& failed) {
    why = failed.what();
  }
  return why;
}

/// Memory that a plan needs besides its operands; null for none.
class lent_memory {
 public:
  lent_memory(std::size_t bytes, const stream& where) {
    if (bytes > 0) memory_ = new_storage(bytes, where);
  }
  void* data() const { return memory_ ? memory_->data : nullptr; }

 private:
  ref<storage> memory_;
};

/// The plan of an entry. Throws device_error if there is none.
template <class Graph>
const graph_plan& plan_of(const planned_graph<Graph>* entry, const char* name) {
  if (entry == nullptr || !entry->plan)
    throw device_error(message(name, ": cuDNN has no plan for it (", refusal_of(entry), "): ask for a refusal first"));
  return entry->plan;
}

}  // namespace kiln::cuda::detail
