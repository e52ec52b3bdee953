// SPDX-License-Identifier: BSL-1.0
// The definitions of run_state.hpp, by kiln::io.
#pragma once

#include "run_state.hpp"

#include <kiln/io/checkpoint.hpp>

#include <string>

namespace support {

template <class Net, class Opt>
run_state<Net, Opt>::run_state(const options& with, Net& net, Opt& opt) : with_(with), net_(net), opt_(opt) {
  if (with.resume.empty()) return;
  const double rate = opt.lr(), momentum = opt.momentum_of(0) ? *opt.momentum_of(0) : 0;
  done_ = kiln::io::load_checkpoint(with.resume, net_, opt_);
  for (const std::string& name : with.given) {
    if (name == "--lr") opt.lr() = rate;
    if (name == "--momentum" && opt.momentum_of(0)) *opt.momentum_of(0) = momentum;
  }
}

template <class Net, class Opt>
void run_state<Net, Opt>::keep(std::int64_t epochs_done) {
  if (!with_.save.empty()) kiln::io::save_checkpoint(with_.save, epochs_done, net_, opt_);
}

}  // namespace support
