// SPDX-License-Identifier: BSL-1.0
// The second parts of the headers of tensors whose type is known at run time. What their layers, losses and optimizers
// compute is interpreted, as everything is there.
#define KILN_INTERPRET
#include <kiln/dynamic/creation_impl.hpp>
#include <kiln/dynamic/custom_impl.hpp>
#include <kiln/dynamic/images_impl.hpp>
#include <kiln/dynamic/indexing_impl.hpp>
#include <kiln/dynamic/losses_impl.hpp>
#include <kiln/dynamic/modules_impl.hpp>
#include <kiln/dynamic/optimizers_impl.hpp>
#include <kiln/dynamic/products_impl.hpp>
#include <kiln/dynamic/shape_impl.hpp>
#include <kiln/dynamic/tensor_impl.hpp>
