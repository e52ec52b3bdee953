// SPDX-License-Identifier: BSL-1.0
// Over the list of all ops: what the printed maps compute on the emulator, against the C++ library (floats), arithmetic
// modulo a power of two (integers), rounding once (half types), and finite differences (gradients).
#include "device/cpu/simd/ulps.hpp"
#include "device/cuda/every_op_kernels.hpp"
#include "device/cuda/oracles.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

using namespace kiln;
using emulated::memory;
using one_op::together;
using oracles::real;

namespace {

template <class T>
double error_of(real got, real want, const oracles::oracle& o, real operand) {
  const T value = static_cast<T>(got);
  // The sign of a zero is the business of the CPU's tests of each op.
  if (value == 0 && static_cast<T>(want) == 0) return 0;
  if (o.of_operand && std::isfinite(want) && std::isfinite(value)) {
    const real scale = std::max({std::abs(want), std::isfinite(operand) ? std::abs(operand) : real(0), real(1e-30L)});
    return static_cast<double>(std::abs(got - want) / (scale * std::numeric_limits<T>::epsilon() / 2));
  }
  return simd_test::ulps<T>(value, static_cast<simd_test::exact_type<T>>(want));
}

template <class T>
void check_floats(one_op::job& j, const emulated::module& module, const oracles::oracle& o) {
  std::vector<T> xs, ys;
  simd_test::pairs<T>(xs, ys, -12, 12, -9, 9, 60);
  const std::size_t n = j.leaves[0].size();
  REQUIRE(xs.size() >= 3);
  const bool parameters = j.op->composite && j.op->arity > 1 && j.op->name != "clamp" && j.op->name != "lerp";
  auto operand = [&](std::size_t k, std::size_t i) {
    if (parameters && k > 0) return k == 1 ? T(0.75) : T(1.5);
    return k == 0 ? xs[i % xs.size()] : k == 1 ? ys[i % ys.size()] : xs[(i * 7 + 3) % xs.size()];
  };
  for (std::size_t k = 0; k < j.leaves.size(); ++k)
    for (std::size_t i = 0; i < n; ++i) j.leaves[k].set(i, static_cast<double>(operand(k, i)));
  emulated::run(module, j.printed, j.how, j.what);
  double worst = 0;
  std::string place;
  for (std::size_t i = 0; i < n; ++i) {
    real at[3] = {0, 0, 0};
    bool inside = true;
    for (std::size_t k = 0; k < j.leaves.size(); ++k) {
      at[k] = j.leaves[k][i];
      inside &= !(std::isfinite(at[k]) && (at[k] < o.low || at[k] > o.high)) &&
                (std::isfinite(at[k]) || j.op->name != "lerp");
    }
    if (!inside) continue;
    const real operand_size = std::max({std::abs(at[0]), std::abs(at[1]), std::abs(at[2]), real(1)});
    const double e = error_of<T>(j.results[0][i], o.value(at[0], at[1], at[2]), o, operand_size);
    if (!(e <= worst)) {
      worst = e;
      place =
          message(at[0], ", ", at[1], ", ", at[2], ": ", j.results[0][i], " instead of ", o.value(at[0], at[1], at[2]));
    }
  }
  const double most = emulate::on_gpu() ? oracles::ulps_on_gpu<T>(j.op->name, o) : o.ulps;
  CHECK_MESSAGE(worst <= most, j.op->name, " of ", name(j.type), " at ", place, ", ", worst, " ulp");
}

// Arithmetic modulo a power of two, from unsigned 64-bit arithmetic.
template <class T>
bool integer_oracle(std::string_view op, T a, T b, T c, long double& out) {
  using U = std::uint64_t;
  const U x = static_cast<U>(a), y = static_cast<U>(b);
  const int width = 8 * static_cast<int>(sizeof(T));
  const auto wrapped = [](U value) { return static_cast<long double>(static_cast<T>(value)); };
  const bool truth = std::is_same_v<T, bool>;
  if (op == "add")
    out = truth ? (a || b) : wrapped(x + y);
  else if (op == "sub")
    out = wrapped(x - y);
  else if (op == "mul")
    out = truth ? (a && b) : wrapped(x * y);
  else if (op == "neg")
    out = wrapped(U(0) - x);
  else if (op == "square")
    out = truth ? a : wrapped(x * x);
  else if (op == "abs")
    out = a < T(0) ? wrapped(U(0) - x) : a;
  else if (op == "sign")
    out = a > T(0) ? 1 : a < T(0) ? -1 : 0;
  else if (op == "relu")
    out = a > T(0) ? a : T(0);
  else if (op == "floor" || op == "ceil" || op == "round" || op == "trunc" || op == "clone" || op == "stop_gradient")
    out = a;
  else if (op == "fmod" || op == "remainder") {
    if (b == T(0)) {
      out = 0;
      return true;
    }  // and the kernel says so: tested below
    const long double r =
        y + 1 == 0 ? 0 : static_cast<long double>(static_cast<std::int64_t>(a) % static_cast<std::int64_t>(b));
    out = op == "remainder" && r != 0 && (r < 0) != (b < T(0)) ? r + static_cast<long double>(b) : r;
  } else if (op == "eq")
    out = a == b;
  else if (op == "ne")
    out = a != b;
  else if (op == "lt")
    out = a < b;
  else if (op == "le")
    out = a <= b;
  else if (op == "gt")
    out = a > b;
  else if (op == "ge")
    out = a >= b;
  else if (op == "isnan" || op == "isinf")
    out = 0;
  else if (op == "isfinite")
    out = 1;
  else if (op == "logical_and")
    out = a && b;
  else if (op == "logical_or")
    out = a || b;
  else if (op == "logical_xor")
    out = (a != T(0)) != (b != T(0));
  else if (op == "logical_not")
    out = a == T(0);
  else if (op == "bitwise_and")
    out = wrapped(x & y);
  else if (op == "bitwise_or")
    out = wrapped(x | y);
  else if (op == "bitwise_xor")
    out = wrapped(x ^ y);
  else if (op == "bitwise_not")
    out = truth ? !a : wrapped(~x);
  else if (op == "left_shift")
    out = b < T(0) || static_cast<std::int64_t>(b) >= width ? 0 : wrapped(x << y);
  else if (op == "right_shift") {
    const int by = b < T(0) || static_cast<std::int64_t>(b) >= width ? 63 : static_cast<int>(b);
    out = static_cast<long double>(static_cast<T>(static_cast<std::int64_t>(a) >> by));
  } else if (op == "where")
    out = a ? b : c;
  else if (op == "minimum")
    out = std::min(a, b);
  else if (op == "maximum")
    out = std::max(a, b);
  else if (op == "clamp" || op == "hardtanh")
    out = std::min(std::max(a, b), c);
  else if (op == "relu6")
    out = std::min(std::max(a, T(0)), T(6));
  else if (op == "threshold")
    out = a <= b ? c : a;
  else if (op == "pow" && b < T(0))
    out = a == T(1) ? T(1) : x + 1 == 0 ? (y % 2 == 0 ? 1 : -1) : 0;
  else if (op == "pow") {
    U power = 1, base = x;
    for (U rest = y; rest != 0; rest /= 2, base *= base)
      if (rest % 2 == 1) power *= base;
    out = wrapped(power);
  } else
    return false;
  return true;
}

template <class T>
void check_integers(one_op::job& j, const emulated::module& module) {
  using limits = std::numeric_limits<T>;
  const std::vector<T> some{T(0),  T(1),   T(2),          T(3),          T(7),  T(8),  T(15), T(31),
                            T(64), T(100), limits::max(), limits::min(), T(-1), T(-2), T(-7), T(-128)};
  const std::size_t n = j.leaves[0].size(), m = some.size();
  for (std::size_t k = 0; k < j.leaves.size(); ++k) {
    std::vector<T> values;
    for (std::size_t i = 0; i < n; ++i)
      values.push_back(some[k == 0 ? i % m : k == 1 ? i / m % m : (i * 5 + i / m) % m]);
    if (j.leaves[k].type() == dtype_of<T>)
      j.leaves[k].copy(values);
    else
      for (std::size_t i = 0; i < n; ++i) j.leaves[k].set(i, values[i] != T(0));
  }
  emulated::buffer<std::uint32_t> fault{0};
  emulated::run(module, j.printed, j.how, j.what, 3, {}, fault.data());
  const bool divides = j.op->name == "fmod" || j.op->name == "remainder";
  CHECK_MESSAGE(fault[0] == (divides ? 1u : 0u), j.op->name);
  for (std::size_t i = 0; i < n; ++i) {
    const auto at = [&](std::size_t k) { return k < j.leaves.size() ? static_cast<T>(j.leaves[k][i]) : T(0); };
    long double want = 0;
    if (!integer_oracle<T>(j.op->name, at(0), at(1), at(2), want)) {
      FAIL_CHECK("no oracle for ", j.op->name, " on integers");
      return;
    }
    if (j.results[0][i] != want) {
      FAIL_CHECK(j.op->name, " of ", name(j.type), " ", j.leaves[0][i], ", ", +at(1), ", ", +at(2), " gives ",
                 j.results[0][i], ", not ", want);
      return;
    }
  }
}

}  // namespace

