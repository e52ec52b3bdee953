// SPDX-License-Identifier: BSL-1.0
// Runs a program on the device that was asked for, and says in one sentence what went wrong.
#pragma once

#include "options.hpp"

namespace support {

/// Calls on_cpu() or on_cuda(), with the threads and the seed of the options. Returns the exit code.
int run(const char* program, const options& with, void (*on_cpu)(const options&), void (*on_cuda)(const options&));

}  // namespace support
