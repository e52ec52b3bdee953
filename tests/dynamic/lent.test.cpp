// SPDX-License-Identifier: BSL-1.0
// Memory of somebody else: read without a copy, given back once, never written.
#include <doctest/doctest.h>

#include <dynamic/values.hpp>
#include <kiln/dynamic/lent.hpp>
#include <kiln/dynamic/shape.hpp>

using namespace kiln::dynamic;
using namespace test;

namespace {
int given_back = 0;
tensor look_at(std::vector<double>& numbers) {
  return lent(kiln::dtype::float64, {static_cast<std::int64_t>(numbers.size())}, numbers.data(), &given_back,
              [](void* owner) noexcept { ++*static_cast<int*>(owner); });
}
}  // namespace

TEST_CASE("lent memory is read where it lies, and given back when nothing reads it") {
  given_back = 0;
  std::vector<double> numbers{1, 2, 3, 4};
  {
    tensor pending;
    {
      const tensor x = look_at(numbers);
      CHECK(is_lent(x));
      CHECK(x.data() == numbers.data());
      numbers[0] = 10;
      CHECK(values(x)[0] == 10);
      const std::vector<std::int64_t> sizes{2, 2};
      CHECK(is_lent(reshape(x, sizes).eval()));
      pending = call("mul", {x, scalar(2.0)});
      CHECK(!is_lent(pending));
    }
    CHECK(given_back == 0);
    CHECK(near(values(pending), {20, 4, 6, 8}));
    CHECK(!is_lent(pending));
  }
  CHECK(given_back == 1);
}

TEST_CASE("lent memory is not written, nor learned") {
  std::vector<double> numbers{1, 2};
  tensor x = look_at(numbers);
  CHECK(holds(said<kiln::value_error>([&] { x.fill_(0); }), "belong to somebody else"));
  CHECK(holds(said<kiln::value_error>([&] { x.assign_(x); }), "belong to somebody else"));
  CHECK(holds(said<kiln::value_error>([&] { x.requires_grad_(); }), "clone() it first"));
  tensor view = transpose(reshape(x, std::vector<std::int64_t>{1, 2}), 0, 1);
  CHECK_THROWS_AS(view.fill_(0), kiln::value_error);
  CHECK(numbers == std::vector<double>{1, 2});
  tensor own = x.clone().eval();
  own.fill_(5);
  CHECK(numbers == std::vector<double>{1, 2});
  CHECK(near(values(own), {5, 5}));
}