TEST_CASE("every op on CUDA: values of floats are those of the C++ library") {
  std::deque<one_op::job> jobs;
  for (const op_rules* op : one_op::elementwise_ops())
    for (const dtype type : {dtype::float32, dtype::float64}) {
      if (!one_op::takes(all_ops{}, op->code, type)) continue;
      const bool known = oracles::elementwise().count(op->name) || op->name == "digamma" || op->name == "polygamma";
      CHECK_MESSAGE(known, op->name, " has no oracle in oracles.hpp");
      if (oracles::elementwise().count(op->name)) jobs.emplace_back(*op, type, false, 1501).print();
    }
  const emulated::module module(together(jobs), emulated::headers());
  for (one_op::job& j : jobs) {
    const oracles::oracle& o = oracles::elementwise().at(j.op->name);
    if (j.type == dtype::float32)
      check_floats<float>(j, module, o);
    else
      check_floats<double>(j, module, o);
  }
}

TEST_CASE("every op on CUDA: integers wrap around, and divisions by zero are reported") {
  std::deque<one_op::job> jobs;
  for (const op_rules* op : one_op::elementwise_ops())
    for (const dtype type : one_op::types)
      if (!is_floating(type) && one_op::takes(all_ops{}, op->code, type))
        jobs.emplace_back(*op, type, false, 257).print();
  CHECK(jobs.size() > 180);
  const emulated::module module(together(jobs), emulated::headers());
  for (one_op::job& j : jobs)
    visit_dtype(j.type, [&]<class T>(std::type_identity<T>) {
      if constexpr (std::integral<T>) check_integers<T>(j, module);
    });
}

