// SPDX-License-Identifier: BSL-1.0
// DataLoader: which samples come in which batch, the same ones at any number of threads, and how a loop ends.
#include <kiln/data/data_loader.hpp>
#include <kiln/data/tensor_dataset.hpp>

#include <doctest/doctest.h>

#include <sys/resource.h>

#include <kiln/kiln.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <limits>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>

#include "support/child.hpp"
#include "support/sanitized.hpp"

using namespace kiln;
using data::DataLoader;

namespace {

/// Sample i is i; the one of number `bad` is an error.
struct numbers {
  std::int64_t n, bad = -1;
  std::int64_t size() const { return n; }
  std::int64_t get(std::int64_t i) const {
    if (i == bad) throw std::domain_error("sample " + std::to_string(i));
    if (i % 7 == 3) std::this_thread::sleep_for(std::chrono::microseconds(300));  // so that threads overtake each other
    return i;
  }
};
/// Sample i and a number drawn for it.
struct drawn {
  std::int64_t size() const { return 20; }
  std::tuple<std::int64_t, std::int64_t> get(std::int64_t i, generator& random) const {
    return {i, static_cast<std::int64_t>(random.take(1).bits(0) >> 2)};
  }
};
/// n, n - 1, ... 1: samples without numbers.
struct countdown {
  int n;
  struct place {
    int left;
    float operator*() const { return static_cast<float>(left); }
    place& operator++() {
      --left;
      return *this;
    }
    friend bool operator==(const place& a, const place& b) { return a.left == b.left; }
  };
  place begin() const { return {n}; }
  place end() const { return {0}; }
};

template <class Loader>
std::vector<std::vector<std::int64_t>> all_of(Loader& loader) {
  std::vector<std::vector<std::int64_t>> batches;
  for (const Tensor<std::int64_t>& b : loader) batches.emplace_back(b.span().begin(), b.span().end());
  return batches;
}

}  // namespace

TEST_CASE("DataLoader: in order, the last batch shorter or left out") {
  DataLoader loader(numbers{7}, {.batch_size = 3});
  CHECK(loader.size() == 3);
  CHECK(all_of(loader) == std::vector<std::vector<std::int64_t>>{{0, 1, 2}, {3, 4, 5}, {6}});
  DataLoader whole(numbers{7}, {.batch_size = 3, .drop_last = true});
  CHECK(whole.size() == 2);
  CHECK(all_of(whole) == std::vector<std::vector<std::int64_t>>{{0, 1, 2}, {3, 4, 5}});
  DataLoader none(numbers{0}, {.batch_size = 3});
  CHECK(none.size() == 0);
  CHECK(all_of(none).empty());
  DataLoader vast(numbers{2}, {.batch_size = std::int64_t{1} << 62});
  CHECK(vast.size() == 1);
  CHECK(all_of(vast) == std::vector<std::vector<std::int64_t>>{{0, 1}});
}

TEST_CASE("DataLoader: rows of tensors by structured bindings") {
  const Tensor<float> x{{0, 1}, {10, 11}, {20, 21}};
  const Tensor<std::int64_t> y{5, 6, 7};
  DataLoader loader(data::TensorDataset(x, y), {.batch_size = 2});
  std::vector<float> xs;
  std::vector<std::int64_t> ys;
  for (auto [a, b] : loader) {
    CHECK(a.dim() == 2);
    CHECK(a.size(0) == b.size(0));
    xs.insert(xs.end(), a.span().begin(), a.span().end());
    ys.insert(ys.end(), b.span().begin(), b.span().end());
  }
  CHECK(xs == std::vector<float>{0, 1, 10, 11, 20, 21});
  CHECK(ys == std::vector<std::int64_t>{5, 6, 7});
}

TEST_CASE(
    "DataLoader: shuffled, each sample once, other orders in other epochs, the same for the same seed and any "
    "workers") {
  std::vector<std::vector<std::vector<std::int64_t>>> first;
  for (const int workers : {0, 1, 4}) {
    CAPTURE(workers);
    DataLoader loader(numbers{50}, {.batch_size = 4, .shuffle = true, .workers = workers, .prefetch = 3, .seed = 9});
    std::vector<std::vector<std::vector<std::int64_t>>> epochs{all_of(loader), all_of(loader)};
    CHECK(epochs[0] != epochs[1]);
    for (const auto& epoch : epochs) {
      std::vector<std::int64_t> seen;
      for (const auto& b : epoch) seen.insert(seen.end(), b.begin(), b.end());
      CHECK_FALSE(std::is_sorted(seen.begin(), seen.end()));
      std::sort(seen.begin(), seen.end());
      std::vector<std::int64_t> each(50);
      std::iota(each.begin(), each.end(), 0);
      CHECK(seen == each);
    }
    if (workers == 0) first = epochs;
    CHECK(epochs == first);
  }
  DataLoader other(numbers{50}, {.batch_size = 4, .shuffle = true, .seed = 10});
  CHECK(all_of(other) != first[0]);
  // Goes on in the middle of an epoch, as a run that was ended there.
  DataLoader later(numbers{50}, {.batch_size = 4, .shuffle = true, .workers = 2, .seed = 9});
  later.set_epoch(1, 5);
  const auto rest = all_of(later);
  CHECK(rest == std::vector<std::vector<std::int64_t>>(first[1].begin() + 5, first[1].end()));
  CHECK(later.epoch() == 2);
  later.set_epoch(0);
  CHECK(all_of(later) == first[0]);
}

