// SPDX-License-Identifier: BSL-1.0
// What is compiled once of kiln::io.
#include <kiln/io/npy_header_impl.hpp>
#include <kiln/io/safetensors_header_impl.hpp>
#include <kiln/io/safetensors_impl.hpp>
