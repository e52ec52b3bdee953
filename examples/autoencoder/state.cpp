// SPDX-License-Identifier: BSL-1.0
// What --save and --resume ask of this model: apart from the loop, since files cost as much to compile as that does.
#include "../support/run_state_impl.hpp"
#include "train.hpp"

template class support::run_state<autoencoder::Autoencoder<kiln::Cpu>, kiln::optim::Adam<float, kiln::Cpu>>;
