// SPDX-License-Identifier: BSL-1.0
// The device EigenCpu over all elementwise ops: values against the C++ library in long double.
#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "tensor/eigen_ops.hpp"

using namespace eigen_ops;

namespace {

// What of a test depends on no op is a function of its own, compiled once for each type.
template <class T, class Y>
void compare_values(std::string_view name, const oracles::oracle& found, const std::vector<On<T>>& x, const On<Y>& y,
                    bool chooses, double relative) {
  int wrong = 0;
  for (std::int64_t i = 0; i < many; ++i) {
    oracles::real at[3] = {0, 0, 0};
    for (std::size_t k = 0; k < x.size(); ++k) at[k] = x[k](i);
    if (chooses) at[0] = at[0] > 0;
    const auto want = static_cast<double>(found.value(at[0], at[1], at[2]));
    const double beside = found.of_operand ? static_cast<double>(std::abs(at[0]) + std::abs(at[1])) : 0.0;
    const auto got = static_cast<double>(y(i));
    if (test::same_or_close(got, want, relative, relative * beside)) continue;
    if (wrong++ == 0)
      CHECK_MESSAGE(false, std::string(name), " of ", static_cast<double>(at[0]), ", ", static_cast<double>(at[1]),
                    ": ", got, ", expected ", want);
  }
  CHECK(wrong == 0);
}

template <class Op, class T>
void check_values(double relative) {
  const auto found = oracles::elementwise().find(Op::name);
  if (found == oracles::elementwise().end()) return;
  const std::vector<On<T>> x = operands<T>(Op::arity);
  // detach: eval would have gradients compiled, too, which are those of eigen_cpu_gradients.test.cpp.
  const auto y = with_operands<Op>([&](auto... k) { return detach(applied<Op>(x[static_cast<std::size_t>(k)]...)); });
  compare_values(Op::name, found->second, x, y, std::is_same_v<Op, where_op>, relative);
}

}  // namespace

TEST_CASE("EigenCpu: every elementwise op, against the C++ library in long double") {
  each_op(all_ops{}, []<class Op>(std::type_identity<Op>) {
    if constexpr (covered<Op>) check_values<Op, float>(4e-6);
  });
}
