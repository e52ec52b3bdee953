// SPDX-License-Identifier: BSL-1.0
// Files of tensors, apart from the rest of kilnq.
#include <kiln/k/files_impl.hpp>
