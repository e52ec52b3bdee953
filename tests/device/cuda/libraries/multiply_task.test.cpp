// SPDX-License-Identifier: BSL-1.0
// What can be read where it lies, and tasks written with fewer products. What they compute is in multiply.test.cpp.
#include <kiln/device/cuda/libraries/multiply_task.hpp>

#include <doctest/doctest.h>

#include <sstream>

using kiln::dims;
using kiln::cuda::is_readable;
using kiln::cuda::matrix_operand;
using kiln::cuda::product_task;
using kiln::cuda::detail::product_walk;

namespace {

product_task task_of(dims batch, matrix_operand a, matrix_operand b, std::int64_t out_row_stride, dims out) {
  product_task task;
  task.batch = batch;
  task.a = a;
  task.b = b;
  task.out_row_stride = out_row_stride;
  task.out_batch_strides = out;
  return task;
}

// The axes that are left.
int axes_of(product_task& task) {
  product_walk walk(task);
  simplify(task, walk);
  return walk.count;
}

}  // namespace

TEST_CASE("rows or columns next to each other can be read, overlapping or scattered ones cannot") {
  CHECK(is_readable({nullptr, 3, 4, 4, 1, {}}));
  CHECK(is_readable({nullptr, 3, 4, 9, 1, {}}));
  CHECK(is_readable({nullptr, 3, 4, 1, 3, {}}));
  CHECK(is_readable({nullptr, 3, 4, 1, 8, {}}));
  CHECK(is_readable({nullptr, 1, 4, 77, 1, {}}));
  CHECK(is_readable({nullptr, 1, 4, 77, 5, {}}));  // a column of a row-major matrix, transposed
  CHECK(is_readable({nullptr, 4, 1, 5, 77, {}}));
  CHECK(is_readable({nullptr, 1, 1, 0, 0, {}}));
  CHECK_FALSE(is_readable({nullptr, 3, 4, 3, 1, {}}));   // overlap
  CHECK_FALSE(is_readable({nullptr, 3, 4, 0, 1, {}}));   // broadcast rows
  CHECK_FALSE(is_readable({nullptr, 3, 4, -4, 1, {}}));  // backwards
  CHECK_FALSE(is_readable({nullptr, 3, 4, 8, 2, {}}));
  CHECK_FALSE(is_readable({nullptr, 4, 1, 0, 1, {}}));
  CHECK_FALSE(is_readable({nullptr, std::int64_t{1} << 31, 1, 1, 1, {}}));
}

TEST_CASE("a batch of tokens times one matrix is one product") {
  product_task task =
      task_of({8, 16}, {nullptr, 5, 32, 32, 1, {16 * 160, 160}}, {nullptr, 32, 7, 7, 1, {0, 0}}, 7, {16 * 35, 35});
  CHECK(axes_of(task) == 0);
  CHECK(task.a.rows == 8 * 16 * 5);
  CHECK(task.out_row_stride == 7);
  // Of one row each, whatever the distance.
  task = task_of({8}, {nullptr, 1, 32, 0, 1, {40}}, {nullptr, 32, 7, 1, 32, {0}}, 0, {9});
  CHECK(axes_of(task) == 0);
  CHECK(task.a.rows == 8);
  CHECK(task.a.row_stride == 40);
  CHECK(task.out_row_stride == 9);
}

TEST_CASE("products that are summed over the batch are one product with longer sums") {
  // A gradient of weights: tokens x inputs, transposed, times tokens x outputs.
  product_task task = task_of({6, 4}, {nullptr, 5, 10, 1, 5, {200, 50}}, {nullptr, 10, 3, 3, 1, {120, 30}}, 3, {0, 0});
  CHECK(axes_of(task) == 0);
  CHECK(task.a.columns == 240);
  CHECK(task.b.rows == 240);
  CHECK(task.a.rows == 5);
}

TEST_CASE("axes that cannot be folded are joined, and only if all operands let them") {
  product_task task = task_of({2, 3}, {nullptr, 4, 4, 4, 1, {48, 16}}, {nullptr, 4, 4, 4, 1, {48, 16}}, 4, {48, 16});
  CHECK(axes_of(task) == 1);
  task = task_of({2, 3}, {nullptr, 4, 4, 4, 1, {16, 32}}, {nullptr, 4, 4, 4, 1, {16, 32}}, 4, {16, 32});
  CHECK(axes_of(task) == 1);  // the other way around in memory
  task = task_of({2, 3}, {nullptr, 4, 4, 4, 1, {48, 16}}, {nullptr, 4, 4, 4, 1, {48, 16}}, 4, {16, 32});
  CHECK(axes_of(task) == 2);
  // Heads of attention: rows of one head are not next to those of the next.
  task = task_of({2, 3}, {nullptr, 5, 4, 12, 1, {60, 4}}, {nullptr, 4, 5, 1, 12, {60, 4}}, 5, {75, 25});
  CHECK(axes_of(task) == 2);
  task = task_of({1, 3, 1}, {nullptr, 4, 4, 4, 1, {7, 16, 9}}, {nullptr, 4, 4, 4, 1, {7, 16, 9}}, 4, {1, 16, 2});
  CHECK(axes_of(task) == 1);  // axes of one index do not count
}

TEST_CASE("a fold does not make what cannot be read") {
  // Columns packed and 4 apart: five more rows would run into the next column.
  product_task task = task_of({5}, {nullptr, 4, 3, 1, 4, {12}}, {nullptr, 3, 2, 2, 1, {0}}, 2, {8});
  CHECK(axes_of(task) == 1);
  task = task_of({2}, {nullptr, 4, 3, 1, 8, {4}}, {nullptr, 3, 2, 2, 1, {0}}, 2, {8});
  CHECK(axes_of(task) == 0);
  // More rows than cuBLASLt counts.
  const std::int64_t many = std::int64_t{1} << 30;
  task = task_of({4}, {nullptr, many, 1, 1, 1, {many}}, {nullptr, 1, 1, 1, 1, {0}}, 1, {many});
  CHECK(axes_of(task) == 1);
}

TEST_CASE("empty results and empty sums are told apart") {
  const auto walk = [](dims batch, std::int64_t m, std::int64_t k, dims out) {
    const dims zero = dims::filled(batch.rank(), 0);
    return product_walk(task_of(batch, {nullptr, m, k, 1, 1, zero}, {nullptr, k, 1, 1, 1, zero}, 1, out));
  };
  CHECK(walk({}, 0, 1, {}).nothing);
  CHECK(walk({0}, 1, 1, {1}).nothing);
  CHECK_FALSE(walk({0}, 1, 1, {0}).nothing);
  CHECK(walk({0}, 1, 1, {0}).empty_sum);
  CHECK(walk({2}, 1, 0, {1}).empty_sum);
  CHECK_FALSE(walk({2}, 1, 1, {0}).empty_sum);
}

TEST_CASE("a task is printed as its sizes") {
  std::ostringstream text;
  text << task_of({2, 3}, {nullptr, 4, 5, 5, 1, {0, 0}}, {nullptr, 5, 6, 6, 1, {0, 0}}, 6, {1, 1});
  CHECK(text.str() == "[2, 3] x 4x5 by 5x6 (float32)");
}
