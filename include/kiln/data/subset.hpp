// SPDX-License-Identifier: BSL-1.0
// Parts of a set: Subset, random_split, k_fold.
#pragma once

#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <kiln/data/dataset.hpp>
#include <kiln/data/sampler.hpp>

namespace kiln::data {

/// The samples of a set that some numbers name, in their order. Parts of one set share it.
template <Dataset D>
class Subset {
 public:
  /// Throws index_error for a number that the set does not have.
  Subset(D dataset, std::vector<std::int64_t> indices)
      : Subset(std::make_shared<const D>(std::move(dataset)), std::move(indices)) {}
  Subset(std::shared_ptr<const D> dataset, std::vector<std::int64_t> indices)
      : dataset_(std::move(dataset)), indices_(std::move(indices)) {
    for (const std::int64_t i : indices_) detail::check_sample("Subset", i, dataset_->size());
  }
  std::int64_t size() const { return static_cast<std::int64_t>(indices_.size()); }
  /// Throws index_error.
  auto get(std::int64_t i) const requires detail::Gets<D> { return dataset_->get(at(i)); }
  auto get(std::int64_t i, generator& random) const requires detail::GetsRandom<D> {
    return dataset_->get(at(i), random);
  }
  auto get_batch(std::span<const std::int64_t> which) const requires BatchDataset<D> {
    std::vector<std::int64_t> theirs;
    theirs.reserve(which.size());
    for (const std::int64_t i : which) theirs.push_back(at(i));
    return dataset_->get_batch(std::span<const std::int64_t>(theirs));
  }
  const std::vector<std::int64_t>& indices() const { return indices_; }
  const D& dataset() const { return *dataset_; }

 private:
  std::int64_t at(std::int64_t i) const {
    detail::check_sample("Subset", i, size());
    return indices_[static_cast<std::size_t>(i)];
  }
  std::shared_ptr<const D> dataset_;
  std::vector<std::int64_t> indices_;
};

namespace detail {
template <Dataset D>
std::vector<Subset<D>> split(D dataset, const std::vector<std::int64_t>& sizes, std::uint64_t seed) {
  std::vector<std::int64_t> order = counted(static_cast<std::int64_t>(dataset.size()));
  shuffle(order, derived_seed(seed, 0, draws_split));
  const auto shared = std::make_shared<const D>(std::move(dataset));
  std::vector<Subset<D>> parts;
  auto from = order.begin();
  for (const std::int64_t size : sizes) {
    parts.emplace_back(shared, std::vector<std::int64_t>(from, from + size));
    from += size;
  }
  return parts;
}
}  // namespace detail

/// Random parts of these sizes, which have no sample in common: the same for the same seed. Throws value_error unless
/// the sizes add up to that of the set.
template <Dataset D>
std::vector<Subset<D>> random_split(D dataset, const std::vector<std::int64_t>& sizes, std::uint64_t seed = 0) {
  std::int64_t sum = 0;
  const std::int64_t n = dataset.size();
  for (const std::int64_t size : sizes) {
    if (size < 0 || size > n - sum)
      throw value_error(message("random_split: a part of ", size, " samples, after ", sum, ", of ", n,
                                ": the sizes must be 0 or more and add up to ", n));
    sum += size;
  }
  if (sum != n)
    throw value_error(
        message("random_split: the sizes add up to ", sum, ", and there are ", n, " samples: they must be equal"));
  return detail::split(std::move(dataset), sizes, seed);
}
template <Dataset D>
std::vector<Subset<D>> random_split(D dataset, std::initializer_list<int> sizes, std::uint64_t seed = 0) {
  return random_split(std::move(dataset), std::vector<std::int64_t>(sizes.begin(), sizes.end()), seed);
}
/// Parts by their shares, which add up to 1: each gets floor(share * n), and what is left goes to the first ones, one
/// each. Throws value_error for shares that do not.
template <Dataset D>
std::vector<Subset<D>> random_split(D dataset, std::initializer_list<double> shares, std::uint64_t seed = 0) {
  const std::int64_t n = dataset.size();
  double sum = 0;
  std::int64_t left = n;
  std::vector<std::int64_t> sizes;
  for (const double share : shares) {
    if (!(share >= 0 && share <= 1))
      throw value_error(message("random_split: a share of ", share, ": shares are from 0 to 1"));
    sum += share;
    sizes.push_back(static_cast<std::int64_t>(std::floor(share * static_cast<double>(n))));
    left -= sizes.back();
  }
  if (!(std::abs(sum - 1) < 1e-6))
    throw value_error(message("random_split: the shares add up to ", sum, ": they must add up to 1"));
  for (std::size_t i = 0; left > 0; i = (i + 1) % sizes.size(), --left) ++sizes[i];
  for (std::size_t i = 0; left < 0; i = (i + 1) % sizes.size())  // shares may add up to a little more than 1
    if (sizes[i] > 0) --sizes[i], ++left;
  return detail::split(std::move(dataset), sizes, seed);
}

/// One round of a cross-validation.
template <Dataset D>
struct fold {
  Subset<D> train, validation;
};
/// Whether folds are of neighbours or of random samples.
struct k_fold_options {
  bool shuffle = false;
  std::uint64_t seed = 0;
};
/// k rounds of cross-validation: each sample is in the validation part of one, and in the training parts of the others.
/// The first n % k validation parts have one sample more. As scikit-learn's KFold. Throws value_error for a k below 2
/// or above the number of samples.
template <Dataset D>
std::vector<fold<D>> k_fold(D dataset, std::int64_t k, const k_fold_options& options = {}) {
  const std::int64_t n = dataset.size();
  if (k < 2 || k > n) throw value_error(message("k_fold: ", k, " folds of ", n, " samples: use from 2 to ", n));
  std::vector<std::int64_t> order = detail::counted(n);
  if (options.shuffle) detail::shuffle(order, detail::derived_seed(options.seed, 0, detail::draws_split));
  const auto shared = std::make_shared<const D>(std::move(dataset));
  std::vector<fold<D>> folds;
  std::int64_t begin = 0;
  for (std::int64_t i = 0; i < k; ++i) {
    const std::int64_t end = begin + n / k + (i < n % k);
    std::vector<std::int64_t> train(order.begin(), order.begin() + begin),
        validation(order.begin() + begin, order.begin() + end);
    train.insert(train.end(), order.begin() + end, order.end());
    folds.push_back({Subset<D>(shared, std::move(train)), Subset<D>(shared, std::move(validation))});
    begin = end;
  }
  return folds;
}

}  // namespace kiln::data
