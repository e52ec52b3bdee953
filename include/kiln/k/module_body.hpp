// SPDX-License-Identifier: BSL-1.0
// A module of kiln's with what q said of it.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <kiln/dynamic/module.hpp>
#include <kiln/k/arguments.hpp>
#include <kiln/k/held_tensors.hpp>

namespace kiln::k {

/// A module with what q said of it. Handles, parents and optimizers share it.
struct module_body {
  std::string type, name;
  std::vector<option> options;
  dynamic::module module;
  std::vector<std::shared_ptr<module_body>> children;

  bool container() const { return type == "sequential"; }
  /// The name of a child: its own, or its number.
  std::string child_name(std::size_t i) const {
    return children[i]->name.empty() ? std::to_string(i) : children[i]->name;
  }
  tensor_list parameters() const { return listed(module.named_parameters()); }
  tensor_list buffers() const { return listed(module.named_buffers()); }

  /// Puts the children together anew.
  void assemble() {
    dynamic::module::named_modules parts;
    for (std::size_t i = 0; i < children.size(); ++i) parts.emplace_back(child_name(i), children[i]->module);
    module = dynamic::sequential(std::move(parts));
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
