// SPDX-License-Identifier: BSL-1.0
// Batches of a set, for a loop: `for (auto [x, y] : loader)`. Threads make them ahead of the loop if asked to. The same
// seed gives the same batches in the same order, however many threads make them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include <kiln/data/collate.hpp>
#include <kiln/data/dataset.hpp>
#include <kiln/data/pin_memory.hpp>
#include <kiln/data/sampler.hpp>
#include <kiln/data/workers.hpp>

namespace kiln::data {

/// As torch.utils.data.DataLoader's.
struct loader_options {
  std::int64_t batch_size = 1;
  bool shuffle = false;    ///< another order in each epoch
  bool drop_last = false;  ///< leave the last batch out if it is not full
  int workers = 0;         ///< threads that make batches; 0: the loop does itself. PyTorch's num_workers
  int prefetch = 2;        ///< batches that each of them makes ahead, 65536 together. PyTorch's prefetch_factor
  std::optional<std::uint64_t> seed =
      {};                   ///< of the order, and of what transforms draw; the default generator's if none
  bool pin_memory = false;  ///< batches in memory from which copies to a GPU run beside the host; see data/cuda.hpp
};

namespace detail {

/// What puts samples together unless the loader is told.
struct collate_by_default {
  template <class X>
  auto operator()(const std::vector<X>& samples) const {
    return default_collate(samples);
  }
};

/// The samples of a batch: their numbers, or for a stream themselves.
template <class D>
struct batch_work {
  std::vector<std::int64_t> indices;
};
template <IterableDataset D>
struct batch_work<D> {
  std::vector<sample_t<D>> samples;
};

template <class D, class Collate>
struct batch_type {
  using type =
      std::remove_cvref_t<decltype(std::declval<const Collate&>()(std::declval<const std::vector<sample_t<D>>&>()))>;
};
template <BatchDataset D>
struct batch_type<D, collate_by_default> {
  using type = std::remove_cvref_t<decltype(std::declval<const D&>().get_batch(std::span<const std::int64_t>()))>;
};

/// In which order the samples of an epoch come: a sampler, whatever its type.
class order {
 public:
  virtual ~order() = default;
  virtual std::vector<std::int64_t> of(std::uint64_t epoch) const = 0;
};
template <Sampler S>
class order_by final : public order {
 public:
  explicit order_by(S sampler) : sampler_(std::move(sampler)) {}
  std::vector<std::int64_t> of(std::uint64_t epoch) const override { return sampler_.order(epoch); }

 private:
  S sampler_;
};

inline void check_options(const loader_options& o) {
  if (o.batch_size < 1)
    throw value_error(message("DataLoader: .batch_size is ", o.batch_size, ": it must be 1 or more"));
  if (o.workers < 0 || o.workers > 1024)
    throw value_error(message("DataLoader: .workers is ", o.workers, ": it must be from 0 to 1024"));
  if (o.prefetch < 1 || o.prefetch > 65536)
    throw value_error(message("DataLoader: .prefetch is ", o.prefetch, ": it must be from 1 to 65536"));
}

}  // namespace detail

/// A set cut into batches, as a range: each begin() starts the next epoch. What a batch is, the samples say: of tuples
/// a tuple of tensors, see default_collate; or what `collate(samples)` makes of them.
template <class D, class Collate = detail::collate_by_default>
class DataLoader {
  static_assert(
      Dataset<D> || IterableDataset<D>,
      "kiln: a DataLoader takes a set: a class with `std::int64_t size() const` and `get(std::int64_t i) const`, "
      "or one with begin() and end() that gives sample after sample");
  static constexpr bool streams = !Dataset<D>;

 public:
  using batch = typename detail::batch_type<D, Collate>::type;

