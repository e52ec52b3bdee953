// SPDX-License-Identifier: BSL-1.0
// The functions of c.h that compute: pointwise by name, reductions, products, views.
#pragma once

#include <kiln/c/arguments.hpp>
#include <kiln/dynamic/indexing.hpp>
#include <kiln/dynamic/products.hpp>
#include <kiln/dynamic/shape.hpp>

extern "C" {

kiln_status kiln_call(const char* name, const kiln_tensor* operands, int32_t n_operands, kiln_tensor* out) {
  using namespace kiln::c;
  return guarded_new("kiln_call", out, [&] {
    return kiln::dynamic::call(text_of(name, "name"), all_of(operands, n_operands, "operands"));
  });
}
kiln_status kiln_reduce(const char* name, kiln_tensor x, const int64_t* axes, int32_t n_axes, int32_t keepdim,
                        kiln_tensor* out) {
  using namespace kiln::c;
  return guarded_new("kiln_reduce", out, [&] {
    return kiln::dynamic::reduce(text_of(name, "name"), get(x), list_of(axes, n_axes, "axes"), keepdim != 0);
  });
}
kiln_status kiln_argmax(kiln_tensor x, int64_t axis, int32_t keepdim, kiln_tensor* out) {
  using namespace kiln::c;
  return guarded_new("kiln_argmax", out, [&] {
    return kiln::dynamic::argmax(get(x), list_of<std::int64_t>(&axis, 1, "axis"), keepdim != 0);
  });
}
kiln_status kiln_softmax(kiln_tensor x, int64_t axis, kiln_tensor* out) {
  return kiln::c::guarded_new("kiln_softmax", out, [&] { return kiln::dynamic::softmax(kiln::c::get(x), axis); });
}
kiln_status kiln_log_softmax(kiln_tensor x, int64_t axis, kiln_tensor* out) {
  return kiln::c::guarded_new("kiln_log_softmax", out,
                              [&] { return kiln::dynamic::log_softmax(kiln::c::get(x), axis); });
}
kiln_status kiln_matmul(kiln_tensor a, kiln_tensor b, kiln_tensor* out) {
  using namespace kiln::c;
  return guarded_new("kiln_matmul", out, [&] { return kiln::dynamic::matmul(get(a), get(b)); });
}
kiln_status kiln_linear(kiln_tensor x, kiln_tensor weight, kiln_tensor bias, kiln_tensor* out) {
  using namespace kiln::c;
  return guarded_new("kiln_linear", out,
                     [&] { return kiln::dynamic::linear(get(x), get(weight), get_optional(bias)); });
}
kiln_status kiln_reshape(kiln_tensor x, const int64_t* sizes, int32_t n_sizes, kiln_tensor* out) {
  using namespace kiln::c;
  return guarded_new("kiln_reshape", out, [&] { return kiln::dynamic::reshape(get(x), dims_of(sizes, n_sizes)); });
}
kiln_status kiln_transpose(kiln_tensor x, int64_t a, int64_t b, kiln_tensor* out) {
  return kiln::c::guarded_new("kiln_transpose", out, [&] { return kiln::dynamic::transpose(kiln::c::get(x), a, b); });
}
kiln_status kiln_permute(kiln_tensor x, const int64_t* order, int32_t n_order, kiln_tensor* out) {
  using namespace kiln::c;
  return guarded_new("kiln_permute", out,
                     [&] { return kiln::dynamic::permute(get(x), dims_of(order, n_order, "order")); });
}
kiln_status kiln_narrow(kiln_tensor x, int64_t axis, int64_t begin, int64_t length, kiln_tensor* out) {
  return kiln::c::guarded_new("kiln_narrow", out,
                              [&] { return kiln::dynamic::narrow(kiln::c::get(x), axis, begin, length); });
}
kiln_status kiln_select(kiln_tensor x, int64_t axis, int64_t index, kiln_tensor* out) {
  return kiln::c::guarded_new("kiln_select", out, [&] { return kiln::dynamic::select(kiln::c::get(x), axis, index); });
}
kiln_status kiln_cat(const kiln_tensor* parts, int32_t n_parts, int64_t axis, kiln_tensor* out) {
  using namespace kiln::c;
  return guarded_new("kiln_cat", out, [&] { return kiln::dynamic::cat(all_of(parts, n_parts, "parts"), axis); });
}

}  // extern "C"
