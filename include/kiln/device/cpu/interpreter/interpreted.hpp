// SPDX-License-Identifier: BSL-1.0
// A program that is interpreted: what makes and keeps it.
#pragma once

#include <memory>

#include <kiln/core/version.hpp>
#include <kiln/device/cpu/kernel/compiled.hpp>
#include <kiln/device/cpu/processor/isa.hpp>

namespace kiln::cpu::inline KILN_VERSION_ISA {

namespace interpreter {
struct program_plan;
}

/// A program to interpret. Keep it: making one costs some microseconds, and tasks point to `program()`.
class interpreted {
 public:
  /// The program of a tape whose composite ops are written out (`expand`). `stores` is the type of each result,
  /// `reduction_rooted` says that the result is one value per row. Throws value_error for a tape that has more tensors
  /// than one kernel takes, or ops that are not among kiln's.
  interpreted(const tape_view& tape, const dtype* stores, bool reduction_rooted);
  ~interpreted();
  interpreted(const interpreted&) = delete;
  interpreted& operator=(const interpreted&) = delete;

  const compiled& program() const { return *program_; }

 private:
  std::unique_ptr<interpreter::program_plan> plan_;
  const compiled* program_;
};

/// The same as an object that whoever needs it shares.
std::shared_ptr<const compiled> interpret(const tape_view& tape, const dtype* stores, bool reduction_rooted);

}  // namespace kiln::cpu::inline KILN_VERSION_ISA
