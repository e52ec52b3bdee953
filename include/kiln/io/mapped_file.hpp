// SPDX-License-Identifier: BSL-1.0
// A file as memory: the system reads a page when it is first looked at. What is written there stays in this process and
// never reaches the file. A file that others make shorter while it is mapped ends the program when the missing part is
// looked at (SIGBUS): write new files, as atomic_file does, rather than into one that is in use.
#pragma once

#include <sys/mman.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <memory>

#include <kiln/core/error.hpp>
#include <kiln/io/input_file.hpp>

namespace kiln::io {

class mapped_file {
 public:
  /// Throws io_error where the system maps no such file.
  explicit mapped_file(const input_file& file) : size_(static_cast<std::size_t>(file.size())) {
    if (size_ == 0) return;
    void* const at = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, file.number(), 0);
    if (at == MAP_FAILED)
      throw io_error(message(file.reader(), ": cannot map ", file.path(), ": ", std::strerror(errno),
                             "; read it instead, without mapping"));
    data_ = static_cast<char*>(at);
  }
  mapped_file(const mapped_file&) = delete;
  mapped_file& operator=(const mapped_file&) = delete;
  ~mapped_file() {
    if (data_) ::munmap(data_, size_);
  }
  char* data() const { return data_; }
  std::size_t size() const { return size_; }

 private:
  char* data_ = nullptr;
  std::size_t size_;
};

}  // namespace kiln::io
