// SPDX-License-Identifier: BSL-1.0
// A host for libraries that speak the C interface of kdb+ (kiln/k/interface.hpp): its functions, written from their
// documentation for tests. It is no q and proves nothing about one. What it adds to the interface stands here: every
// object is one block of malloc's, so sanitizers see leaks and use after release, and r0 and r1 abort the program when
// given an object that is not live, or that another thread made.
#pragma once

#include <kiln/k/interface.hpp>

#include <cstdint>
#include <string>

namespace k_host {

namespace k = kiln::k;
using k::object;

/// How many objects are live, and the bytes that they take.
std::int64_t live_objects();
std::int64_t live_bytes();
/// The most bytes that were live since the last call of forget_peak().
std::int64_t peak_bytes();
void forget_peak();
/// The types and counts of what is live, for the message of a test that finds a leak: "0h x 2, -7h x 2".
std::string live_summary();

/// Owners of x: 1 for a sole one.
inline int owners(object x) {
  return x->references + 1;
}

/// The text that krr or orr has stored on this thread, or null; ee and clear_error forget it.
const char* pending_error();
void clear_error();

/// Bytes of an item of a list of this type; 0 for types that have no lists.
std::int64_t item_size(int type);
/// An object with room for so many bytes behind its head, as functions need, which ktn does not make.
object allocate(int type, std::int64_t bytes);

/// Calls what dl has wrapped, with as many arguments as its arity; they stay the caller's. The result as it came.
object call_foreign(object function, object const* arguments);
std::int64_t foreign_arity(object function);

/// Where dot with functions that are not foreign, and k(0, ...), find an interpreter; null for none. Both give an
/// owned object, or null after krr; arguments (a mixed list) stay the caller's.
struct interpreter_hooks {
  object (*apply)(object function, object arguments) = nullptr;
  object (*evaluate)(const char* expression, object arguments) = nullptr;
};
void set_hooks(interpreter_hooks hooks);

/// Waits for registered descriptors to become readable and calls back those that are: how many.
int poll_descriptors(int milliseconds);
/// How many descriptors are registered.
int registered_descriptors();

}  // namespace k_host
