// SPDX-License-Identifier: BSL-1.0
// The functions of the C interface that make, join and release objects, and report errors.
#include "runtime.hpp"

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include <poll.h>
#include <unistd.h>

namespace k_host {

namespace {

/// What is known of a live object beside itself.
struct record {
  std::int64_t bytes;
  std::thread::id maker;
};

/// The live objects, by the complement of their addresses: a leak must not look reachable to sanitizers.
struct registry {
  std::mutex lock;
  std::unordered_map<std::uintptr_t, record> live;
  std::int64_t bytes = 0, peak = 0;

  static std::uintptr_t hidden(object x) { return ~reinterpret_cast<std::uintptr_t>(x); }

  void add(object x, std::int64_t size) {
    std::lock_guard guard(lock);
    live[hidden(x)] = {size, std::this_thread::get_id()};
    bytes += size;
    peak = std::max(peak, bytes);
  }
  /// Aborts unless x is live and of this thread.
  void check(object x, const char* function) {
    std::lock_guard guard(lock);
    auto found = live.find(hidden(x));
    if (found != live.end() && found->second.maker == std::this_thread::get_id()) return;
    std::fprintf(stderr, "%s(%p): %s\n", function, static_cast<void*>(x),
                 found == live.end() ? "no live object (released too often?)" : "made by another thread");
    std::abort();
  }
  void remove(object x) {
    std::lock_guard guard(lock);
    auto found = live.find(hidden(x));
    bytes -= found->second.bytes;
    live.erase(found);
  }
};

registry& objects() {
  static auto* const one = new registry;  // outlives all static objects
  return *one;
}

thread_local const char* pending = nullptr;
thread_local std::string system_error_text;
interpreter_hooks hooks;
std::vector<std::pair<int, k::descriptor_callback>> descriptors;

/// A foreign function, behind its head.
struct foreign {
  void* function;
  std::int64_t arity;
};

constexpr std::int64_t head = sizeof(k::k0);

object grow(object x, std::int64_t items) {
  const std::int64_t size = head + (x->count + items) * item_size(x->type);
  if (x->references != 0) {
    std::fprintf(stderr, "join: the list has %d owners, and all of them would see it change\n", owners(x));
    std::abort();
  }
  objects().check(x, "join");
  objects().remove(x);
  auto* grown = static_cast<object>(std::realloc(x, static_cast<std::size_t>(size)));
  if (!grown) std::abort();
  objects().add(grown, size);
  return grown;
}

/// Where item i of a list lies.
unsigned char* place(object x, std::int64_t i) {
  return k::items<unsigned char>(x) + i * item_size(x->type);
}

template <class T>
object atom(int type, T k::k0::*field, T value) {
  object x = allocate(-type, 0);
  x->*field = value;
  return x;
}

/// How many objects a released one holds references to, behind its head.
std::int64_t held(object x) {
  switch (x->type) {
    case k::mixed_type:
    case k::dictionary_type:
    case k::lambda_type:
    case k::projection_type:
    case k::composition_type:
      return x->count;
    default:
      return x->type >= k::each_type && x->type < k::foreign_type ? 1 : 0;
  }
}

}  // namespace

std::int64_t live_objects() {
  std::lock_guard guard(objects().lock);
  return static_cast<std::int64_t>(objects().live.size());
}
std::int64_t live_bytes() {
  return objects().bytes;
}
std::int64_t peak_bytes() {
  return objects().peak;
}
void forget_peak() {
  objects().peak = objects().bytes;
}

std::string live_summary() {
  std::lock_guard guard(objects().lock);
  std::map<int, int> counts;
  for (auto& [key, about] : objects().live) ++counts[reinterpret_cast<object>(~key)->type];
  std::string text;
  for (auto [type, count] : counts) {
    text += (text.empty() ? "" : ", ") + std::to_string(type) + "h x " + std::to_string(count);
  }
  return text;
}

const char* pending_error() {
  return pending;
}
void clear_error() {
  pending = nullptr;
}

std::int64_t item_size(int type) {
  static constexpr signed char sizes[20] = {8, 1, 16, 0, 1, 2, 4, 8, 4, 8, 1, 8, 8, 4, 4, 8, 8, 4, 4, 4};
  return type < 0 || type >= k::table_type ? 0 : type < 20 ? sizes[type] : 8;
}

object allocate(int type, std::int64_t bytes) {
  auto* x = static_cast<object>(std::malloc(static_cast<std::size_t>(head + bytes)));
  if (!x) std::abort();
  *x = k::k0{};
  x->type = static_cast<signed char>(type);
  objects().add(x, head + bytes);
  return x;
}

std::int64_t foreign_arity(object function) {
  return k::items<foreign>(function)->arity;
}

object call_foreign(object function, object const* x) {
  void* const f = k::items<foreign>(function)->function;
  using o = object;
  switch (foreign_arity(function)) {
    case 1:
      return reinterpret_cast<o (*)(o)>(f)(x[0]);
    case 2:
      return reinterpret_cast<o (*)(o, o)>(f)(x[0], x[1]);
    case 3:
      return reinterpret_cast<o (*)(o, o, o)>(f)(x[0], x[1], x[2]);
    case 4:
      return reinterpret_cast<o (*)(o, o, o, o)>(f)(x[0], x[1], x[2], x[3]);
    case 5:
      return reinterpret_cast<o (*)(o, o, o, o, o)>(f)(x[0], x[1], x[2], x[3], x[4]);
    case 6:
      return reinterpret_cast<o (*)(o, o, o, o, o, o)>(f)(x[0], x[1], x[2], x[3], x[4], x[5]);
    case 7:
      return reinterpret_cast<o (*)(o, o, o, o, o, o, o)>(f)(x[0], x[1], x[2], x[3], x[4], x[5], x[6]);
    default:
      return reinterpret_cast<o (*)(o, o, o, o, o, o, o, o)>(f)(x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7]);
  }
}

