// SPDX-License-Identifier: BSL-1.0
// The device EigenCpu over all elementwise ops: values against the C++ library in long double.
#include <doctest/doctest.h>

#include "tensor/eigen_ops.hpp"

using namespace eigen_ops;

namespace {

template <class Op, class T>
void check_values(double relative) {
  const auto found = oracles::elementwise().find(Op::name);
  if (found == oracles::elementwise().end()) return;
  std::vector<On<T>> x;
  for (int k = 0; k < Op::arity; ++k) x.push_back(tensor(drawn<T>(k)).template to<EigenCpu>());
  // detach: eval would have gradients compiled, too, which are those of eigen_cpu_gradients.test.cpp.
  const auto y = with_operands<Op>([&](auto... k) { return detach(applied<Op>(x[static_cast<std::size_t>(k)]...)); });
  int wrong = 0;
  for (std::int64_t i = 0; i < many; ++i) {
    oracles::real at[3] = {0, 0, 0};
    for (int k = 0; k < Op::arity; ++k) at[k] = x[static_cast<std::size_t>(k)](i);
    if (std::is_same_v<Op, where_op>) at[0] = at[0] > 0;
    const auto want = static_cast<double>(found->second.value(at[0], at[1], at[2]));
    const double beside = found->second.of_operand ? static_cast<double>(std::abs(at[0]) + std::abs(at[1])) : 0.0;
    const auto got = static_cast<double>(y(i));
    if (test::same_or_close(got, want, relative, relative * beside)) continue;
    if (wrong++ == 0)
      CHECK_MESSAGE(false, std::string(Op::name), " of ", static_cast<double>(at[0]), ", ", static_cast<double>(at[1]),
                    ": ", got, ", expected ", want);
  }
  CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("EigenCpu: every elementwise op, against the C++ library in long double") {
  each_op(all_ops{}, []<class Op>(std::type_identity<Op>) {
    if constexpr (covered<Op>) check_values<Op, float>(4e-6);
  });
}
