// SPDX-License-Identifier: BSL-1.0
// What the page shows of its function before it learns anything: a unit of its own, function.cpp.
#pragma once

namespace knossos {

/// Prints relu3 and its derivatives, of a number and of a tensor, and as C++; draws both into relu3.png.
void show_function();

}  // namespace knossos