TEST_CASE("every op on CUDA: half types are computed in float and rounded once") {
  std::deque<one_op::job> jobs;
  for (const op_rules* op : one_op::elementwise_ops())
    for (const dtype type : {dtype::float16, dtype::bfloat16})
      if (oracles::elementwise().count(op->name) && one_op::takes(all_ops{}, op->code, type))
        jobs.emplace_back(*op, type, false, 97).print();
  const emulated::module module(together(jobs), emulated::headers());
  for (one_op::job& j : jobs) {
    const oracles::oracle& o = oracles::elementwise().at(j.op->name);
    for (std::size_t k = 0; k < j.leaves.size(); ++k)
      for (std::size_t i = 0; i < 97; ++i)
        j.leaves[k].set(i, k == 0 ? -4 + 0.083 * static_cast<double>(i) : 0.75 * static_cast<double>(k));
    emulated::run(module, j.printed, j.how, j.what);
    // Half a unit of the last place, and what float itself may err.
    const long double unit = j.type == dtype::float16 ? 0x1p-11L : 0x1p-8L;
    for (std::size_t i = 0; i < 97; ++i) {
      const auto at = [&](std::size_t k) { return k < j.leaves.size() ? j.leaves[k][i] : 0; };
      const long double want = o.value(at(0), at(1), at(2)), got = j.results[0][i];
      const bool same = std::isnan(want)   ? std::isnan(got)
                        : std::isinf(want) ? got == want
                                           : std::abs(got - want) <= std::abs(want) * unit * 1.01L + 2e-7L;
      if (!same) {
        FAIL_CHECK(j.op->name, " of ", name(j.type), " at ", at(0), ", ", at(1), ": ", got, " instead of ", want);
        break;
      }
    }
  }
}

