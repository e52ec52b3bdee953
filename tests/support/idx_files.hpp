// SPDX-License-Identifier: BSL-1.0
// Files for tests: a directory that goes away by itself, and IDX contents byte by byte.
#pragma once

#include <zlib.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

namespace kiln_tests {

/// A fresh directory, removed with all it holds at the end of the scope.
class scratch_directory {
 public:
  scratch_directory() {
    std::string name = (std::filesystem::temp_directory_path() / "kiln-idx-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot make a scratch directory " + name);
    path_ = name;
  }
  scratch_directory(const scratch_directory&) = delete;
  scratch_directory& operator=(const scratch_directory&) = delete;
  ~scratch_directory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  const std::filesystem::path& path() const { return path_; }

  std::filesystem::path write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path_ / name, std::ios::binary) << bytes;
    return path_ / name;
  }
  std::filesystem::path write_gz(const std::string& name, const std::string& bytes) const {
    gzFile file = gzopen((path_ / name).c_str(), "wb");
    if (file == nullptr || gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size())) == 0 ||
        gzclose(file) != Z_OK)
      throw std::runtime_error("cannot write " + name);
    return path_ / name;
  }

 private:
  std::filesystem::path path_;
};

inline std::string slurp(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

/// Four bytes, the highest first.
inline std::string be32(std::uint32_t value) {
  std::string bytes;
  for (const int shift : {24, 16, 8, 0}) bytes.push_back(static_cast<char>((value >> shift) & 0xFF));
  return bytes;
}

/// An IDX file of unsigned bytes.
inline std::string idx_bytes(std::initializer_list<std::uint32_t> shape, const std::vector<std::uint8_t>& body) {
  std::string bytes{'\0', '\0', '\x08', static_cast<char>(shape.size())};
  for (const std::uint32_t size : shape) bytes += be32(size);
  bytes.append(body.begin(), body.end());
  return bytes;
}

}  // namespace kiln_tests
