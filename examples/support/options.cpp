// SPDX-License-Identifier: BSL-1.0
// The options, their checks and their sentences, by CLI11.
#include "options.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <system_error>
#include <thread>
#include <type_traits>

namespace support {
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
CLI::Validator one_of(const std::string& first, const std::string& second) {
  return CLI::Validator(
      [=](const std::string& text) -> std::string {
        if (text == first || text == second) return {};
        return "must be " + first + " or " + second + ", but is '" + text + "'";
      },
      "");
}

/// What is wrong with the place of a picture; known before a long training rather than after it.
std::string misplaced(const std::string& picture) {
  const std::filesystem::path place = picture, folder = place.parent_path();
  std::error_code unknown;
  if (!folder.empty() && !std::filesystem::is_directory(folder, unknown))
    return "there is no directory '" + folder.string() + "'";
  const std::filesystem::file_status there = std::filesystem::status(place, unknown);
  if (std::filesystem::is_directory(there)) return "it is a directory";
  if (std::filesystem::exists(there) && !std::filesystem::is_regular_file(there)) return "it is a device or a pipe";
  return {};
}

}  // namespace

std::int64_t all_threads() {
  return std::max(1U, std::thread::hardware_concurrency());
}

std::optional<int> read_options(int argc, const char* const* argv, const description& program, options& to,
                                std::initializer_list<number_option> more, std::ostream& out, std::ostream& errors) {
  constexpr std::int64_t many = std::numeric_limits<std::int32_t>::max();
  CLI::App app{program.about};
  app.add_option("--data", to.data, program.data_is)->type_name(program.data_type);
  const auto number = [&](const char* name, auto& value, const std::string& is, auto low, auto high,
                          const std::string& must_be) {
    app.add_option(name, value, is)
        ->type_name(std::is_floating_point_v<std::remove_reference_t<decltype(value)>> ? "X" : "N")
        ->capture_default_str()
        ->check(number_between(low, high, must_be));
  };
  number("--epochs", to.epochs, "passes over the training set", std::int64_t{1}, many, "a whole number of at least 1");
  number("--batch", to.batch, program.batch_is, std::int64_t{1}, many, "a whole number of at least 1");
  number("--lr", to.learning_rate, "learning rate", std::numeric_limits<double>::min(), 1e6,
         "a number above 0 and at most 1e6");
  for (const number_option& o : more)
    if (o.to.real)
      number(o.name, *o.to.real, o.is, o.low, o.high, o.must_be);
    else
      number(o.name, *o.to.whole, o.is, static_cast<std::int64_t>(o.low), static_cast<std::int64_t>(o.high), o.must_be);
  number("--seed", to.seed, "seed of the weights, the order of the samples and what is drawn", std::uint64_t{0},
         std::numeric_limits<std::uint64_t>::max(), "a whole number from 0 to 18446744073709551615");
  number("--threads", to.threads, "threads to compute with", std::int64_t{1}, std::int64_t{1024},
         "a whole number from 1 to 1024");
  app.add_option("--picture", to.picture, "file for the learning curve (PNG); '' for none")
      ->type_name("FILE")
      ->capture_default_str();
  app.add_option("--save", to.save, "file to keep the whole state in, after each epoch")->type_name("FILE");
  app.add_option("--resume", to.resume, "file of --save to go on from; a given --lr takes the place of its")
      ->type_name("FILE");
  app.add_option("--device", to.device, "what computes: cpu or cuda")
      ->type_name("NAME")
      ->capture_default_str()
      ->check(one_of("cpu", "cuda"));
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    out << app.help();
    return 0;
  } catch (const CLI::ParseError& e) {
    errors << program.program << ": " << e.what() << "; --help lists the options\n";
    return 2;
  }
  const std::string what = program.data_type == std::string("DIR") ? "directory" : "file";
  if (to.data.empty() && (program.data_needed || app.count("--data") != 0)) {
    errors << program.program << ": --data is " << (app.count("--data") ? "empty" : "missing") << "; name a " << what
           << (program.data_needed ? "" : std::string(", or leave --data out to ") + program.otherwise) << '\n';
    return 2;
  }
  if (const std::string why = to.picture.empty() ? "" : misplaced(to.picture); !why.empty()) {
    errors << program.program << ": --picture must be a file that can be written, but is '" << to.picture
           << "': " << why << "; --help lists the options\n";
    return 2;
  }
  for (const CLI::Option* const option : app.get_options())
    if (option->count() > 0) to.given.push_back(option->get_name());
  return std::nullopt;
}

}  // namespace support