void set_hooks(interpreter_hooks new_hooks) {
  hooks = new_hooks;
}

int registered_descriptors() {
  return static_cast<int>(descriptors.size());
}

int poll_descriptors(int milliseconds) {
  std::vector<pollfd> waiting;
  for (auto [descriptor, callback] : descriptors) waiting.push_back({descriptor, POLLIN, 0});
  int called = 0;
  if (::poll(waiting.data(), waiting.size(), milliseconds) <= 0) return 0;
  for (auto& entry : waiting) {
    if (!(entry.revents & (POLLIN | POLLHUP))) continue;
    for (auto [descriptor, callback] : descriptors) {  // an earlier callback may have removed it
      if (descriptor != entry.fd) continue;
      if (object result = callback(descriptor)) k::r0(result);
      clear_error();
      ++called;
      break;
    }
  }
  return called;
}

}  // namespace k_host

namespace kiln::k {

using k_host::allocate;
using k_host::item_size;

extern "C" {

object ka(int type) {
  return allocate(type, 0);
}
object kb(int boolean) {
  return k_host::atom(boolean_type, &k0::byte, static_cast<std::uint8_t>(boolean != 0));
}
object kg(int byte) {
  return k_host::atom(byte_type, &k0::byte, static_cast<std::uint8_t>(byte));
}
object kh(int value) {
  return k_host::atom(short_type, &k0::short_integer, static_cast<std::int16_t>(value));
}
object ki(int integer) {
  return k_host::atom(int_type, &k0::integer, integer);
}
object kj(std::int64_t value) {
  return k_host::atom(long_type, &k0::long_integer, value);
}
object ke(double real) {
  return k_host::atom(real_type, &k0::real, static_cast<float>(real));
}
object kf(double floating) {
  return k_host::atom(float_type, &k0::floating, floating);
}
object kc(int character) {
  return k_host::atom(char_type, &k0::byte, static_cast<std::uint8_t>(character));
}
object ks(const char* symbol) {
  return k_host::atom(symbol_type, &k0::symbol, ss(symbol));
}
object kd(int date) {
  return k_host::atom(date_type, &k0::integer, date);
}
object kz(double datetime) {
  return k_host::atom(datetime_type, &k0::floating, datetime);
}
object kt(int time) {
  return k_host::atom(time_type, &k0::integer, time);
}
object ktj(int negative_type, std::int64_t value) {
  return k_host::atom(-negative_type, &k0::long_integer, value);
}
object ku(guid value) {
  object x = allocate(-guid_type, sizeof value);
  x->count = 1;
  std::memcpy(items<unsigned char>(x), value.bytes, sizeof value);
  return x;
}

object ktn(int type, std::int64_t count) {
  if (count < 0 || item_size(type) == 0) return krr(count < 0 ? "length" : "type");
  object x = allocate(type, count * item_size(type));
  x->count = count;
  return x;
}

object vaknk(int count, std::va_list arguments) {
  object x = ktn(mixed_type, count);
  for (int i = 0; i < count; ++i) items<object>(x)[i] = va_arg(arguments, object);
  return x;
}

object knk(int count, ...) {
  std::va_list arguments;
  va_start(arguments, count);
  object x = vaknk(count, arguments);
  va_end(arguments);
  return x;
}

object kp(const char* text) {
  return kpn(text, static_cast<std::int64_t>(std::strlen(text)));
}

object kpn(const char* text, std::int64_t count) {
  object x = ktn(char_type, count);
  if (count > 0) std::memcpy(items<char>(x), text, static_cast<std::size_t>(count));
  return x;
}

const char* sn(const char* text, std::int64_t count) {
  static auto* const lock = new std::mutex;
  static auto* const symbols = new std::set<std::string>;
  std::lock_guard guard(*lock);
  std::string whole(text, static_cast<std::size_t>(count));
  return symbols->insert(whole.substr(0, whole.find('\0'))).first->c_str();
}

const char* ss(const char* text) {
  return sn(text, static_cast<std::int64_t>(std::strlen(text)));
}

object ja(object* list, void* item) {
  *list = k_host::grow(*list, 1);
  std::memcpy(k_host::place(*list, (*list)->count), item, static_cast<std::size_t>(item_size((*list)->type)));
  ++(*list)->count;
  return *list;
}

object js(object* list, const char* interned) {
  return ja(list, &interned);
}
object jk(object* list, object item) {
  return ja(list, &item);
}

object jv(object* list, object other) {
  if ((*list)->type != other->type) return krr("type");
  const std::int64_t more = other->count;
  *list = k_host::grow(*list, more);
  std::memcpy(k_host::place(*list, (*list)->count), k_host::place(other, 0),
              static_cast<std::size_t>(more * item_size(other->type)));
  (*list)->count += more;
  for (std::int64_t i = 0; other->type == mixed_type && i < more; ++i) r1(items<object>(other)[i]);
  return *list;
}

object xD(object keys, object values) {
  object x = allocate(dictionary_type, 2 * sizeof(object));
  x->count = 2;
  items<object>(x)[0] = keys;
  items<object>(x)[1] = values;
  return x;
}

object xT(object dictionary) {
  object names = dictionary->type == dictionary_type ? keys_of(dictionary) : nullptr;
  object columns = names ? values_of(dictionary) : nullptr;
  bool good = names && names->type == symbol_type && columns->type == mixed_type && columns->count == names->count &&
              names->count > 0;
  for (std::int64_t i = 0; good && i < columns->count; ++i) {
    object column = items<object>(columns)[i];
    good = is_list(column) && column->count == items<object>(columns)[0]->count;
  }
  if (!good) {
    const bool other_keys = names && names->type != symbol_type;
    r0(dictionary);
    return krr(other_keys ? "nyi" : "rank");
  }
  object x = allocate(table_type, 0);
  x->table = dictionary;
  return x;
}

object ktd(object keyed) {
  if (keyed->type == table_type) return keyed;
  const bool good =
      keyed->type == dictionary_type && keys_of(keyed)->type == table_type && values_of(keyed)->type == table_type;
  if (!good) {
    r0(keyed);
    return krr("type");
  }
  object names = ktn(symbol_type, 0), columns = ktn(mixed_type, 0);
  for (object part : {keys_of(keyed)->table, values_of(keyed)->table}) {
    jv(&names, keys_of(part));
    jv(&columns, values_of(part));
  }
  r0(keyed);
  return xT(xD(names, columns));
}

object knt(std::int64_t key_columns, object table) {
  if (table->type != table_type) return krr("type");
  object names = keys_of(table->table), columns = values_of(table->table);
  if (key_columns < 0 || key_columns >= names->count) return krr("length");
  if (key_columns == 0) return r1(table);
  object parts[2];
  for (int part = 0; part < 2; ++part) {
    object some = ktn(symbol_type, 0), of_them = ktn(mixed_type, 0);
    for (std::int64_t i = part ? key_columns : 0; i < (part ? names->count : key_columns); ++i) {
      js(&some, items<const char*>(names)[i]);
      jk(&of_them, r1(items<object>(columns)[i]));
    }
    parts[part] = xT(xD(some, of_them));
  }
  return xD(parts[0], parts[1]);
}

object r1(object x) {
  k_host::objects().check(x, "r1");
  ++x->references;
  return x;
}

void r0(object x) {
  k_host::objects().check(x, "r0");
  if (--x->references >= 0) return;
  for (std::int64_t i = 0; i < k_host::held(x); ++i) {
    if (object item = items<object>(x)[i]) r0(item);  // a projection has gaps
  }
  if (x->type == table_type) r0(x->table);
  k_host::objects().remove(x);
  std::free(x);
}

object krr(const char* text) {
  k_host::pending = text;
  return nullptr;
}

object orr(const char* text) {
  k_host::system_error_text = std::string(text) + ". OS reports: " + std::strerror(errno);
  return krr(k_host::system_error_text.c_str());
}

object ee(object x) {
  if (x || !k_host::pending) return x;
  object failure = allocate(error_type, 0);
  failure->symbol = k_host::pending;
  k_host::clear_error();
  return failure;
}

object dl(void* function, std::int64_t arity) {
  if (arity < 1 || arity > 8) return krr("rank");
  object x = allocate(foreign_type, sizeof(k_host::foreign));
  *items<k_host::foreign>(x) = {function, arity};
  return x;
}

object dot(object function, object arguments) {
  if (function->type != foreign_type) {
    return k_host::hooks.apply ? k_host::hooks.apply(function, arguments) : krr("type");
  }
  if (!is_list(arguments)) return krr("type");
  if (arguments->count != k_host::foreign_arity(function)) return krr("rank");
  std::vector<object> each;
  for (std::int64_t i = 0; i < arguments->count; ++i) each.push_back(vi(arguments, static_cast<std::uint64_t>(i)));
  object result = k_host::call_foreign(function, each.data());
  for (object x : each) r0(x);
  if (result || k_host::pending) return result;
  return allocate(unary_type, 0);
}

object vak(int handle, const char* expression, std::va_list arguments) {
  object all = ktn(mixed_type, 0);
  while (object next = va_arg(arguments, object)) jk(&all, next);
  object result = handle != 0              ? krr("only handle 0, this process, is here")
                  : k_host::hooks.evaluate ? k_host::hooks.evaluate(expression, all)
                                           : krr("no interpreter is here");
  r0(all);
  return ee(result);
}

object k(int handle, const char* expression, ...) {
  std::va_list arguments;
  va_start(arguments, expression);
  object result = vak(handle, expression, arguments);
  va_end(arguments);
  return result;
}

object vi(object list, std::uint64_t index) {
  const auto i = static_cast<std::int64_t>(index);
  if (!is_list(list)) return krr("type");
  if (i < 0 || i >= list->count) return krr("index");
  if (list->type == mixed_type) return r1(items<object>(list)[i]);
  if (list->type == guid_type) return ku(items<guid>(list)[i]);
  object x = allocate(-list->type, 0);
  std::memcpy(&x->byte, k_host::place(list, i), static_cast<std::size_t>(item_size(list->type)));
  return x;
}

object vk(object list) {
  if (list->type != mixed_type || list->count == 0) return r1(list);
  const int type = items<object>(list)[0]->type;
  for (std::int64_t i = 0; i < list->count; ++i) {
    if (type >= 0 || items<object>(list)[i]->type != type) return r1(list);
  }
  object x = ktn(-type, list->count);
  for (std::int64_t i = 0; i < list->count; ++i) {
    object item = items<object>(list)[i];
    const void* from = type == -guid_type ? static_cast<const void*>(items<guid>(item)) : &item->byte;
    std::memcpy(k_host::place(x, i), from, static_cast<std::size_t>(item_size(-type)));
  }
  return x;
}

object sd1(int descriptor, descriptor_callback callback) {
  const int d = descriptor < 0 ? -descriptor : descriptor;
  if (!callback) return krr("type");
  k_host::descriptors.emplace_back(d, callback);
  return ki(d);
}

void sd0(int descriptor) {
  sd0x(descriptor, 1);
}

void sd0x(int descriptor, int close) {
  std::erase_if(k_host::descriptors, [&](auto& entry) { return entry.first == descriptor; });
  if (close) ::close(descriptor);
}

object b9(int, object) {
  return krr("nyi");
}
object d9(object) {
  return krr("nyi");
}
int okx(object) {
  return 0;
}
int setm(int) {
  return 0;
}
void m9() {}
std::int64_t gc(std::int64_t) {
  return 0;
}
int ver() {
  return 20231122;
}

/// Days from 2000.01.01 to a day of the Gregorian calendar, and back as the decimal number yyyymmdd.
int ymd(int year, int month, int day) {
  const int y = month > 2 ? year : year - 1, m = month > 2 ? month - 3 : month + 9;  // years begin in March
  const int century = y >= 0 ? y / 100 : (y - 99) / 100, rest = y - 100 * century;
  const int quad = century >= 0 ? century / 4 : (century - 3) / 4;
  return 36524 * century + quad + 365 * rest + rest / 4 + (153 * m + 2) / 5 + day - 1 - 730425;
}

int dj(int date) {
  int year = 2000 + date / 366 - 1;
  while (ymd(year + 1, 1, 1) <= date) ++year;
  while (ymd(year, 1, 1) > date) --year;
  int month = 12;
  while (ymd(year, month, 1) > date) --month;
  return 10000 * year + 100 * month + date - ymd(year, month, 1) + 1;
}
}

}  // namespace kiln::k
