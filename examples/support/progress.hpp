// SPDX-License-Identifier: BSL-1.0
// Shows how training goes: on a terminal one line that is rewritten in place a few times a second, elsewhere (a file, a
// pipe) nothing but one plain line per epoch. What it counts are samples: digits, characters.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <string>
#include <utility>

namespace support {

class progress {
 public:
  using clock = std::chrono::steady_clock;

  /// `live` asks for the rewritten line; by default standard output decides. `unit` is what samples are called.
  progress(std::int64_t epochs, std::size_t samples_per_epoch, std::ostream& out = std::cout,
           bool live = isatty(STDOUT_FILENO) == 1, std::string unit = "samples")
      : epochs_(epochs), samples_per_epoch_(samples_per_epoch), out_(out), live_(live), unit_(std::move(unit)) {}

  /// Goes on after epochs that an earlier run has made.
  void resume(std::int64_t epochs_done) { epoch_ = epochs_done; }

  /// Call at the start of each epoch; the clock for samples/s starts here.
  void begin_epoch() {
    epoch_ += 1;
    samples_ = 0;
    loss_ = right_ = 0;
    answers_ = false;
    start_ = shown_ = clock::now();
  }

  /// Call after each step with the batch's mean loss, its number of right answers and its size.
  void step(double loss, double right, std::size_t samples) {
    right_ += right;
    answers_ = true;
    step(loss, samples);
  }
  /// The same where nothing is right or wrong.
  void step(double loss, std::size_t samples) {
    samples_ += samples;
    loss_ += loss * static_cast<double>(samples);
    if (!live_) return;
    const auto now = clock::now();
    if (now - shown_ < std::chrono::milliseconds(100)) return;
    shown_ = now;
    out_ << '\r' << line(seconds()) << left() << "\033[K" << std::flush;
  }

  /// Call at the end of each epoch with the accuracy on the test samples; `seconds` is what the training part took.
  void end_epoch(double test_accuracy, double seconds) { end_epoch("test accuracy", test_accuracy, seconds); }
  /// With another number, under its name.
  void end_epoch(const char* name, double value, double seconds) {
    char test[80];
    std::snprintf(test, sizeof test, "  %s %.4f", name, value);
    if (live_) out_ << '\r';
    out_ << line(seconds) << test << (live_ ? "\033[K" : "") << std::endl;
  }

  double seconds() const { return std::chrono::duration<double>(clock::now() - start_).count(); }
  double mean_loss() const { return samples_ == 0 ? 0 : loss_ / static_cast<double>(samples_); }
  double accuracy() const { return samples_ == 0 ? 0 : right_ / static_cast<double>(samples_); }

 private:
  std::string line(double seconds) const {
    const double rate = seconds > 0 ? static_cast<double>(samples_) / seconds : 0;
    char text[160];
    std::snprintf(text, sizeof text, "epoch %lld/%lld  %3.0f%%  loss %.4f", static_cast<long long>(epoch_),
                  static_cast<long long>(epochs_),
                  samples_per_epoch_ == 0
                      ? 100.0
                      : 100.0 * static_cast<double>(samples_) / static_cast<double>(samples_per_epoch_),
                  mean_loss());
    std::string all = text;
    if (answers_ || samples_ == 0) std::snprintf(text, sizeof text, "  accuracy %.4f", accuracy()), all += text;
    std::snprintf(text, sizeof text, "  %.0f ", rate);
    return all + text + unit_ + "/s";
  }
  /// Of the whole run, at the rate of this epoch: "1:05 left".
  std::string left() const {
    const double now = seconds();
    if (samples_ == 0 || now <= 0) return "";
    const double all = static_cast<double>(samples_per_epoch_), done = static_cast<double>(samples_);
    const double samples = std::max(0.0, all - done) + all * static_cast<double>(epochs_ - epoch_);
    const long long whole = std::llround(samples * now / done);
    char text[48];
    if (whole >= 3600)
      std::snprintf(text, sizeof text, "  %lld:%02lld:%02lld left", whole / 3600, whole / 60 % 60, whole % 60);
    else
      std::snprintf(text, sizeof text, "  %lld:%02lld left", whole / 60, whole % 60);
    return text;
  }

  std::int64_t epochs_, epoch_ = 0;
  std::size_t samples_per_epoch_, samples_ = 0;
  std::ostream& out_;
  bool live_, answers_ = false;
  std::string unit_;
  double loss_ = 0, right_ = 0;
  clock::time_point start_{}, shown_{};
};

}  // namespace support
