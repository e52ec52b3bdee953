// SPDX-License-Identifier: BSL-1.0
// The group of all processes: its numbers, and what is said where there is none.
#include <kiln/distributed/process_group.hpp>

#include <doctest/doctest.h>

#include <cstdlib>
#include <string>
#include <utility>

using namespace kiln;

TEST_CASE("rank and number of processes are those that mpirun gave") {
  const char* const size = std::getenv("OMPI_COMM_WORLD_SIZE");
  const char* const mine = std::getenv("OMPI_COMM_WORLD_RANK");
  CHECK(distributed::world_size() == (size ? std::stoi(size) : 1));
  CHECK(distributed::rank() == (mine ? std::stoi(mine) : 0));
  CHECK(distributed::world().backend() == "mpi");
  CHECK_FALSE(distributed::world().on_cuda());
  distributed::barrier();
}

TEST_CASE("without a group, the sentence says how to make one") {
  distributed::process_group* const kept = std::exchange(distributed::detail::default_group, nullptr);
  CHECK_THROWS_WITH_AS(distributed::rank(), doctest::Contains("distributed::initialize(argc, argv)"), device_error);
  CHECK_THROWS_WITH_AS(distributed::world_size(), doctest::Contains("no process groups yet"), device_error);
  CHECK_THROWS_WITH_AS(distributed::barrier(), doctest::Contains("no process groups yet"), device_error);
  distributed::detail::default_group = kept;
}

TEST_CASE("reductions have their names") {
  CHECK(name(distributed::reduce_op::sum) == "sum");
  CHECK(name(distributed::reduce_op::product) == "product");
}
