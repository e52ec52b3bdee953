// SPDX-License-Identifier: BSL-1.0
// What takes long to compile of kilnq, apart from the rest, which is then quick to build again.
#include <kiln/k/decompositions_impl.hpp>
