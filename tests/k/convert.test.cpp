// SPDX-License-Identifier: BSL-1.0
#include <kiln/k/convert.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "k_host/runtime.hpp"

namespace k = kiln::k;
using k::owned;

namespace {

template <class T>
owned list_of(int type, const std::vector<T>& values) {
  owned list(k::ktn(type, static_cast<std::int64_t>(values.size())));
  std::copy(values.begin(), values.end(), k::items<T>(list.get()));
  return list;
}
owned floats(const std::vector<double>& values) {
  return list_of(k::float_type, values);
}
owned longs(const std::vector<std::int64_t>& values) {
  return list_of(k::long_type, values);
}
template <class... T>
owned nested(T... values) {
  return owned(k::knk(static_cast<int>(sizeof...(values)), values.release()...));
}
std::string error_of(const owned& x) {
  try {
    k::to_tensor(x.get());
  } catch (const k::bare_error& reason) {
    return reason.what();
  }
  return "";
}

// Every object a test makes is gone at its end.
struct no_leak {
  std::int64_t before = k_host::live_objects();
  ~no_leak() { CHECK(k_host::live_objects() == before); }
};

}  // namespace

TEST_CASE("simple lists of every type go over and come back with their type and bytes") {
  const no_leak watch;
  const auto round = [](const owned& x, kiln::dtype type, std::size_t bytes) {
    const k::tensor t = k::to_tensor(x.get());
    CHECK(t.type() == type);
    CHECK(t.sizes() == kiln::dims{x.get()->count});
    const owned back(k::to_value(t));
    CHECK(back.get()->type == x.get()->type);
    CHECK(back.get()->count == x.get()->count);
    CHECK(std::string(k::items<char>(back.get()), bytes) == std::string(k::items<char>(x.get()), bytes));
  };
  round(list_of<std::uint8_t>(k::boolean_type, {0, 1, 0, 1}), kiln::dtype::boolean, 4);
  round(list_of<std::uint8_t>(k::byte_type, {0, 255}), kiln::dtype::uint8, 2);
  round(list_of<char>(k::char_type, {'a', 'b'}), kiln::dtype::int8, 2);
  round(list_of<std::int16_t>(k::short_type, {-1, k::null_short}), kiln::dtype::int16, 4);
  round(list_of<std::int32_t>(k::int_type, {7, k::null_int}), kiln::dtype::int32, 8);
  round(longs({k::null_long, 2}), kiln::dtype::int64, 16);
  round(list_of<float>(k::real_type, {1.5f, -2}), kiln::dtype::float32, 8);
  round(floats({1, k::null_float, -k::infinite_float}), kiln::dtype::float64, 24);
  round(floats({}), kiln::dtype::float64, 0);
}

TEST_CASE("atoms have no dimensions and come back as atoms") {
  const no_leak watch;
  const owned x(k::kf(2.5));
  const k::tensor t = k::to_tensor(x.get());
  CHECK(t.dim() == 0);
  const owned back(k::to_value(t));
  CHECK(back.get()->type == -k::float_type);
  CHECK(back.get()->floating == 2.5);
  const owned yes(k::kb(1));
  CHECK(owned(k::to_value(k::to_tensor(yes.get()))).get()->byte == 1);
}

TEST_CASE("nested lists are dimensions in row-major order") {
  const no_leak watch;
  const owned x = nested(nested(longs({1, 2}), longs({3, 4}), longs({5, 6})),
                         nested(longs({7, 8}), longs({9, 10}), longs({11, 12})));
  const k::tensor t = k::to_tensor(x.get());
  CHECK(t.sizes() == kiln::dims{2, 3, 2});
  const auto* values = static_cast<const std::int64_t*>(t.data());
  for (std::int64_t i = 0; i < 12; ++i) CHECK(values[i] == i + 1);
  const owned back(k::to_value(t));
  REQUIRE(back.get()->type == k::mixed_type);
  k::object second = k::items<k::object>(back.get())[1];
  CHECK(second->count == 3);
  k::object last = k::items<k::object>(second)[2];
  CHECK(last->type == k::long_type);
  CHECK(k::items<std::int64_t>(last)[1] == 12);
}

TEST_CASE("the empty list is an empty float32 tensor, the null an undefined one") {
  const no_leak watch;
  const k::tensor t = k::to_tensor(owned(k::ktn(0, 0)).get());
  CHECK(t.type() == kiln::dtype::float32);
  CHECK(t.sizes() == kiln::dims{0});
  const owned null(k::make_null());
  CHECK_FALSE(k::to_tensor(null.get()).defined());
  CHECK(k::is_null(owned(k::to_value(k::tensor{})).get()));
  CHECK(k::to_tensor(nested(longs({}), longs({})).get()).sizes() == kiln::dims{2, 0});
}

TEST_CASE("what is no tensor is refused with the text that users know") {
  const no_leak watch;
  CHECK(error_of(nested(longs({1, 2}), floats({3, 4}))) == "type mismatch at depth 1, long list vs double list");
  CHECK(error_of(nested(longs({1, 2}), longs({3, 4, 5}))) == "dimension mismatch at depth 1, 2 vs 3");
  CHECK(error_of(nested(owned(k::kj(1)), owned(k::kf(2)))) ==
        "unable to map mixed array to tensor: long scalar encountered at depth 1");
  CHECK(error_of(nested(longs({1, 2}), owned(k::kf(2)))) ==
        "unable to map mixed array to tensor: double scalar encountered at depth 1");
  CHECK(error_of(owned(k::make_symbols(std::vector<std::string>{"a", "b"}))) ==
        "no torch type found for k: symbol list");
  CHECK(error_of(owned(k::ks("a"))) == "no torch type found for k: symbol scalar");
  CHECK(error_of(owned(k::kd(3))) == "no torch type found for k: date scalar");
  const owned table(k::xT(k::make_dictionary(std::vector<std::string>{"x"}, k::knk(1, longs({1, 2}).release()))));
  CHECK(error_of(table) == "no torch type found for k: table");
  CHECK(error_of(nested(longs({1}), nested(longs({1})))) == "type mismatch at depth 1, long list vs general list");
  owned deep = longs({1});
  for (int i = 0; i < 8; ++i) deep = nested(std::move(deep));
  CHECK(error_of(deep) == "unable to map array to tensor: more than 8 dimensions");
}

TEST_CASE("half precision comes back as real") {
  const no_leak watch;
  const k::tensor t = k::to_tensor(floats({1, 0.5}).get()).to(kiln::dtype::float16);
  const owned back(k::to_value(t));
  CHECK(back.get()->type == k::real_type);
  CHECK(k::items<float>(back.get())[1] == 0.5f);
}

TEST_CASE("dtypes have the names that q uses") {
  CHECK(k::symbol_of(kiln::dtype::int64) == "long");
  CHECK(k::symbol_of(kiln::dtype::float16) == "half");
  CHECK(k::dtype_of_symbol("byte") == kiln::dtype::uint8);
  CHECK_FALSE(k::dtype_of_symbol("complex").has_value());
}
