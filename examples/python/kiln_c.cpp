// SPDX-License-Identifier: BSL-1.0
#include <kiln/c_api.hpp>
