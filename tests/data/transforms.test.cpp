// SPDX-License-Identifier: BSL-1.0
// Functions over sets, and those for images.
#include <kiln/data/data_loader.hpp>
#include <kiln/data/tensor_dataset.hpp>
#include <kiln/data/transforms.hpp>

#include <doctest/doctest.h>

#include <set>

#include <kiln/kiln.hpp>

using namespace kiln;
namespace transforms = data::transforms;

namespace {
struct numbers {
  std::int64_t size() const { return 5; }
  std::int64_t get(std::int64_t i) const { return i; }
};
std::vector<float> list(const Tensor<float>& t) {
  const Tensor<float> flat = t.contiguous();
  return {flat.span().begin(), flat.span().end()};
}
}  // namespace

TEST_CASE("map: a function of each sample, which may draw") {
  const auto squares = data::map(numbers{}, [](std::int64_t i) { return static_cast<double>(i * i); });
  CHECK(squares.size() == 5);
  CHECK(squares.get(3) == 9);
  const auto twice = data::map(squares, [](double x) { return 2 * x; });
  CHECK(twice.get(2) == 8);
  const auto noisy =
      data::map(twice, [](double x, generator& random) { return x + static_cast<double>(random.take(3).first); });
  static_assert(!data::BatchDataset<decltype(noisy)>);
  generator random;
  CHECK(noisy.get(2, random) == 8);
  CHECK(noisy.get(2, random) == 11);
  const auto after = data::map(noisy, [](double x) { return -x; });
  CHECK(after.get(2, random) == -14);
}

TEST_CASE("transform: functions of the input, one after the other, the label stays") {
  const data::TensorDataset set(Tensor<float>{{1, 2}, {3, 4}}, Tensor<std::int64_t>{7, 8});
  const auto changed = data::transform(
      set, [](const Tensor<float>& x) { return Tensor<float>(x * 2.0f); },
      [](const Tensor<float>& x, generator& random) {
        return Tensor<float>(x + static_cast<float>(random.take(1).first));
      });
  data::DataLoader batches(changed, {.batch_size = 2});
  const auto [x, y] = *batches.begin();
  CHECK(x(0, 1) == 4);
  CHECK(x(1, 0) == 6 + 4294967296.0f);  // each sample draws from a place of its own
  CHECK(y(1) == 8);
}

TEST_CASE("transforms: Normalize takes means and deviations of channels") {
  const Tensor<float> image = arange<float>(8).reshape({2, 2, 2});
  const Tensor<float> out = transforms::Normalize({1, 2}, {2, 4})(image);
  CHECK(list(out) == std::vector<float>{-0.5, 0, 0.5, 1, 0.5, 0.75, 1, 1.25});
  CHECK(list(transforms::Normalize({1, 2}, {2, 4})(image.permute({0, 2, 1}))) ==
        std::vector<float>{-0.5, 0.5, 0, 1, 0.5, 1, 0.75, 1.25});
  CHECK_THROWS_AS(transforms::Normalize({1}, {1})(image), shape_error);
  CHECK_THROWS_AS(transforms::Normalize({1}, {1, 2}), value_error);
  CHECK_THROWS_AS(transforms::Normalize({1}, {0}), value_error);
}

TEST_CASE("transforms: RandomHorizontalFlip turns rows around as often as it is told") {
  const Tensor<float> image = arange<float>(6).reshape({1, 2, 3});
  generator random(3);
  CHECK(list(transforms::RandomHorizontalFlip{1}(image, random)) == std::vector<float>{2, 1, 0, 5, 4, 3});
  CHECK(list(transforms::RandomHorizontalFlip{0}(image, random)) == list(image));
  int flipped = 0;
  for (int i = 0; i < 1000; ++i) flipped += transforms::RandomHorizontalFlip{}(image, random)(0, 0, 0) == 2;
  CHECK(std::abs(flipped - 500) < 80);  // five standard deviations
  CHECK(image(0, 0, 0) == 0);
}

TEST_CASE("transforms: RandomCrop takes every part, with zeros around it") {
  const Tensor<float> image = arange<float>(9).reshape({1, 3, 3}) + 1.0f;
  generator random(1);
  std::set<std::vector<float>> seen;
  for (int i = 0; i < 300; ++i) seen.insert(list(transforms::RandomCrop{2}(image, random)));
  CHECK(seen == std::set<std::vector<float>>{{1, 2, 4, 5}, {2, 3, 5, 6}, {4, 5, 7, 8}, {5, 6, 8, 9}});
  seen.clear();
  for (int i = 0; i < 2000; ++i) seen.insert(list(transforms::RandomCrop{3, 1}(image, random)));
  CHECK(seen.size() == 9);
  CHECK(seen.contains({0, 0, 0, 0, 1, 2, 0, 4, 5}));
  CHECK(seen.contains({5, 6, 0, 8, 9, 0, 0, 0, 0}));
  CHECK_THROWS_AS((transforms::RandomCrop{6, 1}(image, random)), shape_error);
  CHECK_THROWS_AS(transforms::RandomCrop{1}(image.select(0, 0), random), shape_error);
  CHECK(list(transforms::RandomCrop{1, 9}(image, random)).size() == 1);
}