TEST_CASE("DataLoader: without a seed of its own it follows the default generator's, and draws nothing from it") {
  manual_seed(3);
  DataLoader a(numbers{50}, {.shuffle = true});
  CHECK(default_generator().position() == 0);
  DataLoader b(numbers{50}, {.shuffle = true, .seed = 3});
  manual_seed(4);
  DataLoader c(numbers{50}, {.shuffle = true});
  manual_seed(0);
  const auto of_a = all_of(a);
  CHECK(of_a == all_of(b));
  CHECK(of_a != all_of(c));
}

TEST_CASE("DataLoader: what samples draw is the same at any number of workers, and another in each epoch") {
  std::vector<std::int64_t> first;
  for (const int workers : {0, 1, 4}) {
    DataLoader loader(drawn{}, {.batch_size = 3, .shuffle = true, .workers = workers, .seed = 1});
    std::vector<std::vector<std::int64_t>> epochs(2);
    for (auto& epoch : epochs)
      for (auto [i, r] : loader) epoch.insert(epoch.end(), r.span().begin(), r.span().end());
    if (workers == 0) first = epochs[0];
    CHECK(epochs[0] == first);
    std::sort(epochs[0].begin(), epochs[0].end());
    std::sort(epochs[1].begin(), epochs[1].end());
    CHECK(std::unique(epochs[0].begin(), epochs[0].end()) == epochs[0].end());
    CHECK(epochs[0] != epochs[1]);
  }
}

TEST_CASE("DataLoader: a sample that throws ends the loop with its exception, after the batches before it") {
  for (const int workers : {0, 1, 4}) {
    CAPTURE(workers);
    DataLoader loader(numbers{40, 25}, {.batch_size = 4, .workers = workers});
    std::vector<std::int64_t> seen;
    std::string text;
    try {
      for (const Tensor<std::int64_t>& b : loader) seen.push_back(b(0));
    } catch (const std::domain_error& e) {
      text = e.what();
    }
    CHECK(text == "sample 25");
    CHECK(seen == std::vector<std::int64_t>{0, 4, 8, 12, 16, 20});
    auto at = DataLoader(numbers{4, 0}, {.workers = 0}).size();
    CHECK(at == 4);
    DataLoader at_once(numbers{4, 0}, {.workers = workers});
    CHECK_THROWS_AS(at_once.begin(), std::domain_error);
  }
}

TEST_CASE("DataLoader: a loop may be left early, and the loader may end before its epoch") {
  for (const int workers : {0, 3}) {
    DataLoader loader(numbers{1000}, {.workers = workers});
    int n = 0;
    for (const Tensor<std::int64_t>& b : loader)
      if (b.item() == 5 && ++n == 1) break;
    CHECK(n == 1);
    auto at = DataLoader(numbers{20}, {.batch_size = 8, .workers = workers}).begin();
    std::int64_t sum = 0;
    for (; at != std::default_sentinel; ++at) sum += kiln::sum(*at).item();
    CHECK(sum == 190);
  }
}

