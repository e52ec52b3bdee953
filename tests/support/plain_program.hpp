// SPDX-License-Identifier: BSL-1.0
// The oracle of drawn programs: elements in plain memory that views name by their places, each with its derivatives in
// two directions and the second one across them, carried along by the rules of calculus. Nothing of kiln computes here.
#pragma once

#include <cmath>
#include <cstddef>
#include <memory>
#include <vector>

namespace test {

/// A number x(s, t) at 0: itself, its slopes along s and t, and how one changes along the other.
struct second_order {
  double value = 0, s = 0, t = 0, st = 0;

  /// f of it, given f, f' and f'' there.
  second_order through(double f, double f1, double f2) const { return {f, f1 * s, f1 * t, f1 * st + f2 * s * t}; }
  friend second_order operator+(const second_order& a, const second_order& b) {
    return {a.value + b.value, a.s + b.s, a.t + b.t, a.st + b.st};
  }
  friend second_order operator*(const second_order& a, const second_order& b) {
    return {a.value * b.value, a.s * b.value + a.value * b.s, a.t * b.value + a.value * b.t,
            a.st * b.value + a.s * b.t + a.t * b.s + a.value * b.st};
  }
  friend second_order operator*(double k, const second_order& a) { return {k * a.value, k * a.s, k * a.t, k * a.st}; }
  friend second_order operator-(const second_order& a, const second_order& b) { return a + -1.0 * b; }
};
inline second_order sin(const second_order& a) {
  return a.through(std::sin(a.value), std::cos(a.value), -std::sin(a.value));
}
inline second_order tanh(const second_order& a) {
  const double y = std::tanh(a.value), d = 1 - y * y;
  return a.through(y, d, -2 * y * d);
}
inline second_order exp(const second_order& a) {
  const double y = std::exp(a.value);
  return a.through(y, y, y);
}
inline second_order reciprocal(const second_order& a) {
  const double y = 1 / a.value;
  return a.through(y, -y * y, 2 * y * y * y);
}

/// Elements of a memory that others may look at too, in row-major order.
struct plain_tensor {
  std::shared_ptr<std::vector<second_order>> memory;
  std::vector<std::size_t> place;
  std::size_t rows = 0, columns = 0;  ///< a matrix, or a row where `flat`
  bool flat = false;

  plain_tensor(std::size_t r, std::size_t c)
      : memory(std::make_shared<std::vector<second_order>>(r * c)), rows(r), columns(c) {
    for (std::size_t i = 0; i < r * c; ++i) place.push_back(i);
  }
  second_order& at(std::size_t i) { return (*memory)[place[i]]; }
  const second_order& at(std::size_t i) const { return (*memory)[place[i]]; }
  second_order& at(std::size_t r, std::size_t c) { return at(r * columns + c); }
  const second_order& at(std::size_t r, std::size_t c) const { return at(r * columns + c); }
  std::size_t size() const { return place.size(); }
  bool like(const plain_tensor& other) const {
    return rows == other.rows && columns == other.columns && flat == other.flat;
  }

  /// A tensor of its own, f(i) its elements.
  template <class F>
  plain_tensor made(F f) const {
    plain_tensor out(rows, columns);
    out.flat = flat;
    for (std::size_t i = 0; i < size(); ++i) out.at(i) = f(i);
    return out;
  }
  /// Other places of the same memory, at(r, c) the number of each element here.
  template <class F>
  plain_tensor seen(std::size_t r, std::size_t c, F from) const {
    plain_tensor out = *this;
    out.rows = r, out.columns = c, out.flat = false;
    out.place.clear();
    for (std::size_t i = 0; i < r; ++i)
      for (std::size_t j = 0; j < c; ++j) out.place.push_back(place[from(i, j)]);
    return out;
  }
  /// The elements of another tensor, written here.
  void write(const plain_tensor& values) {
    for (std::size_t i = 0; i < size(); ++i) at(i) = values.at(i);
  }
};

}  // namespace test
