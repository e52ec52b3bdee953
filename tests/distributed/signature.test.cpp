// SPDX-License-Identifier: BSL-1.0
// Collectives of which ranks ask for different things: an error that names both on every rank, nothing is written, and
// the next ones go on.
#include <kiln/distributed/collectives.hpp>
#include <kiln/distributed/mpi.hpp>

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include <kiln/kiln.hpp>

using namespace kiln;
using distributed::detail::collective;
using distributed::detail::signature;

namespace {
bool first() {
  return distributed::rank() == 0;
}
template <class Call>
std::string refused(Call call) {
  std::string text;
  try {
    call();
  } catch (const value_error& e) {
    text = e.what();
  }
  if (distributed::world_size() == 1) return "alone";
  CHECK(text.find(message("rank ", distributed::rank())) != text.npos);
  CHECK(text.find("the ranks differ: ") != text.npos);
  // What follows is the same on all ranks.
  double sum = distributed::all_reduce(1.0);
  CHECK(sum == distributed::world_size());
  return text;
}
bool has(const std::string& text, const char* part) {
  return text == "alone" || text.find(part) != text.npos;
}
}  // namespace

TEST_CASE("signature: what it says, and who differs") {
  float x[5] = {};
  const distributed::elements five{x, 5, dtype::float32, nullptr};
  const signature sum = signature::of(collective::all_reduce, five);
  const signature from = signature::of(collective::broadcast, five, {}, 2);
  CHECK(sum.text() == "all_reduce (sum) of 5 float32 elements");
  CHECK(from.text() == "broadcast from rank 2 of 5 float32 elements");
  CHECK(signature{}.text() == "barrier");
  distributed::detail::check_agreement(std::vector{sum, sum, sum}, 1);
  CHECK_THROWS_WITH_AS(
      distributed::detail::check_agreement(std::vector{sum, sum, from, {}, sum}, 2),
      doctest::Contains("broadcast, rank 2: the ranks differ: rank 0 calls all_reduce (sum) of 5 float32 "
                        "elements, rank 2 calls broadcast from rank 2 of 5 float32 elements, rank 3 "
                        "calls barrier; let"),
      value_error);
}

TEST_CASE("signature: sizes, types, reductions, roots and calls that differ are errors on all ranks") {
  Tensor<float> small = full<float>({5}, 1.0f), large = full<float>({100}, 2.0f);
  std::string text = refused([&] { distributed::all_reduce(first() ? small : large); });
  CHECK(has(text, "rank 0 calls all_reduce (sum) of 5 float32 elements, rank 1 calls all_reduce (sum) of 100 float32"));
  CHECK((small(4) == 1 && large(5) == 2 && large(99) == 2));
  text = refused([&] { distributed::broadcast(first() ? small : large, 0); });
  CHECK(has(text, "rank 1 calls broadcast from rank 0 of 100 float32 elements"));
  CHECK((large(0) == 2 && large(99) == 2));
  text = refused([&] { (void)distributed::all_gather(first() ? small : large); });
  CHECK(has(text, "all_gather of 100 float32 elements"));
  Tensor<double> doubles = full<double>({5}, 3.0);
  text = refused([&] { first() ? distributed::broadcast(small) : distributed::broadcast(doubles); });
  CHECK(has(text, "rank 1 calls broadcast from rank 0 of 5 float64 elements"));
  CHECK(doubles(0) == 3);
  text = refused(
      [&] { distributed::all_reduce(small, first() ? distributed::reduce_op::sum : distributed::reduce_op::mean); });
  CHECK(has(text, "all_reduce (mean)"));
  text = refused([&] { distributed::broadcast(small, distributed::world_size() > 1 && !first() ? 1 : 0); });
  CHECK(has(text, "rank 1 calls broadcast from rank 1"));
  text = refused([&] { first() ? distributed::barrier() : distributed::all_reduce(small); });
  CHECK(has(text, "rank 0 calls barrier"));
}

TEST_CASE("signature: of several under way, the one that differs is refused and the others go on") {
  Tensor<float> a = full<float>({5}, 1.0f), b = full<float>({first() ? 3 : 4}, 1.0f), c = full<float>({6}, 1.0f);
  auto& world = distributed::world();
  const auto of = [](Tensor<float>& x) {
    return distributed::elements{x.state()->data, x.numel(), dtype::float32, x.state()->memory};
  };
  const auto one = world.start_all_reduce(of(a), distributed::reduce_op::sum);
  const auto two = world.start_all_reduce(of(b), distributed::reduce_op::sum);
  const auto three = world.start_all_reduce(of(c), distributed::reduce_op::mean);
  // Waited for in another order on every other rank.
  if (distributed::rank() % 2) {
    three->wait();
    one->wait();
  } else {
    one->wait();
    three->wait();
  }
  CHECK((a(0) == static_cast<float>(world.world_size()) && c(5) == 1));
  if (world.world_size() > 1) {
    CHECK_THROWS_WITH_AS(two->wait(), doctest::Contains("the ranks differ"), value_error);
    CHECK(b(0) == 1);
  }
}
