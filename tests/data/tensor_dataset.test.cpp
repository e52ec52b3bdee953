// SPDX-License-Identifier: BSL-1.0
// TensorDataset: rows, one by one and at once.
#include <kiln/data/tensor_dataset.hpp>

#include <doctest/doctest.h>

#include <kiln/kiln.hpp>

using namespace kiln;
using data::TensorDataset;
using numbers = std::vector<std::int64_t>;

TEST_CASE("TensorDataset: row i of each tensor, views of them") {
  Tensor<float> x{{1, 2}, {3, 4}};
  const TensorDataset set(x, Tensor<std::int64_t>{7, 8});
  CHECK(set.size() == 2);
  auto [row, label] = set.get(1);
  CHECK(row.sizes() == dims{2});
  CHECK(row(1) == 4);
  CHECK(label.dim() == 0);
  CHECK(label.item() == 8);
  x.fill_(9);
  CHECK(row(0) == 9);
  CHECK_THROWS_WITH_AS(set.get(2), doctest::Contains("there is no sample 2: there are 2"), index_error);
  CHECK_THROWS_AS(set.get(-1), index_error);
}

TEST_CASE("TensorDataset: rows at once, of every rank and layout") {
  const Tensor<float> x{{1, 2, 3}, {4, 5, 6}};
  const TensorDataset set(x.t(), Tensor<bool>{true, false, true}, empty<half>({3, 0, 2}));
  const numbers at{2, 0, 2, 1};
  const auto [a, b, c] = set.get_batch(at);
  CHECK(a.sizes() == dims{4, 2});
  CHECK(std::vector<float>(a.span().begin(), a.span().end()) == std::vector<float>{3, 6, 1, 4, 3, 6, 2, 5});
  CHECK(b(1));
  CHECK_FALSE(b(3));
  CHECK(c.sizes() == dims{4, 0, 2});
  CHECK(std::get<0>(set.get_batch({})).sizes() == dims{0, 2});
  CHECK_THROWS_AS(set.get_batch(numbers{0, 3}), index_error);
}

TEST_CASE("TensorDataset: a wish for gradients is none of its samples'") {
  Tensor<float> x{{1, 2}, {3, 4}};
  x.requires_grad();
  CHECK_FALSE(std::get<0>(TensorDataset(x).get(0)).needs_grad());
  CHECK_FALSE(std::get<0>(TensorDataset(x).get_batch(numbers{0})).needs_grad());
}

TEST_CASE("TensorDataset: tensors that make no set") {
  CHECK_THROWS_WITH_AS(TensorDataset(Tensor<float>{1, 2}, Tensor<float>{1, 2, 3}),
                       doctest::Contains("tensors of 2 and of 3 samples"), shape_error);
  CHECK_THROWS_WITH_AS(TensorDataset(Tensor<float>(1.0f)), doctest::Contains("0-d"), shape_error);
  CHECK_THROWS_AS(TensorDataset(Tensor<float>()), value_error);
}
