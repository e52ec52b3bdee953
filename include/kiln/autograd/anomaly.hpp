// SPDX-License-Identifier: BSL-1.0
// detect_anomaly: while one lives, backward passes stop at the first nan and name the expression whose gradient made
// it. In a build of headers only, include this where it is wanted: it brings what prints formulas.
#pragma once

#include <vector>

#include <kiln/autograd/backward.hpp>
#include <kiln/autograd/pass_watch.hpp>

namespace kiln {

/// While it lives, backward passes of this thread look at every gradient after each step, which takes time, and throw
/// graph_error where one has become nan: the text has the expression's formula and the operand. May stand inside
/// another.
class detect_anomaly final : detail::pass_watch {
 public:
  detect_anomaly() : before_(std::exchange(detail::anomaly_watch, static_cast<detail::pass_watch*>(this))) {}
  detect_anomaly(const detect_anomaly&) = delete;
  detect_anomaly& operator=(const detect_anomaly&) = delete;
  ~detect_anomaly() override { detail::anomaly_watch = before_; }

 private:
  void start(const ref<gradient_record>& root) override;
  ref<tensor_state> complete(gradient_record&, const ref<tensor_state>& gradient) override { return gradient; }
  void done(const graph_node& node) override;
  void finish() override {}

  detail::pass_watch* before_;
};

}  // namespace kiln

#ifndef KILN_COMPILED
#include <kiln/autograd/anomaly_impl.hpp>
#endif
