// SPDX-License-Identifier: BSL-1.0
// PyNorch's network for handwritten digits, 784-30-10 with sigmoids, written with kiln::nn and kiln::optim. --data
// names the directory of MNIST's IDX files; without it, digits are drawn. The last line of output is test_accuracy=.
#include "../support/digits.hpp"
#include "../support/load_digits.hpp"
#include "digits.hpp"

#include <cstdio>
#include <exception>
#include <string_view>

int main(int argc, char** argv) {
  if (argc != 1 && (argc != 3 || argv[1] != std::string_view("--data"))) {
    std::fputs("usage: pynorch_digits [--data DIRECTORY_OF_IDX_FILES]\n", stderr);
    return 2;
  }
  try {
    const mnist::digit_data data = argc == 3 ? mnist::load_digits(argv[2]) : mnist::draw_digits(1);
    std::printf("data: %s\n", data.origin.c_str());
    kiln::manual_seed(1);
    const pynorch::digit_tensors train(data.train), test(data.test);
    std::printf("test_accuracy=%.4f\n", pynorch::learn_digits({}, train, test));
  } catch (const std::exception& e) {
    std::fprintf(stderr, "pynorch_digits: %s\n", e.what());
    return 1;
  }
}