  /// In the order of the set, or shuffled. Throws value_error for options that are none, and for a stream that should
  /// be shuffled.
  explicit DataLoader(D dataset, const loader_options& options = {}, Collate collate = {});
  /// Not possible: options have names.
  template <std::integral N>
  DataLoader(D dataset, N) : DataLoader(std::move(dataset)) {
    static_assert(kiln::detail::never<N>,
                  "kiln: a DataLoader takes its options by name: DataLoader(set, {.batch_size = 32, .shuffle = true})");
  }
  /// In the order of a sampler. Throws value_error for .shuffle, which is the sampler's to do.
  template <Sampler S>
    requires Dataset<D> DataLoader(D dataset, S sampler, const loader_options& options = {}, Collate collate = {})
        : set_(std::make_shared<parts>(std::move(dataset), std::move(collate))), options_(options) {
      detail::check_options(options);
      if (options.shuffle)
        throw value_error("DataLoader: .shuffle and a sampler: the sampler says the order, so leave .shuffle out");
      seed_ = options.seed ? *options.seed : default_generator().state().seed;
      take_order_of(std::move(sampler));
    }

    /// How many batches an epoch has.
    std::int64_t size() const requires Dataset<D> {
      return options_.drop_last ? samples_ / options_.batch_size
                                : samples_ / options_.batch_size + (samples_ % options_.batch_size != 0);
    }
    /// How many samples an epoch has, those that drop_last leaves out included.
    std::int64_t samples() const requires Dataset<D> {
      return samples_;
    }
    const D& dataset() const {
      return set_->dataset;
    }
    const loader_options& options() const {
      return options_;
    }
    /// The number of the epoch that the next begin() starts: 0 at first.
    std::uint64_t epoch() const {
      return epoch_;
    }
    /// Goes on with this epoch, after `batches` batches of it: for a run that continues one that was ended. Throws
    /// value_error if an epoch has fewer batches.
    void set_epoch(std::uint64_t epoch, std::int64_t batches = 0) {
      if (batches < 0) throw value_error(message("set_epoch: ", batches, " batches: use 0 or more"));
      if constexpr (!streams)
        if (batches > size()) throw value_error(message("set_epoch: ", batches, " batches, but an epoch has ", size()));
      epoch_ = epoch;
      skip_ = batches;
    }

    class iterator;
    /// Starts the next epoch. Throws what making the first batch throws; ++ on an iterator throws what making the next
    /// one does, and that ends the epoch.
    iterator begin();
    std::default_sentinel_t end() const {
      return {};
    }

   private:
    using work = detail::batch_work<D>;
    struct parts {
      D dataset;
      Collate collate;
      parts(D d, Collate c) : dataset(std::move(d)), collate(std::move(c)) {}
    };

    /// An epoch: keeps what it reads, so that the loader may end before it.
    class run final : public detail::source<work, batch> {
     public:
      run(DataLoader& of, std::uint64_t epoch, std::int64_t skip)
          : set_(of.set_), options_(of.options_), seed_(detail::derived_seed(of.seed_, epoch, detail::draws_sample)) {
        if constexpr (streams) {
          at_.emplace(set_->dataset.begin());
          for (std::int64_t i = 0; i < skip && take(); ++i) {
          }
        } else {
          order_ = of.order_->of(epoch);
          next_ =
              std::min(order_.size(), static_cast<std::size_t>(skip) * static_cast<std::size_t>(options_.batch_size));
        }
        // No more threads and places than there are batches; of a stream nobody knows.
        std::int64_t batches = 65536;
        if constexpr (!streams) batches = std::max<std::int64_t>(of.size() - skip, 1);
        const auto threads = std::min<std::int64_t>(options_.workers, batches);
        const std::int64_t ahead = std::min(threads * options_.prefetch, batches);
        workers_.emplace(*this, static_cast<int>(threads), static_cast<std::size_t>(std::max<std::int64_t>(ahead, 1)));
      }
      std::optional<batch> next() { return workers_->next(); }
      bool lost() const { return workers_->lost(); }

      std::optional<work> take() override {
        const auto most = static_cast<std::size_t>(options_.batch_size);
        if constexpr (streams) {
          work all;
          for (; all.samples.size() < most && *at_ != set_->dataset.end(); ++*at_) all.samples.push_back(**at_);
          if (all.samples.empty() || (options_.drop_last && all.samples.size() < most)) return std::nullopt;
          return all;
        } else {
          const std::size_t n = std::min(most, order_.size() - next_);
          if (n == 0 || (options_.drop_last && n < most)) return std::nullopt;
          const auto from = order_.begin() + static_cast<std::ptrdiff_t>(next_);
          next_ += n;
          return work{{from, from + static_cast<std::ptrdiff_t>(n)}};
        }
      }
      batch make(work w) override {
        batch made = together(std::move(w));
        if (options_.pin_memory) detail::pin(made);
        return made;
      }

