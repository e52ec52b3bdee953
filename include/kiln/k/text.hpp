// SPDX-License-Identifier: BSL-1.0
// The text of a tensor as users of q know it: rows of numbers in columns, then a line with type and sizes. (What
// kiln prints elsewhere looks otherwise: tensor/print.hpp.)
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iomanip>
#include <limits>
#include <locale>
#include <sstream>
#include <string>
#include <vector>

#include <kiln/core/half.hpp>
#include <kiln/k/convert.hpp>

namespace kiln::k {

namespace detail {

/// How the numbers of a tensor are written: width of a column, digits, and a power of ten that they are divided by.
struct number_format {
  int width = 0;
  double scale = 1;
  bool scientific = false;
  bool whole = false;

  void write(std::ostream& out, double x) const {
    out << std::setw(width);
    if (!std::isfinite(x)) {
      out << (std::isnan(x) ? "nan" : x < 0 ? "-inf" : "inf");
    } else if (whole && !scientific) {
      out << std::defaultfloat << std::setprecision(12) << x;
    } else {
      out << (scientific ? std::scientific : std::fixed) << std::setprecision(4) << x / scale;
    }
  }
};

inline number_format format_of(const std::vector<double>& values) {
  double low = std::numeric_limits<double>::infinity(), high = 0;
  bool whole = true;
  for (double x : values) {
    if (!std::isfinite(x)) continue;
    low = std::min(low, std::abs(x));
    high = std::max(high, std::abs(x));
    whole = whole && std::floor(x) == x;
  }
  const auto digits = [](double x) { return x > 0 ? static_cast<int>(std::floor(std::log10(x))) + 1 : 1; };
  if (low > high) return {3, 1, false, whole};  // nothing finite
  const int least = digits(low), most = digits(high);
  if (whole) return most > 9 ? number_format{11, 1, true, true} : number_format{most + 1, 1, false, true};
  if (most - least > 4) return {std::max(std::abs(most), std::abs(least)) > 99 ? 12 : 11, 1, true, false};
  if (most > 5 || most < 0) return {7, std::pow(10.0, most - 1), false, false};
  return {most == 0 ? 7 : most + 6, 1, false, false};
}

inline void write_scale(std::ostream& out, const number_format& format, std::string_view indent) {
  if (format.scale != 1) out << indent << std::defaultfloat << std::setprecision(6) << format.scale << " *\n";
}

/// A matrix, in groups of columns that fit a line of 80.
inline void write_matrix(std::ostream& out, const double* values, std::int64_t rows, std::int64_t columns,
                         std::string_view indent) {
  const number_format format = format_of(std::vector<double>(values, values + rows * columns));
  const std::int64_t width_left =
      std::max<std::int64_t>(1, (80 - static_cast<std::int64_t>(indent.size())) / (format.width + 1));
  for (std::int64_t first = 0; first < columns; first += width_left) {
    const std::int64_t last = std::min(columns, first + width_left);
    if (columns > width_left) {
      if (first > 0) out << '\n';
      out << "Columns " << first + 1 << " to " << last << '\n';
    }
    write_scale(out, format, indent);
    for (std::int64_t row = 0; row < rows; ++row) {
      out << indent;
      for (std::int64_t column = first; column < last; ++column) {
        if (column > first) out << ' ';
        format.write(out, values[row * columns + column]);
      }
      out << '\n';
    }
  }
}

inline std::vector<double> doubles_of(const tensor& t) {
  std::vector<double> values(static_cast<std::size_t>(t.numel()));
  visit_dtype(t.type(), [&]<class T>(std::type_identity<T>) {
    const tensor here = t.to(dynamic::device{});
    const T* from = static_cast<const T*>(here.data());
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(from[i]);
  });
  return values;
}

}  // namespace detail

/// The text of a tensor; several lines, the last with its type and sizes.
inline std::string text_of(const tensor& t) {
  if (!t.defined()) return "[ Tensor (undefined) ]";
  std::ostringstream out;
  out.imbue(std::locale::classic());
  const std::vector<double> values = detail::doubles_of(t);
  const dims& sizes = t.sizes();
  if (sizes.empty()) {
    out << values[0] << '\n';
  } else if (sizes.rank() == 1 && !values.empty()) {
    const detail::number_format format = detail::format_of(values);
    detail::write_scale(out, format, "");
    for (double x : values) {
      format.write(out, x);
      out << '\n';
    }
  } else if (!values.empty()) {
    const int rank = sizes.rank();
    const std::int64_t rows = sizes[rank - 2], columns = sizes[rank - 1];
    const std::int64_t matrices = t.numel() / (rows * columns);
    for (std::int64_t m = 0; m < matrices; ++m) {
      std::string place;
      for (std::int64_t axis = rank - 3, rest = m; axis >= 0; --axis) {
        const std::int64_t size = sizes[static_cast<int>(axis)];
        place = std::to_string(rest % size + 1) + "," + place;
        rest /= size;
      }
      if (m > 0) out << '\n';
      if (rank > 2) out << '(' << place << ".,.) = \n";
      detail::write_matrix(out, values.data() + m * rows * columns, rows, columns, rank > 2 ? " " : "");
    }
  }
  static constexpr std::string_view types[] = {"Bool", "Byte", "Char",     "Short", "Int",
                                               "Long", "Half", "BFloat16", "Float", "Double"};
  out << (t.device().on_host() ? "[ CPU" : "[ CUDA") << types[static_cast<std::size_t>(t.type())] << "Type{";
  for (int i = 0; i < sizes.rank(); ++i) out << (i ? "," : "") << sizes[i];
  out << "} ]";
  return out.str();
}

}  // namespace kiln::k
