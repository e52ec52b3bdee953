// SPDX-License-Identifier: BSL-1.0
// What --save and --resume ask of this model: apart from the loop, since files cost as much to compile as that does.
#include "../support/run_state_impl.hpp"
#include "train.hpp"

template class support::run_state<char_gpt::Gpt<kiln::Cpu>, kiln::optim::AdamW<float, kiln::Cpu>>;
