// SPDX-License-Identifier: BSL-1.0
// The fields of a CSV file (RFC 4180): rows of equally many fields, a delimiter between them, quotes around those that
// hold delimiters, quotes (doubled) or the ends of lines. Blank lines are none.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <kiln/core/error.hpp>
#include <kiln/io/input_file.hpp>

namespace kiln::data {

/// How a CSV file is written.
struct csv_options {
  char delimiter = ',';
  bool header = true;                                 ///< the first line has the columns' names
  std::uint64_t most_bytes = std::uint64_t{1} << 32;  ///< larger files are refused
};

/// A CSV file, read and taken apart.
class csv_file {
 public:
  /// Throws io_error for a file that can't be read, that is larger than it may be, has rows of several lengths, or
  /// quotes that do not end or stand within a field; value_error for a delimiter that is a quote or the end of a line.
  explicit csv_file(const std::filesystem::path& path, const csv_options& options = {})
      : place_(message("read_csv: ", path)), delimiter_(options.delimiter) {
    if (delimiter_ == '"' || delimiter_ == '\n' || delimiter_ == '\r')
      throw value_error("read_csv: .delimiter is a quote or the end of a line: use another character");
    const io::input_file file("read_csv", path);
    if (file.size() > options.most_bytes)
      fail(" has ", file.size(), " bytes, more than the ", options.most_bytes, " that are read; raise .most_bytes");
    text_.resize(static_cast<std::size_t>(file.size()));
    file.read(0, text_.data(), text_.size());
    std::size_t at = text_.starts_with("\xef\xbb\xbf") ? 3 : 0;  // the mark of UTF-8
    std::size_t line = 1;
    bool names = options.header;
    std::vector<std::string_view> row;
    while (at < text_.size()) {
      if (text_[at] == '\n' || (text_[at] == '\r' && (at + 1 == text_.size() || text_[at + 1] == '\n'))) {  // blank
        line += text_[at++] == '\n';
        continue;
      }
      const std::size_t first_line = line;
      row.clear();
      at = take_row(at, line, row);
      if (columns_ == 0) columns_ = row.size();
      if (row.size() != columns_)
        fail(": line ", first_line, " has ", row.size(), " fields, and the first has ", columns_,
             "; all must have as many");
      if (std::exchange(names, false)) {
        names_.assign(row.begin(), row.end());
      } else {
        fields_.insert(fields_.end(), row.begin(), row.end());
        lines_.push_back(first_line);
      }
    }
  }
  // Fields look at the text.
  csv_file(const csv_file&) = delete;
  csv_file& operator=(const csv_file&) = delete;

  std::size_t rows() const { return lines_.size(); }
  std::size_t columns() const { return columns_; }
  /// Empty without a header.
  const std::vector<std::string>& names() const { return names_; }
  std::string_view field(std::size_t row, std::size_t column) const { return fields_[row * columns_ + column]; }
  /// In which line of the file a row begins, from 1 on.
  std::size_t line_of(std::size_t row) const { return lines_[row]; }
  /// What errors begin with.
  const std::string& place() const { return place_; }

 private:
  template <class... Parts>
  [[noreturn]] void fail(const Parts&... parts) const {
    throw io_error(message(place_, parts...));
  }
  // Appends the fields from a place on, and returns where the next row begins. Quoted fields are made plain in place.
  std::size_t take_row(std::size_t at, std::size_t& line, std::vector<std::string_view>& row) {
    char* const text = text_.data();
    const std::size_t size = text_.size();
    for (;;) {
      if (at < size && text[at] == '"') {
        const std::size_t first_line = line;
        std::size_t to = ++at;
        const std::size_t begin = at;
        for (;; ++at) {
          if (at == size) fail(": the quote in line ", first_line, " does not end");
          if (text[at] == '"') {
            if (at + 1 == size || text[at + 1] != '"') break;
            ++at;
          }
          line += text[at] == '\n';
          text[to++] = text[at];
        }
        ++at;
        row.emplace_back(text + begin, to - begin);
        if (at < size && text[at] == '\r' && (at + 1 == size || text[at + 1] == '\n')) ++at;
        if (at < size && text[at] != delimiter_ && text[at] != '\n')
          fail(": line ", line, " goes on after a quoted field; double the quotes within it");
      } else {
        const std::size_t begin = at;
        while (at < size && text[at] != delimiter_ && text[at] != '\n') ++at;
        std::size_t end = at;
        if ((at == size || text[at] == '\n') && end > begin && text[end - 1] == '\r') --end;
        row.emplace_back(text + begin, end - begin);
      }
      if (at == size) return at;
      if (text[at++] == '\n') {
        ++line;
        return at;
      }
    }
  }

  std::string place_, text_;
  char delimiter_;
  std::size_t columns_ = 0;
  std::vector<std::string> names_;
  std::vector<std::string_view> fields_;
  std::vector<std::size_t> lines_;
};

}  // namespace kiln::data
