// SPDX-License-Identifier: BSL-1.0
// A CSV file as tensors: columns of numbers, and classes that are texts.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <kiln/data/csv_file.hpp>
#include <kiln/data/tensor_dataset.hpp>
#include <kiln/tensor/creation.hpp>

namespace kiln::data {

/// A column of classes: a number for each row, and the texts of the classes in alphabetical order.
struct csv_classes {
  Tensor<std::int64_t> labels;  ///< (rows)
  std::vector<std::string> names;
};

/// The columns of a CSV file by name, or by number if it has no header.
class csv_table {
 public:
  explicit csv_table(std::shared_ptr<const csv_file> file) : file_(std::move(file)) {}

  std::int64_t rows() const { return static_cast<std::int64_t>(file_->rows()); }
  /// The columns' names; without a header their numbers, "0", "1" and so on.
  std::vector<std::string> names() const {
    if (!file_->names().empty()) return file_->names();
    std::vector<std::string> numbers;
    for (std::size_t i = 0; i < file_->columns(); ++i) numbers.push_back(std::to_string(i));
    return numbers;
  }
  /// Some columns as numbers, (rows, columns). An empty field is `missing`, if that is given. Throws value_error for a
  /// column that there is not, and for a field that is no number of T, with its line.
  template <Element T>
  Tensor<T> columns(const std::vector<std::string>& wanted, std::optional<T> missing = {}) const {
    auto all = empty<T>({rows(), static_cast<std::int64_t>(wanted.size())});
    T* const to = all.data();
    for (std::size_t k = 0; k < wanted.size(); ++k) {
      const std::size_t column = find(wanted[k]);
      for (std::size_t i = 0; i < file_->rows(); ++i) to[i * wanted.size() + k] = number<T>(i, column, missing);
    }
    return all;
  }
  /// One column as numbers, (rows).
  template <Element T>
  Tensor<T> column(const std::string& wanted, std::optional<T> missing = {}) const {
    return columns<T>({wanted}, missing).reshape({rows()});
  }
  /// A column of texts as they are.
  std::vector<std::string> texts(const std::string& wanted) const {
    const std::size_t column = find(wanted);
    std::vector<std::string> all;
    for (std::size_t i = 0; i < file_->rows(); ++i) all.emplace_back(file_->field(i, column));
    return all;
  }
  /// A column of texts as classes.
  csv_classes classes(const std::string& wanted) const {
    const std::vector<std::string> all = texts(wanted);
    csv_classes found{empty<std::int64_t>({rows()}), all};
    std::sort(found.names.begin(), found.names.end());
    found.names.erase(std::unique(found.names.begin(), found.names.end()), found.names.end());
    for (std::size_t i = 0; i < all.size(); ++i)
      found.labels.data()[i] = std::lower_bound(found.names.begin(), found.names.end(), all[i]) - found.names.begin();
    return found;
  }

 private:
  std::size_t find(const std::string& wanted) const {
    const std::vector<std::string> all = names();
    const auto at = std::find(all.begin(), all.end(), wanted);
    if (at == all.end()) {
      std::string known;
      for (const std::string& name : all) known += (known.empty() ? "" : ", ") + name;
      throw value_error(
          message(file_->place(), " has no column \"", wanted, "\", but ", known.empty() ? "none" : known));
    }
    return static_cast<std::size_t>(at - all.begin());
  }
  template <Element T>
  T number(std::size_t row, std::size_t column, const std::optional<T>& missing) const {
    std::string_view text = file_->field(row, column);
    const auto blank = [](char c) { return c == ' ' || c == '\t'; };
    while (!text.empty() && blank(text.front())) text.remove_prefix(1);
    while (!text.empty() && blank(text.back())) text.remove_suffix(1);
    if (text.empty() && missing) return *missing;
    std::string_view digits = text;
    if (digits.starts_with('+') && !digits.starts_with("+-")) digits.remove_prefix(1);
    // Half types by way of float, which rounds once more.
    using N = std::conditional_t<std::is_same_v<T, bool>, std::uint8_t, compute_t<T>>;
    N value{};
    const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    bool good = problem == std::errc() && end == digits.data() + digits.size();
    if constexpr (std::is_same_v<T, bool>) good = good && value <= 1;
    if (!good)
      throw value_error(message(
          file_->place(), ": line ", file_->line_of(row), ", column \"", names()[column], "\": \"", text.substr(0, 40),
          "\" is no ", name(dtype_of<T>),
          text.empty() ? ": give a value for missing ones, or fill the field" : ": read another type, or classes()"));
    return static_cast<T>(value);
  }
  std::shared_ptr<const csv_file> file_;
};

/// Reads a CSV file. Throws as csv_file.
inline csv_table read_csv(const std::filesystem::path& path, const csv_options& options = {}) {
  return csv_table(std::make_shared<const csv_file>(path, options));
}

/// A CSV file as a set of (features, class): the class is column `target`, the features all others. Throws as
/// csv_table.
template <Element T = float>
TensorDataset<Tensor<T>, Tensor<std::int64_t>> csv_dataset(const std::filesystem::path& path, const std::string& target,
                                                           const csv_options& options = {}) {
  const csv_table table = read_csv(path, options);
  std::vector<std::string> features = table.names();
  const Tensor<std::int64_t> labels = table.classes(target).labels;
  std::erase(features, target);
  return TensorDataset(table.columns<T>(features), labels);
}

}  // namespace kiln::data
