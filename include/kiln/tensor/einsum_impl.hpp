// SPDX-License-Identifier: BSL-1.0
// The definitions of einsum.hpp: equations are read.
#pragma once

#include <algorithm>
#include <string>

#include <kiln/tensor/einsum.hpp>

namespace kiln::detail {

[[noreturn, gnu::cold]] KILN_INLINE void no_equation(std::string_view text, const std::string& why) {
  throw value_error(message("einsum: \"", text, "\" ", why));
}

// The labels of one operand or of the result; those of "..." from the last, -1, on.
KILN_INLINE dims labels_of(std::string_view part, std::string_view text, int within_dots) {
  dims labels;
  bool dots = false;
  for (std::size_t i = 0; i < part.size(); ++i) {
    const char c = part[i];
    if (c == ' ') continue;
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) {
      labels.push_back(c);
    } else if (part.substr(i, 3) == "..." && !dots) {
      dots = true;
      for (int k = within_dots; k > 0; --k) labels.push_back(-k);
      i += 2;
    } else {
      no_equation(text,
                  message("has '", c, "' in \"", part, "\": letters name axes, \"...\" stands once for the others"));
    }
  }
  return labels;
}

[[gnu::cold]] KILN_INLINE void read_equation(einsum_equation& e, std::string_view text, const dims* sizes,
                                             int operands) {
  const std::size_t arrow = text.find("->");
  std::string_view left = text.substr(0, arrow);
  int parts = 1;
  for (const char c : left) parts += c == ',';
  if (parts != operands)
    no_equation(text, message("is for ", parts, " operands, given ", operands, ": commas part them"));
  int most_dots = 0;
  for (int i = 0; i < operands; ++i) {
    const std::string_view part = left.substr(0, left.find(','));
    left.remove_prefix(std::min(left.size(), part.size() + 1));
    int letters = 0;
    for (const char c : part) letters += c != ' ' && c != '.';
    const bool dots = part.find("...") != part.npos;
    const int beside = sizes[i].rank() - letters;
    if (beside < 0 || (beside > 0 && !dots))
      throw shape_error(message("einsum: \"", part, "\" names ", letters, " axes, operand ", i, " has shape ", sizes[i],
                                dots ? "" : ": a letter for each, or \"...\" for the others"));
    e.operand[i] = labels_of(part, text, beside);
    most_dots = std::max(most_dots, dots ? beside : 0);
    for (const std::int64_t label : e.operand[i])
      if (label > 0) ++e.uses[label];
  }
  if (arrow == text.npos) {
    for (int k = most_dots; k > 0; --k) e.result.push_back(-k);
    for (int c = 0; c < 128; ++c)
      if (e.uses[c] == 1) e.result.push_back(c);
    return;
  }
  const std::string_view right = text.substr(arrow + 2);
  e.result = labels_of(right, text, most_dots);
  for (int i = 0; i < e.result.rank(); ++i) {
    const std::int64_t label = e.result[i];
    if (label < 0) continue;
    const std::string letter(1, static_cast<char>(label));
    if (e.uses[label] == 0) no_equation(text, "has '" + letter + "' in the result and in no operand");
    if (place_of_label(e.result, label) != i) no_equation(text, "has '" + letter + "' twice in the result");
  }
}

KILN_INLINE void note_sizes(std::int64_t (&size_of_label)[256], const dims& labels, const dims& sizes,
                            std::string_view text) {
  for (int i = 0; i < labels.rank(); ++i) {
    std::int64_t& known = size_of_label[slot_of_label(labels[i])];
    if (known == -1 || known == 1)
      known = sizes[i];
    else if (sizes[i] != 1 && sizes[i] != known)
      throw shape_error(
          message("einsum: in \"", text, "\" ",
                  labels[i] > 0 ? message("'", static_cast<char>(labels[i]), "'") : std::string("\"...\""),
                  " has axes of ", known, " and ", sizes[i], " elements: they have to be equal, or 1"));
  }
}

}  // namespace kiln::detail
