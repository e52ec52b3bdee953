// SPDX-License-Identifier: BSL-1.0
// save and load: a tensor, tensors by name, or a module, in the format that the file's name ends in: .safetensors,
// .npz, or for one tensor .npy.
#pragma once

#include <concepts>
#include <filesystem>
#include <string>
#include <type_traits>
#include <utility>

#include <kiln/io/npz.hpp>
#include <kiln/io/safetensors.hpp>
#include <kiln/io/state_dict.hpp>

namespace kiln::io {

namespace detail {

enum class format { npy, npz, safetensors };
inline format format_of(const char* where, const std::filesystem::path& path) {
  const std::string ending = path.extension().string();
  if (ending == ".npy") return format::npy;
  if (ending == ".npz") return format::npz;
  if (ending == ".safetensors") return format::safetensors;
  throw value_error(
      message(where, ": ", path, " ends in none of .safetensors, .npz and .npy: name it so that it does"));
}

}  // namespace detail

/// Writes tensors by name to a .safetensors or .npz file, whole or not at all. Throws value_error for another ending,
/// and whatever write_safetensors or write_npz throws.
inline void save(const std::filesystem::path& path, const tensor_map& tensors) {
  switch (detail::format_of("save", path)) {
    case detail::format::npy:
      throw value_error(message("save: ", path, " holds one array without a name: end it in .safetensors or .npz"));
    case detail::format::npz:
      return write_npz(path, tensors);
    case detail::format::safetensors:
      return write_safetensors(path, tensors);
  }
}
/// Writes one tensor: to a .npy file, or under the name "tensor" to one of the others.
template <Expression X>
void save(const std::filesystem::path& path, const X& tensor) {
  const array values(Tensor<typename X::value_type, typename X::device_type>(tensor).detach());
  if (detail::format_of("save", path) == detail::format::npy)
    write_npy(path, values);
  else
    save(path, tensor_map{{"tensor", values}});
}
inline void save(const std::filesystem::path& path, const array& values) {
  if (detail::format_of("save", path) == detail::format::npy)
    write_npy(path, values);
  else
    save(path, tensor_map{{"tensor", values}});
}
/// Writes the parameters and buffers of a module by their names, as PyTorch's state_dict has them.
template <class M>
  requires(!Expression<M> && !std::convertible_to<const M&, tensor_map> && !std::same_as<M, array>)
void save(const std::filesystem::path& path, const M& module) {
  save(path, state_dict(module));
}

/// The tensors of a .safetensors or .npz file by name; that of a .npy file under the name "tensor". Throws value_error
/// for another ending, and whatever read_safetensors, read_npz or read_npy throws.
inline tensor_map load(const std::filesystem::path& path) {
  switch (detail::format_of("load", path)) {
    case detail::format::npy:
      return {{"tensor", read_npy(path)}};
    case detail::format::npz:
      return read_npz(path);
    case detail::format::safetensors:
      break;
  }
  return read_safetensors(path);
}
/// The one tensor of a file: `load<Tensor<float>>("x.npy")`. Throws dtype_error if it is of another type, value_error
/// for a file of several.
template <class X>
  requires Leaf<X> X load(const std::filesystem::path& path) {
    const tensor_map all = load(path);
    if (all.size() != 1)
      throw value_error(
          message("load: ", path, " holds ", all.size(), " tensors, not one: load(path) gives them by name"));
    return all.begin()->second.as<typename X::value_type>().to(typename X::device_type{});
  }
/// Reads the parameters and buffers of a module from a file. Throws as load_state_dict.
template <class M>
load_report load(const std::filesystem::path& path, const M& module, const load_options& options = {}) {
  return load_state_dict(module, load(path), options);
}

}  // namespace kiln::io
