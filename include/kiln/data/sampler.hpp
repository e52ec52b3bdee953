// SPDX-License-Identifier: BSL-1.0
// In which order samples are taken. A sampler is anything with size() and order(epoch): the numbers of one epoch. What
// it draws is a function of its seed and the epoch and of nothing else, so a run that goes on in epoch 7 takes what one
// from the beginning would.
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include <kiln/core/error.hpp>
#include <kiln/core/philox.hpp>
#include <kiln/data/dataset.hpp>

namespace kiln::data {

/// `size()`: how many samples an epoch has; `order(epoch)`: their numbers.
template <class S>
concept Sampler = requires(const S& s, std::uint64_t epoch) {
  { s.size() } -> std::convertible_to<std::int64_t>;
  { s.order(epoch) } -> std::convertible_to<std::vector<std::int64_t>>;
};

namespace detail {

/// 0 to n - 1.
inline std::vector<std::int64_t> counted(std::int64_t n) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(n));
  std::iota(all.begin(), all.end(), std::int64_t{0});
  return all;
}
/// The same in random order (Fisher and Yates).
inline void shuffle(std::vector<std::int64_t>& values, std::uint64_t seed) {
  const random_stream stream{seed, 0};
  for (std::size_t i = values.size(); i-- > 1;) std::swap(values[i], values[scaled_to(stream.bits(i), i + 1)]);
}
inline std::int64_t checked_count(const char* where, std::int64_t n) {
  if (n < 0) throw value_error(message(where, ": ", n, " samples: use 0 or more"));
  return n;
}

}  // namespace detail

/// 0, 1, ... n - 1.
class SequentialSampler {
 public:
  /// Throws value_error for a negative n; so do the others.
  explicit SequentialSampler(std::int64_t n) : n_(detail::checked_count("SequentialSampler", n)) {}
  std::int64_t size() const { return n_; }
  std::vector<std::int64_t> order(std::uint64_t /*epoch*/) const { return detail::counted(n_); }

 private:
  std::int64_t n_;
};

/// How RandomSampler draws.
struct random_sampler_options {
  bool replacement = false;       ///< samples may come several times, and others not at all
  std::int64_t num_samples = -1;  ///< in an epoch; -1 for n. Without replacement, several permutations if above n
  std::uint64_t seed = 0;
};

/// All samples in another order in each epoch, or some drawn with replacement.
class RandomSampler {
 public:
  /// Throws value_error for a negative n, and for samples that are to be drawn of none.
  explicit RandomSampler(std::int64_t n, const random_sampler_options& options = {})
      : n_(detail::checked_count("RandomSampler", n)), options_(options) {
    if (options.num_samples < -1)
      throw value_error(
          message("RandomSampler: .num_samples is ", options.num_samples, ": use 0 or more, or -1 for all"));
    if (options.num_samples == -1) options_.num_samples = n;
    if (n == 0 && options_.num_samples > 0)
      throw value_error(message("RandomSampler: ", options_.num_samples, " samples of a set that has none"));
  }
  std::int64_t size() const { return options_.num_samples; }
  std::vector<std::int64_t> order(std::uint64_t epoch) const {
    const std::uint64_t seed = detail::derived_seed(options_.seed, epoch, detail::draws_order);
    const std::size_t wanted = static_cast<std::size_t>(options_.num_samples);
    std::vector<std::int64_t> all;
    if (options_.replacement) {
      const random_stream stream{seed, 0};
      all.reserve(wanted);
      for (std::size_t i = 0; i < wanted; ++i)
        all.push_back(static_cast<std::int64_t>(scaled_to(stream.bits(i), static_cast<std::uint64_t>(n_))));
      return all;
    }
    for (std::uint64_t round = 0; round == 0 || all.size() < wanted; ++round) {
      std::vector<std::int64_t> next = detail::counted(n_);
      detail::shuffle(next, round == 0 ? seed : detail::derived_seed(seed, round, detail::draws_order));
      if (round == 0)
        all = std::move(next);
      else
        all.insert(all.end(), next.begin(), next.end());
    }
    all.resize(wanted);
    return all;
  }

 private:
  std::int64_t n_;
  random_sampler_options options_;
};

/// These samples, in another order in each epoch.
class SubsetRandomSampler {
 public:
  explicit SubsetRandomSampler(std::vector<std::int64_t> indices, std::uint64_t seed = 0)
      : indices_(std::move(indices)), seed_(seed) {}
  std::int64_t size() const { return static_cast<std::int64_t>(indices_.size()); }
  std::vector<std::int64_t> order(std::uint64_t epoch) const {
    std::vector<std::int64_t> all = indices_;
    detail::shuffle(all, detail::derived_seed(seed_, epoch, detail::draws_order));
    return all;
  }

