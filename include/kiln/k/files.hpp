// SPDX-License-Identifier: BSL-1.0
// Save and Load: tensors, dicts of them, modules, optimizers and models to files and back, .npy for one tensor,
// .safetensors for all. Who links kiln::compiled compiles files_impl.hpp in a file of its own, once.
#pragma once

#include <kiln/core/version.hpp>
#include <kiln/k/registry.hpp>

namespace kiln::k {

void offer_files(registry& r);

}  // namespace kiln::k

#ifndef KILN_COMPILED
#include <kiln/k/files_impl.hpp>
#endif
