// SPDX-License-Identifier: BSL-1.0
// The expressions whose kernels the library holds, written as programs write them: what layers, losses and optimizers
// of float are made of. After a change here, or of a rule that changes their tapes, scripts/prebuilt_keys writes their
// keys anew; a build says if it was forgotten.
#pragma once

#include <kiln/kiln.hpp>

#include <kiln/device/cpu/kernel/prebuilt.hpp>
#include <kiln/nn/loss/cross_entropy.hpp>
#include <kiln/nn/loss/distribution.hpp>
#include <kiln/nn/loss/regression.hpp>
#include <kiln/optim/adam.hpp>
#include <kiln/optim/sgd.hpp>

namespace kiln::prebuilt {

template <class... Program>
struct programs {
  static constexpr std::size_t size = sizeof...(Program);
  static constexpr std::array<std::uint64_t, size> keys{cpu::prebuilt_key_of<Program>...};
};
template <class... A, class... B>
programs<A..., B...> operator+(programs<A...>, programs<B...>);

/// Of expressions that are computed without a gradient.
template <class... E>
using values = programs<detail::value_program<E>...>;
/// Of expressions that backward passes go through.
template <class... E>
using values_and_gradients = programs<detail::value_program<E>..., detail::gradient_program<E>...>;
/// Of several results in one kernel.
template <class Tuple>
struct joint_of;
template <class... E>
struct joint_of<std::tuple<E...>> {
  using type = programs<detail::joint_program<E...>>;
};
template <class Tuple>
using joint = typename joint_of<Tuple>::type;

// Never defined: only the types of expressions of them are asked for. A product is a leaf as any tensor is: what a
// linear layer computes is x + y here.
extern const Tensor<float> x, y, z, w, v;
extern const Tensor<std::int64_t> i, j;
extern const Tensor<bool> mask;
template <int Place>
using placed = detail::placed_tensor<Place, float, Cpu>;
inline constexpr float number = 0;

using copies =
    decltype(values<Tensor<float>, Tensor<double>, Tensor<std::int64_t>, decltype(detail::value_to_assign(i)),
                    decltype(where(true, number, x)), decltype(x + number), decltype(number * x)>() +
             values_and_gradients<decltype(detail::value_to_assign(x))>());

using maps = values_and_gradients<  //
    decltype(x + y), decltype(x - y), decltype(x * y), decltype(x * number), decltype(x + y + z),
    decltype(where(mask, x, y)), decltype(where(mask, number, x))>;

using activations = values_and_gradients<  //
    decltype(relu(x)), decltype(relu(x + y)), decltype(sigmoid(x)), decltype(sigmoid(x + y)), decltype(tanh(x)),
    decltype(tanh(x + y)), decltype(gelu(x)), decltype(gelu(x + y)), decltype(dropout(x)), decltype(dropout(relu(x))),
    decltype(dropout(gelu(x)))>;

using rows = values_and_gradients<  //
    decltype(softmax(x, 1)), decltype(log_softmax(x, 1)), decltype(log_softmax(x + y, 1)),
    decltype(layer_norm(x) * w + v), decltype(sum(x)), decltype(sum(x) * number), decltype(mean(x)),
    decltype(where(mask, number, softmax(where(mask, number, x), 1)))>;

using losses =
    decltype(values_and_gradients<  //
                 decltype(nn::detail::losses_of_classes(i, j, w, x, 0, 1, 0, 1)), decltype(where(i != 0, -x, 0)),
                 decltype(where(i != 0 && w != 0, -x* w, 0)), decltype(square(x - y)), decltype(square(x + y - z)),
                 decltype(sum(square(x - y)) * number), decltype(sum(square(x + y - z)) * number),
                 decltype(sum((1 - z) * x - logsigmoid(x)) * number),
                 decltype(sum((1 - z) * (x + y) - logsigmoid(x + y)) * number)>() +
             values<decltype(where(i != 0, i, 0)), decltype((1 - z) * x - logsigmoid(x)),
                    decltype((1 - z) * (x + y) - logsigmoid(x + y)), decltype(count_nonzero(i == j)),
                    decltype(x * number - number)>());

using channels =
    decltype(values<decltype(var(x)), decltype(mean(x * (y - z))), decltype(x * rsqrt(w + number) * number),
                    decltype((x - y - (z - v) * (square(rsqrt(w + number)) * x)) * (x * rsqrt(w + number))),
                    decltype(x * number + y * number)>() +
             values_and_gradients<decltype((x - y) * (z * rsqrt(w + number)) + v)>());

using gradients = decltype(values<decltype(all(isfinite(x))), decltype(sum(x * y)), decltype(max(abs(x))),
                                  decltype(sum(pow(abs(x), number)))>() +
                           joint<std::tuple<decltype(where(x == number, 0, x* number))>>());

using optimizers =
    decltype(joint<decltype(optim::detail::sgd_values({}, placed<0>(), placed<1>()))>() +
             joint<decltype(optim::detail::sgd_values({}, true, placed<0>(), placed<1>(), placed<2>()))>() +
             joint<decltype(optim::detail::adam_values({}, placed<0>(), placed<1>(), placed<2>(), placed<3>()))>() +
             joint<decltype(optim::detail::adam_values({}, placed<0>(), placed<1>(), placed<2>(), placed<3>(),
                                                       placed<4>()))>());

using all_programs =
    decltype(copies() + maps() + activations() + rows() + losses() + channels() + gradients() + optimizers());

}  // namespace kiln::prebuilt
