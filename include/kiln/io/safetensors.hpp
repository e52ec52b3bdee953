// SPDX-License-Identifier: BSL-1.0
// .safetensors files: tensors by name, as PyTorch's world exchanges weights. read_safetensors reads,
// map_safetensors leaves it to the system to read what is looked at, write_safetensors writes.
#pragma once

#include <filesystem>

#include <kiln/core/version.hpp>
#include <kiln/io/array.hpp>
#include <kiln/io/npy_header.hpp>
#include <kiln/io/safetensors_header.hpp>

namespace kiln::io {

/// The tensors of a .safetensors file, and in `metadata` the texts beside them. Throws io_error for a file that is
/// none, damaged or cut off, or whose elements kiln has not; memory_error.
tensor_map read_safetensors(const std::filesystem::path& path, text_map* metadata = nullptr);
/// The tensors of a .safetensors file, of which the system reads what is looked at: a file of any size is there at
/// once. Writing to them changes nothing in the file. Throws as read_safetensors.
tensor_map map_safetensors(const std::filesystem::path& path, text_map* metadata = nullptr);
/// Writes tensors by name as a .safetensors file, whole or not at all, with texts beside them. Tensors that share
/// elements are written each for itself. Throws value_error for names that are no UTF-8, and io_error where it can't be
/// written; what was there before then stays.
void write_safetensors(const std::filesystem::path& path, const tensor_map& tensors, const text_map& metadata = {});

}  // namespace kiln::io

#ifndef KILN_COMPILED
#include <kiln/io/safetensors_impl.hpp>
#endif
