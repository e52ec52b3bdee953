// SPDX-License-Identifier: BSL-1.0
// Reads sessions and compares what they expect with what is shown.
#include "session.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace k_host {

namespace {

using texts = std::vector<std::string>;

/// Lines without white space at their ends, and without empty ones at the end.
texts lines_of(const std::string& text) {
  texts lines;
  std::istringstream all(text);
  for (std::string line; std::getline(all, line);) {
    line.erase(line.find_last_not_of(" \t\r") + 1);
    lines.push_back(line);
  }
  while (!lines.empty() && lines.back().empty()) lines.pop_back();
  return lines;
}

/// Words of a line; brackets, separators and what marks types are words of their own, so that numbers stand alone.
texts words_of(const std::string& line) {
  texts words;
  bool apart = true;
  for (const char c : line) {
    const bool separator = std::string(" ;()[],|`").find(c) != std::string::npos;
    if (separator && c != ' ')
      words.emplace_back(1, c);
    else if (c != ' ' && (apart || words.empty()))
      words.emplace_back(1, c);
    else if (c != ' ')
      words.back() += c;
    apart = separator;
  }
  return words;
}

/// A number, with or without the letter of its type.
bool number_in(std::string word, double& number) {
  if (word.size() > 1 && std::string("efihj").find(word.back()) != std::string::npos) word.pop_back();
  if (word == "0n" || word == "0N") {
    number = std::nan("");
    return true;
  }
  if (word == "0w" || word == "-0w") {
    number = word[0] == '-' ? -INFINITY : INFINITY;
    return true;
  }
  char* end = nullptr;
  number = std::strtod(word.c_str(), &end);
  return !word.empty() && *end == 0 && std::string("+-.0123456789").find(word[0]) != std::string::npos;
}

bool near(double a, double b, double tolerance) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return a == b || std::abs(a - b) <= tolerance * std::max(1.0, std::abs(b));
}

bool fits(const char* pattern, const char* text) {
  if (!*pattern) return !*text;
  if (*pattern == '*') return fits(pattern + 1, text) || (*text && fits(pattern, text + 1));
  return *pattern == *text && fits(pattern + 1, text + 1);
}

bool same_line(const step& how, const std::string& expected, const std::string& shown) {
  if (how.tolerance < 0 && !how.any && !how.unordered) {
    return how.like ? fits(expected.c_str(), shown.c_str()) : expected == shown;
  }
  const texts want = words_of(expected), have = words_of(shown);
  if (want.size() != have.size()) return false;
  const bool rule = expected.find_first_not_of("- ") == std::string::npos;
  if (rule && shown.find_first_not_of("- ") == std::string::npos) return true;  // its length is that of the numbers
  for (std::size_t i = 0; i < want.size(); ++i) {
    double a = 0, b = 0;
    const bool numbers = number_in(want[i], a) && number_in(have[i], b);
    if (numbers && (how.any || (how.tolerance >= 0 && near(b, a, how.tolerance)))) continue;
    if (how.like ? fits(want[i].c_str(), have[i].c_str()) : want[i] == have[i]) continue;
    return false;
  }
  return true;
}

bool same_lines(const step& how, const texts& expected, const texts& shown) {
  if (expected.size() != shown.size()) return false;
  std::vector<bool> used(shown.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    bool found = false;
    for (std::size_t j = how.unordered ? 0 : i; j < (how.unordered ? shown.size() : i + 1) && !found; ++j) {
      if (used[j] || !same_line(how, expected[i], shown[j])) continue;
      used[j] = found = true;
    }
    if (!found) return false;
  }
  return true;
}

/// "  [0]  ..." is the line after an error's text, and "^" the one after that.
bool is_error(const texts& lines) {
  return !lines.empty() && lines[0].size() > 1 && lines[0][0] == '\'' &&
         (lines.size() == 1 || lines[1].rfind("  [", 0) == 0 ||
          std::any_of(lines.begin(), lines.end(), [](auto& line) { return line.rfind("  [", 0) == 0; }));
}

bool directive(const std::string& line, step& next, std::string& needs) {
  std::istringstream words(line.substr(1));
  std::string word, argument;
  words >> word >> argument;
  if (word == "tolerance")
    next.tolerance = std::atof(argument.c_str());
  else if (word == "unordered")
    next.unordered = true;
  else if (word == "any")
    next.any = true;
  else if (word == "like")
    next.like = true;
  else if (word == "shown")
    next.shown = true;
  else if (word == "fails")
    next.fails = true;
  else if (word == "needs")
    needs = argument;
  else
    return false;
  return true;
}

}  // namespace

std::vector<step> read_session(const std::string& text) {
  std::vector<step> steps;
  step next;
  std::string needs, line;
  std::istringstream lines(text);
  bool in_output = false;
  for (int number = 1; std::getline(lines, line); ++number) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (line.rfind("q)", 0) == 0) {
      next.line = number;
      next.input = line.substr(2);
      next.needs = needs;
      steps.push_back(std::move(next));
      next = {};
      in_output = true;
    } else if (line.rfind('/', 0) == 0) {
      directive(line, next, needs);
      in_output = false;
    } else if (in_output) {
      steps.back().expected += line + "\n";
    }
  }
  return steps;
}

bool agrees(const step& how, const std::string& shown) {
  const texts have = lines_of(shown);
  texts want = lines_of(how.expected);
  const bool failed = is_error(have);
  if (how.shown) return !failed;
  if (how.fails)
    return failed && (want.empty() || have[0].find(want[0].substr(want[0][0] == '\'')) != std::string::npos);
  if (failed != is_error(want)) return false;
  if (failed && want.size() == 1) return same_line(how, want[0], have[0]);
  return same_lines(how, want, have);
}

replayed replay(const std::string& text, const std::string& library, const std::set<std::string>& has) {
  replayed result;
  interpreter q;
  q.library = library;
  const std::vector<step> steps = read_session(text);
  if (steps.empty()) {
    result.script = true;
    try {
      ++result.inputs;
      q.run_script(text);
    } catch (const q_error& error) {
      step whole;
      whole.input = error.source;
      result.mismatches.push_back({whole, q.output + "'" + error.what() + "\n"});
    }
    result.output = q.output;
  }
  for (auto& one : steps) {
    if (!one.needs.empty() && !has.count(one.needs)) {
      ++result.left_out;
      continue;
    }
    ++result.inputs;
    const std::string shown = q.console(one.input);
    if (!agrees(one, shown)) result.mismatches.push_back({one, shown});
  }
  return result;
}

std::string text_of_file(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error(path + ": cannot be read");
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string described(const mismatch& wrong) {
  return "line " + std::to_string(wrong.expected.line) + ": q)" + wrong.expected.input + "\nexpected:\n" +
         wrong.expected.expected + "shown:\n" + wrong.shown;
}

}  // namespace k_host
