// SPDX-License-Identifier: BSL-1.0
// The lines that are shown, and when.
#include "progress.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>

namespace support {
namespace {

double now_in_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

bool on_terminal() {
  return isatty(STDOUT_FILENO) == 1;
}

progress::progress(std::int64_t epochs, std::size_t samples_per_epoch, std::ostream& out, bool live, const char* unit)
    : epochs_(epochs), samples_per_epoch_(samples_per_epoch), out_(out), live_(live), unit_(unit) {}

void progress::begin_epoch() {
  epoch_ += 1;
  samples_ = 0;
  loss_ = right_ = 0;
  answers_ = false;
  start_ = shown_ = now_in_seconds();
}

void progress::step(double loss, double right, std::size_t samples) {
  right_ += right;
  answers_ = true;
  step(loss, samples);
}

void progress::step(double loss, std::size_t samples) {
  samples_ += samples;
  loss_ += loss * static_cast<double>(samples);
  if (!live_) return;
  const auto now = now_in_seconds();
  if (now - shown_ < 0.1) return;
  shown_ = now;
  out_ << '\r' << line(seconds()) << left() << "\033[K" << std::flush;
}

void progress::end_epoch(const char* name, double value, double seconds) {
  char test[80];
  std::snprintf(test, sizeof test, "  %s %.4f", name, value);
  if (live_) out_ << '\r';
  out_ << line(seconds) << test << (live_ ? "\033[K" : "") << std::endl;
}

double progress::seconds() const {
  return now_in_seconds() - start_;
}

std::string progress::line(double seconds) const {
  const double rate = seconds > 0 ? static_cast<double>(samples_) / seconds : 0;
  char text[160];
  std::snprintf(
      text, sizeof text, "epoch %lld/%lld  %3.0f%%  loss %.4f", static_cast<long long>(epoch_),
      static_cast<long long>(epochs_),
      samples_per_epoch_ == 0 ? 100.0 : 100.0 * static_cast<double>(samples_) / static_cast<double>(samples_per_epoch_),
      mean_loss());
  std::string all = text;
  if (answers_ || samples_ == 0) std::snprintf(text, sizeof text, "  accuracy %.4f", accuracy()), all += text;
  std::snprintf(text, sizeof text, "  %.0f ", rate);
  return all + text + unit_ + "/s";
}

std::string progress::left() const {
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

}  // namespace support
