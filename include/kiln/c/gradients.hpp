// SPDX-License-Identifier: BSL-1.0
// The functions of c.h about gradients.
#pragma once

#include <utility>

#include <kiln/c/arguments.hpp>

extern "C" {

kiln_status kiln_set_grad_enabled(int32_t on, int32_t* before) {
  // C has no scopes: what no_grad does until the end of one stays until the next call here.
  const bool was = std::exchange(kiln::detail::recording, on != 0);
  if (before) *before = was;
  return KILN_OK;
}
kiln_status kiln_set_requires_grad(kiln_tensor x, int32_t on) {
  return kiln::c::guarded("kiln_set_requires_grad", [&] { kiln::c::get(x).requires_grad_(on != 0); });
}
kiln_status kiln_requires_grad(kiln_tensor x, int32_t* out) {
  return kiln::c::guarded_value("kiln_requires_grad", out,
                                [&] { return std::int32_t{kiln::c::get(x).requires_grad()}; });
}
kiln_status kiln_backward(kiln_tensor x, kiln_tensor gradient, int32_t retain_graph) {
  using namespace kiln::c;
  return guarded("kiln_backward", [&] { get(x).backward(get_optional(gradient), retain_graph != 0); });
}
kiln_status kiln_grad(kiln_tensor x, kiln_tensor* out) {
  using namespace kiln::c;
  if (out) *out = {};
  return guarded_value("kiln_grad", out, [&] {
    kiln::dynamic::tensor grad = get(x).grad();
    return grad.defined() ? handles<kiln_tensor>().insert(std::move(grad)) : kiln_tensor{};
  });
}
kiln_status kiln_zero_grad(kiln_tensor x) {
  return kiln::c::guarded("kiln_zero_grad", [&] { kiln::c::get(x).zero_grad(); });
}
kiln_status kiln_detach(kiln_tensor x, kiln_tensor* out) {
  return kiln::c::guarded_new("kiln_detach", out, [&] { return kiln::c::get(x).detach(); });
}

}  // extern "C"
