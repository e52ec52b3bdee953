// SPDX-License-Identifier: BSL-1.0
// Models that are trained on a thread of their own, while q goes on. After each epoch a function of q is called on its
// main thread, whenever that waits for events; calls of q meanwhile take turns with the steps.
#pragma once

#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <kiln/core/signal_guard.hpp>
#include <kiln/k/entry_lock.hpp>
#include <kiln/k/models.hpp>

namespace kiln::k::background {

/// A run of training. The thread touches no object of q's: losses go from it by `losses` and a descriptor.
class trainer {
 public:
  trainer(std::shared_ptr<model_body> what, std::int64_t epochs, owned each)
      : model_(std::move(what)), each_(std::move(each)), epochs_(epochs), event_(::eventfd(0, EFD_NONBLOCK)) {
    if (event_ < 0) throw value_error("the system gives no descriptor for events");
  }
  trainer(const trainer&) = delete;
  trainer& operator=(const trainer&) = delete;
  ~trainer() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
    if (event_ >= 0) ::close(event_);
  }

  void begin() {
    entries().trainer_begins();
    try {
      const kiln::detail::signal_guard quiet;
      thread_ = std::thread([this] { work(); });
    } catch (...) {
      entries().trainer_ended();
      throw value_error("the system gives no thread");
    }
  }
  int event() const { return event_; }
  void stop() { stop_ = true; }
  bool done() const { return done_; }
  const model_body* model() const { return model_.get(); }

  std::vector<double> losses() const {
    const std::lock_guard alone(lock_);
    return losses_;
  }
  std::string problem() const {
    const std::lock_guard alone(lock_);
    return problem_;
  }
  /// On q's main thread: calls q's function for the epochs that it has not been called for. Its errors end the run.
  void deliver() {
    std::uint64_t count = 0;
    while (::read(event_, &count, sizeof count) > 0) {
    }
    while (each_.get()) {
      const std::vector<double> now = losses();
      if (told_ >= now.size()) break;
      const std::size_t epoch = told_++;
      const owned given(knk(2, kj(static_cast<std::int64_t>(epoch)), kf(now[epoch])));
      const owned result(ee(dot(each_.get(), given.get())));
      if (!result.get() || result.get()->type != error_type) continue;
      stop_ = true;
      const std::lock_guard alone(lock_);
      if (problem_.empty()) problem_ = message("the function for progress signalled '", result.get()->symbol);
      each_ = {};
    }
  }
  /// Waits until the thread has ended, while it may go on.
  void finish() {
    if (!thread_.joinable()) return;
    entries().while_open([&] { thread_.join(); });
    entries().trainer_ended();
  }
  /// Gives the descriptor back to q.
  void forget_event() {
    if (event_ >= 0) sd0x(event_, 0);
  }

 private:
  void work() {
    try {
      for (std::int64_t epoch = 0; epoch < epochs_ && !stop_; ++epoch) {
        double sum = 0;
        std::int64_t batches = 0;
        entries().step([&] {
          if (model_->train.flag("shuffle")) model_->train.shuffle();
          model_->train.restore();
        });
        for (bool more = true; more && !stop_;) {
          entries().step([&] {
            more = model_->train.advance();
            if (!more) return;
            sum += models::back_step(*model_, model_->train.batch_input, model_->train.batch_target).item();
            ++batches;
          });
        }
        if (stop_) break;
        {
          const std::lock_guard alone(lock_);
          losses_.push_back(sum / static_cast<double>(batches));
        }
        tell();
      }
    } catch (const std::exception& reason) {
      note(reason.what());
    } catch (...) {
      note("unknown error");
    }
    done_ = true;
    tell();
  }
  // An exception here would end the program.
  void note(const char* problem) noexcept {
    const std::lock_guard alone(lock_);
    try {
      problem_ = problem;
    } catch (const std::bad_alloc&) {
      problem_ = "out of memory";  // short enough to need none
    }
  }
  void tell() const {
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(event_, &one, sizeof one);
  }

  std::shared_ptr<model_body> model_;
  owned each_;
  std::int64_t epochs_;
  int event_;
  std::size_t told_ = 0;
  mutable std::mutex lock_;
  std::vector<double> losses_;
  std::string problem_;
  std::atomic<bool> stop_{false}, done_{false};
  std::thread thread_;
};

