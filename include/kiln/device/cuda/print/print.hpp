// SPDX-License-Identifier: BSL-1.0
// What every printed kernel is made of: lines with indentation, parameters with their meaning, and the instructions of
// a tape as statements in single-assignment form (`statements`). The kinds of kernels stand in print_*.hpp.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <kiln/core/version.hpp>
#include <kiln/device/cuda/plan/source.hpp>
#include <kiln/device/cuda/print/spelling.hpp>
#include <kiln/tape/infix.hpp>

namespace kiln::cuda::detail {

/// Text, line by line; `open` and `close` write the braces.
class lines {
 public:
  template <class... Parts>
  void add(const Parts&... parts) {
    const std::string line = message(parts...);
    if (!line.empty() && line.front() != '#') text_.append(static_cast<std::size_t>(2 * depth_), ' ');
    text_ += line + "\n";
  }
  template <class... Parts>
  void open(const Parts&... parts) {
    add(parts..., " {");
    ++depth_;
  }
  void open_scope() {
    add("{");
    ++depth_;
  }
  void close(std::string_view after = {}) {
    --depth_;
    add("}", after);
  }
  void otherwise() {
    --depth_;
    add("} else {");
    ++depth_;
  }
  /// The lines of another block, at this depth.
  void insert(const lines& block) {
    for (std::size_t from = 0; from < block.text_.size();) {
      const std::size_t end = block.text_.find('\n', from);
      add(block.text_.substr(from, end - from));
      from = end + 1;
    }
  }
  const std::string& text() const { return text_; }
  /// Whether an identifier occurs.
  bool mentions(std::string_view name) const {
    const auto within = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
                                            (c >= '0' && c <= '9'); };
    for (std::size_t at = text_.find(name); at != text_.npos; at = text_.find(name, at + 1)) {
      const std::size_t end = at + name.size();
      if ((at == 0 || !within(text_[at - 1])) && (end == text_.size() || !within(text_[end]))) return true;
    }
    return false;
  }

 private:
  std::string text_;
  int depth_ = 0;
};

/// Opens a kernel, whose first statement is that it waits for the one before it (begin_grid of kernels/types.cuh).
template <class... Parts>
void open_kernel(lines& out, const Parts&... parts) {
  out.open(parts...);
  out.add("begin_grid();");
}

std::string hex(std::uint64_t value);
/// `__launch_bounds__(...)` of a plan, and its cluster.
std::string bounds_of(const plan& p);
/// 64 bits that name a text (FNV-1a).
std::uint64_t hash_of(std::string_view text, std::uint64_t start = 0xcbf29ce484222325u);

/// The tape with leaves that are the same tensor made one, and with them what is computed from them alike; values that
/// only unwanted results need are gone.
void merge_leaves(const task& job, const plan& p, program& into);

/// The instructions of a tape as C++ statements. Constants and run-time numbers stand where they are used.
class statements {
 public:
  explicit statements(const tape_view& t) : t_(t), codes_(static_cast<std::size_t>(t.size)) {
    for (int i = 0; i < t.size; ++i) {
      if (t[i].code == opcode::constant) at(i) = literal(t[i].type, t[i].literal);
      if (t[i].code == opcode::scalar) at(i) = message("n", t[i].slot);
    }
  }
  /// What stands for value i in an expression; empty before it is defined.
  std::string& at(int i) { return codes_[static_cast<std::size_t>(i)]; }
  /// Whether what was written can meet an integer division by zero or an index outside its axis.
  bool faults() const { return faults_; }

  /// Defines v<i> as the op at i applied to its operands, or as `code`.
  void define(lines& out, int i) { define(out, i, code_at(i)); }
  void define(lines& out, int i, const std::string& code) {
    if (is_address(t_[i])) {  // stands where it is used
      at(i) = code;
      return;
    }
    const std::string name = message("v", i);
    out.add("const ", value_name(t_[i].type), " ", name, " = ", code, ";");
    at(i) = name;
  }
  std::string code_at(int i) {
    const instruction& now = t_[i];
    if (now.code == op_facts_table.cast) return cast(now);
    const spelling& s = spelling_of(now.code);
    const int typed = now.c >= 0 ? now.c : now.a;
    const operand_codes codes{at(now.a), now.b < 0 ? std::string() : at(now.b), now.c < 0 ? std::string() : at(now.c)};
    std::string code = s.value(t_[typed].type, codes);
    faults_ |= code.find("fault)") != std::string::npos;
    return code;
  }