 private:
  std::vector<std::int64_t> indices_;
  std::uint64_t seed_;
};

/// How WeightedRandomSampler draws.
struct weighted_sampler_options {
  bool replacement = true;
  std::uint64_t seed = 0;
};

/// Sample i with a probability proportional to weights[i]: rare classes more often.
class WeightedRandomSampler {
 public:
  /// Throws value_error for weights that are negative or no finite numbers, for none above 0, and without replacement
  /// for more samples than have a weight.
  WeightedRandomSampler(std::vector<double> weights, std::int64_t num_samples,
                        const weighted_sampler_options& options = {})
      : weights_(std::move(weights)),
        num_samples_(detail::checked_count("WeightedRandomSampler", num_samples)),
        options_(options) {
    std::int64_t some = 0;
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      if (!(weights_[i] >= 0) || !std::isfinite(weights_[i]))
        throw value_error(message("WeightedRandomSampler: weight ", i, " is ", weights_[i],
                                  ": weights are finite numbers from 0 on"));
      some += weights_[i] > 0;
    }
    if (num_samples > 0 && some == 0) throw value_error("WeightedRandomSampler: no weight is above 0");
    if (!options.replacement && num_samples > some)
      throw value_error(message("WeightedRandomSampler: ", num_samples, " samples without replacement, and only ", some,
                                " have a weight above 0: draw fewer, or with replacement"));
  }
  std::int64_t size() const { return num_samples_; }
  std::vector<std::int64_t> order(std::uint64_t epoch) const {
    const random_stream stream{detail::derived_seed(options_.seed, epoch, detail::draws_order), 0};
    // In (0, 1], of the upper 53 bits.
    const auto uniform = [&](std::size_t i) { return (static_cast<double>(stream.bits(i) >> 11) + 1) * 0x1p-53; };
    std::vector<std::int64_t> all(static_cast<std::size_t>(num_samples_));
    if (options_.replacement) {
      std::vector<double> sums(weights_.size());
      std::partial_sum(weights_.begin(), weights_.end(), sums.begin());
      for (std::size_t i = 0; i < all.size(); ++i)  // the first whose sum is at least that, so none of weight 0
        all[i] = std::lower_bound(sums.begin(), sums.end(), uniform(i) * sums.back()) - sums.begin();
      return all;
    }
    // The largest of u^(1 / weight) are a weighted sample without replacement (Efraimidis and Spirakis, 2006).
    std::vector<std::pair<double, std::int64_t>> keys;
    for (std::size_t i = 0; i < weights_.size(); ++i)
      if (weights_[i] > 0) keys.emplace_back(-std::log(uniform(i)) / weights_[i], static_cast<std::int64_t>(i));
    std::partial_sort(keys.begin(), keys.begin() + num_samples_, keys.end());
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = keys[i].second;
    return all;
  }

 private:
  std::vector<double> weights_;
  std::int64_t num_samples_;
  weighted_sampler_options options_;
};

/// Which part of a set a process takes, and how.
struct distributed_sampler_options {
  std::int64_t num_replicas = 1;  ///< how many processes there are
  std::int64_t rank = 0;          ///< the number of this one
  bool shuffle = true;
  std::uint64_t seed = 0;  ///< the same in all processes
  bool drop_last = false;  ///< leave samples out rather than give some twice, so that all have equally many
};

/// The part of a set that one of several processes takes: every num_replicas-th of one common order. All get equally
/// many: some samples come twice, or with drop_last not at all.
class DistributedSampler {
 public:
  /// Throws value_error for a rank that is none.
  explicit DistributedSampler(std::int64_t n, const distributed_sampler_options& options = {})
      : n_(detail::checked_count("DistributedSampler", n)), options_(options) {
    if (options.num_replicas < 1 || options.rank < 0 || options.rank >= options.num_replicas)
      throw value_error(message("DistributedSampler: rank ", options.rank, " of ", options.num_replicas,
                                ": ranks are from 0 to num_replicas - 1"));
  }
  std::int64_t size() const {
    return options_.drop_last ? n_ / options_.num_replicas
                              : n_ / options_.num_replicas + (n_ % options_.num_replicas != 0);
  }
  std::vector<std::int64_t> order(std::uint64_t epoch) const {
    std::vector<std::int64_t> all = detail::counted(n_), part;
    if (options_.shuffle) detail::shuffle(all, detail::derived_seed(options_.seed, epoch, detail::draws_order));
    const std::int64_t each = size();
    part.reserve(static_cast<std::size_t>(each));
    for (std::int64_t i = 0; i < each; ++i)
      part.push_back(all[static_cast<std::size_t>((i * options_.num_replicas + options_.rank) % n_)]);
    return part;
  }

 private:
  std::int64_t n_;
  distributed_sampler_options options_;
};

}  // namespace kiln::data
