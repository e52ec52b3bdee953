// SPDX-License-Identifier: BSL-1.0
// array: a tensor of a type known at run time, and elements in any layout.
#include <kiln/io/array.hpp>

#include <doctest/doctest.h>

#include <kiln/kiln.hpp>

using namespace kiln;

TEST_CASE("array: of any tensor, and back as what it is") {
  Tensor<float> x{{1, 2, 3}, {4, 5, 6}};
  const io::array a = x;
  CHECK(a.dtype() == dtype::float32);
  CHECK(a.sizes() == dims{2, 3});
  CHECK(a.bytes() == 24);
  a.as<float>().fill_(7);
  CHECK(x(1, 2) == 7);
  CHECK_THROWS_WITH_AS(a.as<double>(), doctest::Contains("an array of float32 of shape [2, 3] is no tensor of float64"),
                       dtype_error);
  CHECK_FALSE(io::array().defined());
  CHECK_THROWS_AS(io::array().sizes(), value_error);
  x.requires_grad();
  CHECK_FALSE(io::array(x).as<float>().needs_grad());
}

TEST_CASE("array: contiguous copies of every layout") {
  const Tensor<std::int32_t> x = arange<std::int32_t>(24).reshape({2, 3, 4});
  const auto same = [](const Tensor<std::int32_t>& t) {
    const Tensor<std::int32_t> flat = io::array(t).contiguous().as<std::int32_t>();
    if (!flat.is_contiguous() || flat.sizes() != t.sizes()) return false;
    std::int64_t at = 0;
    for (int i = 0; i < t.size(0); ++i)
      for (int j = 0; j < t.size(1); ++j)
        for (int k = 0; k < t.size(2); ++k)
          if (flat.data()[at++] != t(i, j, k)) return false;
    return true;
  };
  CHECK(same(x));
  CHECK(same(x.permute({2, 0, 1})));
  CHECK(same(x.permute({1, 0, 2})));
  CHECK(same(x.slice(2, 1, 4, 2)));
  CHECK(same(x.slice(1, 1, 3)));
  CHECK(same(x.slice(0, 1, 1)));
  CHECK(same(x.select(0, 1).unsqueeze(0).expand({3, 3, 4})));
}

TEST_CASE("array: memory at an address that does not suit its elements is copied") {
  alignas(8) char bytes[17] = {};
  const float one = 1;
  std::memcpy(bytes + 1, &one, 4);
  const auto keep = std::make_shared<int>();
  const io::array odd = io::detail::array_in(bytes + 1, dtype::float32, {2}, keep);
  CHECK_FALSE(odd.state()->memory->foreign);
  CHECK(odd.as<float>()(0) == 1);
  CHECK(keep.use_count() == 1);
  {
    const io::array even = io::detail::array_in(bytes + 8, dtype::float32, {2}, keep);
    CHECK(even.data() == bytes + 8);
    CHECK(keep.use_count() == 2);
  }
  CHECK(keep.use_count() == 1);
}