 private:
  std::string cast(const instruction& now) {
    const dtype from = compute_type(t_[now.a].type), to = compute_type(now.type);
    std::string code = from == to ? at(now.a) : message("convert<", value_name(to), ">(", at(now.a), ")");
    return to == now.type ? code : message("rounded_through<", storage_name(now.type), ">(", code, ")");
  }

  const tape_view& t_;
  std::vector<std::string> codes_;
  bool faults_ = false;
};

/// The signature and its meaning, made together.
class signature {
 public:
  signature(const plan& p, source& out) : p_(p), out_(out) {}
  std::string_view index() const { return p_.wide ? "int64" : "int32"; }
  std::string_view divisor() const { return p_.wide ? "divisor64" : "divisor32"; }

  void result(int r) {
    add({parameter_kind::result, static_cast<std::int16_t>(r)},
        message(storage_name(p_.stores[static_cast<std::size_t>(r)]), p_.apart ? "* __restrict__ y" : "* y", r));
  }
  void leaf(int slot, const leaf_view& x) {
    const parameter meaning{parameter_kind::leaf, static_cast<std::int16_t>(slot)};
    if (is_drawn(x.kind))
      add(meaning, message("uint64 x", slot, "_place"));
    else if (x.kind == leaf_kind::address)
      add(meaning, message("addresses<", storage_name(x.type), "> x", slot));
    else
      add(meaning, message("const ", storage_name(x.type), p_.apart ? "* __restrict__ x" : "* x", slot));
  }
  void number(int slot, dtype type) {
    add({parameter_kind::number, static_cast<std::int16_t>(slot), 0, type}, message(value_name(type), " n", slot));
  }
  void whole(parameter_kind kind, std::string_view name, int index_of = 0, int axis = 0) {
    add({kind, static_cast<std::int16_t>(index_of), static_cast<std::int16_t>(axis)},
        message(kind == parameter_kind::divisor ? divisor() : index(), " ", name));
  }
  void fault() { add({parameter_kind::fault}, "uint32* fault_flag"); }
  void finished() { add({parameter_kind::finished}, "uint32* finished"); }
  /// Memory for words that blocks leave for the last one.
  void shares() { add({parameter_kind::scratch}, "uint64* __restrict__ shares"); }
  void draw_offset() { add({parameter_kind::draw_offset}, "const uint64* moved"); }
  /// Memory for the shares of result r, in the type that it is computed in.
  void scratch(int r) {
    const dtype type = compute_type(p_.stores[static_cast<std::size_t>(r)]);
    add({parameter_kind::scratch, static_cast<std::int16_t>(r)},
        message(storage_name(type), "* __restrict__ shares", r));
  }

  std::string text() const {
    std::string all = "\n    ";
    std::size_t width = 0;
    for (std::size_t i = 0; i < declarations_.size(); ++i) {
      if (i > 0) all += ",";
      if (i > 0 && width + declarations_[i].size() > 100) {
        all += "\n    ";
        width = 0;
      } else if (i > 0) {
        all += " ";
      }
      all += declarations_[i];
      width += declarations_[i].size() + 2;
    }
    return all;
  }

 private:
  void add(parameter meaning, std::string declaration) {
    out_.parameters.push_back(meaning);
    declarations_.push_back(std::move(declaration));
  }
  const plan& p_;
  source& out_;
  std::vector<std::string> declarations_;
};

/// Skeletons with functions that not every kernel needs, and that take a while to compile.
struct rare_functions {
  std::string_view skeleton;
  std::array<std::string_view, 3> names;  ///< some may be empty
};
inline constexpr std::array<rare_functions, 3> all_rare_functions{
    {{"gamma", {"lgamma(", "digamma(", "polygamma("}}, {"random", {"drawn_at<"}}, {"cluster", {"meet_cluster("}}}};

/// Comment, includes and namespace around kernels, whose text refers to its name as `@name`.
void finish(source& out, const tape_view& t, const plan& p, std::string_view body, std::string_view skeleton);

}  // namespace kiln::cuda::detail

#ifndef KILN_COMPILED
#include <kiln/device/cuda/print/print_impl.hpp>
#endif
