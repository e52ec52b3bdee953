// SPDX-License-Identifier: BSL-1.0
// mnist: which files it takes, what a sample is, and the real ones where they are there.
#include <kiln/data/data_loader.hpp>
#include <kiln/data/mnist.hpp>

#include <support/idx_files.hpp>

#include <doctest/doctest.h>

#include <kiln/kiln.hpp>

using namespace kiln;
using kiln_tests::idx_bytes;
using kiln_tests::scratch_directory;

namespace {
/// Writes n images, of which image i has all pixels equal to i + first, labelled i % 10.
void put(const scratch_directory& dir, const std::string& prefix, std::uint32_t n, int first = 0) {
  std::vector<std::uint8_t> pixels, labels;
  for (std::uint32_t i = 0; i < n; ++i) {
    pixels.insert(pixels.end(), 784, static_cast<std::uint8_t>(static_cast<int>(i) + first));
    labels.push_back(static_cast<std::uint8_t>(i % 10));
  }
  dir.write_gz(prefix + "-images-idx3-ubyte.gz", idx_bytes({n, 28, 28}, pixels));
  dir.write(prefix + "-labels-idx1-ubyte", idx_bytes({n}, labels));
}
}  // namespace

TEST_CASE("mnist: a sample is an image from 0 to 1 and its label") {
  const scratch_directory dir;
  put(dir, "train", 12);
  put(dir, "t10k", 5, 100);
  const data::MNIST train = data::mnist(dir.path()), test = data::mnist(dir.path(), {.train = false});
  CHECK(train.size() == 12);
  CHECK(test.size() == 5);
  const auto [image, label] = train.get(11);
  CHECK(image.sizes() == dims{1, 28, 28});
  CHECK(image(0, 27, 27) == 11.0f / 255);
  CHECK(label == 1);
  data::DataLoader batches(test, {.batch_size = 4});
  const auto [x, y] = *batches.begin();
  CHECK(x.sizes() == dims{4, 1, 28, 28});
  CHECK(x(3, 0, 5, 5) == 103.0f / 255);
  CHECK(y(3) == 3);
  CHECK(test.data()(4, 0, 0) == 104);
  CHECK(test.origin().ends_with("t10k-*"));
  CHECK_THROWS_AS(test.get(5), index_error);
  CHECK_THROWS_AS(test.get_batch(std::vector<std::int64_t>{-1}), index_error);
}

TEST_CASE("mnist: of one set only, four fifths train and the rest tests") {
  for (const std::string prefix : {"train", "t10k"}) {
    const scratch_directory dir;
    put(dir, prefix, 20);
    CHECK(data::mnist(dir.path()).size() == 16);
    const data::MNIST test = data::mnist(dir.path(), {.train = false});
    CHECK(test.size() == 4);
    CHECK(test.data()(0, 0, 0) == 16);
    CHECK(test.origin().ends_with("the last 4"));
  }
}

TEST_CASE("mnist: directories that hold none") {
  const scratch_directory dir;
  CHECK_THROWS_WITH_AS(data::mnist(dir.path() / "absent"), doctest::Contains("there is no directory"), io_error);
  CHECK_THROWS_WITH_AS(data::mnist(dir.path()), doctest::Contains("holds neither"), io_error);
  put(dir, "train", 4);
  CHECK_THROWS_WITH_AS(data::mnist(dir.path()), doctest::Contains("too few to split"), io_error);
  std::filesystem::remove(dir.path() / "train-labels-idx1-ubyte");
  CHECK_THROWS_WITH_AS(data::mnist(dir.path()), doctest::Contains("but not train-labels-idx1"), io_error);
}

TEST_CASE("mnist: the real files") {
  const std::filesystem::path place = std::filesystem::path(KILN_TEST_SOURCE_DIR) / "../shared/data/mnist";
  if (!std::filesystem::exists(place / "t10k-images-idx3-ubyte.gz")) {
    MESSAGE("skipped: there is no " << (place / "t10k-images-idx3-ubyte.gz").string());
    return;
  }
  const data::MNIST train = data::mnist(place), test = data::mnist(place, {.train = false});
  CHECK(train.size() == 8000);
  CHECK(test.size() == 2000);
  CHECK(train.targets()(0) == 7);  // the first test digits of MNIST are 7 2 1 0 4
  CHECK(train.targets()(4) == 4);
}
