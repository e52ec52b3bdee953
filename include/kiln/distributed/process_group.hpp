// SPDX-License-Identifier: BSL-1.0
// What processes that work together can ask of each other: collectives, which every rank calls, in the same order. How
// they reach each other is a backend's to know: mpi.hpp for memory of the processor, nccl.hpp for that of GPUs.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include <kiln/core/dtype.hpp>
#include <kiln/core/error.hpp>
#include <kiln/core/storage.hpp>

namespace kiln::distributed {

/// How the elements of all ranks become one.
enum class reduce_op { sum, mean, min, max, product };

/// "sum", "mean" ...
constexpr std::string_view name(reduce_op op) {
  constexpr std::string_view names[] = {"sum", "mean", "min", "max", "product"};
  return names[static_cast<int>(op)];
}

/// Contiguous elements that take part in a collective.
struct elements {
  void* data;
  std::int64_t count;
  dtype type;
  ref<storage> memory;  ///< held until the collective has ended; may be null for memory that outlives it
};

/// A collective under way.
class work {
 public:
  virtual ~work() = default;
  /// Lets it go on, and says whether this rank's part has been done. Throws as wait().
  virtual bool completed() = 0;
  /// Waits for this rank's part. On a GPU the current stream waits, not the host. Throws device_error if a rank that it
  /// needs has ended or does not come in time.
  virtual void wait() = 0;
};

/// Some processes, each with its rank from 0 on. All of them call the same collectives in the same order, with as many
/// elements of one type: over MPI, what differs is a value_error on all ranks when they wait; what one leaves out, the
/// others wait for. Throw value_error for a rank that there is not and elements that cannot be reduced so; device_error
/// for memory that the group does not reach.
class process_group {
 public:
  process_group() = default;
  process_group(const process_group&) = delete;
  process_group& operator=(const process_group&) = delete;
  virtual ~process_group() = default;

  virtual int rank() const = 0;
  virtual int world_size() const = 0;
  /// "mpi", "nccl".
  virtual std::string_view backend() const = 0;
  /// Whether it works on memory of GPUs; else on the processor's.
  virtual bool on_cuda() const = 0;
  /// Starts to reduce the elements of all ranks, in place: all ranks get the result. Several may be under way.
  virtual std::unique_ptr<work> start_all_reduce(const elements& of, reduce_op op) = 0;
  /// Starts to copy the elements of rank `root` to all others.
  virtual std::unique_ptr<work> start_broadcast(const elements& of, int root) = 0;
  /// Starts to copy the elements of each rank, one rank after the other, to `all`, which has world_size() times as
  /// many.
  virtual std::unique_ptr<work> start_all_gather(const elements& of, const elements& all) = 0;
  /// Waits until all ranks are here.
  virtual void barrier() = 0;
};

namespace detail {
inline process_group* default_group = nullptr;

/// Throws value_error unless `root` is a rank.
inline void check_root(const process_group& group, int root, const char* what) {
  if (root < 0 || root >= group.world_size())
    throw value_error(
        message("distributed::", what, ": there is no rank ", root, ": they go from 0 to ", group.world_size() - 1));
}
/// Throws value_error for what has no such reduction.
inline void check_reduction(dtype type, reduce_op op) {
  if (op == reduce_op::mean && !is_floating(type))
    throw value_error(message("distributed::all_reduce: the mean of ", kiln::name(type),
                              " elements is no integer: reduce floating numbers, or take reduce_op::sum"));
}
}  // namespace detail

/// All processes, as initialize() found them. Throws device_error before it was called, and after its result has ended.
inline process_group& world() {
  if (detail::default_group) return *detail::default_group;
  throw device_error(
      "distributed: there are no process groups yet: `const auto processes = distributed::initialize(argc, argv);` at "
      "the "
      "start of main() makes that of all processes");
}
/// The number of this process among all, from 0 on. Throws as world().
inline int rank() {
  return world().rank();
}
/// How many processes there are. Throws as world().
inline int world_size() {
  return world().world_size();
}
/// Waits until all processes are here. Throws as world(), device_error if one of them has ended or does not come.
inline void barrier() {
  world().barrier();
}

}  // namespace kiln::distributed
