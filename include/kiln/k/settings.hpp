// SPDX-License-Identifier: BSL-1.0
// Devices, random seeds, settings, and what the library says of itself.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <kiln/core/philox.hpp>
#include <kiln/core/version.hpp>
#include <kiln/k/arguments.hpp>
#include <kiln/k/objects.hpp>
#include <kiln/k/registry.hpp>
#include <kiln/k/session.hpp>

namespace kiln::k::settings {

inline bool empty(object x) {
  return is_null(x) || (x->type == mixed_type && x->count == 0);
}

/// (): seeds by device; long: seeds; device: its seed; (device;long): seeds it.
inline object seed(std::string_view name, object x) {
  if (empty(x))
    return make_dictionary(std::vector<std::string>{"cpu"},
                           make_longs(longs{static_cast<std::int64_t>(session().random.current_seed())}));
  const arguments given(name, x, 1, 2, longs_trailing);
  if (const auto device = read_symbol(given[0])) {
    if (!read_device(*device)) throw value_error(message("`", *device, " is no device"));
    if (given.size() == 1) return kj(static_cast<std::int64_t>(session().random.current_seed()));
  } else if (given.size() == 2) {
    given.refuse(0, "a device");
  }
  const std::int64_t value = given.long_at(given.size() - 1);
  const std::uint64_t chosen = value == null_long ? std::random_device{}() : static_cast<std::uint64_t>(value);
  session().random.seed(chosen);
  manual_seed(chosen);  // parameters and dropout draw from kiln's own generator
  return make_null();
}

/// How operations are computed: each at once or, fused, when a value is needed.
inline object setting(std::string_view name, object x) {
  struct row {
    std::string_view name;
    owned value;
  };
  std::vector<row> rows;
  const auto flag = [&](std::string_view key, bool on) { rows.push_back({key, owned(kb(on))}); };
  const auto number = [&](std::string_view key, std::int64_t value) { rows.push_back({key, owned(kj(value))}); };
  flag("mkl", false);
  flag("openmp", false);
  number("threads", static_cast<std::int64_t>(std::thread::hardware_concurrency()));
  number("interopthreads", 1);
  flag("mps", false);
  flag("cuda", dynamic::cuda_devices() > 0);
  for (std::string_view key : {"magma", "cudnn"}) flag(key, false);
  number("cudnnversion", 0);
  number("cudadevices", dynamic::cuda_devices());
  for (std::string_view key : {"benchmark", "deterministic", "cudnndeterministic", "stackframe", "alloptions"})
    flag(key, key == "deterministic");
  flag("complexfirst", true);
  flag("lazy", dynamic::lazy());
  flag("strict", session().strict);
  flag("release", temporaries().on());
  if (empty(x)) {
    std::vector<std::string> names;
    std::vector<owned> values;
    for (row& r : rows) {
      names.emplace_back(r.name);
      values.push_back(std::move(r.value));
    }
    return make_dictionary(names, make_list(std::move(values)));
  }
  const arguments given(name, x, 1, 2, any_trailing);
  const auto key = read_symbol(given[0]);
  if (!key) given.refuse(0, "the name of a setting");
  for (row& r : rows) {
    if (r.name != *key) continue;
    if (given.size() == 1) return r.value.release();
    const auto on = read_flag(given[1]);
    if (!on) given.refuse(1, "a boolean");
    if (*key == "lazy")
      dynamic::set_lazy(*on);
    else if (*key == "strict")
      session().strict = *on;
    else if (*key == "release")
      temporaries().set(*on);
    else if (*on != (r.value.get()->type == -boolean_type && r.value.get()->byte))
      throw value_error(message("`", *key, " cannot be changed in this build"));
    return make_null();
  }
  throw value_error(message("no setting `", *key, "; setting() lists all"));
}

inline object cudadevices(std::string_view, object x) {
  const int count = dynamic::cuda_devices();
  if (is_null(x)) return kj(count);
  std::vector<std::string> names;
  if (count > 0) names.emplace_back("cuda");
  for (int i = 0; i < count; ++i) names.push_back(dynamic::name({dynamic::device_kind::cuda, i}));
  return make_symbols(names);
}

/// (): the GPU that `cuda names, the first; a symbol can only say the same.
inline object cudadevice(std::string_view, object x) {
  const auto symbol = read_symbol(x);
  const auto found = read_device(symbol.value_or("cuda"));
  if (!found || found->on_host()) throw value_error(message("`", *symbol, " is no CUDA device"));
  if (found->index != 0) throw value_error(message("`cuda is `cuda:0 here: name `", *symbol, " where it is meant"));
  return symbol ? make_null() : make_symbol(dynamic::name(*found));
}

inline object sync(std::string_view, object x) {
  if (const auto device = read_symbol(x)) {
    const auto where = read_device(*device);
    if (!where) throw value_error(message("`", *device, " is no device"));
    dynamic::synchronize(*where);
  } else if (const auto* t = find_held_as<held_tensor>(x); t && t->value.defined()) {
    t->value.eval();
    dynamic::synchronize(t->value.device());
  }
  return make_null();
}

inline std::string version_text() {
  return message(KILN_VERSION_MAJOR, ".", KILN_VERSION_MINOR, ".", KILN_VERSION_PATCH);
}

inline object version(std::string_view, object x) {
  if (is_null(x)) return kf(KILN_VERSION_MAJOR + KILN_VERSION_MINOR / 100.0);
  return make_text(version_text());
}

inline object config(std::string_view, object) {
  return make_list([] {
    std::vector<owned> lines;
    lines.emplace_back(make_text("kiln " + version_text()));
    lines.emplace_back(make_text(message("devices: cpu", dynamic::cuda_devices() > 0 ? " cuda" : "")));
    return lines;
  }());
}

/// The options of a tensor, or of new ones.
inline object options(std::string_view, object x) {
  const std::vector<std::string> names{"device", "dtype", "layout", "gradient", "pin", "memory"};
  std::string type(symbol_of(session().default_type)), gradient = "nograd", where = "cpu";
  if (!empty(x)) {
    const tensor t = arguments("options", x, 1, 1).tensor_at(0).value;
    type = t.defined() ? std::string(symbol_of(t.type())) : "";
    gradient = t.defined() && t.requires_grad() ? "grad" : "nograd";
    if (t.defined()) where = device_of(t);
  }
  return make_dictionary(
      names, make_symbols(std::vector<std::string>{where, type, "strided", gradient, "unpinned", "contiguous"}));
}

/// The tensor with the options of one argument: symbols, or an example.
inline tensor moved(const tensor& t, object how) {
  if (const auto names = read_symbols(how); names && how->type != mixed_type) {
    const tensor_options options = read_tensor_options(*names);
    return with_options(t, options);
  }
  if (const auto* like = find_held_as<held_tensor>(how)) return t.to(like->value.type()).to(like->value.device());
  throw value_error(message("argument 2 is a ", describe(how), ", expected device and dtype symbols or a tensor"));
}

}  // namespace kiln::k::settings

