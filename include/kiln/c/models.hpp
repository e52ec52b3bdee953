// SPDX-License-Identifier: BSL-1.0
// The functions of c.h about modules, losses and optimizers.
#pragma once

#include <cstring>

#include <kiln/c/arguments.hpp>
#include <kiln/dynamic/losses.hpp>
#include <kiln/dynamic/modules.hpp>
#include <kiln/dynamic/optimizers.hpp>

namespace kiln::c {

/// A parameter with its path. Throws index_error.
inline std::pair<std::string, dynamic::tensor> parameter_of(kiln_module m, std::int64_t index) {
  dynamic::module::named_tensors all = get(m).named_parameters();
  if (index < 0 || static_cast<std::size_t>(index) >= all.size())
    throw index_error(message("parameter ", index, " of a module that has ", all.size(), ": they count from 0"));
  return std::move(all[static_cast<std::size_t>(index)]);
}

}  // namespace kiln::c

extern "C" {

kiln_status kiln_module_create(const char* name, const kiln_option* options, int32_t n_options, kiln_module* out) {
  using namespace kiln::c;
  return guarded_new("kiln_module_create", out,
                     [&] { return kiln::dynamic::make_module(text_of(name, "name"), options_of(options, n_options)); });
}
kiln_status kiln_module_sequential(const kiln_module* parts, int32_t n_parts, kiln_module* out) {
  using namespace kiln::c;
  return guarded_new("kiln_module_sequential", out,
                     [&] { return kiln::dynamic::sequential(all_of(parts, n_parts, "parts")); });
}
kiln_status kiln_module_free(kiln_module m) {
  return kiln::c::guarded("kiln_module_free", [&] { kiln::c::handles<kiln_module>().erase(m); });
}
kiln_status kiln_module_forward(kiln_module m, kiln_tensor x, kiln_tensor* out) {
  using namespace kiln::c;
  return guarded_new("kiln_module_forward", out, [&] { return get(m).forward(get(x)); });
}
kiln_status kiln_module_train(kiln_module m, int32_t on) {
  return kiln::c::guarded("kiln_module_train", [&] { kiln::c::get(m).train(on != 0); });
}
kiln_status kiln_module_parameter_count(kiln_module m, int64_t* out) {
  return kiln::c::guarded_value("kiln_module_parameter_count", out,
                                [&] { return static_cast<std::int64_t>(kiln::c::get(m).named_parameters().size()); });
}
kiln_status kiln_module_parameter(kiln_module m, int64_t index, kiln_tensor* out) {
  return kiln::c::guarded_new("kiln_module_parameter", out, [&] { return kiln::c::parameter_of(m, index).second; });
}
kiln_status kiln_module_parameter_name(kiln_module m, int64_t index, char* to, size_t capacity) {
  return kiln::c::guarded("kiln_module_parameter_name", [&] {
    const std::string name = kiln::c::parameter_of(m, index).first;
    if (!to) throw kiln::value_error("`to` is a null pointer: nowhere to write the name");
    if (capacity <= name.size())
      throw kiln::value_error(
          kiln::message("room for ", capacity, " bytes, and \"", name, "\" needs ", name.size() + 1));
    std::memcpy(to, name.c_str(), name.size() + 1);
  });
}

kiln_status kiln_loss(const char* name, kiln_tensor input, kiln_tensor target, const kiln_option* options,
                      int32_t n_options, kiln_tensor* out) {
  using namespace kiln::c;
  return guarded_new("kiln_loss", out, [&] {
    return kiln::dynamic::make_loss(text_of(name, "name"), options_of(options, n_options))(get(input), get(target));
  });
}

kiln_status kiln_optimizer_create(const char* name, const kiln_tensor* parameters, int32_t n_parameters,
                                  const kiln_option* options, int32_t n_options, kiln_optimizer* out) {
  using namespace kiln::c;
  return guarded_new("kiln_optimizer_create", out, [&] {
    return kiln::dynamic::make_optimizer(text_of(name, "name"), all_of(parameters, n_parameters, "parameters"),
                                         options_of(options, n_options));
  });
}
kiln_status kiln_optimizer_free(kiln_optimizer o) {
  return kiln::c::guarded("kiln_optimizer_free", [&] { kiln::c::handles<kiln_optimizer>().erase(o); });
}
kiln_status kiln_optimizer_step(kiln_optimizer o) {
  return kiln::c::guarded("kiln_optimizer_step", [&] { kiln::c::get(o).step(); });
}
kiln_status kiln_optimizer_zero_grad(kiln_optimizer o) {
  return kiln::c::guarded("kiln_optimizer_zero_grad", [&] { kiln::c::get(o).zero_grad(); });
}
kiln_status kiln_optimizer_lr(kiln_optimizer o, double* out) {
  return kiln::c::guarded_value("kiln_optimizer_lr", out, [&] { return kiln::c::get(o).lr(); });
}
kiln_status kiln_optimizer_set_lr(kiln_optimizer o, double lr) {
  return kiln::c::guarded("kiln_optimizer_set_lr", [&] { kiln::c::get(o).set_lr(lr); });
}

}  // extern "C"
