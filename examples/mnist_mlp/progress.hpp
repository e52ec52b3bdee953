// SPDX-License-Identifier: BSL-1.0
// Shows how training goes: on a terminal one line that is rewritten in place a few times a second, elsewhere (a file, a
// pipe) nothing but one plain line per epoch.
#pragma once

#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <string>

namespace mnist {

class progress {
 public:
  using clock = std::chrono::steady_clock;

  /// `live` asks for the rewritten line; by default standard output decides.
  progress(std::int64_t epochs, std::size_t samples_per_epoch, std::ostream& out = std::cout,
           bool live = isatty(STDOUT_FILENO) == 1)
      : epochs_(epochs), samples_per_epoch_(samples_per_epoch), out_(out), live_(live) {}

  /// Call at the start of each epoch; the clock for samples/s starts here.
  void begin_epoch() {
    epoch_ += 1;
    samples_ = 0;
    loss_ = right_ = 0;
    start_ = shown_ = clock::now();
  }

  /// Call after each step with the batch's mean loss, its number of right answers and its size.
  void step(double loss, double right, std::size_t samples) {
    samples_ += samples;
    loss_ += loss * static_cast<double>(samples);
    right_ += right;
    if (!live_) return;
    const auto now = clock::now();
    if (now - shown_ < std::chrono::milliseconds(100)) return;
    shown_ = now;
    out_ << '\r' << line() << "\033[K" << std::flush;
  }

  /// Call at the end of each epoch with the accuracy on the test digits; `seconds` is what the training part took.
  void end_epoch(double test_accuracy, double seconds) {
    char test[48];
    std::snprintf(test, sizeof test, "  test accuracy %.4f", test_accuracy);
    if (live_) out_ << '\r';
    out_ << line(seconds) << test << (live_ ? "\033[K" : "") << std::endl;
  }

  double seconds() const { return std::chrono::duration<double>(clock::now() - start_).count(); }
  double mean_loss() const { return samples_ == 0 ? 0 : loss_ / static_cast<double>(samples_); }
  double accuracy() const { return samples_ == 0 ? 0 : right_ / static_cast<double>(samples_); }

 private:
  std::string line() const { return line(seconds()); }
  std::string line(double seconds) const {
    const double rate = seconds > 0 ? static_cast<double>(samples_) / seconds : 0;
    char text[160];
    std::snprintf(text, sizeof text, "epoch %lld/%lld  %3.0f%%  loss %.4f  accuracy %.4f  %.0f samples/s",
                  static_cast<long long>(epoch_), static_cast<long long>(epochs_),
                  samples_per_epoch_ == 0
                      ? 100.0
                      : 100.0 * static_cast<double>(samples_) / static_cast<double>(samples_per_epoch_),
                  mean_loss(), accuracy(), rate);
    return text;
  }

  std::int64_t epochs_, epoch_ = 0;
  std::size_t samples_per_epoch_, samples_ = 0;
  std::ostream& out_;
  bool live_;
  double loss_ = 0, right_ = 0;
  clock::time_point start_{}, shown_{};
};

}  // namespace mnist