namespace kiln::k {

/// Objects whose tensors can be moved to another device or dtype implement this beside `held`.
struct movable_object {
  /// @throws as the options ask for what is not there; nothing has changed then
  virtual void move_to(const tensor_options& options) = 0;

 protected:
  ~movable_object() = default;
};

namespace settings {

inline object to(std::string_view name, object x) {
  const arguments given(name, x, 2, 3);
  if (given.size() == 3 && !read_flag(given[2])) given.refuse(2, "a boolean");
  held* what = find_held(given[0]);
  if (auto* t = dynamic_cast<held_tensor*>(what)) {
    t->value = moved(t->value, given[1]);
  } else if (auto* list = dynamic_cast<held_list*>(what)) {
    std::vector<tensor> values;
    for (const tensor& each : list->list->values) values.push_back(moved(each, given[1]));
    list->list->values = std::move(values);
  } else if (auto* movable = dynamic_cast<movable_object*>(what)) {
    const auto names = read_symbols(given[1]);
    if (!names) given.refuse(1, "device and dtype symbols");
    movable->move_to(read_tensor_options(*names));
  } else {
    given.refuse(0, "a tensor, vector, dict or module");
  }
  return make_null();
}

inline object copyto(std::string_view name, object x) {
  const arguments given(name, x, 2, 3);
  const tensor t = given.tensor_at(0).value;
  const tensor result = moved(t, given[1]);
  return tensor_handle(result.defined() && result.cell() == t.cell() ? t.clone() : result);
}

}  // namespace settings

inline void offer_settings(registry& r) {
  r.offer("seed", settings::seed);
  r.offer("setting", settings::setting);
  r.offer("cudadevices", settings::cudadevices);
  r.offer("cudadevice", settings::cudadevice);
  r.offer("sync", settings::sync);
  r.offer("version", settings::version);
  r.offer("config", settings::config);
  r.offer("options", settings::options);
  r.offer("to", settings::to);
  r.offer("copyto", settings::copyto);
}

}  // namespace kiln::k
