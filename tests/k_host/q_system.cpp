// SPDX-License-Identifier: BSL-1.0
// The verbs that concern the interpreter: names, output, libraries, application and iteration by name. And the table of
// all verbs.
#include "q_eval.hpp"
#include "q_show.hpp"
#include "q_verbs.hpp"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <sstream>

#include <dlfcn.h>

namespace k_host {

namespace {

struct verb_table {
  std::vector<verb> verbs{{"::", nullptr, nullptr}};
  std::map<std::string, std::size_t> places;
  value made(std::size_t place) const {
    value x(k::ka(verbs[place].two ? k::binary_type : k::unary_type));
    x->integer = static_cast<int>(place);
    return x;
  }
};

verb_table& table() {
  static verb_table one;
  static bool filled = false;
  if (!filled) {
    filled = true;
    add_arithmetic();
    add_lists();
    add_system();
  }
  return one;
}

value loaded(const value& library, const value& symbol_and_arity) {
  std::string path = current().library;
  const std::string asked = text_of(library).substr(text_of(library).rfind(':', 0) == 0);
  const std::string name = text_of(item(symbol_and_arity, 0));
  const integer arity = whole_of(item(symbol_and_arity, 1));
  if (path.empty()) path = asked.find('/') == std::string::npos ? "./" + asked : asked;
  if (path.size() < 3 || path.substr(path.size() - 3) != ".so") path += ".so";
  void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) throw q_error(dlerror());
  void* const function = dlsym(handle, name.c_str());
  if (!function) throw q_error(dlerror());
  value result(k::dl(function, arity));
  if (result) return result;
  clear_error();
  throw q_error("rank");
}

value assigned(const value& name, const value& x) {
  if (name.type() != -k::symbol_type) throw q_error("type");
  if (*name->symbol == ':') throw q_error("nyi: files");
  current().set(name->symbol, x);
  return name;
}

value got(const value& name) {
  if (name.is_dictionary()) return name.values();
  const value x = current().get(text_of(name));
  if (!x) throw q_error(text_of(name));
  return x;
}

value value_of_text(const value& x) {
  if (x.is_dictionary()) return x.values();
  if (x.type() == -k::symbol_type) return got(x);
  if (std::abs(x.type()) == k::char_type) {
    value result = current().run(text_of(x));
    return result ? result : general_null();
  }
  if (x.is_list() && count_of(x) > 1) {
    const values parts = items_of(x);
    const value f = parts[0].type() == k::char_type ? value_of_text(parts[0]) : parts[0];
    return applied(f, values(parts.begin() + 1, parts.end()));
  }
  throw q_error("type");
}

value keys_of_any(const value& x) {
  if (x.is_dictionary()) return x.keys();
  if (x.type() == -k::symbol_type) return current().get(x->symbol) ? x : empty_list();
  throw q_error("type");
}

std::string read_file(const value& path) {
  const std::string name = text_of(path).substr(text_of(path).rfind(':', 0) == 0);
  std::ifstream file(name, std::ios::binary);
  if (!file) throw q_error(name + ". OS reports: No such file or directory");
  return {std::istreambuf_iterator<char>(file), {}};
}

value lines_of_file(const value& path) {
  std::istringstream lines(read_file(path));
  values result;
  for (std::string line; std::getline(lines, line);) result.push_back(string_of(line));
  return mixed_of(result);
}

value bytes_of_file(const value& path) {
  const std::string bytes = read_file(path);
  value x(k::ktn(k::byte_type, static_cast<integer>(bytes.size())));
  std::copy(bytes.begin(), bytes.end(), k::items<char>(x.get()));
  return x;
}

value file_symbol(const value& x) {
  const std::string name = text_of(x);
  return symbol_atom(name.rfind(':', 0) == 0 ? name : ":" + name);
}

/// .Q.fmt: a number in so many characters, with so many digits behind the point.
value formatted(const value& width, const value& digits, const value& x) {
  char text[64];
  std::snprintf(text, sizeof text, "%*.*f", static_cast<int>(whole_of(width)), static_cast<int>(whole_of(digits)),
                number_of(x).as_double());
  return string_of(text);
}

value shown(const value& x) {
  current().output += displayed(x);
  return general_null();
}

/// 0N!x, -3!x, and dictionaries.
value bang(const value& a, const value& b) {
  if (a.type() == -k::long_type && a->long_integer == k::null_long) {
    current().output += one_line(b) + "\n";
    return b;
  }
  if (a.type() == -k::long_type && a->long_integer == -3) return string_of(one_line(b));
  static const binary keyed = [] {
    for (auto& v : table().verbs) {
      if (v.name == "!" && v.two != bang) return v.two;
    }
    return binary{};
  }();
  return keyed(a, b);
}

template <int Iterator>
value by_name(const value& f, const value& x) {
  static constexpr const char* iterators[] = {"'", "/", "\\", "':"};
  return iterate(derived(f, iterators[Iterator]), {x});
}

value applied_to_list(const value& f, const value& arguments) {
  if (f.is_list() && arguments.is_list() && count_of(arguments) == 0) return f;
  const values all = arguments.is_list() ? items_of(arguments) : values{arguments};
  if (!all.empty()) return applied(f, all);
  return applied(f, {general_null()});
}

}  // namespace

void add_verb(const std::string& name, unary one, binary two) {
  verb_table& all = table();
  all.places[name] = all.verbs.size();
  all.verbs.push_back({name, one, two});
}

value verb_value(const std::string& name) {
  auto found = table().places.find(name);
  return found == table().places.end() ? value() : table().made(found->second);
}

const verb& verb_of(const value& x) {
  return table().verbs.at(static_cast<std::size_t>(x->integer));
}

void add_system() {
  add_verb("!", nullptr, bang);
  add_verb("2:", nullptr, loaded);
  add_verb("@", nullptr, [](const value& f, const value& x) { return applied(f, {x}); });
  add_verb(".", nullptr, applied_to_list);
  add_verb("each", nullptr, by_name<0>);
  add_verb("peach", nullptr, by_name<0>);
  add_verb("over", nullptr, by_name<1>);
  add_verb("scan", nullptr, by_name<2>);
  add_verb("prior", nullptr, by_name<3>);
  add_verb("set", nullptr, assigned);
  add_verb("get", got);
  add_verb(".Q.fmt2", nullptr,
           [](const value& shape, const value& x) { return formatted(item(shape, 0), item(shape, 1), x); });
  add_verb("value", value_of_text);
  add_verb("key", keys_of_any);
  add_verb("show", shown);
  add_verb(":", nullptr, [](const value&, const value& y) { return y; });
  add_verb("read0", lines_of_file);
  add_verb("read1", bytes_of_file);
  add_verb("hsym", file_symbol);
  add_verb("system", [](const value& x) {
    value result = current().run("\\" + text_of(x));
    return result ? result : general_null();
  });
}

}  // namespace k_host
