// SPDX-License-Identifier: BSL-1.0
// What any device passes, on the device EigenCpu: indexing, random numbers, derivatives of derivatives, layers,
// optimizers, transforms.
#include <kiln/eigen.hpp>
#include <kiln/transform.hpp>

#include <doctest/doctest.h>

#include "nn/functional/channels_last.hpp"
#include "support/device_derivatives.hpp"
#include "support/device_draws.hpp"
#include "support/device_indexing.hpp"
#include "support/device_layers.hpp"
#include "support/device_modules.hpp"
#include "support/device_optimizers.hpp"

using namespace kiln;

namespace {
constexpr auto no_launches = [] { return 0; };
}  // namespace

TEST_CASE("EigenCpu: indexing and its gradients") {
  device_test::check_indexing<EigenCpu>();
  device_test::check_gradients_of_indexing<EigenCpu>();
  device_test::check_other_orders<EigenCpu>();
}

TEST_CASE("EigenCpu: random numbers and gathers within expressions") {
  device_test::check_draws<EigenCpu>();
  device_test::check_dropout<EigenCpu>(no_launches, 0);
  device_test::check_gathers<EigenCpu>(no_launches, 0);
}

TEST_CASE("EigenCpu: second derivatives, and several tensors in one kernel") {
  device_test::check_second_derivatives<EigenCpu>();
  device_test::check_several_results<EigenCpu>();
}

TEST_CASE("EigenCpu: convolution, pooling, batch norm and attention") {
  device_test::check_convolution<EigenCpu>();
  images::compare_channels_last<float, EigenCpu>({2, 5, 6, 4}, {6, 3, 2, 2},
                                                 {.stride = {2, 1}, .padding = 1, .groups = 2});
  device_test::check_pooling<EigenCpu>();
  device_test::check_batch_norm<EigenCpu>({3, 2, 4});
  device_test::check_batch_norm<EigenCpu>({2, 3, 2, 3});
  device_test::check_attention<EigenCpu>();
}

TEST_CASE("EigenCpu: steps of Adam on one buffer are those of Cpu") {
  device_test::check_adam<EigenCpu>();
}

TEST_CASE("EigenCpu: modules train as those of Cpu do") {
  device_test::check_modules<EigenCpu>();
}

TEST_CASE("EigenCpu: transforms of functions") {
  const Tensor<double, EigenCpu> x{0.5, -1, 2};
  const auto f = [](const auto& v) { return sum(v * v * v); };
  CHECK(device_test::values(grad(f)(x)) == device_test::list{0.75, 3, 12});
  const auto g = [](const auto& v) { return v * v; };
  const Tensor<double, EigenCpu> rows{{1, 2}, {3, 4}};
  CHECK(device_test::values(vmap([](const auto& row) { return sum(row * row); })(rows)) == device_test::list{5, 25});
  const auto [value, tangent] = jvp(g, x, ones<double, EigenCpu>({3}));
  CHECK(device_test::values(value) == device_test::list{0.25, 1, 4});
  CHECK(device_test::values(tangent) == device_test::list{1, -2, 4});
}
