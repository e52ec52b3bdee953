// SPDX-License-Identifier: BSL-1.0
// The C interface of kdb+ 3 (64 bits) in declarations of our own: the layout of an object, its types, the functions
// that the loading process has. Macros and names of one letter stay out; a file may not include k.h beside this one.
#pragma once

#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace kiln::k {

struct k0;
/// What the interface passes around: a counted reference, by hand, to a value of q.
using object = k0*;

/// An object: 16 bytes, behind which a list has its items and a guid its 16 bytes.
struct k0 {
  signed char allocator_class;
  signed char allocator_flag;
  signed char type;          // of `types`: negative for an atom, 0 for a mixed list
  unsigned char attributes;  // sorted 1, unique 2, parted 3, grouped 4
  std::int32_t references;   // less one: 0 is a sole owner
  union {
    std::uint8_t byte;  // boolean, byte, char
    std::int16_t short_integer;
    std::int32_t integer;       // and month, date, minute, second, time
    std::int64_t long_integer;  // and timestamp, timespan
    float real;
    double floating;     // and datetime
    const char* symbol;  // interned: equal symbols are one address; of an error, its text
    object table;        // of a table, its dictionary of columns
    std::int64_t count;  // of a list
  };
};

/// A guid by value, as ku takes it.
struct guid {
  std::uint8_t bytes[16];
};

/// The values of k0::type: of a list; an atom's is its negative.
enum types : signed char {
  mixed_type = 0,
  boolean_type = 1,
  guid_type = 2,
  byte_type = 4,
  short_type = 5,
  int_type = 6,
  long_type = 7,
  real_type = 8,
  float_type = 9,
  char_type = 10,
  symbol_type = 11,
  timestamp_type = 12,
  month_type = 13,
  date_type = 14,
  datetime_type = 15,
  timespan_type = 16,
  minute_type = 17,
  second_type = 18,
  time_type = 19,
  enumeration_type = 20,  // up to 76
  table_type = 98,        // k0::table
  dictionary_type = 99,   // a mixed pair: keys, values
  lambda_type = 100,
  unary_type = 101,  // unary primitives; the first of them, byte 0, is the null `::`
  binary_type = 102,
  ternary_type = 103,  // iterators as values
  projection_type = 104,
  composition_type = 105,
  each_type = 106,     // and the five derived by the other iterators, to 111
  foreign_type = 112,  // code that dl has wrapped
  error_type = -128
};

inline constexpr std::int16_t null_short = std::numeric_limits<std::int16_t>::min();
inline constexpr std::int32_t null_int = std::numeric_limits<std::int32_t>::min();
inline constexpr std::int64_t null_long = std::numeric_limits<std::int64_t>::min();
inline constexpr float null_real = std::numeric_limits<float>::quiet_NaN();
inline constexpr double null_float = std::numeric_limits<double>::quiet_NaN();
inline constexpr std::int16_t infinite_short = std::numeric_limits<std::int16_t>::max();
inline constexpr std::int32_t infinite_int = std::numeric_limits<std::int32_t>::max();
inline constexpr std::int64_t infinite_long = std::numeric_limits<std::int64_t>::max();
inline constexpr float infinite_real = std::numeric_limits<float>::infinity();
inline constexpr double infinite_float = std::numeric_limits<double>::infinity();

/// The items of a list, whose Item has to be that of its type: of a mixed list or dictionary object, of symbols
/// const char*, of booleans and bytes std::uint8_t, of a char list char.
template <class Item>
Item* items(object list) {
  return reinterpret_cast<Item*>(list + 1);
}

/// The null value `::`, what a call without arguments passes and a function without a result returns.
inline bool is_null(object x) {
  return x->type == unary_type && x->byte == 0;
}
inline bool is_atom(object x) {
  return x->type < 0;
}
/// A list of any type; no dictionary, table or function.
inline bool is_list(object x) {
  return x->type >= mixed_type && x->type < table_type;
}
inline object keys_of(object dictionary) {
  return items<object>(dictionary)[0];
}
inline object values_of(object dictionary) {
  return items<object>(dictionary)[1];
}

/// The callback of a file descriptor that can be read; its result is released.
using descriptor_callback = object (*)(int);

// "Consumes": takes over the caller's reference. Otherwise arguments stay the caller's, and the result becomes his.
extern "C" {
// Atoms. What is narrower than int comes as one, real as double.
object ka(int type);
object kb(int boolean);
object ku(guid value);
object kg(int byte);
object kh(int short_integer);
object ki(int integer);
object kj(std::int64_t long_integer);
object ke(double real);
object kf(double floating);
object kc(int character);
object ks(const char* symbol);
object kd(int date);
object kz(double datetime);
object kt(int time);
object ktj(int negative_type, std::int64_t timestamp_or_timespan);

// Lists. ktn's items are not set: those of a mixed list have to be before anyone releases it.
object ktn(int type, std::int64_t count);
object knk(int count, ...);                       // consumes its items
object vaknk(int count, std::va_list arguments);  // consumes its items
object kp(const char* text);
object kpn(const char* text, std::int64_t count);
const char* ss(const char* text);  // interned; valid for ever
const char* sn(const char* text, std::int64_t count);

// Joins, in place and only for a sole owner: the list may move.
object ja(object* list, void* item);
object js(object* list, const char* interned);
object jk(object* list, object item);  // consumes item
object jv(object* list, object other);

// Dictionaries and tables.
object xD(object keys, object values);               // consumes both
object xT(object dictionary);                        // consumes; null and an error
object ktd(object keyed_table);                      // consumes; null and an error
object knt(std::int64_t key_columns, object table);  // null and an error

object r1(object x);
void r0(object x);  // not for null

// Errors: both store a text and return null, krr only its address. ee turns a null that stands for an error into an
// object of error_type, and lets other values pass.
object krr(const char* text);
object orr(const char* text);  // and what errno says
object ee(object x);

// Calls into q. k consumes its arguments, which a null ends, and returns an object of error_type for an error.
object k(int handle, const char* expression, ...);
object vak(int handle, const char* expression, std::va_list arguments);
object dot(object function, object arguments);  // null and an error
object dl(void* function, std::int64_t arity);  // 1 to 8
object vi(object list, std::uint64_t index);
object vk(object list);  // mixed to simple, where its items allow it

// Descriptors, on the main thread: a positive one's callback runs whenever it can be read.
object sd1(int descriptor, descriptor_callback callback);
void sd0(int descriptor);  // forgets it and closes it
void sd0x(int descriptor, int close);

// The rest: serialised bytes, threads, memory, dates.
object b9(int mode, object x);
object d9(object bytes);
int okx(object bytes);
int setm(int locking);
void m9();
std::int64_t gc(std::int64_t bytes);
int ymd(int year, int month, int day);
int dj(int date);
int ver();
}

}  // namespace kiln::k
