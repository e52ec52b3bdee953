// SPDX-License-Identifier: BSL-1.0
// Which files of a directory are read, and how they are cut in two, by kiln::data.
#include "load_digits.hpp"

#include <kiln/core/error.hpp>
#include <kiln/data/mnist.hpp>

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace mnist {
namespace {

/// The set `prefix` in `directory`, or nothing if neither of its files is there. Throws kiln::io_error as read_images.
std::optional<digit_set> find_digits(const std::filesystem::path& directory, std::string_view prefix) {
  std::optional<kiln::data::image_files> found = kiln::data::find_images(directory, prefix);
  if (!found) return std::nullopt;
  return digit_set{std::move(found->images.bytes), std::move(found->labels.bytes)};
}

}  // namespace

digit_data load_digits(const std::string& place) {
  const std::filesystem::path directory = place;
  constexpr const char* way_out = "; without --data the program draws digits itself";
  if (kiln::data::detail::type_at(directory) != std::filesystem::file_type::directory)
    throw kiln::io_error(kiln::message("load_digits: there is no directory ", directory, way_out));
  std::optional<digit_set> train = find_digits(directory, "train"), test = find_digits(directory, "t10k");
  if (!train && !test)
    throw kiln::io_error(kiln::message("load_digits: ", directory, " holds neither t10k-images-idx3-ubyte[.gz] nor ",
                                       "train-images-idx3-ubyte[.gz]", way_out));
  if (train && test) return {*std::move(train), *std::move(test), directory.string() + ": train-* and t10k-*"};

  const char* name = train ? "train" : "t10k";
  const digit_set all = train ? *std::move(train) : *std::move(test);
  const std::size_t first = all.size() / 5 * 4;
  if (first == 0)
    throw kiln::io_error(kiln::message("load_digits: ", directory, " has ", all.size(), " images in ", name,
                                       "-*, too few to split into training and test; at least 5 are needed"));
  auto [head, tail] = split(all, first);
  return {
      std::move(head), std::move(tail),
      kiln::message(directory.string(), ": ", name, "-*, first ", first, " train, last ", all.size() - first, " test")};
}

}  // namespace mnist
