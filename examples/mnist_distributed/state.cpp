// SPDX-License-Identifier: BSL-1.0
// What --save and --resume ask of this model: apart from the loop, since files cost as much to compile as that does.
#include "../mnist_mlp/train.hpp"
#include "../support/run_state_impl.hpp"

template class support::run_state<mnist::Mlp<kiln::Cpu>, kiln::optim::SGD<float, kiln::Cpu>>;