TEST_CASE("DataLoader: workers make no more ahead than they are told") {
  struct counting {
    std::shared_ptr<std::atomic<int>> made = std::make_shared<std::atomic<int>>(0);
    std::int64_t size() const { return 100; }
    std::int64_t get(std::int64_t i) const {
      ++*made;
      return i;
    }
  } set;
  DataLoader loader(set, {.batch_size = 1, .workers = 2, .prefetch = 3});
  auto at = loader.begin();
  for (int i = 0; i < 60000 && *set.made < 7; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  CHECK(*set.made == 7);  // the one taken, and six ahead
}

TEST_CASE("DataLoader: a stream, at any number of workers") {
  for (const int workers : {0, 1, 4}) {
    DataLoader loader(countdown{7}, {.batch_size = 3, .workers = workers});
    for (int epoch = 0; epoch < 2; ++epoch) {
      std::vector<std::vector<float>> batches;
      for (const Tensor<float>& b : loader) batches.emplace_back(b.span().begin(), b.span().end());
      CHECK(batches == std::vector<std::vector<float>>{{7, 6, 5}, {4, 3, 2}, {1}});
    }
    loader.set_epoch(0, 1);
    CHECK((*loader.begin())(0) == 4);
  }
  CHECK_THROWS_WITH_AS((DataLoader(countdown{7}, {.shuffle = true})), doctest::Contains("can't be shuffled"),
                       value_error);
}

TEST_CASE("DataLoader: a function of one's own puts samples together") {
  const auto longest = [](const std::vector<std::int64_t>& samples) {
    return *std::max_element(samples.begin(), samples.end());
  };
  DataLoader loader(numbers{5}, {.batch_size = 2}, longest);
  std::vector<std::int64_t> all;
  for (const std::int64_t b : loader) all.push_back(b);
  CHECK(all == std::vector<std::int64_t>{1, 3, 4});
}

TEST_CASE("DataLoader: a sampler says the order") {
  DataLoader loader(numbers{5}, data::SubsetRandomSampler({4, 4, 2}), {.batch_size = 2});
  CHECK(loader.size() == 2);
  std::vector<std::int64_t> all;
  for (const Tensor<std::int64_t>& b : loader) all.insert(all.end(), b.span().begin(), b.span().end());
  std::sort(all.begin(), all.end());
  CHECK(all == std::vector<std::int64_t>{2, 4, 4});
  CHECK_THROWS_AS((DataLoader(numbers{5}, data::SequentialSampler(5), {.shuffle = true})), value_error);
  DataLoader outside(data::TensorDataset(Tensor<float>{1, 2}), data::SequentialSampler(3), {.batch_size = 3});
  CHECK_THROWS_WITH_AS(outside.begin(), doctest::Contains("there is no sample 2"), index_error);
}

TEST_CASE("DataLoader: options that are none") {
  CHECK_THROWS_WITH_AS((DataLoader(numbers{5}, {.batch_size = 0})), doctest::Contains(".batch_size is 0"), value_error);
  CHECK_THROWS_WITH_AS((DataLoader(numbers{5}, {.workers = -1})), doctest::Contains(".workers is -1"), value_error);
  CHECK_THROWS_WITH_AS((DataLoader(numbers{5}, {.prefetch = 0})), doctest::Contains(".prefetch is 0"), value_error);
  DataLoader loader(numbers{5});
  CHECK_THROWS_AS(loader.set_epoch(0, -1), value_error);
  for (const std::int64_t past : {std::int64_t{6}, std::int64_t{1} << 62, std::numeric_limits<std::int64_t>::max()})
    CHECK_THROWS_WITH_AS(loader.set_epoch(0, past), doctest::Contains("an epoch has 5"), value_error);
  loader.set_epoch(0, 5);
  CHECK(all_of(loader).empty());
  DataLoader stream(countdown{7});
  stream.set_epoch(0, std::int64_t{1} << 62);
  CHECK((stream.begin() == stream.end()));
}

TEST_CASE("DataLoader: a set of few samples takes few threads and little memory, whatever is asked for") {
  CHECK(support::run_in_child([] {
          const auto threads = [] {
            const std::filesystem::directory_iterator all("/proc/self/task");
            return std::distance(begin(all), end(all));
          };
          const auto before = threads();
          rusage used;
          ::getrusage(RUSAGE_SELF, &used);
          const long kib = used.ru_maxrss;
          DataLoader loader(numbers{5}, {.workers = 1024, .prefetch = 65536});
          auto at = loader.begin();
          const auto more = threads() - before;
          std::int64_t sum = 0;
          for (; at != loader.end(); ++at) sum += (*at)(0);
          ::getrusage(RUSAGE_SELF, &used);
          return sum == 10 && more <= 5 && used.ru_maxrss - kib < 50'000 ? 0 : 1;
        }) == 0);
}

TEST_CASE("DataLoader: pinned memory without CUDA's header is an error that names it") {
  for (const int workers : {0, 1}) {
    DataLoader loader(numbers{5}, {.workers = workers, .pin_memory = true});
    CHECK_THROWS_WITH_AS(loader.begin(), doctest::Contains("kiln/data/cuda.hpp"), device_error);
  }
}

TEST_CASE("DataLoader: in the child of a fork within an epoch it says so, ends, and begins another") {
  for (const int workers : {0, 3}) {
    DataLoader loader(numbers{40}, {.batch_size = 2, .workers = workers, .prefetch = 1});
    auto at = std::make_unique<decltype(loader.begin())>(loader.begin());
    if (test::address_sanitized) REQUIRE(kiln::support::others_sleep());
    CHECK(kiln::support::run_in_child([&] {
            ::alarm(20);
            int more = 1;
            bool told = false;
            try {
              for (++*at; *at != loader.end(); ++*at) ++more;
            } catch (const kiln::error& e) {
              told = std::string(e.what()).find("child of a fork") != std::string::npos;
            }
            at.reset();
            if (workers == 0 ? more != 20 : !told) return 1;
            // The sanitizer of threads ends a child that starts some.
            if (test::thread_sanitized) return 0;
            int all = 0;
            for (const Tensor<std::int64_t>& b : loader) all += static_cast<int>(b.numel());
            return all == 40 ? 0 : 2;
          }) == 0);
    int count = 0;
    for (; *at != loader.end(); ++*at) ++count;
    CHECK(count == 20);
  }
}
