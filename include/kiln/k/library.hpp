// SPDX-License-Identifier: BSL-1.0
// All areas together: the registry that the functions of q go by, and help, which reads it.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <kiln/k/attributes.hpp>
#include <kiln/k/autograd.hpp>
#include <kiln/k/background.hpp>
#include <kiln/k/decompositions.hpp>
#include <kiln/k/files.hpp>
#include <kiln/k/fuse.hpp>
#include <kiln/k/linear_algebra.hpp>
#include <kiln/k/losses.hpp>
#include <kiln/k/math.hpp>
#include <kiln/k/models.hpp>
#include <kiln/k/modules.hpp>
#include <kiln/k/numerics.hpp>
#include <kiln/k/objects.hpp>
#include <kiln/k/optimizers.hpp>
#include <kiln/k/random.hpp>
#include <kiln/k/reductions.hpp>
#include <kiln/k/registry.hpp>
#include <kiln/k/settings.hpp>
#include <kiln/k/shape.hpp>
#include <kiln/k/sorting.hpp>
#include <kiln/k/tensors.hpp>
#include <kiln/k/trees.hpp>

namespace kiln::k {

inline std::string_view name(area a) {
  static constexpr std::string_view names[] = {"objects",  "attributes", "settings",   "tensors",        "shape",
                                               "math",     "comparison", "reductions", "linear_algebra", "random",
                                               "spectral", "modules",    "layers",     "losses",         "optimizers",
                                               "autograd", "models"};
  return names[static_cast<std::size_t>(a)];
}

inline const registry& library();

/// []: a table of all functions; a symbol: the line of one.
inline object help(std::string_view, object x) {
  if (const auto wanted = read_symbol(x)) {
    const auto row = find_function(*wanted);
    if (!row) throw value_error(message("no function `", *wanted, "; help[] lists all"));
    return make_text(message(functions[*row].name, " ", functions[*row].help,
                             library().offers(*row) ? "" : " (not offered by kiln in this version)"));
  }
  if (!is_null(x) && !(x->type == mixed_type && x->count == 0))
    throw value_error(message("expects a symbol or nothing, given ", describe(x)));
  std::vector<std::string> names, areas;
  longs tiers;
  std::vector<owned> lines;
  object offered = ktn(boolean_type, static_cast<std::int64_t>(functions.size()));
  for (std::size_t row = 0; row < functions.size(); ++row) {
    names.emplace_back(functions[row].name);
    areas.emplace_back(name(functions[row].area));
    tiers.push_back(functions[row].tier);
    items<std::uint8_t>(offered)[row] = library().offers(row);
    lines.emplace_back(make_text(functions[row].help));
  }
  const std::vector<std::string> columns{"name", "area", "tier", "offered", "help"};
  return xT(make_dictionary(columns, knk(5, make_symbols(names), make_symbols(areas), make_longs(tiers), offered,
                                         make_list(std::move(lines)))));
}

/// What each function of the table calls.
inline const registry& library() {
  static const registry& all = *[] {
    auto* r = new registry;
    offer_objects(*r);
    offer_attributes(*r);
    offer_settings(*r);
    offer_tensors(*r);
    offer_shape(*r);
    offer_math(*r);
    offer_fuse(*r);
    offer_reductions(*r);
    offer_linear_algebra(*r);
    offer_autograd(*r);
    offer_modules(*r);
    offer_losses(*r);
    offer_optimizers(*r);
    offer_models(*r);
    offer_random(*r);
    offer_sorting(*r);
    offer_numerics(*r);
    offer_trees(*r);
    offer_files(*r);
    offer_background(*r);
    offer_decompositions(*r);
    r->offer("help", help);
    return r;
  }();
  return all;
}

}  // namespace kiln::k
