// SPDX-License-Identifier: BSL-1.0
// summary: the layers of a module in a table, with the sizes of their results for an input.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <kiln/nn/convert.hpp>
#include <kiln/nn/layer_names.hpp>
#include <kiln/nn/module.hpp>
#include <kiln/nn/watch.hpp>
#include <kiln/tensor/creation.hpp>

namespace kiln::nn {

namespace detail {

struct summary_line {
  std::string name, type;
  const void* object;
  std::string sizes{};
  std::int64_t parameters = 0;
  std::int64_t bytes = 0;
};

/// The lines of a module: each layer's own parameters and their bytes, with those of its buffers.
class summary_lines final : public path_visitor {
 public:
  void enter(std::string_view name, const module_slot& slot) override {
    path_visitor::enter(name, slot);
    open_.push_back(lines.size());
    lines.push_back({here(), std::string(slot.type), slot.object});
  }
  void leave() override {
    path_visitor::leave();
    open_.pop_back();
  }
  void parameter(std::string_view, const tensor_slot& slot) override { add(slot, true); }
  void buffer(std::string_view, const tensor_slot& slot) override { add(slot, false); }
  std::vector<summary_line> lines;

 private:
  void add(const tensor_slot& slot, bool learned) {
    if (!slot.now || open_.empty()) return;
    for (const auto& known : seen_)
      if (known == slot.now.get()) return;
    seen_.push_back(slot.now.get());
    const std::int64_t n = count(slot.now->sizes);
    if (learned) lines[open_.back()].parameters += n;
    lines[open_.back()].bytes += n * static_cast<std::int64_t>(size_of(slot.type));
  }
  std::vector<std::size_t> open_;
  std::vector<const tensor_state*> seen_;
};

/// Puts the sizes of results into the lines.
class summary_watch final : public layer_watch {
 public:
  explicit summary_watch(std::vector<summary_line>& lines) : lines_(lines), before_(std::exchange(watching, this)) {}
  summary_watch(const summary_watch&) = delete;
  summary_watch& operator=(const summary_watch&) = delete;
  ~summary_watch() override { watching = before_; }
  void result(const void* layer, std::string_view type, const dims& sizes) override {
    for (summary_line& line : lines_)
      if (line.object == layer && line.type == type && line.sizes.empty()) {
        line.sizes = message(sizes);
        return;
      }
  }

 private:
  std::vector<summary_line>& lines_;
  layer_watch* before_;
};

/// 12345678 as 12,345,678.
inline std::string with_commas(std::int64_t n) {
  std::string digits = std::to_string(n);
  for (std::size_t i = digits.size(); i > 3;) digits.insert(i -= 3, ",");
  return digits;
}

inline std::string summary_table(const std::vector<summary_line>& lines) {
  std::vector<std::vector<std::string>> rows{{"layer", "output", "parameters", "bytes"}};
  std::int64_t parameters = 0, bytes = 0;
  for (const summary_line& line : lines) {
    parameters += line.parameters;
    bytes += line.bytes;
    if (line.name.empty() && line.parameters == 0 && line.sizes.empty() && lines.size() > 1) continue;
    rows.push_back({(line.name.empty() ? "" : line.name + ": ") + line.type, line.sizes, with_commas(line.parameters),
                    with_commas(line.bytes)});
  }
  rows.push_back({"total", "", with_commas(parameters), with_commas(bytes)});
  std::vector<std::size_t> widths(4, 0);
  for (const auto& row : rows)
    for (std::size_t i = 0; i < 4; ++i) widths[i] = std::max(widths[i], row[i].size());
  std::string text;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    std::string line;
    for (std::size_t i = 0; i < 4; ++i) {
      const std::string padding(widths[i] - rows[r][i].size(), ' ');
      line += (i ? "  " : "") + (i < 2 ? rows[r][i] + padding : padding + rows[r][i]);
    }
    if (r + 1 == rows.size()) text += std::string(widths[0] + widths[1] + widths[2] + widths[3] + 6, '-') + '\n';
    text += line + '\n';
  }
  return text;
}

}  // namespace detail

/// A table of a module's layers: name and class, the sizes of the result, the parameters, and the bytes of parameters
/// and buffers. The result's sizes are those of a forward pass over zeros of the sizes `input`, not in training,
/// without gradients. Throws what the module throws for them.
template <class M>
std::string summary(const M& module, const dims& input) {
  // The same tensors in a module of its own, whose flags are in no one's way.
  M copy = detail::converter(false).made<M>(module);
  eval(copy);
  detail::summary_lines all;
  detail::walk("", std::as_const(copy), all);
  {
    using X = detail::tensor_of<M>;
    const no_grad quiet;
    const detail::summary_watch watch(all.lines);
    const layer_names names(copy);  // for what does not fit
    static_cast<void>(copy(zeros<typename X::value_type, typename X::device_type>(input)));
  }
  return detail::summary_table(all.lines);
}

}  // namespace kiln::nn
