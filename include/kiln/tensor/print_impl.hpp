// SPDX-License-Identifier: BSL-1.0
// The definitions of print.hpp.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <kiln/tensor/print.hpp>

namespace kiln::detail {

inline constexpr int print_digits = 4, print_width = 80;
inline constexpr std::int64_t print_edge = 3, print_all = 1000;

[[gnu::cold]] KILN_INLINE std::string number_text(double value, std::chars_format format, int digits) {
  if (std::isnan(value)) return "nan";
  std::array<char, 400> text;  // the largest double has 309 digits
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value, format, digits).ptr;
  return {text.data(), end};
}

/// How the floating numbers of one tensor are written, so that they line up.
class number_style {
 public:
  [[gnu::cold]] explicit number_style(const std::vector<double>& values) {
    double least = 0, most = 0;
    for (double v : values) {
      if (v == 0 || !std::isfinite(v)) continue;
      const double size = std::abs(v);
      least = least == 0 ? size : std::min(least, size);
      most = std::max(most, size);
      whole_ &= v == std::trunc(v);
    }
    powers_ = most > 0 && (most / least > 1000 || most > 1e8 || least < 1e-4);
  }
  std::string text(double v) const {
    if (powers_) return number_text(v, std::chars_format::scientific, print_digits);
    if (!whole_) return number_text(v, std::chars_format::fixed, print_digits);
    // The point says that these are no integers.
    return number_text(v, std::chars_format::fixed, 0) + (std::isfinite(v) ? "." : "");
  }

 private:
  bool whole_ = true, powers_ = false;
};

/// Lays out the elements of a tensor; `cells` are the texts of those that are shown, in order.
class tensor_layout {
 public:
  explicit tensor_layout(const dims& sizes) : sizes_(sizes), shortened_(count(sizes) > print_all) {}

  /// The offset of every element that is shown, in order.
  std::vector<std::int64_t> shown(const dims& strides) const {
    std::vector<std::int64_t> offsets;
    add_shown(strides, 0, 0, offsets);
    return offsets;
  }
  [[gnu::cold]] std::string text(std::vector<std::string> cells, int indent) {
    std::size_t width = 0;
    for (const auto& c : cells) width = std::max(width, c.size());
    for (auto& c : cells) c.insert(0, width - c.size(), ' ');
    cells_ = std::move(cells);
    next_ = 0;
    width_ = static_cast<int>(width);
    return sizes_.rank() == 0 ? cells_[0] : block(0, indent);
  }

 private:
  bool cut(int axis) const { return shortened_ && sizes_[axis] > 2 * print_edge; }

  void add_shown(const dims& strides, int axis, std::int64_t offset, std::vector<std::int64_t>& offsets) const {
    if (axis == sizes_.rank()) return offsets.push_back(offset);
    for (std::int64_t i = 0; i < sizes_[axis]; ++i) {
      if (cut(axis) && i == print_edge) i = sizes_[axis] - print_edge;
      add_shown(strides, axis + 1, offset + i * strides[axis], offsets);
    }
  }

  [[gnu::cold]] std::string block(int axis, int indent) {
    std::string out = "[";
    const bool last = axis + 1 == sizes_.rank();
    // Rows of the last axis are broken into lines; further axes are set apart by empty lines.
    const int per_line = std::max(1, (print_width - indent) / (width_ + 2));
    const std::string between = "," + std::string(static_cast<std::size_t>(sizes_.rank() - axis - 1), '\n') +
                                std::string(static_cast<std::size_t>(indent + 1), ' ');
    int on_line = 0;
    auto add = [&](std::string_view cell, bool first) __attribute__((cold)) {
      if (last && on_line == per_line) {
        out += ",\n" + std::string(static_cast<std::size_t>(indent + 1), ' ');
        on_line = 0;
      } else if (!first) {
        out += last ? ", " : between;
      }
      ++on_line;
      out += cell;
    };
    for (std::int64_t i = 0; i < sizes_[axis]; ++i) {
      if (cut(axis) && i == print_edge) {
        add(last ? " ..." : "...", false);
        i = sizes_[axis] - print_edge;
      }
      if (last)
        add(cells_[next_++], i == 0);
      else
        add(block(axis + 1, indent + 1), i == 0);
    }
    return out + "]";
  }

  dims sizes_;
  bool shortened_;
  std::vector<std::string> cells_;
  std::size_t next_ = 0;
  int width_ = 0;
};

// An element as a double or as an int64, of which one holds it.
template <class Wide>
Wide element_as(const tensor_state& t, std::int64_t at) {
  return visit_dtype(t.type, [&]<class T>(std::type_identity<T>) {
    return static_cast<Wide>(static_cast<compute_t<T>>(static_cast<const T*>(t.data)[at]));
  });
}

// The texts of the elements that are shown.
[[gnu::cold]] KILN_INLINE std::vector<std::string> cell_texts(const tensor_state& t, const tensor_layout& layout) {
  const std::vector<std::int64_t> shown = layout.shown(t.strides);
  std::vector<std::string> cells(shown.size());
  if (is_floating(t.type)) {
    std::vector<double> values(shown.size());
    for (std::size_t i = 0; i < shown.size(); ++i) values[i] = element_as<double>(t, shown[i]);
    const number_style style(values);
    for (std::size_t i = 0; i < shown.size(); ++i) cells[i] = style.text(values[i]);
  } else {
    for (std::size_t i = 0; i < shown.size(); ++i) {
      const std::int64_t value = element_as<std::int64_t>(t, shown[i]);
      cells[i] = t.type == dtype::boolean ? (value ? "True" : "False") : std::to_string(value);
    }
  }
  return cells;
}

/// Appends a note, on the last line if it fits there.
[[gnu::cold]] KILN_INLINE void add_note(std::string& text, std::string_view note, int indent) {
  const std::size_t start = text.rfind('\n');
  const std::size_t line = text.size() - (start == std::string::npos ? 0 : start + 1);
  const bool fits = line + note.size() + 3 <= static_cast<std::size_t>(print_width);
  text += fits ? ", " : ",\n";
  if (!fits) text.append(static_cast<std::size_t>(indent), ' ');
  text += note;
}

[[gnu::cold]] KILN_INLINE std::string tensor_text(const tensor_state& values, bool requires_grad) {
  constexpr std::string_view prefix = "tensor(";
  constexpr int indent = static_cast<int>(prefix.size());
  const dims& sizes = values.sizes;
  std::string text(prefix);
  const dtype type = values.type;
  if (count(sizes) == 0) {
    text += "[]";
    if (sizes.rank() != 1) add_note(text, message("size=", sizes), indent);
    if (type != dtype::float32) add_note(text, message("dtype=", name(type)), indent);
  } else {
    tensor_layout layout(sizes);
    text += layout.text(cell_texts(values, layout), indent);
    if (type != dtype::float32 && type != dtype::int64 && type != dtype::boolean)
      add_note(text, message("dtype=", name(type)), indent);
  }
  if (requires_grad) add_note(text, "requires_grad=True", indent);
  return text + ")";
}

KILN_INLINE std::ostream& put(std::ostream& out, const std::string& text) {
  return out << text;
}

}  // namespace kiln::detail
