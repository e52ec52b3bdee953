// SPDX-License-Identifier: BSL-1.0
// What the functions of q remember between calls: default dtype, settings, the generator of random numbers.
#pragma once

#include <atomic>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <kiln/core/dtype.hpp>
#include <kiln/core/error.hpp>
#include <kiln/dynamic/device.hpp>
#include <kiln/k/convert.hpp>

namespace kiln::k {

/// Random numbers as users of q know them: an mt19937 of 32 bits, of which a float takes the low 24 and a double 53 of
/// two draws, so a seed gives the numbers that their sessions show, on every platform.
class generator {
 public:
  static constexpr std::uint64_t first_seed = 67280421310721;

  void seed(std::uint64_t value) {
    seed_ = value;
    engine_.seed(static_cast<std::uint32_t>(value));
  }
  std::uint64_t current_seed() const { return seed_; }

  /// In [0, 1), a multiple of 2^-24.
  float uniform() { return static_cast<float>(engine_() & 0xffffff) * 0x1p-24f; }
  /// In [0, 1), a multiple of 2^-53.
  double uniform53() { return static_cast<double>(bits64() & ((std::uint64_t{1} << 53) - 1)) * 0x1p-53; }
  /// Of a normal distribution.
  double normal() {
    const double u = uniform53(), v = uniform53();
    return std::sqrt(-2 * std::log1p(-v)) * std::cos(2 * std::numbers::pi * u);
  }
  /// In [0, range), range > 0.
  std::int64_t below(std::int64_t range) {
    const auto bound = static_cast<std::uint64_t>(range);
    return static_cast<std::int64_t>((bound >> 32 ? bits64() : std::uint64_t{engine_()}) % bound);
  }

 private:
  std::uint64_t bits64() {
    const std::uint64_t high = engine_();
    return high << 32 | engine_();
  }
  std::uint64_t seed_ = first_seed;
  std::mt19937 engine_{static_cast<std::uint32_t>(first_seed)};
};

/// The state of this process's session with q. Only q's main thread calls.
struct session_state {
  dtype default_type = dtype::float32;
  bool strict = false;  // simple lists are never read as several arguments
  generator random;
};

inline session_state& session() {
  static session_state& state = *new session_state;
  return state;
}

/// The device that a symbol names: `cpu, `cuda, `cuda:1; none if it names no device.
/// @throws device_error for one that is not there
inline std::optional<dynamic::device> read_device(std::string_view name) {
  if (name == "cpu") return dynamic::device{};
  if (name == "mps") throw device_error("no mps device in this build of kilnq: use `cpu");
  if (name != "cuda" && !name.starts_with("cuda:")) return {};
  if (!dynamic::graph::installed_cuda.load(std::memory_order_relaxed))
    throw device_error(message("no CUDA device: this build of kilnq computes on the processor, so `", name,
                               " is not there; use `cpu or leave the device out"));
  int index = 0;
  if (name != "cuda") {
    const std::string_view digits = name.substr(5);
    const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
    if (digits.empty() || problem != std::errc{} || end != digits.data() + digits.size() || index < 0)
      throw device_error(message("`", name, " is no device: the first GPU is `cuda:0"));
  }
  const dynamic::device found{dynamic::device_kind::cuda, index};
  dynamic::check_device(found);
  return found;
}

/// What options of a tensor say.
struct tensor_options {
  std::optional<dtype> type;
  std::optional<bool> gradient;
  std::optional<dynamic::device> where;
  bool view = false;
};

/// Whether a symbol is an option of tensors; fills in what it says.
/// @throws device_error for devices, value_error for layouts that kiln does not have
inline bool read_tensor_option(std::string_view name, tensor_options& found) {
  if (const auto where = read_device(name)) {
    found.where = where;
    return true;
  }
  if (const auto type = dtype_of_symbol(name)) {
    found.type = type;
    return true;
  }
  if (name == "grad" || name == "nograd") {
    found.gradient = name == "grad";
    return true;
  }
  if (name == "view") return found.view = true;
  if (name == "strided" || name == "unpinned" || name == "contiguous" || name == "preserve") return true;
  for (std::string_view lacking : {"sparse", "pinned", "channel2d", "channel3d", "chalf", "cfloat", "cdouble"})
    if (name == lacking) throw value_error(message("kiln has no `", name, " tensors; leave the option out"));
  return false;
}

/// The options in a list of symbols.
/// @throws bare_error for a symbol that is none
inline tensor_options read_tensor_options(const std::vector<std::string>& names) {
  tensor_options found;
  for (const std::string& name : names)
    if (!read_tensor_option(name, found)) throw bare_error(message("unrecognized tensor option: `", name));
  if (found.view) throw value_error("`view is an option of tensor, for a simple list of q's");
  return found;
}

/// The tensor with the dtype, the device and the gradient flag that are asked for.
inline tensor with_options(tensor t, const tensor_options& options) {
  if (!t.defined()) return t;
  if (options.type && *options.type != t.type()) t = t.to(*options.type);
  if (options.where && *options.where != t.device()) {
    const bool leaf = t.is_leaf() && t.requires_grad();
    t = (leaf ? t.detach() : t).to(*options.where);
    if (leaf) t.requires_grad_();  // a parameter stays one
  }
  if (options.gradient) {
    if (!t.is_leaf()) t = t.detach();
    t.requires_grad_(*options.gradient);
  }
  return t;
}

}  // namespace kiln::k
