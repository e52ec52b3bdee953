// SPDX-License-Identifier: BSL-1.0
// The definition of function.hpp.
#include "function.hpp"
#include "picture.hpp"
#include "relu3.hpp"

#include <kiln/transform/cpp_source.hpp>
#include <kiln/transform/jvp.hpp>
#include <kiln/transform/vjp.hpp>
#include <kiln/transform/vmap.hpp>

#include <cstdio>
#include <iostream>

namespace knossos {

using namespace kiln;

void show_function() {
  std::printf("relu3(0.5) = %g, its derivative %g, along a change of 2 %g, pulled back from 3 %g\n", relu3(0.5f),
              grad(relu3)(0.5f), jvp(relu3, 0.5f, 2.0f).second, vjp(relu3, 0.5f).second(3.0f));
  const Tensor<float> x{-1, 0.5, 2};
  std::cout << "of each element of " << x << ": " << vmap(relu3)(x) << ", " << vmap(grad(relu3))(x) << "\n\n"
            << source<Cpp>(relu3, {.name = "relu3"}) << '\n'
            << knossos::draw_function(relu3, grad(relu3), "relu3.png") << "\n\n";
}

}  // namespace knossos
