// SPDX-License-Identifier: BSL-1.0
// The pages of docs/q, one for each area of functions, as the table and the sessions make them.
#pragma once

#include <kiln/k/library.hpp>

#include <array>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

#include "k/support.hpp"

namespace k_test {

struct page {
  k::area area;
  std::string_view name, about, session;  ///< the files of the sessions that show them, below the project; may be empty
};
inline constexpr std::array<page, 17> pages{{
    {k::area::objects, "objects", "Handles: what they stand for, who owns it, when it ends.",
     "tests/k_host/sessions/pointers.q"},
    {k::area::attributes, "attributes", "What is known of a tensor, or of all tensors that something holds.", ""},
    {k::area::settings, "settings", "Devices, seeds, settings, help.",
     "tests/k/sessions/settings.q tests/k/sessions/cuda.q"},
    {k::area::tensors, "tensors", "From values of q to tensors, vectors and dictionaries of them, and back.",
     "tests/k_host/sessions/overview.q"},
    {k::area::shape, "shape", "Other shapes, parts, and tensors joined.", "tests/k/sessions/shape.q"},
    {k::area::math, "math", "Element by element.", "tests/k/sessions/laziness.q"},
    {k::area::comparison, "comparison", "Comparisons and tests, element by element or of whole tensors.", ""},
    {k::area::reductions, "reductions", "Sums, extremes, order, counts.",
     "tests/k/sessions/sorting.q tests/k/sessions/counting.q tests/k/sessions/norms.q"},
    {k::area::linear_algebra, "linear_algebra", "Products and matrices.",
     "tests/k/sessions/linear_algebra.q tests/k/sessions/decompositions.q"},
    {k::area::random, "random", "Random draws, and parameters' first values.", "tests/k/sessions/random.q"},
    {k::area::spectral, "spectral", "Fourier transforms and windows.", "tests/k/sessions/windows.q"},
    {k::area::modules, "modules", "Modules: made from definitions, looked into, called.",
     "tests/k/sessions/modules.q tests/k/sessions/layers.q tests/k/sessions/containers.q "
     "tests/k/sessions/callback.q"},
    {k::area::layers, "layers", "What layers do, as functions.", "tests/k/sessions/layer_functions.q"},
    {k::area::losses, "losses", "Losses, as objects and as functions.", "tests/k/sessions/losses.q"},
    {k::area::optimizers, "optimizers", "Optimizers and their steps.", ""},
    {k::area::autograd, "autograd", "Gradients.", "examples/q/quick_start.q"},
    {k::area::models, "models", "A module, a loss and an optimizer as one, trained on data.",
     "tests/k/sessions/training.q tests/k/sessions/background.q tests/k/sessions/files.q"},
}};

inline std::string text_of(const std::string& file) {
  std::ifstream in(file);
  std::ostringstream all;
  all << in.rdbuf();
  return all.str();
}

inline std::string text_of(const page& p) {
  std::ostringstream out;
  out << "# " << p.name << "\n\n"
      << p.about
      << " Made from the table in `kiln/k/functions.hpp`; [README.md](README.md) says how functions are called."
      << "\n\n| function | arguments, and what it does |\n|---|---|\n";
  std::string missing;
  for (std::size_t row = 0; row < k::functions.size(); ++row) {
    const auto& f = k::functions[row];
    if (f.area != p.area) continue;
    if (!k::library().offers(row)) {
      missing += missing.empty() ? "" : ", ";
      missing += "`" + std::string(f.name) + "`";
      continue;
    }
    out << "| `" << f.name << "` | ";
    for (const char c : f.help) out << (c == '|' ? "\\|" : std::string(1, c));
    out << " |\n";
  }
  if (!missing.empty()) out << "\nNot offered: they answer with an error that says so: " << missing << ".\n";
  std::istringstream sessions{std::string(p.session)};
  for (std::string session; sessions >> session;)
    out << "\nA session, which the tests replay (`" << session << "`):\n\n```q\n"
        << text_of(std::string(KILN_TEST_SOURCE_DIR) + "/" + session) << "```\n";
  return out.str();
}

}  // namespace k_test
