// SPDX-License-Identifier: BSL-1.0
// The state behind a handle: counted, taken apart without recursion; no_grad scopes.
#include <doctest/doctest.h>

#include <kiln/tensor/state.hpp>

using namespace kiln;

namespace {

struct chain_node final : graph_node {
  ref<gradient_record> before;
  static inline int alive = 0;
  explicit chain_node(ref<gradient_record> to) : before(std::move(to)) {
    ++alive;
    inputs = &before;
    input_count = 1;
  }
  ~chain_node() override { --alive; }
  void backward(const ref<tensor_state>&) override {}
  void release() override {}
};

}  // namespace

TEST_CASE("state: a new tensor is contiguous and of its sizes; impossible sizes are errors") {
  const auto t = new_tensor(dtype::float64, {2, 3, 4});
  CHECK(t->strides == dims{12, 4, 1});
  CHECK(is_contiguous(*t));
  CHECK(t->memory->bytes == 24 * 8);
  CHECK(new_tensor(dtype::int8, {0, 5})->sizes == dims{0, 5});
  CHECK_THROWS_WITH_AS(new_tensor(dtype::float32, {2, -1}), doctest::Contains("[2, -1]"), shape_error);
  CHECK_THROWS_AS(new_tensor(dtype::float32, {std::int64_t{1} << 40, std::int64_t{1} << 40}), shape_error);
  CHECK_THROWS_AS(new_tensor(dtype::float32, {std::int64_t{1} << 58}), memory_error);
}

TEST_CASE("state: a chain of a million records goes without using up the stack") {
  ref<gradient_record> last;
  for (int i = 0; i < 1000000; ++i) {
    auto next = new_record(dtype::float32, {});
    next->producer = ref<graph_node>::adopt(new chain_node(last));
    last = std::move(next);
  }
  CHECK(chain_node::alive == 1000000);
  last = nullptr;
  CHECK(chain_node::alive == 0);
}

TEST_CASE("state: nodes are numbered in the order in which they are made") {
  const auto a = ref<graph_node>::adopt(new chain_node(nullptr)), b = ref<graph_node>::adopt(new chain_node(nullptr));
  CHECK(a->order < b->order);
}

TEST_CASE("state: no_grad holds in its scope only") {
  CHECK(grad_enabled());
  {
    const no_grad outer;
    {
      const no_grad inner;
      CHECK_FALSE(grad_enabled());
    }
    CHECK_FALSE(grad_enabled());
  }
  CHECK(grad_enabled());
}
