// SPDX-License-Identifier: BSL-1.0
// Subset, random_split, k_fold: every sample in one part, sizes as said.
#include <kiln/data/subset.hpp>
#include <kiln/data/tensor_dataset.hpp>

#include <doctest/doctest.h>

#include <kiln/kiln.hpp>

using namespace kiln;
using numbers = std::vector<std::int64_t>;

namespace {
struct squares {
  std::int64_t n;
  std::int64_t size() const { return n; }
  std::int64_t get(std::int64_t i) const { return i * i; }
};
template <class Parts>
numbers all_indices(const Parts& parts) {
  numbers all;
  for (const auto& p : parts) all.insert(all.end(), p.indices().begin(), p.indices().end());
  std::sort(all.begin(), all.end());
  return all;
}
}  // namespace

TEST_CASE("Subset: samples by numbers, one by one and at once") {
  const data::Subset some(squares{9}, {8, 2, 2});
  CHECK(some.size() == 3);
  CHECK(some.get(0) == 64);
  CHECK(some.get(2) == 4);
  CHECK_THROWS_AS(some.get(3), index_error);
  CHECK_THROWS_WITH_AS((data::Subset(squares{9}, {1, 9})), doctest::Contains("there is no sample 9: there are 9"),
                       index_error);
  const data::Subset rows(data::TensorDataset(Tensor<float>{{1, 2}, {3, 4}, {5, 6}}), {2, 0});
  const numbers both{1, 0};
  const auto [x] = rows.get_batch(both);
  CHECK(x.sizes() == dims{2, 2});
  CHECK(x(0, 1) == 2);
  CHECK(x(1, 0) == 5);
}

TEST_CASE("random_split: by sizes and by shares, each sample once, the same for the same seed") {
  const auto parts = data::random_split(squares{10}, {7, 3}, 5);
  REQUIRE(parts.size() == 2);
  CHECK(parts[0].size() == 7);
  CHECK(all_indices(parts) == numbers{0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  CHECK(parts[1].indices() == data::random_split(squares{10}, {7, 3}, 5)[1].indices());
  CHECK(parts[0].indices() != data::random_split(squares{10}, {7, 3}, 6)[0].indices());
  // PyTorch's own example of what is left over: 10 in thirds is 4, 3, 3.
  const auto thirds = data::random_split(squares{10}, {1.0 / 3, 1.0 / 3, 1.0 / 3});
  CHECK(thirds[0].size() == 4);
  CHECK(thirds[1].size() == 3);
  CHECK(thirds[2].size() == 3);
  CHECK(all_indices(thirds).size() == 10);
  CHECK_THROWS_WITH_AS(data::random_split(squares{10}, {7, 2}), doctest::Contains("add up to 9"), value_error);
  CHECK_THROWS_AS(data::random_split(squares{10}, {11, -1}), value_error);
  CHECK_THROWS_AS(data::random_split(squares{10}, {0.5, 0.4}), value_error);
  CHECK_THROWS_AS(data::random_split(squares{10}, {1.5, -0.5}), value_error);
}

TEST_CASE("k_fold: scikit-learn's parts of ten samples in three") {
  const auto folds = data::k_fold(squares{10}, 3);
  REQUIRE(folds.size() == 3);
  CHECK(folds[0].validation.indices() == numbers{0, 1, 2, 3});
  CHECK(folds[1].validation.indices() == numbers{4, 5, 6});
  CHECK(folds[2].validation.indices() == numbers{7, 8, 9});
  CHECK(folds[1].train.indices() == numbers{0, 1, 2, 3, 7, 8, 9});
  const auto mixed = data::k_fold(squares{10}, 5, {.shuffle = true, .seed = 1});
  std::vector<data::Subset<squares>> validation;
  for (const auto& f : mixed) {
    CHECK(all_indices(std::vector{f.train, f.validation}).size() == 10);
    validation.push_back(f.validation);
  }
  CHECK(all_indices(validation) == numbers{0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  CHECK(mixed[0].validation.indices() != numbers{0, 1});
  CHECK_THROWS_AS(data::k_fold(squares{10}, 1), value_error);
  CHECK_THROWS_AS(data::k_fold(squares{10}, 11), value_error);
}
