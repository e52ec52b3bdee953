// SPDX-License-Identifier: BSL-1.0
// k_replay LIBRARY SESSION...: replays sessions with a library that 2: opens. `--has NAME` before LIBRARY says what
// parts of sessions that need NAME may run; `--console` reads lines from standard input instead.
#include "session.hpp"

#include <cstdio>
#include <iostream>

int main(int count, char** arguments) {
  std::set<std::string> has;
  bool console = false;
  int next = 1;
  for (; next < count && arguments[next][0] == '-'; ++next) {
    const std::string option = arguments[next];
    if (option == "--console")
      console = true;
    else if (option == "--has" && next + 1 < count)
      has.insert(arguments[++next]);
    else
      return std::fprintf(stderr, "k_replay: no option %s\n", option.c_str()), 2;
  }
  if (next >= count) return std::fprintf(stderr, "k_replay [--has NAME]... [--console] LIBRARY SESSION...\n"), 2;
  const std::string library = arguments[next++];
  int wrong = 0;
  bool sessions = false;
  try {
    if (console) {
      k_host::interpreter q;
      q.library = library;
      for (std::string line; std::getline(std::cin, line);)
        std::cout << "q)" << line << "\n" << q.console(line) << std::flush;
    }
    for (; next < count; ++next) {
      const k_host::replayed result = k_host::replay(k_host::text_of_file(arguments[next]), library, has);
      std::cout << result.output;
      sessions = sessions || !result.script;
      std::size_t said = 0;
      for (auto& mismatch : result.mismatches) {
        if (said++ < 10) std::cout << arguments[next] << ", " << k_host::described(mismatch) << "\n";
      }
      std::cout << arguments[next] << ": " << result.inputs << " inputs, " << result.mismatches.size()
                << " not as expected, " << result.left_out << " left out\n";
      wrong += static_cast<int>(result.mismatches.size());
    }
  } catch (const std::exception& error) {
    return std::fprintf(stderr, "k_replay: %s\n", error.what()), 2;
  }
  if (const auto left = k_host::live_objects()) {
    std::cout << left << " objects were not released: " << k_host::live_summary() << "\n";
    wrong += sessions;  // a script may end with what it has
  }
  return wrong ? 1 : 0;
}
