// SPDX-License-Identifier: BSL-1.0
// CUDA graphs: work recorded once and started again as a whole, for one launch's cost in place of one for each kernel.
#pragma once

#include <memory>
#include <utility>

#include <kiln/core/error.hpp>
#include <kiln/core/philox.hpp>
#include <kiln/device/cuda/driver/context.hpp>
#include <kiln/device/cuda/driver/event.hpp>
#include <kiln/device/cuda/driver/forks.hpp>
#include <kiln/device/cuda/driver/stream.hpp>
#include <kiln/device/cuda/memory/memory.hpp>
#include <kiln/device/cuda/run/draw_offset.hpp>

namespace kiln::cuda {

/// The random numbers that a graph draws: how many blocks of the default generator, from which one on, and where its
/// kernels read how far a replay is beyond that.
struct graph_draws {
  ref<storage> offset;
  std::uint64_t first = 0, blocks = 0;
};

/// Recorded work. Keeps the memory that the work uses, so that replays find it at the same addresses. Moves.
class graph {
 public:
  graph() = default;
  graph(Cuda device, graph_exec_handle ready, ref<detail::memory_pool> pool, graph_draws draws = {})
      : device_(device), ready_(ready), pool_(std::move(pool)), draws_(std::move(draws)) {}
  graph(graph&& other) noexcept { *this = std::move(other); }
  graph& operator=(graph&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(ready_, other.ready_);
    std::swap(pool_, other.pool_);
    std::swap(draws_, other.draws_);
    std::swap(last_, other.last_);
    return *this;
  }
  ~graph() {
    // The driver lets a replay under way end first.
    if (ready_ != nullptr) detail::with_context(device_, [this] { driver().graph_exec_destroy(ready_); });
  }

  /// Queues all of the work once more, in a stream's order and after earlier replays. Does not wait. Random numbers are
  /// the default generator's next ones, as if the work were done anew; the seed is that of the capture. Not for several
  /// threads at once.
  void replay(const stream& where) const {
    if (ready_ == nullptr) throw device_error("graph.replay: nothing was captured; make the graph with capture()");
    if (where.device() != device_) {
      throw device_error(message("graph.replay: a graph of device ", device_.index, " in a stream of device ",
                                 where.device().index, "; replay it where it was captured"));
    }
    const device_scope scope(device_);
    if (draws_.offset) {
      // A replay under way in another stream still reads the offset. (The driver orders replays, and not this copy.)
      if (last_) hold_back(where, last_);
      last_ = where;
      const std::uint64_t offset = default_generator().take(draws_.blocks).first - draws_.first;
      copy_to_device(draws_.offset->data, &offset, sizeof(offset), where);
      record_use(*draws_.offset, where);
    }
    check(driver().graph_launch(ready_, where.handle()), "graph.replay");
  }
  /// The same in the current stream.
  void replay() const { replay(current_stream(device_)); }
  Cuda device() const { return device_; }

 private:
  Cuda device_;
  graph_exec_handle ready_ = nullptr;
  ref<detail::memory_pool> pool_;
  graph_draws draws_;
  mutable stream last_;  // of the last replay, if it draws
};

namespace detail {

// While it lives, kernels that this thread queues read their offset from `word`.
struct draws_scope {
  explicit draws_scope(const ref<storage>& word) { recording_draws = {static_cast<std::uint64_t*>(word->data), false}; }
  draws_scope(const draws_scope&) = delete;
  draws_scope& operator=(const draws_scope&) = delete;
  ~draws_scope() { recording_draws = {}; }
};

// However a capture ends, what comes after it in the thread's stream comes after the warm-ups.
struct joined_streams {
  const stream &later, &earlier;
  ~joined_streams() {
    try {
      hold_back(later, earlier);
    } catch (...) {  // a failed device says so at the next call too
    }
  }
};

// Between the begin and the end of a capture: ends it, whatever happens.
class capture_scope {
 public:
  explicit capture_scope(const stream& where) : where_(where) {
    // Other threads may go on with what this one may not.
    check(driver().stream_begin_capture(where.handle(), capture_mode::thread_local_calls), "capture");
    capturing = true;
  }
  capture_scope(const capture_scope&) = delete;
  capture_scope& operator=(const capture_scope&) = delete;
  ~capture_scope() {
    if (!capturing) return;
    capturing = false;
    if (lost_by_fork()) return;
    graph_handle unused = nullptr;
    if (driver().stream_end_capture(where_.handle(), &unused) == driver_result::success && unused != nullptr)
      driver().graph_destroy(unused);
  }
  graph_handle end() {
    capturing = false;
    graph_handle recorded = nullptr;
    const driver_result result = driver().stream_end_capture(where_.handle(), &recorded);
    if (result == driver_result::stream_capture_invalidated || result == driver_result::stream_capture_unjoined ||
        (result == driver_result::success && recorded == nullptr)) {
      throw device_error(message("capture: the work did what a graph cannot hold (", describe(result),
                                 "): it waited for the device, used the default stream, or left work in another stream "
                                 "that this one does not wait for"));
    }
    check(result, "capture");
    return recorded;
  }

 private:
  const stream& where_;
};

}  // namespace detail

/// Records what `work()` does on a device's current stream, without doing it, and makes a graph of it. First it does
/// the work `warm_ups` times, so that everything is compiled and memory is there: what it changes is changed that
/// often, and by each replay again. Memory that it takes comes from a pool of the graph's own. Throws device_error if
/// the work would wait for the device, read a value, ask the driver for memory or draw from another generator than the
/// default one while it is recorded; nothing is lost then.
template <class Work>
graph capture(Work&& work, Cuda device = {}, int warm_ups = 1) {
  detail::refuse_in_capture("capture");
  if (warm_ups < 0) throw value_error(message("capture: ", warm_ups, " warm-ups; use 0 or more"));
  const stream before = current_stream(device), own = stream::create(device);
  const ref<detail::memory_pool> pool = detail::new_pool(device);
  hold_back(own, before);
  const detail::joined_streams joined{before, own};
  graph_draws draws{new_storage(sizeof(std::uint64_t), before), 0, 0};
  const stream_scope stream_here(own);
  const detail::pool_scope pool_here(pool);
  for (int i = 0; i < warm_ups; ++i) work();
  const device_scope scope(device);
  graph_exec_handle ready = nullptr;
  draws.first = default_generator().position();
  {
    const detail::draws_scope drawing(draws.offset);
    detail::capture_scope recording(own);
    work();
    const graph_handle recorded = recording.end();
    draws.blocks = default_generator().position() - draws.first;
    const driver_result result = driver().graph_instantiate(&ready, recorded, 0);
    driver().graph_destroy(recorded);
    check(result, "capture");
    if (!detail::recording_draws.any) draws = {};
  }
  if (draws.offset && draws.blocks == 0) {
    driver().graph_exec_destroy(ready);
    throw device_error(
        "capture: the work draws from a generator of its own, whose numbers every replay would repeat: draw from "
        "default_generator()");
  }
  return graph(device, ready, pool, std::move(draws));
}

}  // namespace kiln::cuda
