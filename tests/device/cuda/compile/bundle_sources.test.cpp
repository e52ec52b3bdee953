// SPDX-License-Identifier: BSL-1.0
// What a bundle holds: for usual layouts the kernels that `schedule` wants, for any layout those of `schedule_general`.
#include <kiln/device/cuda/compile/bundle_sources.hpp>

#include "tape/sheet.hpp"

#include <doctest/doctest.h>

#include <set>
#include <string>
#include <vector>

using namespace kiln;

namespace {

struct known_tape {
  sheet tape;
  std::vector<dtype> stores;
  bool reduction_rooted = false;
  cuda::registered_tape entry() const { return {view_of(tape.p), reduction_rooted, stores.data()}; }
};

std::set<std::string> texts_of(const std::vector<cuda::registered_tape>& tapes) {
  std::set<std::string> texts;
  for (const cuda::source& s : cuda::bundle_sources(tapes)) CHECK(texts.insert(s.text).second);
  return texts;
}

void* address(std::uint64_t k) {
  return reinterpret_cast<void*>(k << 40);
}
// How many kernels of a task are not among the texts.
int missing(const cuda::task& job, const std::set<std::string>& texts, bool general,
            const cuda::device_shape& device = {}) {
  std::uint64_t next = 1000;
  const cuda::scratch_memory memory = [&next](std::size_t) { return address(++next); };
  int count = 0;
  for (const cuda::launch& l : general ? schedule_general(job, device, memory) : schedule(job, device, memory))
    count += static_cast<int>(texts.count(print_kernel(l).text) == 0);
  return count;
}

cuda::task place(const known_tape& tape, const dims& domain, std::uint32_t reduced, const dims& y) {
  cuda::task job = cuda::task_for(view_of(tape.tape.p), domain);
  job.reduced_axes = reduced;
  job.reduction_rooted = tape.reduction_rooted;
  std::uint64_t next = 0;
  for (cuda::leaf_view& x : job.leaves)
    if (x.used) x = {address(++next), cuda::detail::packed_strides(domain), x.type, true};
  for (std::size_t r = 0; r < job.results.size(); ++r) job.results[r] = {address(++next), y, tape.stores[r], false};
  return job;
}

}  // namespace

TEST_CASE("bundle_sources: maps, contiguous or with one operand broadcast, of any size that is large enough") {
  known_tape map;
  map.stores = {dtype::bfloat16};
  map.tape.result(map.tape.leaf(0) + map.tape.leaf(1));
  const auto texts = texts_of({map.entry()});
  for (const std::int64_t n : {64, 1000, 123456}) CHECK(missing(place(map, {n}, 0, {1}), texts, false) == 0);
  for (const dims& strides : {dims{0, 1}, dims{1, 0}, dims{0, 0}})
    for (const std::size_t k : {0u, 1u}) {
      cuda::task job = place(map, {77, 256}, 0, {256, 1});
      job.leaves[k].strides = strides;
      CHECK(missing(job, texts, false) == 0);
    }
  cuda::task odd = place(map, {77, 256}, 0, {256, 1});
  odd.leaves[0].strides = {1, 77};
  CHECK(missing(odd, texts, false) == 1);
  CHECK(missing(odd, texts, true) == 0);
}

TEST_CASE("bundle_sources: rows of usual lengths, reductions along the last axis, the first one, or all") {
  known_tape rows;
  rows.stores = {dtype::float32};
  const symbol x = rows.tape.leaf(0);
  rows.tape.result(x - row_max(x));
  const auto of_rows = texts_of({rows.entry()});
  for (const std::int64_t n : {64, 768, 1024, 32768, 65536})
    for (const cuda::device_shape& device :  // of sm_90, 120, 80 and 86
         {cuda::device_shape{},
          {.shared_bytes = 99 << 10},
          {.shared_bytes = 163 << 10, .cluster = 1},
          {.shared_bytes = 99 << 10, .cluster = 1}})
      CHECK(missing(place(rows, {100, n}, 2, {n, 1}), of_rows, false, device) == 0);
  // Of long rows in shared memory there are some lengths; the text for rows that are read once per pass does for
  // others.
  CHECK(missing(place(rows, {100, 50000}, 2, {50000, 1}), of_rows, false) == 1);
  CHECK(missing(place(rows, {100, 50000}, 2, {50000, 1}), of_rows, false, {.shared_bytes = 0, .cluster = 1}) == 0);

  known_tape sum;
  sum.stores = {dtype::float32};
  sum.reduction_rooted = true;
  sum.tape.result(row_sum(sum.tape.leaf(0)) * 0.5);
  const auto of_sums = texts_of({sum.entry()});
  CHECK(missing(place(sum, {100, 1024}, 2, {1, 0}), of_sums, false) == 0);
  CHECK(missing(place(sum, {100, 1024}, 1, {0, 1}), of_sums, false) == 0);
  CHECK(missing(place(sum, {1 << 20}, 1, {0}), of_sums, false) == 0);
  CHECK(missing(place(sum, {5000, 256}, 1, {0, 1}), of_sums, false) == 0);
}

TEST_CASE("bundle_sources: gradients, all results or one, added or not, summed for a leaf that was broadcast") {
  known_tape gradient;
  gradient.stores = {dtype::float32, dtype::float32};
  const symbol a = gradient.tape.leaf(0), b = gradient.tape.leaf(1), g = gradient.tape.leaf(2);
  gradient.tape.result(g * b);
  gradient.tape.result(g * a);
  const auto texts = texts_of({gradient.entry()});
  cuda::task job = place(gradient, {500, 1024}, 0, {1024, 1});
  CHECK(missing(job, texts, false) == 0);
  job.results[0].add = job.results[1].add = true;
  CHECK(missing(job, texts, false) == 0);
  job.results[0].data = nullptr;
  CHECK(missing(job, texts, false) == 1);
  CHECK(missing(job, texts, true) == 0);
  job.results[1].add = false;
  CHECK(missing(job, texts, false) == 0);
  job.leaves[1].strides = job.results[1].strides = {0, 1};
  CHECK(missing(job, texts, false) == 0);
}

TEST_CASE("bundle_sources: the order of the tapes makes no difference, and no tape leaves what all programs share") {
  known_tape a, b;
  a.stores = b.stores = {dtype::float32};
  a.tape.result(a.tape.leaf(0) + 1);
  b.tape.result(b.tape.leaf(0) * 2);
  const auto one = cuda::bundle_sources({a.entry(), b.entry()}), other = cuda::bundle_sources({b.entry(), a.entry()});
  REQUIRE(one.size() == other.size());
  for (std::size_t i = 0; i < one.size(); ++i) CHECK(one[i].text == other[i].text);
  const auto shared = texts_of({});
  const cuda::source mine{.text = "text", .name = "mine", .parameters = {}};
  CHECK(cuda::bundle_sources({}, {mine, mine}).size() == shared.size() + 1);
  const auto has = [&](const std::string& part) {
    for (const std::string& text : shared)
      if (text.find(part) != std::string::npos) return true;
    return false;
  };
  for (const char* kernel : {"uniform numbers of type bfloat16", "normal numbers of type float64",
                             "integer numbers of type bool", "y0 int8 strided(0123456) added"})
    CHECK(has(kernel));
}
