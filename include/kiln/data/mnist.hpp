// SPDX-License-Identifier: BSL-1.0
// The MNIST files, and sets of the same form (Fashion-MNIST, KMNIST): grey images of 28 x 28 bytes with the class that
// each one shows. Needs zlib.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>

#include <kiln/data/dataset.hpp>
#include <kiln/data/idx_file.hpp>
#include <kiln/tensor/creation.hpp>

namespace kiln::data {

/// Images of 28 x 28 grey bytes and their labels, 0 to 9, as files hold them.
struct image_files {
  idx_array images, labels;  ///< (n, 28, 28), (n)
  std::size_t size() const { return labels.bytes.size(); }
};

namespace detail {

/// What is at `path`. Throws io_error where the system does not say.
inline std::filesystem::file_type type_at(const std::filesystem::path& path) {
  std::error_code failed;
  const std::filesystem::file_type type = std::filesystem::status(path, failed).type();
  if (type == std::filesystem::file_type::none)
    throw io_error(
        message("mnist: cannot look at ", path, ": ", failed.message(), "; check that you may read its directory"));
  return type;
}

/// The file of `prefix` ("train" or "t10k") and `part` ("images-idx3" or "labels-idx1") in `directory`, under either of
/// the two spellings in use (`images-idx3-ubyte`, `images.idx3-ubyte`), plain or with .gz.
inline std::optional<std::filesystem::path> find_image_file(const std::filesystem::path& directory,
                                                            std::string_view prefix, std::string_view part) {
  std::string dashed = message(prefix, "-", part, "-ubyte"), dotted = dashed;
  dotted[dotted.rfind("-idx")] = '.';
  for (const std::string& name : {dashed, dotted})
    for (const char* ending : {"", ".gz"})
      if (type_at(directory / (name + ending)) != std::filesystem::file_type::not_found)
        return directory / (name + ending);
  return std::nullopt;
}

}  // namespace detail

/// Reads an image file and its label file. Throws io_error for images of another size than 28 x 28, a label above 9,
/// counts that differ, no images at all, and whatever read_idx finds.
inline image_files read_images(const std::filesystem::path& images_path, const std::filesystem::path& labels_path) {
  image_files read{read_idx(images_path, 3), read_idx(labels_path, 1)};
  const auto& shape = read.images.shape;
  if (shape[1] != 28 || shape[2] != 28)
    throw io_error(message("mnist: ", images_path, " has images of ", shape[1], " x ", shape[2],
                           " pixels, expected 28 x 28; scale them first"));
  if (shape[0] != read.labels.shape[0])
    throw io_error(message("mnist: ", images_path, " has ", shape[0], " images, but ", labels_path, " has ",
                           read.labels.shape[0], " labels; take both files from the same set"));
  if (shape[0] == 0) throw io_error(message("mnist: ", images_path, " holds no images; there is nothing to learn"));
  for (std::size_t i = 0; i < read.labels.bytes.size(); ++i)
    if (read.labels.bytes[i] > 9)
      throw io_error(message("mnist: label ", i, " in ", labels_path, " is ", int{read.labels.bytes[i]},
                             ", expected 0 to 9; the file is damaged or holds other classes"));
  return read;
}

/// The set `prefix` ("train" or "t10k") in `directory`, or nothing if neither of its files is there. Throws io_error if
/// only one is.
inline std::optional<image_files> find_images(const std::filesystem::path& directory, std::string_view prefix) {
  const auto images = detail::find_image_file(directory, prefix, "images-idx3");
  const auto labels = detail::find_image_file(directory, prefix, "labels-idx1");
  if (!images && !labels) return std::nullopt;
  if (!images || !labels)
    throw io_error(message("mnist: ", directory, " has the ", images ? "images" : "labels", " of ", prefix, " but not ",
                           prefix, images ? "-labels-idx1" : "-images-idx3", "-ubyte[.gz]; put it beside the other"));
  return read_images(*images, *labels);
}

/// Digits to learn from or to be judged on: sample i is (image, label), an image of (1, 28, 28) floats from 0, paper,
/// to 1, ink. As torchvision.datasets.MNIST with ToTensor.
class MNIST {
 public:
  /// Images first to last - 1 of some files.
  MNIST(const image_files& from, std::size_t first, std::size_t last, std::string origin)
      : data_(empty<std::uint8_t>({static_cast<std::int64_t>(last - first), 28, 28})),
        targets_(empty<std::int64_t>({static_cast<std::int64_t>(last - first)})),
        origin_(std::move(origin)) {
    const std::uint8_t* const pixels = from.images.bytes.data();
    std::copy(pixels + first * 784, pixels + last * 784, data_.data());
    for (std::size_t i = first; i < last; ++i) targets_.data()[i - first] = from.labels.bytes[i];
  }

