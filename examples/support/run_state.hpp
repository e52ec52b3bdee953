// SPDX-License-Identifier: BSL-1.0
// --save and --resume: the whole state of a training run in a file, from which it goes on as if it had not ended.
#pragma once

#include "learning_curve.hpp"
#include "options.hpp"
#include "progress.hpp"

#include <kiln/io/checkpoint.hpp>

#include <algorithm>
#include <cstdint>
#include <ranges>

namespace support {

/// The model and the optimizer of a run, and how many epochs it has made.
template <class Net, class Opt>
class run_state {
 public:
  /// Reads the file of --resume, if there is one. Throws what kiln::io::load_checkpoint throws.
  run_state(const options& with, Net& net, Opt& opt) : with_(with), net_(net), opt_(opt) {
    if (!with.resume.empty()) done_ = kiln::io::load_checkpoint(with.resume, net_, opt_);
  }
  /// The epochs that are still to be made, from 0 on.
  auto epochs(learning_curve& curve, progress& show) const {
    curve.first = done_ + 1;
    show.resume(done_);
    return std::views::iota(done_, std::max(done_, with_.epochs));
  }
  /// After an epoch: writes the state to the file of --save, whole or not at all.
  void keep(std::int64_t epochs_done) {
    if (!with_.save.empty()) kiln::io::save_checkpoint(with_.save, epochs_done, net_, opt_);
  }

 private:
  const options& with_;
  Net& net_;
  Opt& opt_;
  std::int64_t done_ = 0;
};

}  // namespace support
