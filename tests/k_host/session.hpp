// SPDX-License-Identifier: BSL-1.0
// Sessions: files of what someone typed at a q console and what it showed, replayed line by line.
//
//   / tolerance 1e-6
//   q)x:1 2 3f                 a line that begins with `q)` is input
//   q)sqrt x                   what follows, up to the next input or line of comment, is what has to be shown
//   1 1.414214 1.732051
//
// White space at the ends of lines and empty lines at the end of what is shown do not count. Of an error the first line
// has to agree; where the session has the two lines after it, the place of the error, they have to agree as well.
// A line that begins with a slash is a comment. These comments say how the next input's display is compared:
//
//   / tolerance 1e-6    words that are numbers may differ by so much, relatively where they are larger than 1; how
//   words
//                       are set apart does not count
//   / unordered         lines in any order; how words are set apart does not count
//   / any               words that are numbers stand for any number
//   / like              `*` stands for any text within a line
//   / shown             whatever is shown, as long as it is no error
//   / fails             an error whose text contains what is expected
//   / needs NAME        this and all further inputs are left out unless NAME is one of the things that the caller has
//   / needs             from here on nothing is needed again
//
// A file without any `q)` is a script, which must run to its end without an error.
#pragma once

#include "q_eval.hpp"

#include <set>
#include <string>
#include <vector>

namespace k_host {

/// An input and how what it shows is compared.
struct step {
  int line = 0;  // in the file, from 1
  std::string input, expected;
  std::string needs;
  double tolerance = -1;  // negative: exact
  bool unordered = false, any = false, like = false, shown = false, fails = false;
};

std::vector<step> read_session(const std::string& text);

/// Whether what was shown is what a step expects.
bool agrees(const step& expected, const std::string& shown);

struct mismatch {
  step expected;
  std::string shown;
};

struct replayed {
  int inputs = 0, left_out = 0;
  bool script = false;
  std::string output;  // of a script
  std::vector<mismatch> mismatches;
};

/// Replays a session, or runs a script, in a fresh interpreter, which opens `library` (or, if empty, what the session
/// names) for 2:. All inputs are run, whatever the ones before them have shown.
replayed replay(const std::string& text, const std::string& library = "", const std::set<std::string>& has = {});

/// The file's text; throws std::runtime_error.
std::string text_of_file(const std::string& path);

/// What was expected and what was shown, for people.
std::string described(const mismatch& wrong);

}  // namespace k_host
