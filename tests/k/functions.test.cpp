// SPDX-License-Identifier: BSL-1.0
#include <kiln/k/functions.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

namespace k = kiln::k;

TEST_CASE("all 429 names that users know are there, each once, and 14 more") {
  std::set<std::string_view> names;
  for (const k::function_row& row : k::functions) CHECK(names.insert(row.name).second);
  CHECK(std::ranges::count_if(k::functions, [](const auto& row) { return row.tier > 0; }) == 429);
  CHECK(std::ranges::count_if(k::functions, [](const auto& row) { return row.tier == 0; }) == 14);
  for (const auto* name : {"sub", "gelu", "ndtr", "silu", "mish", "scope", "columns", "fuse", "Save", "Load",
                           "background", "progress", "wait", "stop"})
    CHECK(k::functions[*k::find_function(name)].tier == 0);
}

TEST_CASE("areas have as many names as the study of the interface counted") {
  std::map<k::area, int> count;
  for (const k::function_row& row : k::functions) count[row.area] += row.tier > 0;
  const std::map<k::area, int> expected{
      {k::area::objects, 21},        {k::area::attributes, 27}, {k::area::settings, 11},   {k::area::tensors, 20},
      {k::area::shape, 18},          {k::area::math, 54},       {k::area::comparison, 15}, {k::area::reductions, 35},
      {k::area::linear_algebra, 52}, {k::area::random, 17},     {k::area::spectral, 27},   {k::area::modules, 25},
      {k::area::layers, 50},         {k::area::losses, 21},     {k::area::optimizers, 5},  {k::area::autograd, 6},
      {k::area::models, 25}};
  CHECK(count == expected);
}

TEST_CASE("the first names come in the order that sessions show") {
  std::string first;
  for (std::size_t i = 0; i < 14; ++i) first += std::string(k::functions[i].name) + " ";
  CHECK(first == "dv tree addref free return use obj tensorcount to copyto info detail state setting ");
}

TEST_CASE("every function has a line of help, only use takes two arguments") {
  for (const k::function_row& row : k::functions) {
    CHECK_MESSAGE(row.help.size() > 4, row.name);
    CHECK_MESSAGE(row.help.size() <= 120, row.name);
    CHECK_MESSAGE((k::arity(row) == 2) == (row.name == "use"), row.name);
  }
  CHECK_FALSE(k::find_function("subtract").has_value());
}
