// SPDX-License-Identifier: BSL-1.0
// Elements of a type known at run time, as the stand-ins for cuBLASLt and cuDNN read and write them: in double. `Type`
// is the library's own enumeration of float64, float32, float16 and bfloat16.
#pragma once

#include <kiln/core/half.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>

namespace kiln::cuda::stand_in {

template <class Type>
std::size_t size_of(Type type) {
  return type == Type::float64 ? 8 : type == Type::float32 ? 4 : 2;
}
template <class Type>
double load(Type type, const void* start, std::int64_t i) {
  if (type == Type::float64) return static_cast<const double*>(start)[i];
  if (type == Type::float32) return static_cast<double>(static_cast<const float*>(start)[i]);
  if (type == Type::float16) return static_cast<double>(static_cast<float>(static_cast<const half*>(start)[i]));
  return static_cast<double>(static_cast<float>(static_cast<const bfloat16*>(start)[i]));
}
template <class Type>
void store(Type type, void* start, std::int64_t i, double value) {
  if (type == Type::float64)
    static_cast<double*>(start)[i] = value;
  else if (type == Type::float32)
    static_cast<float*>(start)[i] = static_cast<float>(value);
  else if (type == Type::float16)
    static_cast<half*>(start)[i] = half(static_cast<float>(value));
  else
    static_cast<bfloat16*>(start)[i] = bfloat16(static_cast<float>(value));
}
/// 10 bits of mantissa, as tensor cores read a float.
inline double as_tf32(double value) {
  const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
  return static_cast<double>(std::bit_cast<float>((bits + 0x1000u) & ~0x1fffu));
}

}  // namespace kiln::cuda::stand_in
