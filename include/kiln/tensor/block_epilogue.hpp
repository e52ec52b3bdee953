// SPDX-License-Identifier: BSL-1.0
// The kernel of an expression, applied to blocks of a product as they are finished, while they are in cache.
#pragma once

#include <array>
#include <cstdint>

#include <kiln/tensor/expression_facts.hpp>

namespace kiln::detail {

/// `values` holds the product, `out` gets the result (they may be the same memory).
class block_epilogue {
 public:
  block_epilogue(const cpu::compiled& program, const operands& c, const dims& domain, tensor_state& out)
      : program_(program),
        c_(c),
        out_(static_cast<char*>(out.data)),
        size_(size_of(out.type)),
        rank_(domain.rank()),
        columns_(domain.back()),
        domain_(domain) {
    for (int k = 0; k < program.slots; ++k)
      strides_[static_cast<std::size_t>(k)] = common::broadcast_strides(c.leaf[k]->sizes, c.leaf[k]->strides, domain);
  }
  /// Rows of the result and leaves that are contiguous or constant along them.
  bool suits() const {
    if (program_.draw_count > 0) return false;
    for (int k = 0; k < program_.slots; ++k) {
      const std::int64_t s = strides_[static_cast<std::size_t>(k)].back();
      if (s != 0 && s != 1) return false;
    }
    return true;
  }
  epilogue_function function() {
    return {[](void* self, std::int64_t batch, std::int64_t r0, std::int64_t r1, std::int64_t c0, std::int64_t c1) {
              static_cast<const block_epilogue*>(self)->apply(batch, r0, r1, c0, c1);
            },
            this};
  }

 private:
  void apply(std::int64_t batch, std::int64_t r0, std::int64_t r1, std::int64_t c0, std::int64_t c1) const {
    std::array<const void*, common::max_slots> in;
    std::array<std::int64_t, common::max_slots> step, row_bytes;
    const std::size_t slots = static_cast<std::size_t>(program_.slots);
    dims at = dims::filled(rank_, 0);
    for (int d = rank_ - 3; d >= 0; --d) {
      at[d] = batch % domain_[d];
      batch /= domain_[d];
    }
    at[rank_ - 2] = r0;
    std::int64_t place = 0;
    for (int d = 0; d + 1 < rank_; ++d) place = place * domain_[d] + at[d];
    char* to = out_ + (place * columns_ + c0) * static_cast<std::int64_t>(size_);
    for (std::size_t i = 0; i < slots; ++i) {
      const tensor_state& leaf = *c_.leaf[i];
      const std::int64_t size = static_cast<std::int64_t>(size_of(leaf.type));
      std::int64_t offset = c0 * strides_[i].back();
      for (int d = 0; d + 1 < rank_; ++d) offset += at[d] * strides_[i][d];
      in[i] = static_cast<const char*>(leaf.data) + offset * size;
      step[i] = strides_[i].back();
      row_bytes[i] = strides_[i][rank_ - 2] * size;
    }
    const bool add = false;
    void* out = to;
    const cpu::strip row{.in = in.data(),
                         .step = step.data(),
                         .out = &out,
                         .add = &add,
                         .scalars = c_.number,
                         .count = c1 - c0,
                         .program = &program_};
    for (std::int64_t r = r0; r < r1; ++r) {
      program_.map(row);
      out = to += columns_ * static_cast<std::int64_t>(size_);
      for (std::size_t i = 0; i < slots; ++i) in[i] = static_cast<const char*>(in[i]) + row_bytes[i];
    }
  }

  const cpu::compiled& program_;
  const operands& c_;
  char* out_;
  std::size_t size_;
  int rank_;
  std::int64_t columns_;
  dims domain_;
  std::array<dims, common::max_slots> strides_;
};

}  // namespace kiln::detail
