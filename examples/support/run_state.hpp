// SPDX-License-Identifier: BSL-1.0
// --save and --resume: the whole state of a training run in a file, from which it goes on as if it had not ended. What
// reads and writes files stands in run_state_impl.hpp, and is compiled in each program's state.cpp, beside its loop.
#pragma once

#include "learning_curve.hpp"
#include "options.hpp"
#include "progress.hpp"

#include <cstdint>
#include <vector>

namespace support {

/// The epochs from `done` up to `all`, which `curve` and `show` then count from there.
std::vector<std::int64_t> epochs_from(std::int64_t done, std::int64_t all, learning_curve& curve, progress& show);

/// The model and the optimizer of a run, and how many epochs it has made.
template <class Net, class Opt>
class run_state {
 public:
  /// Reads the file of --resume, if there is one: all of its state but the options of the optimizer that the command
  /// line gives (--lr, --momentum). Throws what kiln::io::load_checkpoint throws.
  run_state(const options& with, Net& net, Opt& opt);
  /// The epochs that are still to be made, from 0 on.
  std::vector<std::int64_t> epochs(learning_curve& curve, progress& show) const {
    return epochs_from(done_, with_.epochs, curve, show);
  }
  /// After an epoch: writes the state to the file of --save, whole or not at all.
  void keep(std::int64_t epochs_done);

 private:
  const options& with_;
  Net& net_;
  Opt& opt_;
  std::int64_t done_ = 0;
};

}  // namespace support
