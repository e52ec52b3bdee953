// SPDX-License-Identifier: BSL-1.0
// A module in print, as PyTorch prints one: the name of each class and its settings, a line for each module within.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <kiln/nn/walk.hpp>

namespace kiln::nn {

namespace detail {

class printer final : public visitor {
 public:
  void enter(std::string_view name, const module_slot& slot) override {
    open_.push_back({std::string(name), std::string(slot.type), slot.settings ? slot.settings(slot.object) : "", {}});
  }
  void leave() override {
    const level done = std::move(open_.back());
    open_.pop_back();
    std::string body = done.type + "(" + done.settings;
    for (std::size_t i = 0; i < done.children.size();) {
      // Equal neighbours in a list are one line, (0-3): 4 x Linear(...).
      std::size_t n = 1;
      if (done.type == "ModuleList")
        while (i + n < done.children.size() && done.children[i + n].second == done.children[i].second) ++n;
      const auto& [name, lines] = done.children[i];
      body += "\n  (" + name + (n > 1 ? "-" + done.children[i + n - 1].first : "") +
              "): " + (n > 1 ? std::to_string(n) + " x " : "") + indented(lines);
      i += n;
    }
    body += done.children.empty() ? ")" : "\n)";
    if (open_.empty())
      text = std::move(body);
    else
      open_.back().children.emplace_back(done.name, std::move(body));
  }
  std::string text;

 private:
  struct level {
    std::string name, type, settings;
    std::vector<std::pair<std::string, std::string>> children;
  };
  static std::string indented(const std::string& lines) {
    std::string all;
    for (const char c : lines) all += c == '\n' ? std::string("\n  ") : std::string(1, c);
    return all;
  }
  std::vector<level> open_;
};

}  // namespace detail

/// The module as PyTorch prints it: `Mlp(\n  (fc1): Linear(in_features=784, ...)\n ...)`.
template <class M>
std::string to_string(const M& module) {
  detail::printer p;
  detail::walk("", module, p);
  return std::move(p.text);
}

}  // namespace kiln::nn
