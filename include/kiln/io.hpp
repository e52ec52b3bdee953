// SPDX-License-Identifier: BSL-1.0
// All of kiln::io: files of tensors. Include it beside kiln.hpp, which has the tensors; needs zlib and nlohmann-json.
#pragma once

#include <kiln/io/array.hpp>        // array, tensor_map
#include <kiln/io/checkpoint.hpp>   // save_checkpoint, load_checkpoint
#include <kiln/io/dlpack.hpp>       // to_dlpack, from_dlpack
#include <kiln/io/npy.hpp>          // read_npy, map_npy, write_npy
#include <kiln/io/npz.hpp>          // read_npz, map_npz, write_npz
#include <kiln/io/safetensors.hpp>  // read_safetensors, map_safetensors, write_safetensors
#include <kiln/io/save.hpp>         // save, load
#include <kiln/io/state_dict.hpp>   // state_dict, load_state_dict
