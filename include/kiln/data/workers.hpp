// SPDX-License-Identifier: BSL-1.0
// Threads that make numbered results ahead of who takes them, in order: what makes a DataLoader's batches. Without
// threads, results are made when they are asked for.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace kiln::data::detail {

/// What a worker does, whatever its types. There is a place for each result that is made before it is taken.
class placed_work {
 public:
  virtual ~placed_work() = default;
  /// Takes what is to be done next, whose result will have that place, by one thread at a time; false at the end.
  virtual bool take(std::size_t place) = 0;
  /// Makes the result of what was taken for a place, on several threads at once.
  virtual void make(std::size_t place) = 0;
};

/// The threads, and whose turn it is.
class worker_threads {
 public:
  /// Where the system gives no thread, or no memory for one, work goes on with those there are, or with the one that
  /// asks.
  worker_threads(placed_work& of, int threads, std::size_t places);
  ~worker_threads();

  /// True in the child of a process that had started the threads.
  bool lost() const noexcept;
  /// Waits for the next result and says its place, which is its own until release(); nothing at the end. Throws what
  /// making it has thrown, and error where lost().
  std::optional<std::size_t> next();
  void release();

 private:
  struct state;
  std::unique_ptr<state> state_;
};

/// `take()` is called by one thread at a time and gives what is to be done next, or nothing at the end; `make(work)`
/// makes the result of it, on several threads at once. Results come in the order of take().
template <class Work, class Result>
class source {
 public:
  virtual ~source() = default;
  virtual std::optional<Work> take() = 0;
  virtual Result make(Work work) = 0;
};

/// Results of a source, in order. An exception of take() or make() comes in its place, after what was before it, and
/// ends the rest. In the child of a fork there are no such threads: next() says so, and an object that lost() its
/// threads must not be destroyed, but left where it is.
template <class Work, class Result>
class ordered_workers final : placed_work {
 public:
  /// At most `ahead` results are made before they are taken.
  ordered_workers(source<Work, Result>& from, int threads, std::size_t ahead)
      : from_(from), places_(ahead), threads_(*this, threads, ahead) {}
  ordered_workers(const ordered_workers&) = delete;
  ordered_workers& operator=(const ordered_workers&) = delete;

  bool lost() const noexcept { return threads_.lost(); }
  /// The next result, nothing at the end. Throws error where lost().
  std::optional<Result> next() {
    const std::optional<std::size_t> at = threads_.next();
    if (!at) return std::nullopt;
    std::optional<Result> result = std::exchange(places_[*at].result, std::nullopt);
    threads_.release();
    return result;
  }

 private:
  struct place {
    std::optional<Work> work;
    std::optional<Result> result;
  };

  bool take(std::size_t at) override { return (places_[at].work = from_.take()).has_value(); }
  void make(std::size_t at) override {
    Work work = *std::exchange(places_[at].work, std::nullopt);
    places_[at].result.emplace(from_.make(std::move(work)));
  }

  source<Work, Result>& from_;
  std::vector<place> places_;
  worker_threads threads_;  // last: ends first
};

}  // namespace kiln::data::detail

#ifndef KILN_COMPILED
#include <kiln/data/workers_impl.hpp>
#endif