TEST_CASE("every op on CUDA: gradients agree with finite differences") {
  const std::vector<double> points{-4.3, -0.71, -0.29, 0.13, 0.37, 0.61, 0.83, 1.37, 2.21, 3.6, 7.2};
  std::deque<one_op::job> jobs;
  for (const op_rules* op : one_op::elementwise_ops()) {
    if (!oracles::elementwise().count(op->name) || !one_op::takes(all_ops{}, op->code, dtype::float64) ||
        one_op::result_of(all_ops{}, op->code, dtype::float64) == dtype::boolean)
      continue;
    program tape;
    one_op::gradient_tape(*op, dtype::float64, tape);
    bool any = false;
    for (int r = 0; r < tape.result_count; ++r) any |= tape.results[r] >= 0;
    if (any) jobs.emplace_back(*op, dtype::float64, true, 121).print();
  }
  CHECK(jobs.size() > 55);
  const emulated::module module(together(jobs), emulated::headers());
  for (one_op::job& j : jobs) {
    const oracles::oracle& o = oracles::elementwise().at(j.op->name);
    const std::size_t arity = static_cast<std::size_t>(j.op->arity);
    const bool condition = j.op->name == "where";
    auto at = [&](std::size_t k, std::size_t i) -> real {
      if (k == 0) return condition ? static_cast<real>(i % 2) : static_cast<real>(points[i % 11]);
      return k == 1 ? static_cast<real>(points[i / 11]) : static_cast<real>(0.45 + 0.1 * static_cast<double>(i % 3));
    };
    for (std::size_t i = 0; i < 121; ++i) {
      for (std::size_t k = 0; k < j.leaves.size(); ++k) {
        if (!j.what.leaves[k].used) continue;
        const real value = k < arity ? at(k, i) : k == arity ? 1.7L : o.value(at(0, i), at(1, i), at(2, i));
        j.leaves[k].set(i, static_cast<double>(value));
      }
    }
    emulated::run(module, j.printed, j.how, j.what);
    std::size_t found = 0;
    for (std::size_t k = 0; k < arity; ++k) {
      if (j.tape.results[k] < 0) continue;
      memory& gradient = j.results[found++];
      for (std::size_t i = 0; i < 121; ++i) {
        real x[3] = {at(0, i), at(1, i), at(2, i)};
        const real h = 1e-5L;
        auto moved = [&](real by) {
          real y[3] = {x[0], x[1], x[2]};
          y[k] += by;
          return o.value(y[0], y[1], y[2]);
        };
        const real left = (moved(0) - moved(-h)) / h, right = (moved(h) - moved(0)) / h, slope = (left + right) / 2;
        if (!std::isfinite(slope) || std::abs(left - right) > 1e-3L * (1 + std::abs(slope))) continue;  // a kink
        const real got = gradient[i];
        if (!(std::abs(got - 1.7L * slope) <= 1e-6L * (1 + std::abs(slope)))) {
          FAIL_CHECK(j.op->name, ", operand ", k, " at ", x[0], ", ", x[1], ", ", x[2], ": ", got, " instead of ",
                     1.7L * slope);
          break;
        }
      }
    }
  }
}

TEST_CASE("every op on CUDA: digamma and polygamma at points whose values are known") {
  struct known {
    double n, x, value;
  };
  // Abramowitz and Stegun 6.3.2, 6.3.3, 6.4.2, 6.4.4; digamma at -1/2 by 6.3.5.
  const std::vector<known> points{{0, 1, -0.57721566490153286061},   {0, 0.5, -1.96351002602142347944},
                                  {0, -0.5, 0.03648997397857652056}, {1, 1, 1.64493406684822643647},
                                  {1, 0.5, 4.93480220054467930942},  {2, 1, -2.40411380631918857080},
                                  {3, 1, 6.49393940226682914910},    {1, 2, 0.64493406684822643647}};
  std::deque<one_op::job> jobs;
  for (const op_rules* op : one_op::elementwise_ops())
    if (op->name == "digamma" || op->name == "polygamma")
      for (const dtype type : {dtype::float32, dtype::float64})
        jobs.emplace_back(*op, type, false, static_cast<std::int64_t>(points.size())).print();
  REQUIRE(jobs.size() == 4);
  const emulated::module module(together(jobs), emulated::headers());
  for (one_op::job& j : jobs) {
    const bool order = j.op->arity == 2;
    for (std::size_t i = 0; i < points.size(); ++i) {
      if (order) j.leaves[0].set(i, points[i].n);
      j.leaves[order ? 1 : 0].set(i, points[i].x);
    }
    emulated::run(module, j.printed, j.how, j.what);
    for (std::size_t i = 0; i < points.size(); ++i)
      if (order || points[i].n == 0)
        CHECK(static_cast<double>(j.results[0][i]) ==
              doctest::Approx(points[i].value).epsilon(j.type == dtype::float32 ? 1e-7 : 1e-13));
  }
}
