// SPDX-License-Identifier: BSL-1.0
// How q writes a model down: a tree with parents first, a list of (depth;value), or a table; and which options of a
// layer stand in which order.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <kiln/k/arguments.hpp>
#include <kiln/k/value.hpp>

namespace kiln::k {

/// A module as q describes it: its kind, perhaps a name, options in the order in which they came, children.
struct definition {
  std::string type, name;
  std::vector<owned> positional;
  std::vector<option> named;
  std::vector<definition> children;
};

/// Positional options by kind of layer, in order.
inline std::vector<std::string_view> option_names(std::string_view type) {
  struct row {
    std::string_view types, names;
  };
  static constexpr auto rows = std::to_array<row>({
      {"linear", "in out bias"},
      {"bilinear", "in1 in2 out bias"},
      {"conv1d conv2d conv3d", "in out size stride pad dilate groups bias padmode"},
      {"convtranspose1d convtranspose2d convtranspose3d", "in out size stride pad outpad groups bias dilate padmode"},
      {"batchnorm1d batchnorm2d batchnorm3d instancenorm1d instancenorm2d instancenorm3d",
       "in eps momentum affine track"},
      {"layernorm", "shape eps affine"},
      {"groupnorm", "groups channels eps affine"},
      {"drop drop2d drop3d adrop fdrop", "p inplace"},
      {"droppath", "p"},
      {"maxpool1d maxpool2d maxpool3d", "size stride pad dilate ceiling"},
      {"avgpool1d avgpool2d avgpool3d", "size stride pad ceiling countpad divisor"},
      {"adaptavg1d adaptavg2d adaptavg3d adaptmax1d adaptmax2d adaptmax3d", "size"},
      {"unfold", "size dilate pad stride"},
      {"fold", "out size dilate pad stride"},
      {"flatten", "start end"},
      {"reshape", "size"},
      {"select", "dim ind"},
      {"transpose", "dim0 dim1"},
      {"squeeze unsqueeze softmax softmin logsoftmax cat glu", "dim"},
      {"embed", "rows cols padindex"},
      {"embedpos", "rows cols"},
      {"embedseq", "rows cols length"},
      {"rnn", "in hidden layers fn bias batchfirst dropout bi"},
      {"lstm gru", "in hidden layers bias batchfirst dropout bi"},
      {"prelu", "in init"},
      {"rrelu", "lower upper inplace"},
      {"upsample interpolate", "size scale mode align"},
      {"expand", "size"},
      {"indexselect", "dim ind"},
      {"onehot", "classes"},
      {"leakyrelu", "slope inplace"},
      {"elu celu", "alpha inplace"},
      {"relu relu6 selu silu mish", "inplace"},
      {"hardshrink softshrink", "lambda"},
      {"hardtanh", "min max inplace"},
      {"softplus", "beta threshold"},
      {"threshold", "threshold value inplace"},
      {"transformer", "in heads elayers dlayers hidden dropout"},
      {"selfattention", "dim heads dropout norm"},
      {"pad", "pad padmode value"},
      {"randomcrop", "size pad padmode value"},
      {"randomflip", "p dim"},
      {"zscore", "mean std inplace"},
      {"recur", "detach"},
      {"callback", "fn in out parms buffers"},
  });
  const auto words = [](std::string_view text) {
    std::vector<std::string_view> found;
    while (!text.empty()) {
      const std::size_t end = std::min(text.find(' '), text.size());
      found.push_back(text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    return found;
  };
  for (const row& r : rows)
    for (std::string_view each : words(r.types))
      if (each == type) return words(r.names);
  return {};
}

/// All options of a definition by name.
/// @throws value_error for more options than the layer has, and for one given twice
inline std::vector<option> options_by_name(const definition& from) {
  const auto names = option_names(from.type);
  if (from.positional.size() > names.size())
    throw value_error(message(from.type, ": ", from.positional.size(), " options given, at most ", names.size(),
                              " stand by position"));
  std::vector<option> all;
  for (std::size_t i = 0; i < from.positional.size(); ++i)
    all.push_back({std::string(names[i]), owned::share(from.positional[i].get())});
  for (const option& each : from.named) {
    for (const option& known : all)
      if (known.name == each.name) throw value_error(message(from.type, ": option `", each.name, " is given twice"));
    all.push_back({each.name, owned::share(each.value.get())});
  }
  return all;
}

namespace detail {

inline value_error bad_definition(std::string_view what, object x) {
  return value_error(message(what, ", given ", describe(x)));
}

/// One module: a symbol, (symbol;name), or (symbol;[name;]options...).
inline definition read_item(object x) {
  definition made;
  if (const auto type = read_symbol(x)) {
    made.type = *type;
    return made;
  }
  if ((x->type != symbol_type && x->type != mixed_type) || x->count == 0 || !read_symbol(item_of(x, 0).get()))
    throw bad_definition("a module is a symbol or a list that starts with one", x);
  made.type = item_of(x, 0).get()->symbol;
  std::int64_t next = 1, end = x->count;
  if (next < end)
    if (const owned second = item_of(x, next); read_symbol(second.get())) {
      made.name = second.get()->symbol;
      ++next;
    }
  if (next < end) {
    const owned last = item_of(x, end - 1);
    if (auto named = read_options(last.get())) {
      made.named = std::move(*named);
      --end;
    }
  }
  for (; next < end; ++next) made.positional.push_back(item_of(x, next));
  return made;
}

inline bool is_item(object x) {
  return read_symbol(x) || ((x->type == symbol_type || (x->type == mixed_type && !handle_number(x))) && x->count > 0 &&
                            read_symbol(item_of(x, 0).get()));
}

/// A tree: a symbol, or a list of a parent and its children.
inline definition read_tree(object x, int depth = 0) {
  if (depth > 100) throw value_error("a definition is nested more than 100 times");
  if (read_symbol(x)) return read_item(x);
  if ((x->type != symbol_type && x->type != mixed_type) || x->count == 0)
    throw bad_definition("a definition is a symbol, a tree or a list of (depth;module)", x);
  // (`linear;64;10) by itself: options follow, where a tree would have children.
  const owned head = item_of(x, 0);
  if (const auto type = read_symbol(head.get()); type && *type == "callback") return read_item(x);  // has no children
  if (read_symbol(head.get()))
    for (std::int64_t i = 1; i < x->count; ++i) {
      const owned child = item_of(x, i);
      const bool tree = is_item(child.get()) || (child.get()->type == mixed_type && child.get()->count > 0 &&
                                                 is_item(item_of(child.get(), 0).get()));
      if (!tree) return read_item(x);
    }
  const owned first = item_of(x, 0);
  definition made = read_item(first.get());
  for (std::int64_t i = 1; i < x->count; ++i) {
    const owned child = item_of(x, i);
    made.children.push_back(read_tree(child.get(), depth + 1));
  }
  return made;
}

/// Puts a module under the last one that is less deep.
inline void place_at(definition& root, std::int64_t depth, definition item) {
  definition* parent = &root;
  for (std::int64_t level = 1; level < depth; ++level) {
    if (parent->children.empty()) throw value_error(message("depth ", depth, " follows a smaller one by more than 1"));
    parent = &parent->children.back();
  }
  parent->children.push_back(std::move(item));
}

inline bool is_depth_value(object x) {
  if (x->type != mixed_type || x->count == 0) return false;
  for (object pair : span_of<object>(x))
    if (pair->type != mixed_type || pair->count != 2 || !read_long(items<object>(pair)[0])) return false;
  return true;
}

inline definition read_depth_value(object x) {
  definition root;
  for (std::int64_t i = 0; i < x->count; ++i) {
    object pair = items<object>(x)[i];
    const std::int64_t depth = *read_long(items<object>(pair)[0]);
    if (depth < 0 || (depth == 0) != (i == 0))
      throw value_error(message("the first module has depth 0 and all others more, given ", depth));
    object item = items<object>(pair)[1];
    const bool enlisted = item->type == mixed_type && item->count == 1 && is_item(items<object>(item)[0]);
    definition made = read_item(enlisted ? items<object>(item)[0] : item);
    if (i == 0)
      root = std::move(made);
    else
      place_at(root, depth, std::move(made));
  }
  return root;
}

/// A table with columns module, options and perhaps depth and name, as `module m` and `state m` give; or one row of it
/// as a dictionary.
inline definition read_table(object x) {
  object columns = x->type == table_type ? x->table : x;
  const auto names = read_symbols(keys_of(columns));
  object values = values_of(columns);
  if (!names) throw bad_definition("a definition table has named columns", x);
  const auto column = [&](std::string_view wanted) -> object {
    for (std::size_t i = 0; i < names->size(); ++i)
      if ((*names)[i] == wanted && values->type == mixed_type) return items<object>(values)[i];
    return nullptr;
  };
  object types = column("module"), depths = column("depth"), labels = column("name"), settings = column("options");
  if (!types) throw bad_definition("a definition table needs a column `module", x);
  const bool row = x->type == dictionary_type;
  const std::int64_t count = row ? 1 : types->count;
  definition root;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto cell = [&](object list) { return row ? owned::share(list) : item_of(list, i); };
    definition made;
    if (const auto type = read_symbol(cell(types).get())) made.type = *type;
    if (labels)
      if (const auto label = read_symbol(cell(labels).get())) made.name = *label;
    if (settings)
      if (auto named = read_options(cell(settings).get())) made.named = std::move(*named);
    const std::int64_t depth = depths ? read_long(cell(depths).get()).value_or(0) : (i == 0 ? 0 : 1);
    if (made.type.empty() || depth < 0 || (depth == 0) != (i == 0))
      throw value_error(message("row ", i, " of a definition table has no module or a wrong depth"));
    if (i == 0)
      root = std::move(made);
    else
      place_at(root, depth, std::move(made));
  }
  return root;
}

}  // namespace detail

/// What q wrote, in any of its forms.
/// @throws value_error for what is no definition
inline definition read_definition(object x) {
  if (x->type == table_type || x->type == dictionary_type) return detail::read_table(x);
  if (detail::is_depth_value(x)) return detail::read_depth_value(x);
  return detail::read_tree(x);
}

}  // namespace kiln::k
