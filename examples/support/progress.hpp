// SPDX-License-Identifier: BSL-1.0
// Shows how training goes: on a terminal one line that is rewritten in place a few times a second, elsewhere (a file, a
// pipe) nothing but one plain line per epoch. What it counts are samples: digits, characters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iostream>
#include <string>

namespace support {

/// True if standard output is a terminal.
bool on_terminal();

class progress {
 public:
  /// `live` asks for the rewritten line; by default standard output decides. `unit` is what samples are called.
  progress(std::int64_t epochs, std::size_t samples_per_epoch, std::ostream& out = std::cout, bool live = on_terminal(),
           const char* unit = "samples");

  /// Goes on after epochs that an earlier run has made.
  void resume(std::int64_t epochs_done) { epoch_ = epochs_done; }

  /// Call at the start of each epoch; the clock for samples/s starts here.
  void begin_epoch();

  /// Call after each step with the batch's mean loss, its number of right answers and its size.
  void step(double loss, double right, std::size_t samples);
  /// The same where nothing is right or wrong.
  void step(double loss, std::size_t samples);

  /// Call at the end of each epoch with the accuracy on the test samples; `seconds` is what the training part took.
  void end_epoch(double test_accuracy, double seconds) { end_epoch("test accuracy", test_accuracy, seconds); }
  /// With another number, under its name.
  void end_epoch(const char* name, double value, double seconds);

  double seconds() const;
  double mean_loss() const { return samples_ == 0 ? 0 : loss_ / static_cast<double>(samples_); }
  double accuracy() const { return samples_ == 0 ? 0 : right_ / static_cast<double>(samples_); }

 private:
  std::string line(double seconds) const;
  /// Of the whole run, at the rate of this epoch: "1:05 left".
  std::string left() const;

  std::int64_t epochs_, epoch_ = 0;
  std::size_t samples_per_epoch_, samples_ = 0;
  std::ostream& out_;
  bool live_, answers_ = false;
  const char* unit_;
  double loss_ = 0, right_ = 0;
  double start_ = 0, shown_ = 0;  // seconds of a clock that is never set
};

}  // namespace support
