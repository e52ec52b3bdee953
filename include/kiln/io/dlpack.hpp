// SPDX-License-Identifier: BSL-1.0
// Tensors to and from other libraries of the same process, without a copy, by DLPack: the structs of its ABI, versions
// 0 and 1, declared here, so that no header of it is needed. Who gets a managed tensor calls its deleter once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <type_traits>
#include <utility>

#include <kiln/core/error.hpp>
#include <kiln/tensor/creation.hpp>

namespace kiln::io {

/// The structs of DLPack's ABI, member by member: a pointer to one is a pointer to that of dlpack.h.
namespace dlpack {

enum class device_type : std::int32_t { cpu = 1, cuda = 2, cuda_host = 3, cuda_managed = 13 };
enum class type_code : std::uint8_t { integer = 0, unsigned_integer = 1, floating = 2, bfloat = 4, boolean = 6 };

struct device {
  device_type type;
  std::int32_t id;
};
struct data_type {
  type_code code;
  std::uint8_t bits;
  std::uint16_t lanes;
};
/// DLTensor.
struct tensor {
  void* data;
  dlpack::device device;
  std::int32_t ndim;
  data_type dtype;
  std::int64_t* shape;
  std::int64_t* strides;  ///< in elements; null for row-major
  std::uint64_t byte_offset;
};
/// DLManagedTensor: what a capsule named "dltensor" holds.
struct managed_tensor {
  dlpack::tensor dl_tensor;
  void* manager_ctx;
  void (*deleter)(managed_tensor* self);
};
struct version {
  std::uint32_t major, minor;
};
inline constexpr std::uint64_t read_only = 1, is_copied = 2;
/// DLManagedTensorVersioned: what a capsule named "dltensor_versioned" holds.
struct managed_tensor_versioned {
  dlpack::version version;
  void* manager_ctx;
  void (*deleter)(managed_tensor_versioned* self);
  std::uint64_t flags;
  dlpack::tensor dl_tensor;
};
static_assert(sizeof(tensor) == 48 && sizeof(managed_tensor) == 64 && sizeof(managed_tensor_versioned) == 80);

}  // namespace dlpack

namespace detail {

inline constexpr dlpack::data_type dlpack_type(dtype type) {
  using code = dlpack::type_code;
  const code c = type == dtype::boolean    ? code::boolean
                 : type == dtype::uint8    ? code::unsigned_integer
                 : type == dtype::bfloat16 ? code::bfloat
                 : is_floating(type)       ? code::floating
                                           : code::integer;
  return {c, static_cast<std::uint8_t>(8 * size_of(type)), 1};
}

/// Which of DLPack's devices a Device is.
template <class Device>
struct dlpack_device {
  static dlpack::device of(const Device& where) { return {dlpack::device_type::cuda, where.index}; }
  static bool holds(dlpack::device d) {
    return d.type == dlpack::device_type::cuda || d.type == dlpack::device_type::cuda_managed;
  }
  static Device here(dlpack::device d) {
    Device where{};
    where.index = d.id;
    return where;
  }
};
template <>
struct dlpack_device<Cpu> {
  static dlpack::device of(Cpu) { return {dlpack::device_type::cpu, 0}; }
  static bool holds(dlpack::device d) {
    return d.type == dlpack::device_type::cpu || d.type == dlpack::device_type::cuda_host;
  }
  static Cpu here(dlpack::device) { return {}; }
};

/// What a managed tensor keeps until its deleter is called.
template <class Managed>
struct lent {
  ref<tensor_state> keeps;
  dims sizes, strides;
  Managed managed;
};

template <class Managed, Element T, class Device>
Managed* lend(const Tensor<T, Device>& x) {
  auto own = std::make_unique<lent<Managed>>();
  const Tensor<T, Device> plain = x.detach();
  own->keeps = plain.state();
  own->sizes = plain.sizes();
  own->strides = plain.strides();
  Managed& m = own->managed;
  m = {};
  m.dl_tensor = {plain.data(),
                 dlpack_device<Device>::of(plain.device()),
                 plain.dim(),
                 dlpack_type(dtype_of<T>),
                 const_cast<std::int64_t*>(own->sizes.begin()),
                 const_cast<std::int64_t*>(own->strides.begin()),
                 0};
  m.deleter = [](Managed* self) { delete static_cast<lent<Managed>*>(self->manager_ctx); };
  m.manager_ctx = own.get();
  return &own.release()->managed;
}

template <Element T, class Device>
Tensor<T, Device> borrow(const dlpack::tensor& t, std::shared_ptr<void> keep) {
  const auto& want = dlpack_type(dtype_of<T>);
  if (t.dtype.code != want.code || t.dtype.bits != want.bits || t.dtype.lanes != 1)
    throw dtype_error(message("from_dlpack: elements of code ", static_cast<int>(t.dtype.code), " with ",
                              int{t.dtype.bits}, " bits and ", t.dtype.lanes, " lanes are not ", name(dtype_of<T>),
                              ", which has code ", static_cast<int>(want.code), " and ", int{want.bits},
                              ": ask for the type that it has"));
  if (!dlpack_device<Device>::holds(t.device))
    throw device_error(message("from_dlpack: the tensor is on a device of type ", static_cast<int>(t.device.type),
                               " and was asked for on another: name its device, from_dlpack<T, Device>"));
  if (t.ndim < 0 || t.ndim > max_rank || (t.ndim > 0 && !t.shape))
    throw shape_error(message("from_dlpack: ", t.ndim, " axes: a tensor has from 0 to ", max_rank, ", with a shape"));
  dims sizes, strides;
  for (std::int32_t i = 0; i < t.ndim; ++i) {
    if (t.shape[i] < 0) throw shape_error(message("from_dlpack: axis ", i, " has size ", t.shape[i]));
    sizes.push_back(t.shape[i]);
  }
  if (t.strides)
    for (std::int32_t i = 0; i < t.ndim; ++i) {
      if (t.strides[i] < 0)
        throw shape_error(message("from_dlpack: axis ", i, " has stride ", t.strides[i],
                                  ": strides are 0 or more, so copy it first"));
      strides.push_back(t.strides[i]);
    }
  else
    strides = contiguous_strides(sizes);
  if (count(sizes) > 0 && !t.data) throw value_error("from_dlpack: the tensor has elements and no memory");
  T* const data = reinterpret_cast<T*>(static_cast<char*>(t.data) + (t.data ? t.byte_offset : 0));
  if (reinterpret_cast<std::uintptr_t>(data) % alignof(T) != 0)
    throw value_error(message("from_dlpack: the elements begin at an address that does not suit ", name(dtype_of<T>),
                              ": copy it first"));
  return from_blob<Device>(data, sizes, strides, std::move(keep), dlpack_device<Device>::here(t.device));
}

template <Element T, class Device, class Managed>
Tensor<T, Device> take(Managed* managed) {
  // Whoever fails keeps nothing: the tensor is still the caller's then.
  struct release {
    bool armed = false;
    void operator()(Managed* m) const {
      if (armed && m->deleter) m->deleter(m);
    }
  };
  const std::shared_ptr<Managed> keep(managed, release{});
  Tensor<T, Device> made = borrow<T, Device>(managed->dl_tensor, keep);
  std::get_deleter<release>(keep)->armed = true;
  return made;
}

}  // namespace detail

/// A tensor for another library, elements shared; its history stays here. The deleter ends the share. Of a GPU's
/// tensor, what was computed may still be under way in its stream.
template <Element T, class Device>
dlpack::managed_tensor* to_dlpack(const Tensor<T, Device>& x) {
  return detail::lend<dlpack::managed_tensor>(x);
}
/// The same as DLPack 1 has it.
template <Element T, class Device>
dlpack::managed_tensor_versioned* to_dlpack_versioned(const Tensor<T, Device>& x) {
  auto* const lent = detail::lend<dlpack::managed_tensor_versioned>(x);
  lent->version = {1, 0};
  return lent;
}

/// A tensor of another library, elements shared: its deleter is called when no tensor here has them any more (see
/// from_blob for work that a GPU has not done by then). Throws dtype_error, device_error or shape_error for one that is
/// no Tensor<T, Device>; it is then still the caller's.
template <Element T, class Device = Cpu>
Tensor<T, Device> from_dlpack(dlpack::managed_tensor* managed) {
  if (!managed) throw value_error("from_dlpack: there is no tensor: give a pointer to one");
  return detail::take<T, Device>(managed);
}
/// The same as DLPack 1 has it. Throws value_error for a later version than 1, and for elements that may not be
/// written.
template <Element T, class Device = Cpu>
Tensor<T, Device> from_dlpack(dlpack::managed_tensor_versioned* managed) {
  if (!managed) throw value_error("from_dlpack: there is no tensor: give a pointer to one");
  if (managed->version.major != 1)
    throw value_error(message("from_dlpack: version ", managed->version.major, " of DLPack; 1 can be read"));
  if (managed->flags & dlpack::read_only)
    throw value_error("from_dlpack: the elements may not be written, which tensors here can be: copy it first");
  return detail::take<T, Device>(managed);
}

}  // namespace kiln::io
