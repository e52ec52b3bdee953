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

KILN_INLINE std::string number_text(double value, std::chars_format format, int digits) {
  if (std::isnan(value)) return "nan";
  std::array<char, 400> text;  // the largest double has 309 digits
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value, format, digits).ptr;
  return {text.data(), end};
}

/// How the floating numbers of one tensor are written, so that they line up.
class number_style {
 public:
  explicit number_style(const std::vector<double>& values) {
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

  /// Calls f with the offset of every element that is shown.
  template <class F>
  void each_shown(const dims& strides, F f, int axis = 0, std::int64_t offset = 0) const {
    if (axis == sizes_.rank()) return f(offset);
    for (std::int64_t i = 0; i < sizes_[axis]; ++i) {
      if (cut(axis) && i == print_edge) i = sizes_[axis] - print_edge;
      each_shown(strides, f, axis + 1, offset + i * strides[axis]);
    }
  }
  std::string text(std::vector<std::string> cells, int indent) {
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

  std::string block(int axis, int indent) {
    std::string out = "[";
    const bool last = axis + 1 == sizes_.rank();
    // Rows of the last axis are broken into lines; further axes are set apart by empty lines.
    const int per_line = std::max(1, (print_width - indent) / (width_ + 2));
    const std::string between = "," + std::string(static_cast<std::size_t>(sizes_.rank() - axis - 1), '\n') +
                                std::string(static_cast<std::size_t>(indent + 1), ' ');
    int on_line = 0;
    auto add = [&](std::string_view cell, bool first) {
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

// The texts of the elements that are shown.
KILN_INLINE std::vector<std::string> cell_texts(const tensor_state& t, const tensor_layout& layout) {
  std::vector<std::string> cells;
  visit_dtype(t.type, [&]<class T>(std::type_identity<T>) {
    const T* const data = static_cast<const T*>(t.data);
    if constexpr (std::same_as<T, bool>) {
      layout.each_shown(t.strides, [&](std::int64_t at) { cells.emplace_back(data[at] ? "True" : "False"); });
    } else if constexpr (!is_floating(dtype_of<T>)) {
      layout.each_shown(t.strides, [&](std::int64_t at) { cells.push_back(std::to_string(data[at])); });
    } else {
      std::vector<double> values;
      layout.each_shown(t.strides, [&](std::int64_t at) {
        values.push_back(static_cast<double>(static_cast<compute_t<T>>(data[at])));
      });
      const number_style style(values);
      for (double v : values) cells.push_back(style.text(v));
    }
  });
  return cells;
}

/// Appends the notes, each on the last line if it fits there.
KILN_INLINE std::string with_notes(std::string text, const std::vector<std::string>& notes, int indent) {
  for (const auto& note : notes) {
    const std::size_t start = text.rfind('\n');
    const std::size_t line = text.size() - (start == std::string::npos ? 0 : start + 1);
    if (line + note.size() + 3 > static_cast<std::size_t>(print_width))
      text += ",\n" + std::string(static_cast<std::size_t>(indent), ' ') + note;
    else
      text += ", " + note;
  }
  return text + ")";
}

KILN_INLINE std::string tensor_text(const tensor_state& values, bool requires_grad) {
  constexpr std::string_view prefix = "tensor(";
  constexpr int indent = static_cast<int>(prefix.size());
  const dims& sizes = values.sizes;
  std::vector<std::string> notes;
  std::string text(prefix);
  const dtype type = values.type;
  if (count(sizes) == 0) {
    text += "[]";
    if (sizes.rank() != 1) notes.push_back(message("size=", sizes));
    if (type != dtype::float32) notes.push_back(message("dtype=", name(type)));
  } else {
    tensor_layout layout(sizes);
    text += layout.text(cell_texts(values, layout), indent);
    if (type != dtype::float32 && type != dtype::int64 && type != dtype::boolean)
      notes.push_back(message("dtype=", name(type)));
  }
  if (requires_grad) notes.emplace_back("requires_grad=True");
  return with_notes(std::move(text), notes, indent);
}

KILN_INLINE std::ostream& put(std::ostream& out, const std::string& text) {
  return out << text;
}

}  // namespace kiln::detail
