// SPDX-License-Identifier: BSL-1.0
// What becomes of the results of a row program, as text: stored for each element, one value for each row, or added up
// along rows, across them, or altogether.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <kiln/core/version.hpp>
#include <kiln/device/cuda/print/print_map.hpp>
#include <kiln/device/cuda/print/row_steps.hpp>

namespace kiln::cuda::detail {

class row_results {
 public:
  row_results(const plan& p, const tape_view& t, const walk& at, row_steps& steps)
      : p_(p), t_(t), at_(at), steps_(steps) {}

  /// Sums over the rows that a thread comes to, and along one of them.
  void declare_shares(lines& out) const;
  void declare_row_sums(lines& out) const;
  /// For a step of the pass that has the results: before its elements, element k, and after.
  void declare_step(lines& out) const;
  void put_element(lines& out, statements& values) const;
  void store_step(lines& out) const;
  /// After the passes: results that are one value per row.
  void deliver_rows(lines& out, statements& values) const;
  void deliver_row_sums(lines& out) const;
  /// After the rows: the share of a result that a block or cluster has of its rows, one row, or one value.
  void deliver_shares(lines& out) const;

 private:
  std::string_view computed(int r) const { return value_name(p_.stores[static_cast<std::size_t>(r)]); }
  bool of_elements(int r) const { return at_.wanted(r) && at_.sum(r) == summed::nothing; }
  void deliver_share_of_everything(lines& out, int r) const;
  void deliver_share_of_a_row(lines& out, int r) const;
  // The number of a block or cluster among those that leave shares.
  std::string holder() const {
    return steps_.by_warps() ? message(steps_.index(), "(blockIdx.x)") : std::string("first");
  }
  fold fold_of_sum(int r) const { return {message("y", r, "_sum"), "adding()", message(computed(r), "(0)")}; }

  const plan& p_;
  const tape_view& t_;
  const walk& at_;
  row_steps& steps_;
};

}  // namespace kiln::cuda::detail

#ifndef KILN_COMPILED
#include <kiln/device/cuda/print/row_results_impl.hpp>
#endif
