// SPDX-License-Identifier: BSL-1.0
// A module of kiln's with what q said of it.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <kiln/dynamic/containers.hpp>
#include <kiln/k/arguments.hpp>
#include <kiln/k/held_tensors.hpp>

namespace kiln::k {

/// What kiln calls a container of q's; empty for what is none.
inline std::string_view container_type(std::string_view type) {
  static constexpr std::array<std::string_view, 24> names{
      "sequential", "Sequential", "seqnest",   "SeqNest",   "seqjoin",    "SeqJoin",    "fork",       "Fork",
      "residual",   "Residual",   "transform", "Transform", "recur",      "Recur",      "modulelist", "ModuleList",
      "seqlist",    "SeqList",    "seqdict",   "SeqDict",   "moduledict", "ModuleDict", "nbeats",     "NBeats"};
  for (std::size_t i = 0; i < names.size(); i += 2)
    if (names[i] == type) return names[i + 1];
  return {};
}

/// A module with what q said of it. Handles, parents and optimizers share it.
struct module_body {
  std::string type, name;
  std::vector<option> options;
  dynamic::module module;
  std::vector<std::shared_ptr<module_body>> children;
  bool composed = false;

  /// Whether parts can be added to it: what is made as a whole, as a transformer is, is none.
  bool container() const { return !composed && !container_type(type).empty(); }
  /// The name of a child: its own, or its number.
  std::string child_name(std::size_t i) const {
    return children[i]->name.empty() ? std::to_string(i) : children[i]->name;
  }
  tensor_list parameters() const { return listed(module.named_parameters()); }
  tensor_list buffers() const { return listed(module.named_buffers()); }

  /// Puts the children into the container, for all that share it.
  /// @throws value_error for a module that would be a part of itself; the container is as it was then
  void assemble() {
    dynamic::module::named_modules parts;
    for (std::size_t i = 0; i < children.size(); ++i) parts.emplace_back(child_name(i), children[i]->module);
    module.set_children(std::move(parts));
  }
  static tensor_list listed(const dynamic::module::named_tensors& from) {
    tensor_list all;
    for (const auto& [path, value] : from) {
      all.names.push_back(path);
      all.values.push_back(value);
    }
    return all;
  }
};

}  // namespace kiln::k