  std::int64_t size() const { return targets_.size(0); }
  /// Throws index_error.
  std::tuple<Tensor<float>, std::int64_t> get(std::int64_t i) const {
    detail::check_sample("MNIST", i, size());
    auto image = empty<float>({1, 28, 28});
    draw(i, image.data());
    return {image, targets_.data()[i]};
  }
  /// Images of (n, 1, 28, 28), labels of (n). Throws index_error.
  std::tuple<Tensor<float>, Tensor<std::int64_t>> get_batch(std::span<const std::int64_t> at) const {
    const auto n = static_cast<std::int64_t>(at.size());
    auto images = empty<float>({n, 1, 28, 28});
    auto labels = empty<std::int64_t>({n});
    for (std::int64_t k = 0; k < n; ++k) {
      const std::int64_t i = at[static_cast<std::size_t>(k)];
      detail::check_sample("MNIST", i, size());
      draw(i, images.data() + k * 784);
      labels.data()[k] = targets_.data()[i];
    }
    return {images, labels};
  }
  /// All images as the bytes of the file, (n, 28, 28), and all labels, (n).
  const Tensor<std::uint8_t>& data() const { return data_; }
  const Tensor<std::int64_t>& targets() const { return targets_; }
  /// A sentence that says which files it is from.
  const std::string& origin() const { return origin_; }

 private:
  void draw(std::int64_t i, float* to) const {
    const std::uint8_t* const from = data_.data() + i * 784;
    for (int k = 0; k < 784; ++k) to[k] = static_cast<float>(from[k]) / 255;
  }
  Tensor<std::uint8_t> data_;
  Tensor<std::int64_t> targets_;
  std::string origin_;
};

/// Which part of a set.
struct mnist_options {
  bool train = true;
};

/// The digits in a directory: those of train-images-idx3-ubyte[.gz] and train-labels-idx1-ubyte[.gz] to learn from, or
/// with `{.train = false}` those of t10k-* to be judged on. If only one of the two sets is there, its first four fifths
/// train and the rest tests (8,000 and 2,000 of the 10,000 of t10k-*). Throws io_error if the directory or files are
/// missing, damaged or do not fit together.
inline MNIST mnist(const std::filesystem::path& directory, const mnist_options& options = {}) {
  if (detail::type_at(directory) != std::filesystem::file_type::directory)
    throw io_error(message("mnist: there is no directory ", directory,
                           "; name the one that holds train-images-idx3-ubyte[.gz] or t10k-images-idx3-ubyte[.gz]"));
  const char *name = options.train ? "train" : "t10k", *const other = options.train ? "t10k" : "train";
  std::optional<image_files> all = find_images(directory, name);
  if (all && detail::find_image_file(directory, other, "images-idx3"))
    return MNIST(*all, 0, all->size(), message(directory.string(), ": ", name, "-*"));
  if (!all) all = find_images(directory, name = other);
  if (!all)
    throw io_error(message("mnist: ", directory,
                           " holds neither train-images-idx3-ubyte[.gz] nor t10k-images-idx3-ubyte[.gz] with their "
                           "labels; put the files of MNIST there"));
  const std::size_t first = all->size() / 5 * 4;
  if (first == 0)
    throw io_error(message("mnist: ", directory, " has ", all->size(), " images in ", name,
                           "-*, too few to split into training and test; at least 5 are needed"));
  if (options.train) return MNIST(*all, 0, first, message(directory.string(), ": ", name, "-*, the first ", first));
  return MNIST(*all, first, all->size(), message(directory.string(), ": ", name, "-*, the last ", all->size() - first));
}

}  // namespace kiln::data
