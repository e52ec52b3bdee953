// SPDX-License-Identifier: BSL-1.0
// Data of a model in batches, and the options of training and testing.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <kiln/dynamic/indexing.hpp>
#include <kiln/dynamic/shape.hpp>
#include <kiln/k/arguments.hpp>
#include <kiln/k/session.hpp>

namespace kiln::k {

/// Data of a model, and how it is gone through.
struct batches {
  std::vector<option> options;  // as q gave them, or as they are at first
  tensor input, target;         // all of it
  longs order;                  // the rows when shuffled; else empty
  std::int64_t next = 0;        // row at which the next batch begins
  tensor batch_input, batch_target;

  std::int64_t rows() const { return input.defined() && input.dim() > 0 ? input.sizes()[0] : 0; }

  object get(std::string_view name) const {
    for (const option& each : options)
      if (each.name == name) return each.value.get();
    throw value_error(message("unrecognized option `", name));
  }
  std::int64_t batch_size() const { return *read_long(get("batchsize")); }
  bool flag(std::string_view name) const { return read_flag(get(name)).value_or(false); }
  std::int64_t count() const {
    const std::int64_t size = batch_size();
    return flag("droplast") ? rows() / size : (rows() + size - 1) / size;
  }

  /// Cuts the next batch; false when there is none.
  bool advance() {
    const std::int64_t size = std::min(batch_size(), rows() - next);
    if (size <= 0 || (size < batch_size() && flag("droplast"))) {
      restore();
      return false;
    }
    const auto part = [&](const tensor& all) {
      if (!all.defined()) return all;
      if (order.empty()) return dynamic::narrow(all, 0, next, size);
      return dynamic::index_select(all, 0, copied(dtype::int64, {size}, order.data() + next).to(all.device()));
    };
    batch_input = part(input);
    batch_target = part(target);
    next += size;
    return true;
  }
  void restore() {
    next = 0;
    batch_input = batch_target = {};
  }
  void shuffle() {
    order.resize(static_cast<std::size_t>(rows()));
    std::iota(order.begin(), order.end(), 0);
    for (std::size_t i = 0; i + 1 < order.size(); ++i)
      std::swap(
          order[i],
          order[i + static_cast<std::size_t>(session().random.below(static_cast<std::int64_t>(order.size() - i)))]);
  }
};

namespace models {

inline std::vector<option> first_options(bool train) {
  std::vector<option> all;
  const auto add = [&](std::string_view name, object value) { all.push_back({std::string(name), owned(value)}); };
  add("batchsize", kj(train ? 32 : 100));
  for (std::string_view name : {"droplast", "hidden", "tensor", "dictionary"}) add(name, kb(0));
  add("metrics", make_symbol("loss"));
  add("task", kj(0));
  add("tasks", kj(1));
  if (!train) return all;
  for (std::string_view name : {"shuffle", "shufflecuda"}) add(name, kb(0));
  add("shuffleseed", kj(0));
  add("sync", kb(0));
  add("clipgroup", kb(0));
  add("clipnorm", kf(null_float));
  add("clipvalue", kf(null_float));
  return all;
}

/// Sets an option of the same kind of value.
inline void set(batches& data, std::string_view name, object value) {
  for (option& each : data.options) {
    if (each.name != name) continue;
    owned kept = owned::share(value);
    if (name == "batchsize") {
      const auto size = read_long(value);
      if (!size || *size < 1) throw value_error(message("`batchsize is a ", describe(value), ", expected 1 or more"));
    } else if (name == "metrics") {
      const auto names = read_symbols(value);
      if (!names) throw value_error("`metrics are symbols");
      for (const std::string& metric : *names) {
        bool known = false;
        for (std::string_view one : {"loss", "batchloss", "accuracy", "matches", "predict", "output"})
          known = known || one == metric;
        if (!known)
          throw value_error(message("unrecognized or not offered metric `", metric,
                                    ", expected some of loss batchloss accuracy matches predict output"));
      }
    } else if (name.starts_with("clip") && name != "clipgroup") {
      const auto limit = read_number(value);
      if (!limit) throw value_error(message("`", name, " is a ", describe(value), ", expected a number"));
      kept = owned(kf(*limit));
    } else if (value->type != each.value.get()->type) {
      throw value_error(message("`", name, " is a ", describe(value), ", expected a ", kind_name(each.value.get())));
    }
    each.value = std::move(kept);
    return;
  }
  throw value_error(message("unrecognized option `", name));
}

}  // namespace models

}  // namespace kiln::k
