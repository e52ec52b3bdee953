// SPDX-License-Identifier: BSL-1.0
// Any bytes as a CSV file: rows of equally many fields, which read as the same when they are written with quotes; or
// io_error.
#include <kiln/data/csv_file.hpp>

#include "memory_file.hpp"

#include <memory>

namespace {

std::unique_ptr<kiln::data::csv_file> read(const void* bytes, std::size_t size) {
  const fuzz::memory_file file(bytes, size);
  try {
    return std::make_unique<kiln::data::csv_file>(file.path(), kiln::data::csv_options{.header = false});
  } catch (const kiln::io_error&) {
    return nullptr;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto first = read(data, size);
  if (!first) return 0;
  std::string written;
  for (std::size_t i = 0; i < first->rows(); ++i)
    for (std::size_t k = 0; k < first->columns(); ++k) {
      written += k == 0 ? "\"" : ",\"";
      for (const char c : first->field(i, k)) written += c == '"' ? std::string("\"\"") : std::string(1, c);
      written += k + 1 == first->columns() ? "\"\n" : "\"";
    }
  const auto second = read(written.data(), written.size());
  fuzz::promise(second && second->rows() == first->rows());
  for (std::size_t i = 0; i < first->rows(); ++i)
    for (std::size_t k = 0; k < first->columns(); ++k) fuzz::promise(first->field(i, k) == second->field(i, k));
  return 0;
}
