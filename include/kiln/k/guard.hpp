// SPDX-License-Identifier: BSL-1.0
// What stands between q and C++: exceptions become errors of q here, and none passes.
#pragma once

#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include <kiln/core/error.hpp>
#include <kiln/k/interface.hpp>

namespace kiln::k {

/// An error whose text stands by itself, without the name of the function before it: users compare these texts.
struct bare_error : error {
  using error::error;
};

/// Whether this is the thread that called kiln first, which is q's main one.
inline bool on_main_thread() {
  static const std::thread::id first = std::this_thread::get_id();
  return std::this_thread::get_id() == first;
}

namespace detail {
/// Signals an error of q; krr keeps the address only, so the text stays until this thread's next error.
inline object signal(std::string text) noexcept {
  thread_local std::string kept;
  kept = std::move(text);
  return krr(kept.c_str());
}

/// "name: reason", where the reason does not start so itself.
inline std::string named(std::string_view name, std::string_view reason) {
  std::string text(name);
  text += ": ";
  return reason.starts_with(text) ? std::string(reason) : text.append(reason);
}
}  // namespace detail

/// Runs `f`, which returns an object; an exception becomes the error "name: its text". Never throws.
template <class F>
object guarded(std::string_view name, F&& f) noexcept {
  try {
    try {
      return std::forward<F>(f)();
    } catch (const bare_error& reason) {
      return detail::signal(reason.what());
    } catch (const std::bad_alloc&) {
      return detail::signal(detail::named(name, "out of memory"));
    } catch (const std::exception& reason) {
      return detail::signal(detail::named(name, reason.what()));
    } catch (...) {
      return detail::signal(detail::named(name, "unknown error"));
    }
  } catch (...) {  // no memory for the text either
    return krr("wsfull");
  }
}

}  // namespace kiln::k
