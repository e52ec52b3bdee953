// SPDX-License-Identifier: BSL-1.0
// kiln's functions on vectors beside SLEEF's and Highway's, in one loop over numbers in first-level cache: nanoseconds
// an element, the median of 41 rounds in turn of processor time, and the largest error in ulp over 1 Mi drawn numbers
// (against the C++ library's in double, for double in long double). And a sum of products beside Highway's Dot. Of
// SLEEF the functions to 1.0 ulp and, where there are any, to 3.5 ulp. Built where one of the two is installed.
#include <kiln/kiln.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#if defined(KILN_BENCH_SLEEF)
#include <sleef.h>
#endif
#if defined(KILN_BENCH_HIGHWAY)
#include <hwy/highway.h>
// These two ask for highway.h before them.
#include <hwy/contrib/dot/dot-inl.h>
#include <hwy/contrib/math/math-inl.h>
namespace hn = hwy::HWY_NAMESPACE;
#else
namespace hn {
void Exp(), Log(), Sin(), Tanh();  // names for what is not called without Highway
}
#endif

namespace {

constexpr std::size_t count = 2048;

double seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

struct peer {
  std::string name;
  std::function<void()> run;  // reads and writes `count` numbers
  double ulp = 0;
  std::vector<double> times = {};
};

void time_them(std::vector<peer>& peers, int repeats = 200) {
  constexpr int rounds = 41;
  for (int r = 0; r < rounds; ++r)
    for (peer& each : peers) {
      each.run();
      const double begin = seconds();
      for (int i = 0; i < repeats; ++i) each.run();
      each.times.push_back((seconds() - begin) * 1e9 / repeats / static_cast<double>(count));
    }
  for (peer& each : peers) std::nth_element(each.times.begin(), each.times.begin() + rounds / 2, each.times.end());
}

template <class T>
double ulp_between(T found, long double exact) {
  const T near = static_cast<T>(exact);
  if (found == near) return 0;
  const T above = std::nextafter(std::abs(near), std::numeric_limits<T>::infinity());
  const long double unit = static_cast<long double>(above) - static_cast<long double>(std::abs(near));
  return static_cast<double>(std::abs(static_cast<long double>(found) - exact) / unit);
}

template <class T>
using wide = std::conditional_t<sizeof(T) == 4, double, long double>;

/// A loop over `from` that writes f of each vector to `to`; `load` and `store` are the library's.
template <class T, class Load, class F, class Store>
std::function<void()> loop(std::size_t lanes, const std::vector<T>& from, std::vector<T>& to, Load load, F f,
                           Store store) {
  return [=, &from, &to] {
    for (std::size_t i = 0; i < count; i += lanes) store(to.data() + i, f(load(from.data() + i)));
    asm volatile("" ::"r"(to.data()) : "memory");
  };
}

template <class T>
struct contest {
  std::vector<T> from, to;
  std::vector<peer> peers;

  contest() : from(count), to(count) {}

  template <class F>
  void enter_kiln(F f) {
    constexpr int N = kiln::cpu::vector_bytes / static_cast<int>(sizeof(T));
    peers.push_back({"kiln", loop(
                                 N, from, to, [](const T* p) { return kiln::cpu::load<N>(p); }, f,
                                 [](T* p, auto v) { kiln::cpu::store(p, v); })});
  }
#if defined(KILN_BENCH_SLEEF)
  template <class F>
  void enter_sleef(const char* name, F f) {
    using V = kiln::cpu::native_t<T, kiln::cpu::vector_bytes / static_cast<int>(sizeof(T))>;
    peers.push_back({name, loop(
                               sizeof(V) / sizeof(T), from, to,
                               [](const T* p) {
                                 V v;
                                 std::memcpy(&v, p, sizeof(V));
                                 return v;
                               },
                               [f](V v) {
                                 const auto y = f(v);
                                 V out;
                                 std::memcpy(&out, &y, sizeof(V));
                                 return out;
                               },
                               [](T* p, V v) { std::memcpy(p, &v, sizeof(V)); })});
  }
#endif
#if defined(KILN_BENCH_HIGHWAY)
  template <class F>
  void enter_highway(F f) {
    const hn::ScalableTag<T> d;
    peers.push_back({"highway", loop(
                                    hn::Lanes(d), from, to, [d](const T* p) { return hn::LoadU(d, p); },
                                    [d, f](auto v) { return f(d, v); }, [d](T* p, auto v) { hn::StoreU(v, d, p); })});
  }
#endif

