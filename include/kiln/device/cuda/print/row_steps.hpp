// SPDX-License-Identifier: BSL-1.0
// How the threads that hold a row share it, as text: which of them a thread is, the rows that it comes to, and the
// steps of a row that are its own.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <kiln/core/version.hpp>
#include <kiln/device/cuda/plan/specialise_rows.hpp>
#include <kiln/device/cuda/print/print_fold.hpp>

namespace kiln::cuda::detail {

class row_steps {
 public:
  row_steps(const plan& p, std::string_view index) : p_(p), index_(index) {}

  std::string_view index() const { return index_; }
  bool held() const { return p_.held > 0; }
  bool by_warps() const { return p_.shape == kernel_shape::warp_per_row; }
  /// Whether a warp holds several rows at a time.
  bool several_rows_a_warp() const { return by_warps() && p_.lanes < 32; }
  /// Threads that hold a row.
  int group() const { return by_warps() ? p_.lanes : p_.threads * p_.cluster; }

  /// `lane` within those that hold a row, `first` of their rows, and after how many comes the next.
  void define_lanes(lines& out) const;
  /// Writes the loop over a thread's steps of a row: h, and where `inside` uses it the first element, i.
  void loop(lines& out, const lines& inside) const;
  /// Passes over held steps that lie beyond the end of the row, where each is whole or not there at all.
  void skip_missing(lines& out) const;
  /// `some`: how many elements of a step the row has, where steps may end within it.
  void count_some(lines& out) const;
  /// Folds over the threads of a row, all of which get the result.
  void fold_all(lines& out, const std::vector<fold>& folds);
  /// Folds over all threads of a block, or of a cluster.
  void fold_everyone(lines& out, const std::vector<fold>& folds) { fold_block(out, folds, folds_, p_.cluster); }
  /// Between the rows: nobody leaves anything for the next before all have taken what there is of this one.
  void end_row(lines& out) const;
  /// The shared memory in which the folds of these instructions meet.
  void declare_meeting(lines& out, const tape_view& t) const;
  /// Before the first row: every block of a cluster has begun.
  void begin(lines& out) const;

 private:
  // How many of the steps that a thread holds are whole in every row of this plan, which holds as few as it can.
  int whole_steps() const { return held() ? p_.held - (p_.filled ? 0 : 1) : 0; }

  const plan& p_;
  std::string_view index_;
  int folds_ = 0;
};

}  // namespace kiln::cuda::detail

#ifndef KILN_COMPILED
#include <kiln/device/cuda/print/row_steps_impl.hpp>
#endif
