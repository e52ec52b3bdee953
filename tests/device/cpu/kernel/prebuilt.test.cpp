// SPDX-License-Identifier: BSL-1.0
// Which programs are taken for those that the library holds: by their tapes, whatever their expressions are written
// with.
#include <doctest/doctest.h>

#include <tuple>

#include <kiln/kiln.hpp>

#include <kiln/device/cpu/kernel/prebuilt.hpp>
#include <kiln/optim/adam.hpp>

using namespace kiln;

namespace {

using F = Tensor<float>;
template <class E>
constexpr int number_of = cpu::prebuilt_number<detail::value_program<E>>;
template <class E>
constexpr int gradient_of = cpu::prebuilt_number<detail::gradient_program<E>>;
template <class Tuple>
constexpr int joint = -1;
template <class... E>
constexpr int joint<std::tuple<E...>> = cpu::prebuilt_number<detail::joint_program<E...>>;
template <class T, int Place>
using placed = detail::placed_tensor<Place, T, Cpu>;

}  // namespace

TEST_CASE("prebuilt: what layers and losses compute is there, with a product or any other tensor in it") {
  CHECK(number_of<decltype(relu(F() + F()))> >= 0);
  CHECK(number_of<decltype(relu(matmul(F(), F()) + F()))> == number_of<decltype(relu(F() + F()))>);
  CHECK(number_of<decltype(relu(F() + F()))> != number_of<decltype(sigmoid(F() + F()))>);
  CHECK(gradient_of<decltype(relu(matmul(F(), F()) + F()))> >= 0);
  CHECK(gradient_of<decltype(relu(F() + F()))> != number_of<decltype(relu(F() + F()))>);
  CHECK(number_of<decltype(softmax(F(), 1))> >= 0);
}

TEST_CASE("prebuilt: other numbers, other types and other formulas are not") {
  CHECK(number_of<decltype(relu(F() * F() - F()))> == -1);
  CHECK(number_of<decltype(relu(Tensor<double>() + Tensor<double>()))> == -1);
  CHECK(number_of<decltype(relu(Tensor<half>() + Tensor<half>()))> == -1);
  // The constant of a rule is part of the tape, a number given at run time is not.
  CHECK(number_of<decltype(F() * 2.0f)> >= 0);
  CHECK(number_of<decltype(F() * 2.0)> == number_of<decltype(F() * 3.0f)>);
}

TEST_CASE("prebuilt: a key tells results and what is stored apart") {
  constexpr const auto& t = value_tape<decltype(F() + F())>;
  const dtype as_float[] = {dtype::float32}, as_double[] = {dtype::float64};
  CHECK(cpu::prebuilt_key(view(t), as_float, false) != cpu::prebuilt_key(view(t), as_double, false));
  CHECK(cpu::prebuilt_key(view(t), as_float, false) != cpu::prebuilt_key(view(t), as_float, true));
}

TEST_CASE("prebuilt: a step of Adam on float, and none on double") {
  using optim::detail::adam_values;
  CHECK(joint<decltype(adam_values({}, placed<float, 0>(), placed<float, 1>(), placed<float, 2>(),
                                   placed<float, 3>()))> >= 0);
  CHECK(joint<decltype(adam_values({}, placed<double, 0>(), placed<double, 1>(), placed<double, 2>(),
                                   placed<double, 3>()))> == -1);
}