  /// `draw` gives arguments, `exact` the function in the wider type.
  template <class Draw, class Exact>
  void hold(const char* work, Draw draw, Exact exact) {
    std::mt19937_64 bits(1);
    for (int block = 0; block < 512; ++block) {
      for (T& x : from) x = static_cast<T>(draw(std::uniform_real_distribution<double>(0, 1)(bits)));
      for (peer& each : peers) {
        each.run();
        for (std::size_t i = 0; i < count; ++i)
          each.ulp =
              std::max(each.ulp, ulp_between<T>(to[i], static_cast<long double>(exact(static_cast<wide<T>>(from[i])))));
      }
    }
    time_them(peers);
    for (const peer& each : peers)
      std::printf("| %s | %s | %s | %.3f | %.2f |\n", work, sizeof(T) == 4 ? "float" : "double", each.name.c_str(),
                  each.times[each.times.size() / 2], each.ulp);
  }
};

// SLEEF names its functions by type and number of lanes.
#if defined(KILN_BENCH_SLEEF) && defined(__AVX512F__)
const auto exp_float = Sleef_expf16_u10, log_float = Sleef_logf16_u10, log_float_35 = Sleef_logf16_u35;
const auto sin_float = Sleef_sinf16_u10, sin_float_35 = Sleef_sinf16_u35;
const auto tanh_float = Sleef_tanhf16_u10, tanh_float_35 = Sleef_tanhf16_u35;
const auto exp_double = Sleef_expd8_u10, log_double = Sleef_logd8_u10, log_double_35 = Sleef_logd8_u35;
const auto sin_double = Sleef_sind8_u10, sin_double_35 = Sleef_sind8_u35;
const auto tanh_double = Sleef_tanhd8_u10, tanh_double_35 = Sleef_tanhd8_u35;
#elif defined(KILN_BENCH_SLEEF) && defined(__AVX2__)
const auto exp_float = Sleef_expf8_u10, log_float = Sleef_logf8_u10, log_float_35 = Sleef_logf8_u35;
const auto sin_float = Sleef_sinf8_u10, sin_float_35 = Sleef_sinf8_u35;
const auto tanh_float = Sleef_tanhf8_u10, tanh_float_35 = Sleef_tanhf8_u35;
const auto exp_double = Sleef_expd4_u10, log_double = Sleef_logd4_u10, log_double_35 = Sleef_logd4_u35;
const auto sin_double = Sleef_sind4_u10, sin_double_35 = Sleef_sind4_u35;
const auto tanh_double = Sleef_tanhd4_u10, tanh_double_35 = Sleef_tanhd4_u35;
#endif
#if defined(KILN_BENCH_SLEEF) && (defined(__AVX512F__) || defined(__AVX2__))
constexpr bool has_sleef = true;
#else
constexpr bool has_sleef = false;
constexpr int exp_float = 0, log_float = 0, log_float_35 = 0, sin_float = 0, sin_float_35 = 0, tanh_float = 0,
              tanh_float_35 = 0, exp_double = 0, log_double = 0, log_double_35 = 0, sin_double = 0, sin_double_35 = 0,
              tanh_double = 0, tanh_double_35 = 0;
#endif

template <class T, class Draw, class Exact, class Own, class Sleef, class Sleef35, class Highway>
void hold(const char* work, Draw draw, Exact exact, Own own, [[maybe_unused]] Sleef sleef,
          [[maybe_unused]] Sleef35 sleef_35, [[maybe_unused]] Highway highway) {
  contest<T> all;
  all.enter_kiln(own);
#if defined(KILN_BENCH_SLEEF)
  if constexpr (has_sleef) {
    all.enter_sleef("SLEEF, 1.0 ulp", sleef);
    if (sleef_35 != sleef) all.enter_sleef("SLEEF, 3.5 ulp", sleef_35);
  }
#endif
#if defined(KILN_BENCH_HIGHWAY)
  all.enter_highway(highway);
#endif
  all.hold(work, draw, exact);
}

template <class T, class... Sleef>
void hold_all(Sleef... sleef) {
  constexpr double most = sizeof(T) == 4 ? 80 : 700;
  const auto functions = std::tuple(sleef...);
  hold<T>(
      "exp", [](double u) { return (2 * u - 1) * most; }, [](auto x) { return std::exp(x); },
      [](auto v) { return exp(v); }, std::get<0>(functions), std::get<0>(functions),
      [](auto d, auto v) { return hn::Exp(d, v); });
  hold<T>(
      "log", [](double u) { return std::exp((2 * u - 1) * most); }, [](auto x) { return std::log(x); },
      [](auto v) { return log(v); }, std::get<1>(functions), std::get<2>(functions),
      [](auto d, auto v) { return hn::Log(d, v); });
  hold<T>(
      "sin", [](double u) { return (2 * u - 1) * 100; }, [](auto x) { return std::sin(x); },
      [](auto v) { return sin(v); }, std::get<3>(functions), std::get<4>(functions),
      [](auto d, auto v) { return hn::Sin(d, v); });
  hold<T>(
      "tanh", [](double u) { return (2 * u - 1) * 9; }, [](auto x) { return std::tanh(x); },
      [](auto v) { return tanh(v); }, std::get<5>(functions), std::get<6>(functions),
      [](auto d, auto v) { return hn::Tanh(d, v); });
}

#if defined(KILN_BENCH_HIGHWAY)
/// sum(a * b) of tensors beside Highway's Dot on the same memory.
void hold_dots() {
  for (const std::int64_t n : {4096, 65536, 1048576}) {
    const kiln::Tensor<float> a = kiln::rand<float>({n}), b = kiln::rand<float>({n});
    kiln::Tensor<float> result = kiln::zeros<float>({});
    float found = 0;
    std::vector<peer> peers;
    peers.push_back({"kiln, sum(a * b)", [&] { result = kiln::sum(a * b); }});
    peers.push_back({"highway, Dot", [&] {
                       const hn::ScalableTag<float> d;
                       found = hn::Dot::Compute<0>(d, a.data(), b.data(), static_cast<std::size_t>(n));
                       asm volatile("" ::"r"(&found) : "memory");
                     }});
    time_them(peers, n > 65536 ? 10 : 200);
    for (const peer& each : peers)
      std::printf("| dot of %lld | float | %s | %.3f us | |\n", static_cast<long long>(n), each.name.c_str(),
                  each.times[each.times.size() / 2] * 1e-3 * static_cast<double>(count));
  }
}
#endif

}  // namespace

int main() {
  kiln::set_num_threads(1);
  std::puts("| function | type | by | ns an element | largest error, ulp |\n|---|---|---|---|---|");
  hold_all<float>(exp_float, log_float, log_float_35, sin_float, sin_float_35, tanh_float, tanh_float_35);
  hold_all<double>(exp_double, log_double, log_double_35, sin_double, sin_double_35, tanh_double, tanh_double_35);
#if defined(KILN_BENCH_HIGHWAY)
  hold_dots();
#endif
}
