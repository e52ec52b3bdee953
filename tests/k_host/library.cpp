// SPDX-License-Identifier: BSL-1.0
// A library for 2:, with functions of all kinds that the tests of the host need: good ones, ones that signal errors in
// every way there is, and ones that break the rules of the interface.
#include <kiln/k/interface.hpp>

#include <stdexcept>

#include <sys/eventfd.h>
#include <unistd.h>

using namespace kiln::k;

namespace {

int event = -1, events = 0;

object twice(object x) {
  if (x->type != -long_type) return krr("twice: expecting a long");
  return kj(2 * x->long_integer);
}
object both(object x, object y) {
  return knk(2, r1(x), r1(y));
}
object handle(object) {
  return knk(1, kj(1234));
}
object nothing(object) {
  return nullptr;
}

object on_event(int descriptor) {
  std::uint64_t count = 0;
  if (::read(descriptor, &count, sizeof count) == sizeof count) events += static_cast<int>(count);
  return nullptr;
}

}  // namespace

extern "C" {

/// A dictionary of functions, as libraries that have many offer them.
__attribute__((visibility("default"))) object functions(object) {
  object names = ktn(symbol_type, 0), values = ktn(mixed_type, 0);
  const auto offer = [&](const char* name, auto* function, std::int64_t arity) {
    js(&names, ss(name));
    jk(&values, dl(reinterpret_cast<void*>(function), arity));
  };
  offer("twice", &twice, 1);
  offer("both", &both, 2);
  offer("handle", &handle, 1);
  offer("nothing", &nothing, 1);
  return xD(names, values);
}

__attribute__((visibility("default"))) object eight(object a, object b, object c, object d, object e, object f,
                                                    object g, object h) {
  return knk(8, r1(h), r1(g), r1(f), r1(e), r1(d), r1(c), r1(b), r1(a));
}

/// Calls a function of q with a list of arguments, and k with an expression and one argument.
__attribute__((visibility("default"))) object calls(object function, object arguments) {
  return ee(dot(function, arguments));
}
__attribute__((visibility("default"))) object asks(object expression, object x) {
  if (expression->type != char_type) return krr("asks: expecting a string");
  object text = kpn(items<char>(expression), expression->count);
  const char zero = 0;
  ja(&text, const_cast<char*>(&zero));
  object result = k(0, items<char>(text), r1(x), static_cast<object>(nullptr));
  r0(text);
  return result;
}

/// Errors, and breaches: an argument released, an exception, a result in spite of an error.
__attribute__((visibility("default"))) object system_error(object) {
  ::close(-1);
  return orr("close");
}
__attribute__((visibility("default"))) object error_object(object) {
  krr("as an object");
  return ee(nullptr);
}
__attribute__((visibility("default"))) object releases(object x) {
  r0(x);
  return nullptr;
}
__attribute__((visibility("default"))) object throws(object) {
  throw std::runtime_error("through");
}
__attribute__((visibility("default"))) object both_results(object) {
  krr("forgotten");
  return kj(1);
}

/// An event that the host's loop finds: watch, signal it so often, how many have been seen, forget it.
__attribute__((visibility("default"))) object watch(object) {
  event = ::eventfd(0, EFD_NONBLOCK);
  return sd1(event, on_event);
}
__attribute__((visibility("default"))) object signal_events(object count) {
  const auto n = static_cast<std::uint64_t>(count->long_integer);
  return ::write(event, &n, sizeof n) == sizeof n ? nullptr : orr("write");
}
__attribute__((visibility("default"))) object seen(object) {
  return ki(events);
}
__attribute__((visibility("default"))) object forget(object) {
  sd0(event);
  return nullptr;
}
}
