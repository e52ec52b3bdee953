// SPDX-License-Identifier: BSL-1.0
// The definitions of files.hpp. Files of .safetensors need nlohmann-json when the library is compiled.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <kiln/dynamic/shape.hpp>
#include <kiln/io/npy.hpp>
#include <kiln/k/files.hpp>
#include <kiln/k/held_model.hpp>
#include <kiln/k/png.hpp>
#if __has_include(<nlohmann/json.hpp>)
#include <kiln/io/safetensors.hpp>
#endif

namespace kiln::k::files {

/// The path that a symbol (`:x.npy or `x.npy) or text names, and whether it ends in .npy.
struct place {
  std::filesystem::path path;
  bool npy = false;
};
inline std::filesystem::path path_of(object x) {
  const auto text = read_text(x);
  if (!text || text->empty()) throw value_error(message("a file is a symbol or text, given ", describe(x)));
  return text->starts_with(":") ? text->substr(1) : *text;
}
inline place place_of(object x) {
  place found{path_of(x), false};
  const std::string ending = found.path.extension().string();
  found.npy = ending == ".npy";
  if (!found.npy && ending != ".safetensors")
    throw value_error(
        message("the file ", *read_text(x), " ends neither in .npy nor in .safetensors: name it so that it does"));
  return found;
}

inline void write(const place& to, const io::tensor_map& all) {
#if __has_include(<nlohmann/json.hpp>)
  io::write_safetensors(to.path, all);
#else
  throw value_error(message("files of .safetensors need nlohmann-json when kilnq is compiled: ", to.path, ", ",
                            all.size(), " tensors"));
#endif
}
inline io::tensor_map read(const place& from) {
  if (from.npy) return {{"tensor", io::read_npy(from.path)}};
#if __has_include(<nlohmann/json.hpp>)
  return io::read_safetensors(from.path);
#else
  throw value_error(message("files of .safetensors need nlohmann-json when kilnq is compiled: ", from.path));
#endif
}

inline io::array array_of(const tensor& t) {
  if (!t.defined()) throw value_error("an undefined tensor has no elements to be written");
  return io::array(t.detach().to(dynamic::device{}).state());
}
inline void add(io::tensor_map& all, const std::string& prefix, const tensor_list& from) {
  for (std::size_t i = 0; i < from.values.size(); ++i)
    if (!all.emplace(prefix + from.names[i], array_of(from.values[i])).second)
      throw value_error(message("two tensors have the name `", prefix, from.names[i]));
}
/// Parameters and buffers of a module by name.
inline tensor_list tensors_of_module(const module_body& body) {
  tensor_list all = body.parameters();
  const tensor_list buffers = body.buffers();
  all.names.insert(all.names.end(), buffers.names.begin(), buffers.names.end());
  all.values.insert(all.values.end(), buffers.values.begin(), buffers.values.end());
  return all;
}
inline void add(io::tensor_map& all, const std::string& prefix, const optimizer_body& from) {
  for (std::size_t g = 0; g < from.groups.size(); ++g)
    if (from.groups[g].optimizer.defined())
      for (auto& [name, values] : from.groups[g].optimizer.state_dict())
        all.emplace(message(prefix, g, ".", name), values);
}

/// (file;x): writes what x stands for, whole or not at all; the file.
inline object save(std::string_view name, object x) {
  const arguments given(name, x, 2, 2);
  const place to = place_of(given[0]);
  held* const what = find_held(given[1]);
  if (to.npy) {
    const tensor t = given.operand_at(1).value;
    io::write_npy(to.path, array_of(t));
    return r1(given[0]);
  }
  io::tensor_map all;
  if (auto* list = dynamic_cast<held_list*>(what)) {
    tensor_list named = *list->list;
    for (std::size_t i = named.names.size(); i < named.values.size(); ++i) named.names.push_back(std::to_string(i));
    add(all, "", named);
  } else if (auto* m = dynamic_cast<held_module*>(what)) {
    add(all, "", tensors_of_module(*m->body));
  } else if (auto* o = dynamic_cast<held_optimizer*>(what)) {
    add(all, "", *o->body);
  } else if (auto* model = dynamic_cast<held_model*>(what)) {
    add(all, "module.", tensors_of_module(*model->body->module));
    add(all, "optimizer.", *model->body->optimizer);
  } else if (!what && given[1]->type == dictionary_type) {
    add(all, "", tensors_of(given[1]));
  } else {
    all.emplace("tensor", array_of(given.operand_at(1).value));
  }
  write(to, all);
  return r1(given[0]);
}

/// Puts values into tensors of the same names and sizes; all are looked at first.
inline void assign(const tensor_list& to, const io::tensor_map& from, const std::string& prefix) {
  std::string problems;
  std::size_t found = 0;
  for (std::size_t i = 0; i < to.values.size(); ++i) {
    const auto at = from.find(prefix + to.names[i]);
    if (at == from.end())
      problems += message("; `", to.names[i], " is missing");
    else if (at->second.sizes() != to.values[i].sizes() ||
             is_floating(at->second.dtype()) != is_floating(to.values[i].type()))
      problems += message("; `", to.names[i], " is ", kiln::name(at->second.dtype()), at->second.sizes(),
                          " in the file, here ", kiln::name(to.values[i].type()), to.values[i].sizes());
    else
      ++found;
  }
  std::size_t there = 0;
  for (const auto& [name, values] : from) there += name.starts_with(prefix) ? 1u : 0u;
  if (problems.empty() && there != found)
    problems = message("; it has ", there, " tensors where ", found, " are known");
  if (!problems.empty()) throw value_error("the file does not fit" + problems);
  settle();
  const no_grad quiet;
  for (std::size_t i = 0; i < to.values.size(); ++i) {
    tensor target = to.values[i];
    target.assign_(tensor::of(from.at(prefix + to.names[i]).state()).to(target.type()).to(target.device()));
  }
}
/// All groups or, where one does not fit, none.
inline void assign(const optimizer_body& to, const io::tensor_map& from, const std::string& prefix) {
  std::vector<std::pair<dynamic::optimizer, io::tensor_map>> before;
  std::size_t known = 0, there = 0;
  try {
    for (std::size_t g = 0; g < to.groups.size(); ++g) {
      if (!to.groups[g].optimizer.defined()) continue;
      const std::string mine = message(prefix, g, ".");
      io::tensor_map part;
      for (const auto& [name, values] : from)
        if (name.starts_with(mine)) part.emplace(name.substr(mine.size()), values);
      known += part.size();
      before.emplace_back(to.groups[g].optimizer, to.groups[g].optimizer.state_dict());
      to.groups[g].optimizer.load_state_dict(std::move(part));
    }
    for (const auto& [name, values] : from) there += name.starts_with(prefix) ? 1u : 0u;
    if (known != there) throw value_error("the file does not fit: it has more groups of parameters than the optimizer");
  } catch (...) {
    for (const auto& [optimizer, state] : before) optimizer.load_state_dict(state);
    throw;
  }
}

/// file: a tensor's handle or a dict of tensors; (file;x): puts it into what x stands for.
inline object load(std::string_view name, object x) {
  const bool one = x->type == char_type || read_symbol(x);
  const arguments given(name, x, one ? 1 : 2, one ? 1 : 2);
  const place from = place_of(given[0]);
  held* const what = one ? nullptr : find_held(given[1]);
  if (!one && !what) given.refuse(1, "a tensor, dict, module, optimizer or model");
  const io::tensor_map all = read(from);
  if (one) {
    if (from.npy) return tensor_handle(tensor::of(all.begin()->second.state()));
    auto list = std::make_shared<tensor_list>();
    for (const auto& [key, values] : all) list->set(key, tensor::of(values.state()));
    return make_handle(std::make_unique<held_list>(held_class::dict, std::move(list)));
  }
  if (auto* t = dynamic_cast<held_tensor*>(what)) {
    if (!t->value.defined()) given.refuse(1, "a tensor with a value");
    assign({{"tensor"}, {t->value}}, all, "");
  } else if (auto* list = dynamic_cast<held_list*>(what); list && list->kind() == held_class::dict) {
    assign(*list->list, all, "");
  } else if (auto* m = dynamic_cast<held_module*>(what)) {
    assign(tensors_of_module(*m->body), all, "");
  } else if (auto* o = dynamic_cast<held_optimizer*>(what)) {
    settle();
    assign(*o->body, all, "");
  } else if (auto* model = dynamic_cast<held_model*>(what)) {
    const tensor_list inner = tensors_of_module(*model->body->module);
    io::tensor_map before;
    add(before, "", inner);
    for (auto& [key, values] : before) values = io::array(tensor::of(values.state()).clone().state());
    assign(inner, all, "module.");
    try {
      assign(*model->body->optimizer, all, "optimizer.");
    } catch (...) {
      assign(inner, before, "");
      throw;
    }
  } else {
    given.refuse(1, "a tensor, dict, module, optimizer or model");
  }
  return make_null();
}

/// (file;image): an image of channels, rows, columns (or rows, columns) with elements from 0 to 255 as a PNG file.
inline object png(std::string_view name, object x) {
  const arguments given(name, x, 2, 2);
  const std::filesystem::path path = path_of(given[0]);
  tensor image = given.operand_at(1).value.detach();
  if (image.dim() == 2) image = dynamic::unsqueeze(image, 0);
  if (image.dim() != 3 || image.numel() == 0 || image.size(0) > 4)
    throw shape_error(message("expects an image of 1 to 4 channels, rows and columns, given sizes ", image.sizes()));
  if (image.size(1) > (1 << 20) || image.size(2) > (1 << 20) || image.numel() > (std::int64_t{1} << 30))
    throw shape_error(message("an image of sizes ", image.sizes(), " is too large for a file of this kind"));
  const tensor values = dynamic::permute(image, {1, 2, 0}).to(dtype::float64);
  const double least = dynamic::reduce("min", values).item(), most = dynamic::reduce("max", values).item();
  if (!(least >= 0 && most < 256))
    throw value_error(message("elements from ", least, " to ", most, ": a picture's are from 0 to 255"));
  const tensor bytes = values.to(dtype::uint8).contiguous();
  write_png(path, static_cast<std::uint32_t>(image.size(1)), static_cast<std::uint32_t>(image.size(2)),
            static_cast<std::size_t>(image.size(0)), static_cast<const unsigned char*>(bytes.data()));
  return r1(given[0]);
}

}  // namespace kiln::k::files

namespace kiln::k {

KILN_INLINE void offer_files(registry& r) {
  r.offer("Save", files::save);
  r.offer("Load", files::load);
  r.offer("png", files::png);
}

}  // namespace kiln::k
