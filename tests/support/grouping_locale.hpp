// SPDX-License-Identifier: BSL-1.0
// A program whose locale writes 1024 as 1.024 and 0.5 as 0,5, as German ones do.
#pragma once

#include <locale>
#include <string>

namespace kiln_tests {

/// While it lives, streams that are made have such a locale.
class grouping_locale {
 public:
  grouping_locale() : before_(std::locale::global(std::locale(std::locale::classic(), new grouped))) {}
  ~grouping_locale() { std::locale::global(before_); }
  grouping_locale(const grouping_locale&) = delete;
  grouping_locale& operator=(const grouping_locale&) = delete;

 private:
  struct grouped : std::numpunct<char> {
    char do_decimal_point() const override { return ','; }
    char do_thousands_sep() const override { return '.'; }
    std::string do_grouping() const override { return "\3"; }
  };
  std::locale before_;
};

}  // namespace kiln_tests
