// SPDX-License-Identifier: BSL-1.0
// Knossos' page: relu3, written once, is called with numbers, differentiated, mapped over tensors, printed as C++,
// drawn, and is the activation of a network that learns digits. --data names the directory of MNIST's IDX files;
// without it, digits are drawn. The last line of output is test_accuracy=.
#include "../support/digits.hpp"
#include "../support/load_digits.hpp"
#include "function.hpp"
#include "network.hpp"

#include <cstdio>
#include <exception>
#include <iostream>
#include <string_view>

int main(int argc, char** argv) {
  if (argc != 1 && (argc != 3 || argv[1] != std::string_view("--data"))) {
    std::fputs("usage: knossos [--data DIRECTORY_OF_IDX_FILES]\n", stderr);
    return 2;
  }
  try {
    knossos::show_function();
    const mnist::digit_data data = argc == 3 ? mnist::load_digits(argv[2]) : mnist::draw_digits(1);
    std::cout << "data: " << data.origin << std::endl;
    kiln::manual_seed(1);
    knossos::network net;
    const pynorch::digit_tensors train(data.train), test(data.test);
    std::printf("test_accuracy=%.4f\n", knossos::learn(net, train, test, 50).back().accuracy);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "knossos: %s\n", e.what());
    return 1;
  }
}
