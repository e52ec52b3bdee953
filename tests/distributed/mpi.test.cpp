// SPDX-License-Identifier: BSL-1.0
// The group that MPI makes: several collectives at once, and what initialize() refuses. How it ends when a rank does,
// is what endings/ tries.
#include <kiln/distributed/mpi.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <memory>
#include <vector>

using namespace kiln;

TEST_CASE("collectives that are under way together do not meet") {
  distributed::process_group& group = distributed::world();
  std::vector<std::vector<double>> values(8, std::vector<double>(1000));
  std::vector<std::unique_ptr<distributed::work>> under_way;
  for (std::size_t k = 0; k < values.size(); ++k) {
    for (double& v : values[k]) v = static_cast<double>(k) + group.rank();
    under_way.push_back(
        group.start_all_reduce({values[k].data(), 1000, dtype::float64, nullptr}, distributed::reduce_op::sum));
  }
  const int n = group.world_size();
  for (std::size_t k = values.size(); k-- > 0;) {
    under_way[k]->wait();
    CHECK(under_way[k]->completed());
    for (const double v : values[k]) REQUIRE(v == static_cast<double>(k) * n + n * (n - 1) / 2.0);
  }
}

TEST_CASE("one that nobody waits for is waited for when it is dropped") {
  double one = 1;
  distributed::world().start_all_reduce({&one, 1, dtype::float64, nullptr}, distributed::reduce_op::sum);
  CHECK(one == distributed::world_size());
}

TEST_CASE("what does not fit is refused") {
  distributed::process_group& group = distributed::world();
  double one = 1, two[2]{};
  if (group.world_size() != 2)
    CHECK_THROWS_WITH_AS(group.start_all_gather({&one, 1, dtype::float64, nullptr}, {two, 2, dtype::float64, nullptr}),
                         doctest::Contains("make room"), value_error);
  CHECK_THROWS_WITH_AS(group.start_all_gather({&one, 1, dtype::float64, nullptr}, {two, 1, dtype::int64, nullptr}),
                       doctest::Contains("make room"), value_error);
  CHECK_THROWS_AS(group.start_broadcast({&one, 1, dtype::float64, nullptr}, -1), value_error);
}

TEST_CASE("processes are joined once, for a time that is one") {
  int argc = 0;
  char** argv = nullptr;
  CHECK_THROWS_WITH_AS(distributed::initialize(argc, argv), doctest::Contains("joined already"), graph_error);
  CHECK_THROWS_WITH_AS(distributed::init_process_group(argc, argv, {.timeout = std::chrono::seconds(-1)}),
                       doctest::Contains(".timeout"), value_error);
}
