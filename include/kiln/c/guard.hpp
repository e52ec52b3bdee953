// SPDX-License-Identifier: BSL-1.0
// What stands between C and C++: exceptions become statuses and a sentence here, and none passes.
#pragma once

#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <utility>

#include <kiln/c.h>
#include <kiln/core/error.hpp>

namespace kiln::c {

/// A null or stale handle, or one of another kind.
struct handle_error : error {
  using error::error;
};

/// What went wrong last on this thread. A fixed text stands in where there is no memory for the sentence.
class last_failure {
 public:
  kiln_status set(kiln_status status, std::string_view where, std::string_view reason) noexcept {
    try {
      kept_.assign(where);
      kept_ += ": ";
      if (reason.starts_with(kept_)) kept_.clear();
      kept_ += reason;
      text_ = kept_.c_str();
    } catch (...) {
      text_ = "out of memory, for the text of the error too";
    }
    return status;
  }
  const char* text() const { return text_; }

 private:
  std::string kept_;
  const char* text_ = "";
};
inline last_failure& failure() {
  thread_local last_failure of_thread;
  return of_thread;
}

/// Runs `f`; an exception becomes its status, and the text "where: its text". Never throws.
template <class F>
kiln_status guarded(const char* where, F&& f) noexcept {
  const auto failed = [where](kiln_status status, const std::exception& reason) {
    return failure().set(status, where, reason.what());
  };
  try {
    std::forward<F>(f)();
    return KILN_OK;
  } catch (const shape_error& e) {
    return failed(KILN_SHAPE_ERROR, e);
  } catch (const index_error& e) {
    return failed(KILN_INDEX_ERROR, e);
  } catch (const value_error& e) {
    return failed(KILN_VALUE_ERROR, e);
  } catch (const dtype_error& e) {
    return failed(KILN_DTYPE_ERROR, e);
  } catch (const device_error& e) {
    return failed(KILN_DEVICE_ERROR, e);
  } catch (const graph_error& e) {
    return failed(KILN_GRAPH_ERROR, e);
  } catch (const io_error& e) {
    return failed(KILN_IO_ERROR, e);
  } catch (const memory_error& e) {
    return failed(KILN_MEMORY_ERROR, e);
  } catch (const handle_error& e) {
    return failed(KILN_HANDLE_ERROR, e);
  } catch (const std::bad_alloc&) {
    return failure().set(KILN_MEMORY_ERROR, where, "out of memory");
  } catch (const std::exception& e) {
    return failed(KILN_OTHER_ERROR, e);
  } catch (...) {
    return failure().set(KILN_OTHER_ERROR, where, "unknown error");
  }
}

}  // namespace kiln::c
