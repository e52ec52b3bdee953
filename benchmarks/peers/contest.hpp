// SPDX-License-Identifier: BSL-1.0
// How a contest is held: every peer does the same work on the same random numbers in one process, and Google Benchmark
// interleaves their repetitions at random (scripts/bench passes the flags). Before each repetition a peer's result is
// overwritten with NaN, computed again, and compared with that of the first peer, so nobody is timed for work undone.
// A benchmark is named work/peer; the table of benchmarks/README.md divides by these names.
#pragma once

#include <benchmark/benchmark.h>

#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <new>
#include <random>
#include <string>
#include <utility>

namespace contest {

/// Memory for `count` floats, zeroed, kept until the program ends; the same name gives the same memory. Large ones sit
/// on huge pages, as an expert would put them.
inline float* buffer(const std::string& name, std::size_t count) {
  static std::map<std::pair<std::string, std::size_t>, float*> all;
  float*& slot = all[{name, count}];
  if (slot != nullptr) return slot;
  constexpr std::size_t huge = std::size_t{2} << 20;
  const std::size_t bytes = count * sizeof(float), align = bytes < huge ? 64 : huge;
  const std::size_t padded = (bytes + align - 1) / align * align;
  slot = static_cast<float*>(std::aligned_alloc(align, padded));
  if (slot == nullptr) throw std::bad_alloc();
  if (align == huge) madvise(slot, padded, MADV_HUGEPAGE);
  std::memset(slot, 0, padded);
  return slot;
}

/// `count` random floats, uniform in [low, high); the same name and count give the same memory.
inline const float* random(const std::string& name, std::size_t count, float low = -2, float high = 2) {
  static std::map<std::pair<std::string, std::size_t>, bool> filled;
  float* data = buffer(name, count);
  if (bool& done = filled[{name, count}]; !done) {
    std::uint64_t state = 0;
    for (const char c : name) state = state * 131 + static_cast<unsigned char>(c);
    std::mt19937_64 seed(state);
    state = seed();
    // A linear generator: 256 MB of mt19937 would take longer than the contest.
    for (std::size_t i = 0; i < count; ++i) {
      state = state * 6364136223846793005U + 1442695040888963407U;
      data[i] = low + (high - low) * static_cast<float>(state >> 40) * (1.0F / 16777216.0F);
    }
    done = true;
  }
  return data;
}

/// What stands for a whole result: its root mean square, and a sum with changing signs that notices swapped elements.
struct digest {
  double size = 0, order = 0;
};

inline digest digest_of(const float* result, std::size_t count) {
  digest d;
  for (std::size_t i = 0; i < count; ++i) {
    d.size += static_cast<double>(result[i]) * result[i];
    d.order += result[i] * static_cast<double>(i % 7 == 3 ? -1 : 1) * static_cast<double>(i % 13);
  }
  d.size = std::sqrt(d.size / static_cast<double>(count));
  d.order /= static_cast<double>(count);
  return d;
}

/// True if the first peer of `work`, or one that computes what it computed.
inline bool agrees(const std::string& work, const digest& found) {
  static std::map<std::string, digest> first;
  const digest& want = first.emplace(work, found).first->second;
  const double near = 2e-4 * (want.size + 1e-6);
  return std::abs(found.size - want.size) <= near && std::abs(found.order - want.order) <= 20 * near;
}

/// Enters `peer` for `work`. `prepare()` sets it up, untimed, and gives a callable that does the work once and returns
/// a pointer to its result of `count` floats (count 0: results are not compared, as where the work has a memory).
template <class Prepare>
void enter(const std::string& work, const std::string& peer, std::size_t count, Prepare prepare) {
  const auto run = [work, count, prepare](benchmark::State& state) {
    auto body = prepare();
    const float* result = body();
    if (count != 0) {
      std::fill_n(const_cast<float*>(result), count, std::numeric_limits<float>::quiet_NaN());
      result = body();
      if (!agrees(work, digest_of(result, count))) state.SkipWithError("result differs from the first peer's");
    }
    for (auto _ : state) {
      result = body();
      benchmark::DoNotOptimize(result);
      benchmark::ClobberMemory();
    }
  };
  benchmark::RegisterBenchmark((work + "/" + peer).c_str(), run)->Unit(benchmark::kMicrosecond)->UseRealTime();
}

}  // namespace contest
