// SPDX-License-Identifier: BSL-1.0
// Which of the library's instruction sets is used: the best that the processor has, or the one that the environment
// variable KILN_ISA names. The build says which there are: bit i of KILN_VERSION_LEVELS stands for x86-64-v(i + 2).
#include <array>
#include <optional>
#include <string_view>

#include <kiln/core/environment.hpp>
#include <kiln/core/error.hpp>
#include <kiln/device/cpu/drivers.hpp>

namespace kiln::cpu {

#if defined(__x86_64__)
// Of processor.cpp, compiled once for each.
namespace x86_64_v2 {
const driver_table& table();
template <class T>
const typed_driver_table<T>& table_for();
}  // namespace x86_64_v2
namespace x86_64_v3 {
const driver_table& table();
template <class T>
const typed_driver_table<T>& table_for();
}  // namespace x86_64_v3
namespace x86_64_v4 {
const driver_table& table();
template <class T>
const typed_driver_table<T>& table_for();
}  // namespace x86_64_v4
#else
const driver_table& table();
template <class T>
const typed_driver_table<T>& table_for();
#endif

namespace {

#if defined(__x86_64__)
enum class level : int { v2 = 0, v3 = 1, v4 = 2 };
constexpr std::array<std::string_view, 3> names{"x86-64-v2", "x86-64-v3", "x86-64-v4"};

bool has(level l) {
  __builtin_cpu_init();
  const bool v2 =
      __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt") && __builtin_cpu_supports("ssse3");
  const bool v3 = v2 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                  __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
  const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
                  __builtin_cpu_supports("avx512cd");
  return l == level::v2 ? v2 : l == level::v3 ? v3 : v4;
}

constexpr bool built(level l) {
  return (KILN_VERSION_LEVELS >> static_cast<int>(l) & 1) != 0;
}

level best() {
  std::optional<level> most;
  for (const level l : {level::v2, level::v3, level::v4})
    if (built(l) && has(l)) most = l;
  if (!most)
    throw device_error(
        "kiln: this processor has none of the instruction sets that the compiled library was built for: build "
        "without KILN_COMPILED, the headers alone run on any");
  const char* asked = kiln::detail::environment("KILN_ISA");
  if (!asked || !*asked) return *most;
  for (std::size_t i = 0; i < names.size(); ++i)
    if (names[i] == asked) {
      const level l = static_cast<level>(i);
      if (!has(l))
        throw device_error(message("KILN_ISA asks for ", asked, ", but this processor has ",
                                   names[static_cast<std::size_t>(*most)], " at most: unset it or name what is there"));
      if (!built(l))
        throw device_error(message("KILN_ISA asks for ", asked, ", for which this library was not built; it has ",
                                   names[static_cast<std::size_t>(*most)], ": unset it or name what is there"));
      return l;
    }
  throw device_error(message("KILN_ISA is \"", asked,
                             "\", which is none of x86-64-v2, x86-64-v3, x86-64-v4: unset it or name one of them"));
}

level in_use() {
  static const level now = best();
  return now;
}

template <class T>
const typed_driver_table<T>& typed() {
  const level now = in_use();
  if constexpr (built(level::v2))
    if (now == level::v2) return x86_64_v2::table_for<T>();
  if constexpr (built(level::v3))
    if (now == level::v3) return x86_64_v3::table_for<T>();
  if constexpr (built(level::v4))
    if (now == level::v4) return x86_64_v4::table_for<T>();
  __builtin_unreachable();
}
const driver_table& untyped() {
  const level now = in_use();
  if constexpr (built(level::v2))
    if (now == level::v2) return x86_64_v2::table();
  if constexpr (built(level::v3))
    if (now == level::v3) return x86_64_v3::table();
  if constexpr (built(level::v4))
    if (now == level::v4) return x86_64_v4::table();
  __builtin_unreachable();
}
#else
template <class T>
const typed_driver_table<T>& typed() {
  return table_for<T>();
}
const driver_table& untyped() {
  return table();
}
#endif

}  // namespace

namespace drivers {

template <int Major, int Minor, int Patch>
const driver_table& chosen() {
  static const driver_table& now = untyped();
  return now;
}
template <class T, int Major, int Minor, int Patch>
const typed_driver_table<T>& chosen_for() {
  static const typed_driver_table<T>& now = typed<T>();
  return now;
}

template const driver_table& chosen<KILN_VERSION_MAJOR, KILN_VERSION_MINOR, KILN_VERSION_PATCH>();

template const typed_driver_table<bool>& chosen_for<bool, KILN_VERSION_MAJOR, KILN_VERSION_MINOR, KILN_VERSION_PATCH>();
template const typed_driver_table<std::uint8_t>&
chosen_for<std::uint8_t, KILN_VERSION_MAJOR, KILN_VERSION_MINOR, KILN_VERSION_PATCH>();
template const typed_driver_table<std::int8_t>&
chosen_for<std::int8_t, KILN_VERSION_MAJOR, KILN_VERSION_MINOR, KILN_VERSION_PATCH>();
template const typed_driver_table<std::int16_t>&
chosen_for<std::int16_t, KILN_VERSION_MAJOR, KILN_VERSION_MINOR, KILN_VERSION_PATCH>();
template const typed_driver_table<std::int32_t>&
chosen_for<std::int32_t, KILN_VERSION_MAJOR, KILN_VERSION_MINOR, KILN_VERSION_PATCH>();
template const typed_driver_table<std::int64_t>&
chosen_for<std::int64_t, KILN_VERSION_MAJOR, KILN_VERSION_MINOR, KILN_VERSION_PATCH>();
template const typed_driver_table<half>& chosen_for<half, KILN_VERSION_MAJOR, KILN_VERSION_MINOR, KILN_VERSION_PATCH>();
template const typed_driver_table<bfloat16>&
chosen_for<bfloat16, KILN_VERSION_MAJOR, KILN_VERSION_MINOR, KILN_VERSION_PATCH>();
template const typed_driver_table<float>&
chosen_for<float, KILN_VERSION_MAJOR, KILN_VERSION_MINOR, KILN_VERSION_PATCH>();
template const typed_driver_table<double>&
chosen_for<double, KILN_VERSION_MAJOR, KILN_VERSION_MINOR, KILN_VERSION_PATCH>();

}  // namespace drivers
}  // namespace kiln::cpu
