// SPDX-License-Identifier: BSL-1.0
// A training run in one file: modules, optimizers, schedulers, random numbers and how many steps there were. A run that
// is resumed from it goes on bit for bit as one that was not stopped. The file is a .safetensors file, so others read
// the weights: those of the first module are "model.fc1.weight" and so on.
#pragma once

#include <array>
#include <bit>
#include <cctype>
#include <concepts>
#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <kiln/core/philox.hpp>
#include <kiln/io/safetensors.hpp>
#include <kiln/io/state_dict.hpp>
#include <kiln/io/state_visitor.hpp>
#include <kiln/nn/members.hpp>
#include <kiln/optim/optimizer.hpp>
#include <kiln/optim/schedulers.hpp>

namespace kiln::io {

namespace detail {

template <class P>
concept ShowsState = requires(P& p, state_visitor& v) {
  p.visit_state(v);
};

/// What the names of a part begin with: what it is.
template <class P>
std::string kind_of_part() {
  if constexpr (std::derived_from<P, optim::optimizer>) {
    return "optimizer";
  } else if constexpr (std::derived_from<P, optim::scheduler>) {
    return "scheduler";
  } else if constexpr (std::same_as<P, generator>) {
    return "generator";
  } else if constexpr (std::is_arithmetic_v<P>) {
    return "number";
  } else if constexpr (ShowsState<P>) {
    std::string name(nn::detail::short_name<P>());
    for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return name;
  } else {
    return "model";
  }
}

inline void visit_generator(state_visitor& v, generator& random) {
  const random_stream now = random.state();
  std::array<std::int64_t, 2> state{std::bit_cast<std::int64_t>(now.seed), std::bit_cast<std::int64_t>(now.first)};
  v.scalars("state", state.data(), {2}, v.writes());
  if (v.writes())
    v.then([&random, state] {
      random.set_state({std::bit_cast<std::uint64_t>(state[0]), std::bit_cast<std::uint64_t>(state[1])});
    });
}

/// Visits one part under its name. Modules come first, since optimizers look at their parameters.
template <class P>
void visit_part(state_visitor& v, const std::string& name, P& part, bool modules) {
  using X = std::remove_const_t<P>;
  const bool is_module = kind_of_part<X>() == "model";
  if (is_module != modules) return;
  v.begin(name + ".");
  if constexpr (std::same_as<X, generator>) {
    visit_generator(v, part);
  } else if constexpr (std::is_arithmetic_v<X>) {
    v.begin("");
    v(name, part);
  } else if constexpr (ShowsState<P>) {
    part.visit_state(v);
  } else {
    for (const module_tensor& t : tensors_of(part)) {
      if (t.on_host)
        v.host_part(t.names[0], t.state, t.state->sizes, t.state->type);
      else if constexpr (!std::is_same_v<typename nn::detail::tensor_of<X>::device_type, Cpu>)
        visit_on<typename nn::detail::tensor_of<X>::device_type>(
            t, [&](const auto& x) { v.part(t.names[0], x, t.state->sizes, t.state->type); });
    }
  }
}

template <class... Parts>
void visit_parts(state_visitor& v, std::int64_t& step, Parts&... parts) {
  v.begin("");
  v.counter("step", step);
  v.begin("random.");
  visit_generator(v, default_generator());
  for (const bool modules : {true, false}) {
    std::map<std::string, int> seen;
    const auto visit = [&]<class P>(P& part) {
      const std::string kind = kind_of_part<std::remove_const_t<P>>();
      const int number = ++seen[kind];
      visit_part(v, number == 1 ? kind : kind + std::to_string(number), part, modules);
    };
    (visit(parts), ...);
  }
}

inline constexpr const char* checkpoint_format = "kiln checkpoint 1";

}  // namespace detail

/// Writes a checkpoint, whole or not at all: if anything stops it, the file that was there stays. `parts` are modules,
/// optimizers, schedulers, GradScaler, ExponentialMovingAverage, LBFGS, generators and numbers, in any order; the
/// default generator is always among them. Throws value_error for a negative step, and as write_safetensors.
template <class... Parts>
void save_checkpoint(const std::filesystem::path& path, std::int64_t step, Parts&... parts) {
  if (step < 0) throw value_error(message("save_checkpoint: step ", step, ": use the number of steps made, 0 or more"));
  tensor_map kept;
  detail::state_visitor v(kept, detail::state_visitor::mode::keep);
  detail::visit_parts(v, step, parts...);
  write_safetensors(path, kept, {{"format", detail::checkpoint_format}});
}

/// Puts the same parts, made as they were for save_checkpoint, into the state of a checkpoint, and returns its step.
/// Throws value_error that lists all that is missing, unexpected, impossible or of another shape, and as
/// read_safetensors. Whatever it throws, all parts are then as they were; only a GPU that fails while numbers are
/// copied to it leaves some written.
template <class... Parts>
std::int64_t load_checkpoint(const std::filesystem::path& path, Parts&... parts) {
  text_map texts;
  tensor_map kept = read_safetensors(path, &texts);
  if (texts["format"] != detail::checkpoint_format)
    throw io_error(message("load_checkpoint: ", path,
                           " is no checkpoint of this version; load(path, module) reads weights alone"));
  std::int64_t step = 0;
  for (const auto how : {detail::state_visitor::mode::compare, detail::state_visitor::mode::write}) {
    detail::state_visitor v(kept, how);
    detail::visit_parts(v, step, parts...);
    std::string problems = v.problems();
    for (const auto& [name, values] : kept)
      if (!v.used().contains(name)) problems += "\n  " + name + ": unexpected";
    if (!problems.empty())
      throw value_error(
          message("load_checkpoint: ", path,
                  " is of other parts than these: give those that were saved, in the same order:", problems));
    if (v.writes()) v.commit();
  }
  return step;
}

}  // namespace kiln::io
