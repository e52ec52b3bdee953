// SPDX-License-Identifier: BSL-1.0
// The options, their checks and their sentences, by CLI11.
#include "options.hpp"

#include <CLI/CLI.hpp>

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <system_error>
#include <type_traits>

namespace mnist {
namespace {

/// A check for CLI11: the whole text must be one number in [low, high]. The answer is the sentence to print, or
/// nothing.
template <class Number>
CLI::Validator number_between(Number low, Number high, const std::string& what) {
  const auto check = [low, high, what](const std::string& text) -> std::string {
    Number value{};
    bool whole = false;
    if constexpr (std::is_floating_point_v<Number>) {
      // strtod and not from_chars, which clang's library of that age has for integers only.
      char* end = nullptr;
      value = std::strtod(text.c_str(), &end);
      whole = !text.empty() && *end == '\0' && std::isfinite(value);
    } else {
      const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
      whole = code == std::errc() && end == text.data() + text.size();
    }
    // Written so that NaN fails.
    if (whole && value >= low && value <= high) return {};
    return "must be " + what + ", but is '" + text + "'";
  };
  return CLI::Validator(check, "");
}

}  // namespace

std::optional<int> read_options(int argc, const char* const* argv, options& to, std::ostream& out,
                                std::ostream& errors) {
  constexpr std::int64_t many = std::numeric_limits<std::int32_t>::max();
  CLI::App app{"Learns handwritten digits with a 784-256-10 network and prints test_accuracy= as its last line."};
  app.add_option("--data", to.data, "directory with MNIST's IDX files, plain or .gz; without it digits are drawn")
      ->type_name("DIR");
  app.add_option("--epochs", to.epochs, "passes over the training digits")
      ->type_name("N")
      ->capture_default_str()
      ->check(number_between<std::int64_t>(1, many, "a whole number of at least 1"));
  app.add_option("--batch", to.batch, "digits per step")
      ->type_name("N")
      ->capture_default_str()
      ->check(number_between<std::int64_t>(1, many, "a whole number of at least 1"));
  app.add_option("--lr", to.learning_rate, "learning rate")
      ->type_name("X")
      ->capture_default_str()
      ->check(number_between<double>(std::numeric_limits<double>::min(), 1e6, "a number above 0 and at most 1e6"));
  app.add_option("--momentum", to.momentum, "share of the last step that the next one keeps")
      ->type_name("X")
      ->capture_default_str()
      ->check(number_between<double>(0.0, std::nextafter(1.0, 0.0), "a number from 0 to below 1"));
  app.add_option("--seed", to.seed, "seed of the weights, the order of the digits and the drawn digits")
      ->type_name("N")
      ->capture_default_str()
      ->check(number_between<std::uint64_t>(0, std::numeric_limits<std::uint64_t>::max(),
                                            "a whole number from 0 to 18446744073709551615"));
  app.add_option("--threads", to.threads, "threads to compute with")
      ->type_name("N")
      ->capture_default_str()
      ->check(number_between<std::int64_t>(1, 1024, "a whole number from 1 to 1024"));
  app.add_option("--picture", to.picture, "file for the learning curve (PNG); '' for none")
      ->type_name("FILE")
      ->capture_default_str();
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    out << app.help();
    return 0;
  } catch (const CLI::ParseError& e) {
    errors << "mnist_mlp: " << e.what() << "; --help lists the options\n";
    return 2;
  }
  if (app.count("--data") != 0 && to.data.empty()) {
    errors << "mnist_mlp: --data is empty; name a directory, or leave --data out to draw digits\n";
    return 2;
  }
  return std::nullopt;
}

}  // namespace mnist
