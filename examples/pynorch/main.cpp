// SPDX-License-Identifier: BSL-1.0
// The network of the article "Recreating PyTorch from Scratch" (PyNorch), written with kiln::nn and kiln::optim: it
// learns sin(x)^2, prints the article's ten losses and draws its closing picture, pynorch.png.
#include "curve.hpp"
#include "picture.hpp"

#include <cstddef>
#include <cstdio>
#include <vector>

int main() {
  const std::vector<double> losses = pynorch::learn_curve(pynorch::first_network());
  for (std::size_t i = 0; i < losses.size(); ++i)
    std::printf("Epoch [%zu/%zu], Loss: %.4f\n", i + 1, losses.size(), losses[i]);
  std::puts(pynorch::draw_losses(losses, "pynorch.png").c_str());
}
