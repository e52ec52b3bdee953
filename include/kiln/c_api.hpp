// SPDX-License-Identifier: BSL-1.0
// What <kiln/c.h> declares. Include it in exactly one file of a program or library: its functions are defined there.
#pragma once

#include <kiln/c/gradients.hpp>
#include <kiln/c/models.hpp>
#include <kiln/c/operations.hpp>
#include <kiln/c/tensors.hpp>
