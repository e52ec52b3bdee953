// SPDX-License-Identifier: BSL-1.0
// What a matrix product is asked to do, before it is known how: operands with strides, what to call when a block is
// final, the type that is computed in, and memory for the time of a call.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

#include <kiln/core/half.hpp>
#include <kiln/device/cpu/memory/memory.hpp>
#include <kiln/device/cpu/processor/isa.hpp>

namespace kiln::cpu::inline KILN_VERSION_ISA::detail {

// Unsigned, so that sums which do not fit wrap around.
template <class S>
using gemm_compute = std::conditional_t<
    std::same_as<S, half> || std::same_as<S, bfloat16>, float,
    std::conditional_t<std::is_integral_v<S>, std::conditional_t<sizeof(S) == 8, std::uint64_t, std::uint32_t>, S>>;

// What to call when a block of the result is final, without its type: with the number of its matrix, of a stack whose
// matrices of so many rows stand one below the other, and columns counted from where the result begins.
struct gemm_epilogue {
  void (*call)(void*, std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t) = nullptr;
  void* object = nullptr;
  std::int64_t first = 0, matrix_rows = std::numeric_limits<std::int64_t>::max(), column = 0;
};

template <class S>
struct gemm_problem {
  std::int64_t m, n, k;
  const S* a;
  std::int64_t a_row, a_col;
  const S* b;
  std::int64_t b_row, b_col;
  S* c;
  std::int64_t c_row, c_col;
  bool add;
  gemm_epilogue done;
  bool swapped = false;

  gemm_problem transposed() const {
    return {n, m, k, b, b_col, b_row, a, a_col, a_row, c, c_col, c_row, add, done, !swapped};
  }

  // Copies B to where element (q, j) lies at to[q * row + j * col]. (Not inline: unrolled, it would be large.)
  [[gnu::cold, gnu::noinline]] void move_b(S* to, std::int64_t row, std::int64_t col) {
    // One long loop rather than many short ones, by pointers, as loops of cold functions are left as they are written.
    const bool by_rows = k < n;
    const std::int64_t lines = by_rows ? k : n, from_line = by_rows ? b_row : b_col, to_line = by_rows ? row : col;
    const std::int64_t length = by_rows ? n : k, from_step = by_rows ? b_col : b_row, to_step = by_rows ? col : row;
    for (std::int64_t line = 0; line < lines; ++line) {
      const S* from = b + line * from_line;
      S* out = to + line * to_line;
      for (std::int64_t i = 0; i < length; ++i, from += from_step, out += to_step) *out = *from;
    }
    b = to;
    b_row = row;
    b_col = col;
  }

  void finish(std::int64_t row, std::int64_t row_end, std::int64_t col, std::int64_t col_end) const {
    if (done.call == nullptr) return;
    if (swapped) {
      std::swap(row, col);
      std::swap(row_end, col_end);
    }
    for (std::int64_t stop = row; row < row_end; row = stop) {
      const std::int64_t matrix = row / done.matrix_rows, start = matrix * done.matrix_rows;
      stop = row_end - start > done.matrix_rows ? start + done.matrix_rows : row_end;
      done.call(done.object, done.first + matrix, row - start, stop - start, done.column + col, done.column + col_end);
    }
  }
};

// Memory of the pool for the time of a call.
template <class T>
class gemm_scratch {
 public:
  explicit gemm_scratch(std::int64_t count) : bytes_(static_cast<std::size_t>(count) * sizeof(T)) {
    if (count > 0) data_ = static_cast<T*>(allocate(bytes_));
  }
  gemm_scratch(const gemm_scratch&) = delete;
  gemm_scratch& operator=(const gemm_scratch&) = delete;
  ~gemm_scratch() { deallocate(data_, bytes_); }
  T* data() const { return data_; }

 private:
  std::size_t bytes_;
  T* data_ = nullptr;
};

constexpr std::int64_t divide_up(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}
constexpr std::int64_t round_up(std::int64_t a, std::int64_t b) {
  return divide_up(a, b) * b;
}

}  // namespace kiln::cpu::inline KILN_VERSION_ISA::detail
