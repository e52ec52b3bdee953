// SPDX-License-Identifier: BSL-1.0
// The functions of c.h that make tensors, ask them and copy their elements; the version, the error, the seed.
#pragma once

#include <kiln/c/arguments.hpp>
#include <kiln/core/philox.hpp>
#include <kiln/dynamic/creation.hpp>

namespace kiln::c {

/// Throws shape_error unless `bytes` is what the elements need.
inline void check_bytes(dtype type, const dims& sizes, std::int64_t elements, std::size_t bytes) {
  // By division: the product may not fit.
  if (bytes % size_of(type) != 0 || bytes / size_of(type) != static_cast<std::size_t>(elements))
    throw shape_error(message("a tensor of ", name(type), sizes, " has ", elements, " elements of ", size_of(type),
                              " bytes, and memory of ", bytes, " bytes was given: they must be equal"));
}

}  // namespace kiln::c

extern "C" {

const char* kiln_version(void) {
  static const std::string* const text = new std::string(
      kiln::message(kiln::version.major_part, '.', kiln::version.minor_part, '.', kiln::version.patch_part));
  return text->c_str();
}
const char* kiln_last_error(void) {
  return kiln::c::failure().text();
}
int64_t kiln_live_handles(void) {
  using namespace kiln::c;
  return handles<kiln_tensor>().size() + handles<kiln_module>().size() + handles<kiln_optimizer>().size();
}
kiln_status kiln_seed(uint64_t seed) {
  return kiln::c::guarded("kiln_seed", [&] { kiln::manual_seed(seed); });
}

kiln_status kiln_from_host(kiln_dtype type, const int64_t* sizes, int32_t n_sizes, const void* data, size_t bytes,
                           kiln_tensor* out) {
  using namespace kiln::c;
  return guarded_new("kiln_from_host", out, [&] {
    const kiln::dims shape = dims_of(sizes, n_sizes);
    const kiln::dtype of = type_of(type);
    check_bytes(of, shape, kiln::count(shape), bytes);
    return kiln::dynamic::from_host(of, shape, data);
  });
}
kiln_status kiln_zeros(kiln_dtype type, const int64_t* sizes, int32_t n_sizes, kiln_tensor* out) {
  using namespace kiln::c;
  return guarded_new("kiln_zeros", out, [&] { return kiln::dynamic::zeros(dims_of(sizes, n_sizes), type_of(type)); });
}
kiln_status kiln_ones(kiln_dtype type, const int64_t* sizes, int32_t n_sizes, kiln_tensor* out) {
  using namespace kiln::c;
  return guarded_new("kiln_ones", out, [&] { return kiln::dynamic::ones(dims_of(sizes, n_sizes), type_of(type)); });
}
kiln_status kiln_full(kiln_dtype type, const int64_t* sizes, int32_t n_sizes, double value, kiln_tensor* out) {
  using namespace kiln::c;
  return guarded_new("kiln_full", out,
                     [&] { return kiln::dynamic::full(dims_of(sizes, n_sizes), value, type_of(type)); });
}
kiln_status kiln_arange(kiln_dtype type, double start, double end, double step, kiln_tensor* out) {
  using namespace kiln::c;
  return guarded_new("kiln_arange", out, [&] { return kiln::dynamic::arange(start, end, step, type_of(type)); });
}
kiln_status kiln_randn(kiln_dtype type, const int64_t* sizes, int32_t n_sizes, kiln_tensor* out) {
  using namespace kiln::c;
  return guarded_new("kiln_randn", out, [&] { return kiln::dynamic::randn(dims_of(sizes, n_sizes), type_of(type)); });
}
kiln_status kiln_rand(kiln_dtype type, const int64_t* sizes, int32_t n_sizes, kiln_tensor* out) {
  using namespace kiln::c;
  return guarded_new("kiln_rand", out, [&] { return kiln::dynamic::rand(dims_of(sizes, n_sizes), type_of(type)); });
}
kiln_status kiln_scalar_float(double value, kiln_dtype type, kiln_tensor* out) {
  using namespace kiln::c;
  return guarded_new("kiln_scalar_float", out, [&] { return kiln::dynamic::scalar(value, type_of(type)); });
}
kiln_status kiln_scalar_int(int64_t value, kiln_dtype type, kiln_tensor* out) {
  using namespace kiln::c;
  return guarded_new("kiln_scalar_int", out, [&] { return kiln::dynamic::scalar(std::int64_t{value}, type_of(type)); });
}

kiln_status kiln_tensor_share(kiln_tensor x, kiln_tensor* out) {
  return kiln::c::guarded_new("kiln_tensor_share", out, [&] { return kiln::c::get(x); });
}
kiln_status kiln_tensor_free(kiln_tensor x) {
  return kiln::c::guarded("kiln_tensor_free", [&] { kiln::c::handles<kiln_tensor>().erase(x); });
}
kiln_status kiln_tensor_dtype(kiln_tensor x, kiln_dtype* out) {
  return kiln::c::guarded_value("kiln_tensor_dtype", out,
                                [&] { return static_cast<kiln_dtype>(kiln::c::get(x).type()); });
}
kiln_status kiln_tensor_dim(kiln_tensor x, int32_t* out) {
  return kiln::c::guarded_value("kiln_tensor_dim", out, [&] { return std::int32_t{kiln::c::get(x).dim()}; });
}
kiln_status kiln_tensor_sizes(kiln_tensor x, int64_t* out, int32_t capacity) {
  return kiln::c::guarded("kiln_tensor_sizes", [&] {
    const kiln::dims sizes = kiln::c::get(x).sizes();
    if (capacity < sizes.rank())
      throw kiln::shape_error(kiln::message("room for ", capacity, " sizes, and the shape is ", sizes));
    if (!sizes.empty() && !out) throw kiln::value_error("`out` is a null pointer: nowhere to write the sizes");
    for (int i = 0; i < sizes.rank(); ++i) out[i] = sizes[i];
  });
}
kiln_status kiln_tensor_numel(kiln_tensor x, int64_t* out) {
  return kiln::c::guarded_value("kiln_tensor_numel", out, [&] { return kiln::c::get(x).numel(); });
}
kiln_status kiln_eval(kiln_tensor x) {
  return kiln::c::guarded("kiln_eval", [&] { kiln::c::get(x).eval(); });
}
kiln_status kiln_to_host(kiln_tensor x, void* to, size_t bytes) {
  return kiln::c::guarded("kiln_to_host", [&] {
    const kiln::dynamic::tensor what = kiln::c::get(x);
    kiln::c::check_bytes(what.type(), what.sizes(), what.numel(), bytes);
    if (bytes && !to) throw kiln::value_error("`to` is a null pointer: nowhere to write the elements");
    what.to_host(to);
  });
}
kiln_status kiln_item(kiln_tensor x, double* out) {
  return kiln::c::guarded_value("kiln_item", out, [&] { return kiln::c::get(x).item(); });
}
kiln_status kiln_item_int64(kiln_tensor x, int64_t* out) {
  return kiln::c::guarded_value("kiln_item_int64", out, [&] { return kiln::c::get(x).item_int64(); });
}
kiln_status kiln_to_dtype(kiln_tensor x, kiln_dtype type, kiln_tensor* out) {
  using namespace kiln::c;
  return guarded_new("kiln_to_dtype", out, [&] { return get(x).to(type_of(type)); });
}
kiln_status kiln_assign(kiln_tensor x, kiln_tensor values) {
  return kiln::c::guarded("kiln_assign", [&] { kiln::c::get(x).assign_(kiln::c::get(values)); });
}

}  // extern "C"
