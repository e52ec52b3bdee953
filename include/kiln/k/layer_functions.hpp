// SPDX-License-Identifier: BSL-1.0
// Layers without parameters as functions of their input and options: poolings, padding, gated and parametric units.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <kiln/dynamic/creation.hpp>
#include <kiln/dynamic/images.hpp>
#include <kiln/dynamic/indexing.hpp>
#include <kiln/dynamic/modules.hpp>
#include <kiln/dynamic/operators.hpp>
#include <kiln/dynamic/shape.hpp>
#include <kiln/k/arguments.hpp>
#include <kiln/k/definition.hpp>
#include <kiln/k/norms.hpp>
#include <kiln/k/registry.hpp>

namespace kiln::k::layer_functions {

/// The arguments behind the first as options of the layer of this name.
inline std::vector<option> options_behind(std::string_view name, arguments& given) {
  definition from;
  from.type = name;
  if (given.size() > 1)
    if (auto named = given.take_options()) from.named = std::move(*named);
  for (std::size_t i = 1; i < given.size(); ++i) from.positional.push_back(owned::share(given[i]));
  return options_by_name(from);
}

/// Numbers for rows and columns: one for both, or two; of lines the columns'.
inline pair2d pair_of(const option& from, bool lines, std::int64_t rows) {
  const auto found = read_longs(from.value.get());
  if (!found || found->empty() || found->size() > (lines ? 1u : 2u))
    throw value_error(message("option `", from.name, " is a ", describe(from.value.get()), ", expected a long",
                              lines ? "" : " or two"));
  return {lines ? rows : found->front(), found->back()};
}
inline bool flag_of(const option& from) {
  if (const auto found = read_flag(from.value.get())) return *found;
  throw value_error(message("option `", from.name, " is a ", describe(from.value.get()), ", expected a boolean"));
}

/// maxpool, avgpool and adaptavg of images (batch, channels, height, width) or lines (batch, channels, length); the
/// batch may be missing.
inline object pool(std::string_view name, object x) {
  arguments given(name, x, 1, 7);
  const bool lines = name.ends_with("1d"), largest = name.starts_with("max");
  std::optional<pair2d> kernel;
  max_pool2d_options most;
  avg_pool2d_options mean;
  for (const option& each : options_behind(name, given)) {
    if (is_null(each.value.get())) continue;
    if (each.name == "size")
      kernel = pair_of(each, lines, 1);
    else if (each.name == "stride")
      most.stride = mean.stride = pair_of(each, lines, 1);
    else if (each.name == "pad")
      most.padding = mean.padding = pair_of(each, lines, 0);
    else if (each.name == "dilate" && largest)
      most.dilation = pair_of(each, lines, 1);
    else if (each.name == "ceiling")
      most.ceil_mode = mean.ceil_mode = flag_of(each);
    else if (each.name == "countpad" && !largest)
      mean.count_include_pad = flag_of(each);
    else if (each.name == "divisor" && !largest && read_long(each.value.get()))
      mean.divisor_override = *read_long(each.value.get());
    else
      throw value_error(message("unrecognized option `", each.name));
  }
  if (!kernel) throw value_error("expects a size");
  const operand found = given.operand_at(0);
  const int rank = found.value.dim(), images = lines ? 3 : 4;
  if (rank != images && rank != images - 1)
    throw shape_error(
        message("expects ", images - 1, " or ", images, " dimensions, given sizes ", found.value.sizes()));
  tensor value = norms::floating(found.value);
  if (rank != images) value = dynamic::unsqueeze(value, 0);
  if (lines) value = dynamic::unsqueeze(value, -2);
  tensor result;
  if (name.starts_with("adapt")) {
    dynamic::options how;
    how.set("output_size", std::vector<std::int64_t>{kernel->height, kernel->width});
    result = dynamic::make_module("AdaptiveAvgPool2d", how)(value);
  } else {
    result = largest ? dynamic::max_pool2d(value, *kernel, most) : dynamic::avg_pool2d(value, *kernel, mean);
  }
  if (lines) result = dynamic::squeeze(result, -2);
  if (rank != images) result = dynamic::squeeze(result, 0);
  return respond(std::move(result), found.handle);
}

/// Where the elements of a padded dimension come from, in the same one.
inline longs padded(std::int64_t n, std::int64_t before, std::int64_t after, std::string_view mode) {
  const bool reflect = mode == "reflect", circular = mode == "circular";
  if ((reflect && (before >= n || after >= n)) || (circular && (before > n || after > n)) || n == 0)
    throw value_error(
        message("padding of ", before, " and ", after, " by `", mode, " needs more than ", n, " elements"));
  longs at;
  for (std::int64_t i = -before; i < n + after; ++i) {
    if (i >= 0 && i < n)
      at.push_back(i);
    else if (reflect)
      at.push_back(i < 0 ? -i : 2 * (n - 1) - i);
    else if (circular)
      at.push_back((i + n) % n);
    else
      at.push_back(i < 0 ? 0 : n - 1);
  }
  return at;
}

/// Elements added before and behind the last dimension, then the one before it, ...; negative numbers take away. The
/// mode is constant, reflect, replicate or circular, and the value that of constant ones.
struct padding {
  longs numbers;
  std::string mode = "constant";
  double value = 0;
};
/// Of the options pad, padmode (or mode, as ktorch calls it in a module), value; a number in the mode's place is the
/// value.
inline padding read_padding(const std::vector<option>& options) {
  padding how;
  for (const option& each : options) {
    if (is_null(each.value.get())) continue;
    const auto word = read_symbol(each.value.get());
    const auto number = read_number(each.value.get());
    const bool mode = each.name == "padmode" || each.name == "mode";
    if (const auto all = read_longs(each.value.get()); each.name == "pad" && all)
      how.numbers = *all;
    else if (mode && word)
      how.mode = *word;
    else if ((mode || each.name == "value") && number)
      how.value = *number;
    else
      throw value_error(message("option `", each.name, " is a ", describe(each.value.get())));
  }
  if (how.mode != "constant" && how.mode != "reflect" && how.mode != "replicate" && how.mode != "circular")
    throw value_error(message("no mode `", how.mode, ", expected one of constant reflect replicate circular"));
  return how;
}
inline tensor padded_by(const tensor& x, const padding& how) {
  const longs& numbers = how.numbers;
  if (numbers.empty() || numbers.size() % 2 || numbers.size() / 2 > static_cast<std::size_t>(x.dim()))
    throw value_error(
        message("padding by ", numbers.size(), " numbers: expects two for each padded dimension of sizes ", x.sizes()));
  tensor result = x;
  for (std::size_t i = 0; i < numbers.size(); i += 2) {
    const std::int64_t axis = result.dim() - 1 - static_cast<std::int64_t>(i / 2);
    const std::int64_t before = numbers[i], after = numbers[i + 1], n = result.size(axis);
    if (before < -n || after < -n || before > (1 << 30) || after > (1 << 30) || before + after < -n)
      throw value_error(message("padding of ", before, " and ", after, " for ", n, " elements"));
    if (how.mode != "constant") {
      result = dynamic::index_select(result, axis, index_beside(result, padded(n, before, after, how.mode)));
      continue;
    }
    std::vector<tensor> parts;
    const auto filled = [&](std::int64_t length) {
      longs sizes(result.sizes().begin(), result.sizes().end());
      sizes[static_cast<std::size_t>(axis)] = length;
      return dynamic::full(dims(sizes), how.value, dtype::float64).to(result.type()).to(result.device());
    };
    const std::int64_t from = std::max<std::int64_t>(-before, 0), end = n - std::max<std::int64_t>(-after, 0);
    parts.push_back(filled(std::max<std::int64_t>(before, 0)));
    parts.push_back(dynamic::narrow(result, axis, from, end - from));
    parts.push_back(filled(std::max<std::int64_t>(after, 0)));
    result = dynamic::cat(parts, axis);
  }
  return result;
}
/// What a layer without parameters does, once its options have been read.
using layer_function = std::function<tensor(const tensor& x, bool training)>;

inline layer_function pad_of(std::string_view, const std::vector<option>& options) {
  const padding how = read_padding(options);
  if (how.numbers.empty() || how.numbers.size() % 2)
    throw value_error(message("padding by ", how.numbers.size(), " numbers: expects two for each padded dimension"));
  return [how](const tensor& x, bool) { return padded_by(x, how); };
}
/// (x;pad[;mode][;value]).
inline object pad(std::string_view name, object x) {
  arguments given(name, x, 2, 4);
  const layer_function f = pad_of(name, options_behind(name, given));
  const operand found = given.operand_at(0);
  return respond(f(found.value, false), found.handle);
}

/// (x[;dim]): the first half by the sigmoid of the second.
inline object glu(std::string_view name, object x) {
  arguments given(name, x, 1, 2, long_trailing | options_trailing);
  std::int64_t wanted = -1;
  if (const auto named = given.take_options()) {
    for (const option& each : *named) {
      if (each.name != "dim" || !read_long(each.value.get()))
        throw value_error(message("unrecognized option `", each.name));
      wanted = *read_long(each.value.get());
    }
  } else if (given.size() > 1) {
    wanted = given.long_at(1);
  }
  const operand found = given.operand_at(0);
  const std::int64_t axis = normalize_axis(wanted, found.value.dim(), "glu"), n = found.value.size(axis);
  if (n % 2) throw shape_error(message("expects an even size along dimension ", axis, ", given ", found.value.sizes()));
  const tensor value = norms::floating(found.value);
  return respond(
      dynamic::narrow(value, axis, 0, n / 2) * dynamic::call("sigmoid", {dynamic::narrow(value, axis, n / 2, n / 2)}),
      found.handle);
}

/// (x;slope): x, by the slope where it is negative; one slope for all or one for each channel, the second dimension.
inline object prelu(std::string_view name, object x) {
  const arguments given(name, x, 2, 2);
  const operand found = given.operand_at(0), slope = given.operand_at(1);
  const tensor value = norms::floating(found.value);
  tensor factor = slope.value.to(value.type());
  if (factor.dim() > 1) throw shape_error(message("slopes of sizes ", factor.sizes(), ": expects one dimension"));
  if (factor.numel() != 1) {
    const std::int64_t channels = value.dim() > 1 ? value.size(1) : 1;
    if (factor.numel() != channels)
      throw shape_error(message(factor.numel(), " slopes for sizes ", value.sizes(), ", ", channels, " channels"));
    longs sizes(static_cast<std::size_t>(value.dim()), 1);
    sizes[1] = channels;
    factor = dynamic::reshape(factor, dims(sizes));
  } else {
    factor = dynamic::reshape(factor, longs{});
  }
  const tensor negative = dynamic::call("lt", {value, dynamic::scalar(0)});
  return respond(dynamic::call("where", {negative, factor * value, value}), found.handle || slope.handle);
}

}  // namespace kiln::k::layer_functions

namespace kiln::k {

inline void offer_layer_functions(registry& r) {
  for (std::string_view name : {"maxpool1d", "maxpool2d", "avgpool1d", "avgpool2d", "adaptavg1d", "adaptavg2d"})
    r.offer(name, layer_functions::pool);
  r.offer("pad", layer_functions::pad);
  r.offer("glu", layer_functions::glu);
  r.offer("prelu", layer_functions::prelu);
}

}  // namespace kiln::k
