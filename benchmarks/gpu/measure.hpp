// SPDX-License-Identifier: BSL-1.0
// How work on a GPU is measured. A benchmark is named contest/entry. Its result is checked against float64 first, and a
// wrong one is an error in place of a time. Then it runs in batches of some milliseconds; a time is that of a batch
// over its size, and Google Benchmark (scripts/gpu passes the flags) takes the median of several. Next to each case
// that is bound by memory, the device copies as many bytes as it moves: entry "copy".
#pragma once

#include <kiln/cuda.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace measure {

using namespace kiln;

template <class T>
using on_device = Tensor<T, Cuda>;

enum class clock_kind {
  device,  ///< between two events: what the device is busy with
  call,    ///< on the host until the calls return: what launching costs
  whole    ///< on the host until all is done
};

/// One entry of a contest, ready to run.
struct work {
  std::function<void()> run;
  std::function<std::string()> wrong;  ///< run once before: empty if the result is right, else what is wrong
  double bytes = 0;                    ///< that one run must move
  double operations = 0;
};

/// KILN_BENCH_TINY=1: a few elements of everything, to try the programs where there is no GPU.
inline bool tiny() {
  static const bool is_tiny = std::getenv("KILN_BENCH_TINY") != nullptr;
  return is_tiny;
}
/// A large size, or a small one in its place.
inline std::int64_t sized(std::int64_t n, std::int64_t small) {
  return tiny() ? small : n;
}

// The case that was measured last, kept for its next repetition: making one costs more than measuring it.
struct current_case {
  std::string name;
  std::unique_ptr<work> made;
  std::string error;
  std::int64_t batch = 1;
  static current_case& instance() {
    static current_case& only = *new current_case;
    return only;
  }
};

inline double seconds_of(const work& what, std::int64_t batch, clock_kind clock) {
  const cuda::stream& where = cuda::current_stream({});
  if (clock == clock_kind::device) {
    cuda::event from({}, true), to({}, true);
    from.record(where);
    for (std::int64_t i = 0; i < batch; ++i) what.run();
    to.record(where);
    to.synchronize();
    return cuda::milliseconds(from, to) * 1e-3 / static_cast<double>(batch);
  }
  const auto start = std::chrono::steady_clock::now();
  for (std::int64_t i = 0; i < batch; ++i) what.run();
  if (clock == clock_kind::whole) where.synchronize();
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
  if (clock == clock_kind::call) where.synchronize();
  return time.count() / static_cast<double>(batch);
}

// Makes and checks a case, and finds how many runs take some milliseconds.
inline void prepare(current_case& now, const std::string& name, const std::function<work()>& make, clock_kind clock) {
  now.made.reset();
  now.name = name;
  now.error.clear();
  now.batch = 1;
  try {
    cuda::synchronize({});
    now.made = std::make_unique<work>(make());
    now.made->run();
    if (now.made->wrong) now.error = now.made->wrong();
    if (!now.error.empty()) return;
    const double once = std::max(seconds_of(*now.made, 3, clock), 1e-7);
    const double wanted = tiny() ? 1e-5 : 4e-3;
    // A queue holds about a thousand launches; beyond that a call waits for the device.
    now.batch = std::clamp<std::int64_t>(static_cast<std::int64_t>(wanted / once), 1, 400);
    (void)seconds_of(*now.made, now.batch, clock);
  } catch (const std::exception& caught) {
    now.error = caught.what();
  }
}

/// Adds an entry of a contest; `make` is called when its turn comes.
inline void enter(const std::string& contest, const std::string& entry, std::function<work()> make,
                  clock_kind clock = clock_kind::device) {
  const std::string name = contest + "/" + entry;
  benchmark::RegisterBenchmark(name.c_str(),
                               [=](benchmark::State& state) {
                                 current_case& now = current_case::instance();
                                 if (now.name != name) prepare(now, name, make, clock);
                                 if (!now.error.empty()) return state.SkipWithError(now.error.c_str());
                                 try {
                                   for (auto step : state)
                                     state.SetIterationTime(seconds_of(*now.made, now.batch, clock));
                                 } catch (const std::exception& caught) {
                                   state.SkipWithError(caught.what());
                                 }
                                 if (now.made->bytes > 0) state.counters["bytes"] = now.made->bytes;
                                 if (now.made->operations > 0) state.counters["operations"] = now.made->operations;
                               })
      ->UseManualTime()
      ->Iterations(3)  // batches: how long each takes was settled before
      ->Unit(benchmark::kMicrosecond);
}

/// The copy within the device that moves as many bytes, half of them in and half out.
inline void enter_copy(const std::string& contest, double bytes) {
  enter(contest, "copy", [bytes] {
    const auto half = static_cast<std::size_t>(bytes / 2);
    const ref<storage> from = cuda::new_storage(half), to = cuda::new_storage(half);
    cuda::fill_bytes(from->data, 1, half, cuda::current_stream({}));
    work made;
    made.run = [=] { cuda::copy_on_device(to->data, from->data, half, cuda::current_stream({})); };
    made.bytes = bytes;
    return made;
  });
}

template <class T>
double number(T value) {
  return static_cast<double>(static_cast<compute_t<T>>(value));
}
/// The elements of a tensor, on the host and as doubles.
template <class T>
std::vector<double> values_of(const on_device<T>& x) {
  const Tensor<T> here = on_device<T>(x.clone()).template to<Cpu>();
  std::vector<double> out;
  for (const T v : here.span()) out.push_back(number(v));
  return out;
}
/// About 60 thousand of the elements of a large contiguous tensor, evenly spread; all of a small one.
template <class T>
std::vector<double> sample_of(const on_device<T>& x) {
  const std::int64_t step = std::max<std::int64_t>(1, x.numel() / 60'000) | 1;
  return values_of(x.flatten().slice(0, 0, x.numel(), step));
}

/// What rounding to an element type may cost.
template <class T>
constexpr double tolerance() {
  return dtype_of<T> == dtype::float32 ? 2e-5 : 1e-2;
}
/// Empty if all values are as wanted, relative to the largest of them; else says how far they are.
inline std::string difference(const std::vector<double>& got, const std::vector<double>& wanted, double limit) {
  if (got.size() != wanted.size()) return "wrong: another number of values";
  double scale = 1e-30, worst = 0;
  for (const double w : wanted) scale = std::max(scale, std::abs(w));
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double d = std::abs(got[i] - wanted[i]) / scale;
    worst = d <= worst ? worst : (std::isnan(d) ? INFINITY : d);
  }
  return worst <= limit ? "" : "wrong: an error of " + std::to_string(worst) + " against float64";
}

/// "float32", as contests name it.
template <class T>
std::string type_name() {
  return std::string(name(dtype_of<T>));
}

}  // namespace measure
