// SPDX-License-Identifier: BSL-1.0
// Finds the MNIST files in a directory and checks that images and labels belong together. Entry: load_digits.
#pragma once

#include "digit_set.hpp"
#include "idx.hpp"

#include <kiln/core/error.hpp>

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace mnist {

/// What is at `path`. Throws kiln::io_error where the system does not say.
inline std::filesystem::file_type type_at(const std::filesystem::path& path) {
  std::error_code failed;
  const std::filesystem::file_type type = std::filesystem::status(path, failed).type();
  if (type == std::filesystem::file_type::none)
    throw kiln::io_error(kiln::message("load_digits: cannot look at ", path, ": ", failed.message(),
                                       "; check that you may read its directory"));
  return type;
}

/// The file of `prefix` ("train" or "t10k") and `part` ("images-idx3" or "labels-idx1") in `directory`, under either of
/// the two spellings in use (`images-idx3-ubyte`, `images.idx3-ubyte`), plain or with .gz.
inline std::optional<std::filesystem::path> find_digit_file(const std::filesystem::path& directory,
                                                            std::string_view prefix, std::string_view part) {
  std::string dashed = kiln::message(prefix, "-", part, "-ubyte"), dotted = dashed;
  dotted[dotted.rfind("-idx")] = '.';
  for (const std::string& name : {dashed, dotted})
    for (const char* ending : {"", ".gz"})
      if (type_at(directory / (name + ending)) != std::filesystem::file_type::not_found)
        return directory / (name + ending);
  return std::nullopt;
}

/// Reads an image file and its label file. Throws kiln::io_error for images of another size than 28 x 28, a label above
/// 9, counts that differ, no images at all, and whatever read_idx finds.
inline digit_set read_digits(const std::filesystem::path& images_path, const std::filesystem::path& labels_path) {
  idx_array images = read_idx(images_path, 3), labels = read_idx(labels_path, 1);
  if (images.shape[1] != image_side || images.shape[2] != image_side)
    throw kiln::io_error(kiln::message("read_digits: ", images_path, " has images of ", images.shape[1], " x ",
                                       images.shape[2], " pixels, expected 28 x 28; scale them first"));
  if (images.shape[0] != labels.shape[0])
    throw kiln::io_error(kiln::message("read_digits: ", images_path, " has ", images.shape[0], " images, but ",
                                       labels_path, " has ", labels.shape[0],
                                       " labels; take both files from the same set"));
  if (images.shape[0] == 0)
    throw kiln::io_error(kiln::message("read_digits: ", images_path, " holds no images; there is nothing to learn"));
  for (std::size_t i = 0; i < labels.bytes.size(); ++i)
    if (labels.bytes[i] >= class_count)
      throw kiln::io_error(kiln::message("read_digits: label ", i, " in ", labels_path, " is ", int{labels.bytes[i]},
                                         ", expected 0 to 9; the file is damaged or holds other classes"));
  return {std::move(images.bytes), std::move(labels.bytes)};
}

/// The set `prefix` in `directory`, or nothing if neither of its files is there. Throws kiln::io_error if only one is.
inline std::optional<digit_set> find_digits(const std::filesystem::path& directory, std::string_view prefix) {
  const auto images = find_digit_file(directory, prefix, "images-idx3");
  const auto labels = find_digit_file(directory, prefix, "labels-idx1");
  if (!images && !labels) return std::nullopt;
  if (!images || !labels)
    throw kiln::io_error(kiln::message("load_digits: ", directory, " has the ", images ? "images" : "labels", " of ",
                                       prefix, " but not ", prefix, images ? "-labels-idx1" : "-images-idx3",
                                       "-ubyte[.gz]; put it beside the other"));
  return read_digits(*images, *labels);
}

/// Reads the digits in `directory`: train-* to learn from and t10k-* to be judged on if both are there; if there is
/// only one of the two, its first four fifths train and the rest tests (8,000 and 2,000 of the 10,000 of t10k-*).
/// Throws kiln::io_error if the directory or the files are missing or damaged.
inline digit_data load_digits(const std::filesystem::path& directory) {
  constexpr const char* way_out = "; without --data the program draws digits itself";
  if (type_at(directory) != std::filesystem::file_type::directory)
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
