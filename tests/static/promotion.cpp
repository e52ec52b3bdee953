// SPDX-License-Identifier: BSL-1.0
// What becomes of two element types in one expression: PyTorch's table, written out.
#include <kiln/core/dtype.hpp>

#include <concepts>
#include <cstdint>

using namespace kiln;
using u8 = std::uint8_t;
using i8 = std::int8_t;
using i16 = std::int16_t;
using i32 = std::int32_t;
using i64 = std::int64_t;

// The rows and columns of the table, in one order.
template <class... T>
struct row {};
using columns = row<bool, u8, i8, i16, i32, i64, half, bfloat16, float, double>;

template <class A, class... B, class... Expected>
constexpr bool gives(row<B...>, row<Expected...>) {
  return (std::same_as<promote_t<A, B>, Expected> && ...) && (std::same_as<promote_t<B, A>, Expected> && ...);
}

static_assert(gives<bool>(columns{}, row<bool, u8, i8, i16, i32, i64, half, bfloat16, float, double>{}));
static_assert(gives<u8>(columns{}, row<u8, u8, i16, i16, i32, i64, half, bfloat16, float, double>{}));
static_assert(gives<i8>(columns{}, row<i8, i16, i8, i16, i32, i64, half, bfloat16, float, double>{}));
static_assert(gives<i16>(columns{}, row<i16, i16, i16, i16, i32, i64, half, bfloat16, float, double>{}));
static_assert(gives<i32>(columns{}, row<i32, i32, i32, i32, i32, i64, half, bfloat16, float, double>{}));
static_assert(gives<i64>(columns{}, row<i64, i64, i64, i64, i64, i64, half, bfloat16, float, double>{}));
static_assert(gives<half>(columns{}, row<half, half, half, half, half, half, half, float, float, double>{}));
static_assert(gives<bfloat16>(
    columns{}, row<bfloat16, bfloat16, bfloat16, bfloat16, bfloat16, bfloat16, float, bfloat16, float, double>{}));
static_assert(gives<float>(columns{}, row<float, float, float, float, float, float, float, float, float, double>{}));
static_assert(gives<double>(columns{},
                            row<double, double, double, double, double, double, double, double, double, double>{}));

// A number changes the type of a tensor only when it is of a higher category.
static_assert(std::same_as<with_number_t<float, double>, float>);
static_assert(std::same_as<with_number_t<half, int>, half>);
static_assert(std::same_as<with_number_t<u8, long>, u8>);
static_assert(std::same_as<with_number_t<i32, double>, float>);
static_assert(std::same_as<with_number_t<bool, int>, i64>);
static_assert(std::same_as<with_number_t<bool, float>, float>);
static_assert(std::same_as<with_number_t<bool, bool>, bool>);

// Half types compute in float.
static_assert(std::same_as<compute_t<half>, float> && std::same_as<compute_t<bfloat16>, float>);
static_assert(std::same_as<compute_t<double>, double> && std::same_as<compute_t<i8>, i8>);
