// SPDX-License-Identifier: BSL-1.0
// Calls of the C interface whose results are printed: linked once with our runtime and once with kdb+'s own c.o, both
// must print the same. Only what c.o has: no functions, no events.
#include <kiln/k/interface.hpp>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <initializer_list>

using namespace kiln::k;

extern "C" [[gnu::weak]] int khp(const char* host, int port);  // of c.o: with port -1 makes its memory ready

namespace {

void show(object x);

template <class Item>
void numbers(object x, const char* form) {
  for (std::int64_t i = 0; i < x->count; ++i) std::printf(form, static_cast<double>(items<Item>(x)[i]));
}

/// Type, owners and content.
void show(object x) {
  if (!x) {
    std::printf("null");
    return;
  }
  std::printf("%dh/%d/%d(", x->type, x->references, x->attributes);
  switch (x->type) {
    case -boolean_type:
    case -byte_type:
    case -char_type:
      std::printf("%d", x->byte);
      break;
    case -short_type:
      std::printf("%d", x->short_integer);
      break;
    case -int_type:
    case -date_type:
    case -time_type:
      std::printf("%d", x->integer);
      break;
    case -long_type:
    case -timestamp_type:
    case -timespan_type:
      std::printf("%lld", static_cast<long long>(x->long_integer));
      break;
    case -real_type:
      std::printf("%.9g", static_cast<double>(x->real));
      break;
    case -float_type:
    case -datetime_type:
      std::printf("%.17g", x->floating);
      break;
    case -symbol_type:
    case error_type:
      std::printf("`%s", x->symbol);
      break;
    case mixed_type:
      std::printf("%lld:", static_cast<long long>(x->count));
      for (std::int64_t i = 0; i < x->count; ++i) show(items<object>(x)[i]);
      break;
    case boolean_type:
    case byte_type:
    case char_type:
      numbers<std::uint8_t>(x, "%g ");
      break;
    case short_type:
      numbers<std::int16_t>(x, "%g ");
      break;
    case int_type:
      numbers<std::int32_t>(x, "%g ");
      break;
    case long_type:
      numbers<std::int64_t>(x, "%g ");
      break;
    case real_type:
      numbers<float>(x, "%g ");
      break;
    case float_type:
      numbers<double>(x, "%g ");
      break;
    case symbol_type:
      for (std::int64_t i = 0; i < x->count; ++i) std::printf("`%s", items<const char*>(x)[i]);
      break;
    case table_type:
      show(x->table);
      break;
    case dictionary_type:
      show(keys_of(x));
      show(values_of(x));
      break;
    default:
      break;
  }
  std::printf(")");
}
void line(const char* what, object x) {
  std::printf("%s: ", what);
  show(x);
  std::printf("\n");
  if (x) r0(x);
}
object columns() {
  object names = ktn(symbol_type, 0);
  js(&names, ss("a"));
  js(&names, ss("b"));
  object whole = ktn(long_type, 2), part = ktn(float_type, 2);
  for (int i = 0; i < 2; ++i) items<std::int64_t>(whole)[i] = i, items<double>(part)[i] = 0.5 * i;
  return xD(names, knk(2, whole, part));
}

}  // namespace

int main() {
  if (khp) khp("", -1);
  line("kb", kb(1));
  line("kg", kg(255));
  line("kh", kh(-3));
  line("ki", ki(7));
  line("kj", kj(std::int64_t{1} << 40));
  line("ke", ke(1.1));
  line("kf", kf(0.1));
  line("kc", kc('x'));
  line("ks", ks(ss("sym")));
  line("ktj", ktj(-timestamp_type, 5));
  line("kd", kd(8000));
  line("kz", kz(1.5));
  line("kt", kt(1000));
  line("kp", kp("text"));
  line("kpn", kpn("text", 2));
  for (const int type : {0, 1, 4, 5, 6, 7, 8, 9, 10, 11}) line("ktn", ktn(type, 0));
  line("handle", knk(1, kj(-5)));
  std::printf("symbols: %d %d\n", ss("one") == sn("one two", 3), std::strcmp(sn("abc", 2), "ab"));
  object list = ktn(long_type, 0);
  for (std::int64_t i = 0; i < 100; ++i) ja(&list, &i);
  object other = ktn(long_type, 1);
  items<std::int64_t>(other)[0] = 7;
  jv(&list, other);
  r0(other);
  line("ja, jv", list);
  object mixed = ktn(mixed_type, 0);
  jk(&mixed, kp("a"));
  jk(&mixed, kf(2));
  line("jk", mixed);
  object shared = knk(2, kj(1), kf(2));
  r1(shared);
  show(shared);
  r0(shared);
  line(" r1", shared);
  line("xD", columns());
  line("xT", xT(columns()));
  object table = xT(columns()), keyed = knt(1, table);
  std::printf("knt: ");
  show(keyed);
  std::printf("\n");
  r0(table);
  line("ktd", ktd(keyed));
  line("ktd of a table", ktd(xT(columns())));
  line("krr", ee(krr("reason")));
  line("ee", ee(kj(3)));
  object keys = ktn(long_type, 1);
  items<std::int64_t>(keys)[0] = 1;
  line("xT of other keys", ee(xT(xD(keys, knk(1, kp("ab"))))));
  // Columns that are no lists: c.o makes a table of them, ours refuses what q could not use.
  std::printf("ymd %d dj %d\n", ymd(2026, 11, 23), dj(9823));
}