/// All runs of models that are there or train, by descriptor. What is left when the process ends is stopped.
struct all_trainers {
  std::map<int, std::shared_ptr<trainer>> by_event;
  /// Shared, since q's function, called meanwhile, may end the run.
  std::shared_ptr<trainer> of(const model_body& model) const {
    for (const auto& [event, each] : by_event)
      if (each->model() == &model) return each;
    return nullptr;
  }
};
inline all_trainers& trainers() {
  static all_trainers& all = *new all_trainers;
  // K objects are q's, which may be gone when the process ends: threads end, nothing else.
  static struct stopper {
    ~stopper() {
      for (const auto& [event, each] : trainers_of()->by_event) each->stop();
      for (const auto& [event, each] : trainers_of()->by_event) each->finish();
    }
    static all_trainers*& trainers_of() {
      static all_trainers* kept = nullptr;
      return kept;
    }
  } const at_end;
  stopper::trainers_of() = &all;
  return all;
}

/// Called by q on its main thread when a thread that trains has something to tell.
inline object on_event(int event) {
  const entry_lock::call turn(entries());
  const auto at = trainers().by_event.find(event);
  if (at == trainers().by_event.end()) return nullptr;
  const std::shared_ptr<trainer> run = at->second;  // q's function may end it
  run->deliver();
  if (run->done()) run->finish();
  return nullptr;
}

/// Forgets the run of a model, which has ended or is ended now.
inline void forget(const model_body& model) {
  if (const auto run = trainers().of(model)) {
    run->stop();
    run->finish();
    run->forget_event();
    trainers().by_event.erase(run->event());
  }
}

/// (m;epochs[;f]): trains on another thread; f[epoch;loss] is called on this one.
inline object start(std::string_view name, object x) {
  const arguments given(name, x, 2, 3);
  const std::shared_ptr<model_body> body = models::model_at(given).body;
  const std::int64_t epochs = given.long_at(1);
  if (epochs < 1) throw value_error(message(epochs, " epochs; use 1 or more"));
  if (given.size() == 3 && !modules::is_function(given[2])) given.refuse(2, "a function");
  if (body->train.rows() == 0) throw value_error("the model has no training data; give it with train(m;x;y)");
  if (!body->train.target.defined()) throw value_error("the model has no targets; give them with train(m;x;y)");
  if (const auto run = trainers().of(*body); run && !run->done())
    throw value_error("the model is being trained already; stop or wait for it first");
  forget(*body);
  auto run = std::make_shared<trainer>(body, epochs, given.size() == 3 ? owned::share(given[2]) : owned());
  const int event = run->event();
  trainers().by_event.emplace(event, run);
  if (given.size() == 3) {
    const owned registered(ee(sd1(event, &on_event)));
    if (!registered.get() || registered.get()->type == error_type) {
      trainers().by_event.erase(event);
      throw value_error("q does not take the descriptor for events");
    }
  }
  try {
    run->begin();
  } catch (...) {
    if (given.size() == 3) run->forget_event();
    trainers().by_event.erase(event);
    throw;
  }
  return make_null();
}

inline std::shared_ptr<trainer> run_of(const arguments& given) {
  auto run = trainers().of(*models::model_at(given).body);
  if (!run) throw value_error("the model was not trained by background");
  return run;
}

/// The losses of the epochs so far, and whether it goes on.
inline object progress(std::string_view name, object x) {
  const arguments given(name, x, 1, 1);
  const std::shared_ptr<trainer> run = run_of(given);
  const std::vector<std::string> names{"running", "losses"};
  return make_dictionary(names, knk(2, kb(run->done() ? 0 : 1), make_floats(run->losses())));
}

/// Waits for the end, or asks for it and waits: the losses of all epochs.
inline object wait(std::string_view name, object x) {
  const arguments given(name, x, 1, 1);
  const std::shared_ptr<trainer> run = run_of(given);
  const std::shared_ptr<model_body> body = models::model_at(given).body;
  if (name == "stop") run->stop();
  run->finish();
  run->deliver();
  if (trainers().of(*body) != run) return make_floats({});  // q's function has ended it
  const std::vector<double> losses = run->losses();
  const std::string problem = run->problem();
  forget(*body);
  if (!problem.empty()) throw value_error(message("the training ended after ", losses.size(), " epochs: ", problem));
  return make_floats(losses);
}

}  // namespace kiln::k::background

namespace kiln::k {

inline void offer_background(registry& r) {
  r.offer("background", background::start);
  r.offer("progress", background::progress);
  r.offer("wait", background::wait);
  r.offer("stop", background::wait);
}

}  // namespace kiln::k
