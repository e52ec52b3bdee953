// SPDX-License-Identifier: BSL-1.0
// The command line of the mnist_mlp example: defaults, every option, and a sentence for each bad value.
#include "../../examples/mnist_mlp/options.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

namespace {

struct outcome {
  mnist::options options;
  std::optional<int> code;
  std::string out, errors;
};

outcome run(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "mnist_mlp");
  outcome result;
  std::ostringstream out, errors;
  result.code = mnist::read_options(static_cast<int>(arguments.size()), arguments.data(), result.options, out, errors);
  result.out = out.str();
  result.errors = errors.str();
  return result;
}

}  // namespace

TEST_CASE("read_options: without arguments the defaults stand") {
  const outcome r = run({});
  CHECK_FALSE(r.code.has_value());
  CHECK(r.options.data.empty());
  CHECK(r.options.epochs == 5);
  CHECK(r.options.batch == 64);
  CHECK(r.options.learning_rate == 0.1);
  CHECK(r.options.momentum == 0.9);
  CHECK(r.options.threads >= 1);
}

TEST_CASE("read_options: every option arrives") {
  const outcome r = run({"--data",
                         "some/dir",
                         "--epochs",
                         "7",
                         "--batch=32",
                         "--lr",
                         "1e-2",
                         "--momentum",
                         "0",
                         "--seed",
                         "18446744073709551615",
                         "--threads",
                         "2",
                         "--picture",
                         "c.png",
                         "--save",
                         "s",
                         "--resume",
                         "r",
                         "--device",
                         "cuda"});
  CHECK_FALSE(r.code.has_value());
  CHECK(r.options.data == "some/dir");
  CHECK(r.options.epochs == 7);
  CHECK(r.options.batch == 32);
  CHECK(r.options.learning_rate == 1e-2);
  CHECK(r.options.momentum == 0.0);
  CHECK(r.options.seed == 18446744073709551615U);
  CHECK(r.options.threads == 2);
  CHECK(r.options.picture == "c.png");
  CHECK(r.options.save == "s");
  CHECK(r.options.resume == "r");
  CHECK(r.options.device == "cuda");
  CHECK(r.options.given.size() == 11);
  CHECK(std::count(r.options.given.begin(), r.options.given.end(), "--momentum") == 1);
  CHECK(run({"--lr=1e-2"}).options.given == std::vector<std::string>{"--lr"});
  CHECK(run({"--picture", ""}).options.picture.empty());
}

TEST_CASE("read_options: --help explains and ends with 0") {
  const outcome r = run({"--help"});
  CHECK(r.code == 0);
  for (const char* name : {"--data", "--epochs", "--batch", "--lr", "--momentum", "--seed", "--threads", "--picture",
                           "--save", "--resume", "--device"})
    CHECK(r.out.find(name) != std::string::npos);
}

TEST_CASE("read_options: a bad value is named in a sentence and ends with 2") {
  const std::vector<std::vector<const char*>> bad = {{"--epochs", "0"},
                                                     {"--epochs", "-3"},
                                                     {"--epochs", "five"},
                                                     {"--epochs", "2.5"},
                                                     {"--epochs", "3000000000000"},
                                                     {"--batch", "0"},
                                                     {"--batch", ""},
                                                     {"--batch", "12x"},
                                                     {"--lr", "0"},
                                                     {"--lr", "-1"},
                                                     {"--lr", "nan"},
                                                     {"--lr", "inf"},
                                                     {"--lr", "1e999"},
                                                     {"--lr", "0.1 "},
                                                     {"--momentum", "1"},
                                                     {"--momentum", "-0.1"},
                                                     {"--momentum", "nan"},
                                                     {"--seed", "-1"},
                                                     {"--seed", "18446744073709551616"},
                                                     {"--threads", "0"},
                                                     {"--threads", "1025"},
                                                     {"--device", "gpu"},
                                                     {"--picture", "/dev/full"},
                                                     {"--picture", "/tmp"},
                                                     {"--picture", "/nowhere/curve.png"}};
  for (const auto& arguments : bad) {
    CAPTURE(std::string(arguments[0]) + " " + arguments[1]);
    const outcome r = run(arguments);
    CHECK(r.code == 2);
    CHECK(r.errors.find(arguments[0]) != std::string::npos);
    CHECK(r.errors.find("must be") != std::string::npos);
    CHECK(r.errors.find(std::string("'") + arguments[1] + "'") != std::string::npos);
    CHECK(r.errors.find("--help lists the options") != std::string::npos);
  }
}

TEST_CASE("read_options: unknown flags, stray words and missing values end with 2") {
  for (const std::vector<const char*>& arguments :
       {std::vector<const char*>{"--epoch", "3"}, {"digits"}, {"--lr"}, {"--data", ""}}) {
    CAPTURE(arguments[0]);
    const outcome r = run(arguments);
    CHECK(r.code == 2);
    CHECK(r.errors.find(arguments[0]) != std::string::npos);
  }
}

TEST_CASE("read_options: a program that needs data says so") {
  support::options to;
  std::ostringstream out, errors;
  const char* const argv[] = {"char_gpt"};
  const support::description program{
      .program = "char_gpt", .about = "", .data_is = "text", .data_type = "FILE", .data_needed = true};
  CHECK(support::read_options(1, argv, program, to, {}, out, errors) == 2);
  CHECK(errors.str() == "char_gpt: --data is missing; name a file\n");
}
