// SPDX-License-Identifier: BSL-1.0
// A folder of .npy files as a set: each file is a sample, read when it is asked for. Folders within it are classes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include <kiln/data/dataset.hpp>
#include <kiln/io/npy.hpp>

namespace kiln::data {

namespace detail {

/// What lies in a folder and passes a test, by name. Throws io_error where the system does not say.
template <class F>
std::vector<std::filesystem::path> sorted_entries(const std::filesystem::path& folder, F wanted) {
  std::error_code failed;
  std::filesystem::directory_iterator at(folder, failed);
  std::vector<std::filesystem::path> all;
  for (; !failed && at != std::filesystem::directory_iterator(); at.increment(failed))
    if (wanted(*at)) all.push_back(at->path());
  if (failed)
    throw io_error(message("npy folder: cannot look into ", folder, ": ", failed.message(), "; check the path"));
  std::sort(all.begin(), all.end());
  return all;
}
inline std::vector<std::filesystem::path> npy_files_in(const std::filesystem::path& folder) {
  return sorted_entries(folder, [](const auto& e) { return e.path().extension() == ".npy" && !e.is_directory(); });
}

}  // namespace detail

/// Sample i is the array in the i-th .npy file of a folder, in the order of their names.
template <Element T = float>
class NpyFolder {
 public:
  /// Throws io_error for a folder that can't be read, or holds no .npy file.
  explicit NpyFolder(const std::filesystem::path& folder) : files_(detail::npy_files_in(folder)) {
    if (files_.empty())
      throw io_error(message("NpyFolder: ", folder, " holds no file that ends in .npy; save one for each sample"));
  }
  std::int64_t size() const { return static_cast<std::int64_t>(files_.size()); }
  /// Throws index_error, and as read_npy.
  Tensor<T> get(std::int64_t i) const {
    detail::check_sample("NpyFolder", i, size());
    return io::read_npy<T>(files_[static_cast<std::size_t>(i)]);
  }
  const std::vector<std::filesystem::path>& files() const { return files_; }

 private:
  std::vector<std::filesystem::path> files_;
};

/// Sample i is (array, class): each folder within a folder is a class, numbered by its name, and each .npy file in it a
/// sample. As torchvision.datasets.DatasetFolder.
template <Element T = float>
class DatasetFolder {
 public:
  /// Throws io_error for a folder that can't be read, holds no folders, or one without a .npy file.
  explicit DatasetFolder(const std::filesystem::path& folder) {
    for (const auto& of_class : detail::sorted_entries(folder, [](const auto& e) { return e.is_directory(); })) {
      const auto files = detail::npy_files_in(of_class);
      if (files.empty())
        throw io_error(
            message("DatasetFolder: ", of_class, " holds no file that ends in .npy; remove it, or put one there"));
      for (const auto& file : files) samples_.emplace_back(file, static_cast<std::int64_t>(classes_.size()));
      classes_.push_back(of_class.filename().string());
    }
    if (classes_.empty())
      throw io_error(
          message("DatasetFolder: ", folder, " holds no folders; make one for each class, with its .npy files"));
  }
  std::int64_t size() const { return static_cast<std::int64_t>(samples_.size()); }
  /// Throws index_error, and as read_npy.
  std::tuple<Tensor<T>, std::int64_t> get(std::int64_t i) const {
    detail::check_sample("DatasetFolder", i, size());
    const auto& [file, label] = samples_[static_cast<std::size_t>(i)];
    return {io::read_npy<T>(file), label};
  }
  /// The names of the classes.
  const std::vector<std::string>& classes() const { return classes_; }

 private:
  std::vector<std::pair<std::filesystem::path, std::int64_t>> samples_;
  std::vector<std::string> classes_;
};

}  // namespace kiln::data
