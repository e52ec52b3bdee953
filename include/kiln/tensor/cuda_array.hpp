// SPDX-License-Identifier: BSL-1.0
// Tensors of a GPU to and from Python's libraries without a copy: what `__cuda_array_interface__`, version 3, says, as
// a struct whose members are the entries of that dictionary. (DLPack, kiln/io/dlpack.hpp, knows bfloat16 too.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <kiln/core/error.hpp>
#include <kiln/device/cuda/driver/event.hpp>
#include <kiln/device/cuda/driver/stream.hpp>
#include <kiln/tensor/creation.hpp>
#include <kiln/tensor/cuda.hpp>

namespace kiln::io {

/// The entries of a `__cuda_array_interface__`.
struct cuda_array {
  std::vector<std::int64_t> shape;
  std::string typestr;                               ///< "<f4"
  void* data = nullptr;                              ///< the first entry of `data`
  bool read_only = false;                            ///< the second
  std::optional<std::vector<std::int64_t>> strides;  ///< in bytes; none for row-major
  std::optional<std::uintptr_t>
      stream;  ///< whose work so far makes the elements; 1 is the default stream, 2 the thread's
  int version = 3;
};

namespace detail {

inline std::string_view typestr_of(dtype type) {
  switch (type) {
    case dtype::boolean:
      return "|b1";
    case dtype::uint8:
      return "|u1";
    case dtype::int8:
      return "|i1";
    case dtype::int16:
      return "<i2";
    case dtype::int32:
      return "<i4";
    case dtype::int64:
      return "<i8";
    case dtype::float16:
      return "<f2";
    case dtype::float32:
      return "<f4";
    case dtype::float64:
      return "<f8";
    default:
      throw dtype_error(
          message("to_cuda_array: NumPy has no name for ", name(type), ": give it by to_dlpack, or cast<float>() it"));
  }
}

}  // namespace detail

/// What describes a tensor for another library, elements shared; its history stays here. The tensor must live as long
/// as they are used. The other library lets its work wait for `stream`. Throws dtype_error for bfloat16.
template <Element T>
cuda_array to_cuda_array(const Tensor<T, Cuda>& x) {
  const Tensor<T, Cuda> plain = x.detach();
  cuda_array made;
  made.shape.assign(plain.sizes().begin(), plain.sizes().end());
  made.typestr = detail::typestr_of(dtype_of<T>);
  made.data = plain.numel() > 0 ? plain.data() : nullptr;
  if (!plain.is_contiguous()) {
    made.strides.emplace();
    for (const std::int64_t stride : plain.strides())
      made.strides->push_back(stride * static_cast<std::int64_t>(sizeof(T)));
  }
  made.stream = reinterpret_cast<std::uintptr_t>(cuda::current_stream(plain.device()).handle());
  return made;
}

/// A tensor of another library, elements shared; `keep_alive` is let go of when nothing here uses them any more. The
/// current stream waits for the array's. Throws dtype_error, shape_error or value_error for what is no
/// Tensor<T, Cuda>, device_error for memory that is no GPU's.
template <Element T>
Tensor<T, Cuda> from_cuda_array(const cuda_array& array, std::shared_ptr<void> keep_alive = nullptr) {
  if (array.typestr != detail::typestr_of(dtype_of<T>))
    throw dtype_error(message("from_cuda_array: elements \"", array.typestr, "\" are not ", name(dtype_of<T>),
                              ", which is \"", detail::typestr_of(dtype_of<T>), "\": ask for the type that it has"));
  if (array.read_only)
    throw value_error("from_cuda_array: the elements may not be written, which tensors here can be: copy it first");
  if (array.shape.size() > static_cast<std::size_t>(max_rank))
    throw shape_error(message("from_cuda_array: ", array.shape.size(), " axes: a tensor has at most ", max_rank));
  if (array.strides && array.strides->size() != array.shape.size())
    throw shape_error(message("from_cuda_array: ", array.shape.size(), " sizes and ", array.strides->size(),
                              " strides: give one stride per axis"));
  constexpr auto bytes = static_cast<std::int64_t>(sizeof(T));
  dims sizes, strides;
  for (std::size_t i = 0; i < array.shape.size(); ++i) {
    if (array.shape[i] < 0) throw shape_error(message("from_cuda_array: axis ", i, " has size ", array.shape[i]));
    sizes.push_back(array.shape[i]);
    if (!array.strides) continue;
    const std::int64_t stride = (*array.strides)[i];
    if (stride < 0 || stride % bytes != 0)
      throw shape_error(message("from_cuda_array: axis ", i, " has a stride of ", stride,
                                " bytes: it is to be 0 or a multiple of ", bytes, ", so copy it first"));
    strides.push_back(stride / bytes);
  }
  if (!array.strides) strides = contiguous_strides(sizes);
  if (array.stream && *array.stream == 0)
    throw value_error(
        "from_cuda_array: stream 0 means two things, so the interface forbids it: 1 is the default stream");
  const std::int64_t elements = count(sizes);
  if (elements > 0 && array.data == nullptr) throw value_error("from_cuda_array: the array has elements and no memory");
  if (reinterpret_cast<std::uintptr_t>(array.data) % alignof(T) != 0)
    throw value_error(message("from_cuda_array: the elements begin at an address that does not suit ",
                              name(dtype_of<T>), ": copy it first"));
  Cuda where;
  if (elements > 0 && cuda_available())
    cuda::driver().pointer_get_attribute(&where.index, cuda::pointer_attribute::device_ordinal,
                                         reinterpret_cast<cuda::device_pointer>(array.data));
  Tensor<T, Cuda> made = from_blob<Cuda>(static_cast<T*>(array.data), sizes, strides, std::move(keep_alive), where);
  if (array.stream && elements > 0)
    cuda::hold_back(cuda::current_stream(where),
                    cuda::stream::of(where, reinterpret_cast<cuda::stream_handle>(*array.stream)));
  return made;
}

}  // namespace kiln::io
