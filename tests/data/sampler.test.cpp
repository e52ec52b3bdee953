// SPDX-License-Identifier: BSL-1.0
// Samplers: which numbers come how often, counted, and the same ones again for a seed and an epoch.
#include <kiln/data/sampler.hpp>

#include <doctest/doctest.h>

#include <map>
#include <set>

using namespace kiln::data;
using kiln::value_error;
using numbers = std::vector<std::int64_t>;

namespace {
numbers sorted(numbers of) {
  std::sort(of.begin(), of.end());
  return of;
}
}  // namespace

TEST_CASE("SequentialSampler: in order") {
  CHECK(SequentialSampler(4).order(7) == numbers{0, 1, 2, 3});
  CHECK(SequentialSampler(0).order(0).empty());
  CHECK_THROWS_AS(SequentialSampler(-1), value_error);
}

TEST_CASE("RandomSampler: permutations, all of three as likely as each other") {
  const RandomSampler six(6, {.seed = 5});
  CHECK(six.size() == 6);
  CHECK(sorted(six.order(0)) == numbers{0, 1, 2, 3, 4, 5});
  CHECK(six.order(3) == six.order(3));
  CHECK(RandomSampler(6, {.seed = 5}).order(3) == six.order(3));
  std::map<numbers, int> seen;
  const RandomSampler three(3, {.seed = 1});
  for (std::uint64_t epoch = 0; epoch < 6000; ++epoch) ++seen[three.order(epoch)];
  REQUIRE(seen.size() == 6);
  // 1000 each, with a standard deviation of 29.
  for (const auto& [order, times] : seen) CHECK(std::abs(times - 1000) < 150);
}

TEST_CASE("RandomSampler: fewer, more, and with replacement") {
  const numbers few = RandomSampler(9, {.num_samples = 4}).order(0);
  CHECK(std::set(few.begin(), few.end()).size() == 4);
  const numbers more = RandomSampler(3, {.num_samples = 7}).order(0);
  REQUIRE(more.size() == 7);
  CHECK(sorted({more.begin(), more.begin() + 3}) == numbers{0, 1, 2});
  CHECK(sorted({more.begin() + 3, more.begin() + 6}) == numbers{0, 1, 2});
  std::vector<int> times(5);
  for (const std::int64_t i : RandomSampler(5, {.replacement = true, .num_samples = 5000}).order(2))
    ++times.at(static_cast<std::size_t>(i));
  for (const int n : times) CHECK(std::abs(n - 1000) < 150);
  CHECK(RandomSampler(0).order(0).empty());
  CHECK_THROWS_AS(RandomSampler(0, {.num_samples = 1}), value_error);
  CHECK_THROWS_AS(RandomSampler(2, {.num_samples = -2}), value_error);
}

TEST_CASE("WeightedRandomSampler: as often as the weights say, never what has none") {
  const WeightedRandomSampler sampler({1, 0, 3, 0}, 8000, {.seed = 3});
  std::vector<int> times(4);
  for (const std::int64_t i : sampler.order(0)) ++times.at(static_cast<std::size_t>(i));
  CHECK(times[1] + times[3] == 0);
  CHECK(std::abs(times[0] - 2000) < 200);  // five standard deviations
  // Without replacement the first of two is the heavier one in 3 of 4 epochs.
  const WeightedRandomSampler both({1, 0, 3}, 2, {.replacement = false});
  int heavy = 0;
  for (std::uint64_t epoch = 0; epoch < 4000; ++epoch) {
    const numbers order = both.order(epoch);
    REQUIRE(sorted(order) == numbers{0, 2});
    heavy += order[0] == 2;
  }
  CHECK(std::abs(heavy - 3000) < 140);
}

TEST_CASE("WeightedRandomSampler: weights that are none") {
  CHECK_THROWS_WITH_AS(WeightedRandomSampler({1, -1}, 1), doctest::Contains("weight 1 is -1"), value_error);
  CHECK_THROWS_AS(WeightedRandomSampler({1, HUGE_VAL}, 1), value_error);
  CHECK_THROWS_AS(WeightedRandomSampler({NAN}, 1), value_error);
  CHECK_THROWS_AS(WeightedRandomSampler({0, 0}, 1), value_error);
  CHECK_THROWS_AS(WeightedRandomSampler({}, 1), value_error);
  CHECK(WeightedRandomSampler({}, 0).order(0).empty());
  CHECK_THROWS_WITH_AS(WeightedRandomSampler({1, 0}, 2, {.replacement = false}), doctest::Contains("only 1"),
                       value_error);
  CHECK_THROWS_AS(WeightedRandomSampler({1}, -1), value_error);
}

TEST_CASE("DistributedSampler: the ranks share one order, padded or cut to equal parts") {
  for (const std::int64_t n : {0, 1, 2, 7, 12}) {
    for (const bool drop : {false, true}) {
      CAPTURE(n);
      CAPTURE(drop);
      std::vector<int> times(static_cast<std::size_t>(n));
      std::int64_t all = 0, each = -1;
      for (std::int64_t rank = 0; rank < 4; ++rank) {
        const DistributedSampler sampler(n, {.num_replicas = 4, .rank = rank, .seed = 2, .drop_last = drop});
        const numbers part = sampler.order(5);
        CHECK(static_cast<std::int64_t>(part.size()) == sampler.size());
        if (each >= 0) CHECK(each == sampler.size());
        each = sampler.size();
        all += each;
        for (const std::int64_t i : part) ++times.at(static_cast<std::size_t>(i));
      }
      CHECK(all == (drop ? n / 4 * 4 : (n + 3) / 4 * 4));
      if (!drop && n > 0) CHECK(*std::min_element(times.begin(), times.end()) >= 1);
      if (drop) CHECK(std::all_of(times.begin(), times.end(), [](int t) { return t <= 1; }));
    }
  }
  // Unshuffled, each takes every fourth: what PyTorch's gives for 6 samples on 4 ranks.
  CHECK(DistributedSampler(6, {.num_replicas = 4, .rank = 1, .shuffle = false}).order(0) == numbers{1, 5});
  CHECK(DistributedSampler(6, {.num_replicas = 4, .rank = 2, .shuffle = false}).order(0) == numbers{2, 0});
  CHECK_THROWS_WITH_AS(DistributedSampler(6, {.num_replicas = 2, .rank = 2}), doctest::Contains("rank 2 of 2"),
                       value_error);
  CHECK_THROWS_AS(DistributedSampler(6, {.num_replicas = 0}), value_error);
}

TEST_CASE("SubsetRandomSampler: its numbers in another order") {
  const SubsetRandomSampler sampler({5, 9, 9, 1}, 4);
  CHECK(sampler.size() == 4);
  CHECK(sorted(sampler.order(1)) == numbers{1, 5, 9, 9});
}
