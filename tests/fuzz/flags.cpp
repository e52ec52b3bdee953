// SPDX-License-Identifier: BSL-1.0
// Any command line, a flag in each line: options within their bounds, help, or a sentence and status 2.
#include "../../examples/mnist_mlp/options.hpp"
#include "memory_file.hpp"

#include <cmath>
#include <sstream>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::istringstream lines(std::string(reinterpret_cast<const char*>(data), size));
  std::vector<std::string> flags{"mnist_mlp"};
  for (std::string line; std::getline(lines, line);) flags.push_back(line.substr(0, line.find('\0')));
  std::vector<const char*> arguments;
  for (const std::string& flag : flags) arguments.push_back(flag.c_str());
  mnist::options with;
  std::ostringstream out, errors;
  const auto status = mnist::read_options(static_cast<int>(arguments.size()), arguments.data(), with, out, errors);
  if (status) {
    fuzz::promise(*status == 0 || (*status == 2 && !errors.str().empty()));
  } else {
    fuzz::promise(with.epochs >= 1 && with.batch >= 1 && with.threads >= 1 && with.threads <= 1024);
    fuzz::promise(with.learning_rate > 0 && with.learning_rate <= 1e6 && with.momentum >= 0 && with.momentum < 1);
  }
  return 0;
}
