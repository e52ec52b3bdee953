// SPDX-License-Identifier: BSL-1.0
// The definitions of run_state.hpp, by kiln::io.
#pragma once

#include "run_state.hpp"

#include <kiln/io/checkpoint.hpp>

namespace support {

template <class Net, class Opt>
run_state<Net, Opt>::run_state(const options& with, Net& net, Opt& opt) : with_(with), net_(net), opt_(opt) {
  if (!with.resume.empty()) done_ = kiln::io::load_checkpoint(with.resume, net_, opt_);
}

template <class Net, class Opt>
void run_state<Net, Opt>::keep(std::int64_t epochs_done) {
  if (!with_.save.empty()) kiln::io::save_checkpoint(with_.save, epochs_done, net_, opt_);
}

}  // namespace support
