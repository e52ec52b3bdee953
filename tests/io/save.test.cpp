// SPDX-License-Identifier: BSL-1.0
// save and load: a tensor, tensors by name, a module, by the ending of the name.
#include <kiln/io/save.hpp>

#include <support/array_values.hpp>
#include <support/idx_files.hpp>

#include <doctest/doctest.h>

#include <kiln/kiln.hpp>
#include <kiln/nn/layers/linear.hpp>

using namespace kiln;
using kiln_tests::scratch_directory;

TEST_CASE("save: a tensor or an expression, in each format") {
  const scratch_directory dir;
  const Tensor<float> x{{1, 2}, {3, 4}};
  for (const char* name : {"x.npy", "x.npz", "x.safetensors"}) {
    io::save(dir.path() / name, x.t());
    CHECK(io::load<Tensor<float>>(dir.path() / name)(1, 0) == 2);
    io::save(dir.path() / name, x * 2.0f);
    CHECK(io::load(dir.path() / name).at("tensor").as<float>()(1, 1) == 8);
    io::save(dir.path() / name, io::array(x));
    CHECK_THROWS_AS(io::load<Tensor<double>>(dir.path() / name), dtype_error);
  }
  CHECK_THROWS_WITH_AS(io::save(dir.path() / "x.pt", x), doctest::Contains("ends in none of"), value_error);
  CHECK_THROWS_AS(io::load(dir.path() / "x"), value_error);
}

TEST_CASE("save: tensors by name") {
  const scratch_directory dir;
  for (const char* name : {"x.npz", "x.safetensors"}) {
    io::save(dir.path() / name, {{"a", Tensor<float>{1, 2}}, {"b", Tensor<std::int64_t>{3}}});
    const io::tensor_map all = io::load(dir.path() / name);
    CHECK(all.at("a").as<float>()(1) == 2);
    CHECK(all.at("b").as<std::int64_t>()(0) == 3);
    CHECK_THROWS_WITH_AS(io::load<Tensor<float>>(dir.path() / name), doctest::Contains("holds 2 tensors"), value_error);
  }
  CHECK_THROWS_AS(io::save(dir.path() / "x.npy", io::tensor_map{}), value_error);
}

TEST_CASE("save: a module, and load into another one") {
  const scratch_directory dir;
  for (const char* name : {"x.npz", "x.safetensors"}) {
    const nn::Linear<> layer{3, 2}, other{3, 2};
    io::save(dir.path() / name, layer);
    io::load(dir.path() / name, other);
    for (int i = 0; i < 6; ++i) CHECK(other.weight(i / 3, i % 3) == layer.weight(i / 3, i % 3));
    const nn::Linear<> wider{4, 2};
    CHECK_THROWS_WITH_AS(io::load(dir.path() / name, wider), doctest::Contains("weight: the module has shape [2, 4]"),
                         value_error);
  }
}
