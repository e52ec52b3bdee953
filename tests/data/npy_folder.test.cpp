// SPDX-License-Identifier: BSL-1.0
// Folders of .npy files: samples in the order of their names, folders as classes.
#include <kiln/data/data_loader.hpp>
#include <kiln/data/npy_folder.hpp>

#include <support/idx_files.hpp>

#include <doctest/doctest.h>

#include <kiln/kiln.hpp>

using namespace kiln;
using kiln_tests::scratch_directory;

TEST_CASE("NpyFolder: each file a sample") {
  const scratch_directory dir;
  for (const int i : {3, 1, 2}) io::write_npy(dir.path() / (std::to_string(i) + ".npy"), full<float>({2}, i));
  dir.write("readme.txt", "no sample");
  std::filesystem::create_directory(dir.path() / "folder.npy");
  data::DataLoader batches(data::NpyFolder<>(dir.path()), {.batch_size = 3, .workers = 2});
  const Tensor<float> x = *batches.begin();
  CHECK(x.sizes() == dims{3, 2});
  CHECK(x(0, 0) == 1);
  CHECK(x(2, 1) == 3);
  const data::NpyFolder<double> other(dir.path());
  CHECK_THROWS_AS(other.get(0), dtype_error);
  CHECK_THROWS_AS(other.get(3), index_error);
}

TEST_CASE("DatasetFolder: each folder a class") {
  const scratch_directory dir;
  for (const char* name : {"dog", "cat"}) {
    std::filesystem::create_directory(dir.path() / name);
    for (const int i : {0, 1})
      io::write_npy(dir.path() / name / (std::to_string(i) + ".npy"), full<float>({2}, i + name[0]));
  }
  const data::DatasetFolder<> set(dir.path());
  CHECK(set.size() == 4);
  CHECK(set.classes() == std::vector<std::string>{"cat", "dog"});
  const auto [x, y] = set.get(3);
  CHECK(x(0) == 'd' + 1);
  CHECK(y == 1);
  std::filesystem::create_directory(dir.path() / "empty");
  CHECK_THROWS_WITH_AS(data::DatasetFolder<>(dir.path()), doctest::Contains("holds no file that ends in .npy"),
                       io_error);
  CHECK_THROWS_WITH_AS(data::DatasetFolder<>(dir.path() / "cat"), doctest::Contains("holds no folders"), io_error);
  CHECK_THROWS_AS(data::NpyFolder<>(dir.path()), io_error);
  CHECK_THROWS_AS(data::NpyFolder<>(dir.path() / "absent"), io_error);
}