     private:
      batch together(work w) const {
        if constexpr (streams) {
          return set_->collate(w.samples);
        } else if constexpr (BatchDataset<D> && std::is_same_v<Collate, detail::collate_by_default>) {
          return set_->dataset.get_batch(std::span<const std::int64_t>(w.indices));
        } else {
          std::vector<sample_t<D>> samples;
          samples.reserve(w.indices.size());
          for (const std::int64_t i : w.indices) {
            generator random;  // what a sample draws follows from its number and the epoch
            random.set_state({seed_, static_cast<std::uint64_t>(i) << 32});
            samples.push_back(detail::sample_of(set_->dataset, i, random));
          }
          return set_->collate(samples);
        }
      }

      std::shared_ptr<parts> set_;
      loader_options options_;
      std::uint64_t seed_;
      std::vector<std::int64_t> order_;
      std::size_t next_ = 0;
      struct no_place {};
      template <class X>
      struct place_in {
        using type = no_place;
      };
      template <IterableDataset X>
      struct place_in<X> {
        using type = decltype(std::declval<X&>().begin());
      };
      std::optional<typename place_in<D>::type> at_;
      std::optional<detail::ordered_workers<work, batch>> workers_;  // last: ends first
    };

    template <class S>
    void take_order_of(S sampler) {
      samples_ = sampler.size();
      order_ = std::make_shared<detail::order_by<S>>(std::move(sampler));
    }

    std::shared_ptr<parts> set_;
    loader_options options_;
    std::shared_ptr<const detail::order> order_;  // none where samples come one after the other
    std::int64_t samples_ = 0, skip_ = 0;
    std::uint64_t seed_ = 0, epoch_ = 0;
};

/// Goes through the batches of an epoch, once.
template <class D, class Collate>
class DataLoader<D, Collate>::iterator {
 public:
  using value_type = batch;
  using difference_type = std::ptrdiff_t;
  using iterator_category = std::input_iterator_tag;
  using pointer = batch*;
  using reference = batch&;

  iterator() = default;
  batch& operator*() const { return *now_; }
  batch* operator->() const { return &*now_; }
  iterator& operator++();
  void operator++(int) { ++*this; }
  friend bool operator==(const iterator& at, std::default_sentinel_t) { return !at.now_; }

 private:
  friend class DataLoader;
  explicit iterator(std::shared_ptr<run> epoch) : run_(std::move(epoch)) { ++*this; }
  std::shared_ptr<run> run_;
  mutable std::optional<batch> now_;
};

// Not inline: a file that has them by an `extern template class` does not compile them to see whether to.

template <class D, class Collate>
DataLoader<D, Collate>::DataLoader(D dataset, const loader_options& options, Collate collate)
    : set_(std::make_shared<parts>(std::move(dataset), std::move(collate))), options_(options) {
  detail::check_options(options);
  seed_ = options.seed ? *options.seed : default_generator().state().seed;
  if constexpr (streams) {
    if (options.shuffle)
      throw value_error(
          "DataLoader: a set that only gives sample after sample can't be shuffled: shuffle where they come from, or "
          "read it into a set with get(i)");
  } else {
    const auto n = static_cast<std::int64_t>(set_->dataset.size());
    if (options.shuffle)
      take_order_of(RandomSampler(n, {.seed = seed_}));
    else
      take_order_of(SequentialSampler(n));
  }
}

template <class D, class Collate>
auto DataLoader<D, Collate>::begin() -> iterator {
  // In the child of a fork nobody has the locks of the workers any more: what they are in stays as it is.
  return iterator(std::shared_ptr<run>(new run(*this, epoch_++, std::exchange(skip_, 0)), [](run* ended) {
    if (!ended->lost()) delete ended;
  }));
}

template <class D, class Collate>
auto DataLoader<D, Collate>::iterator::operator++() -> iterator& {
  now_.reset();  // the loop has it no more: its memory is there for the next
  now_ = run_->next();
  return *this;
}

}  // namespace kiln::data
