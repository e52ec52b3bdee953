// SPDX-License-Identifier: BSL-1.0
// The drivers, made for one instruction set: this file is compiled once for each that the library has.
#include <array>
#include <concepts>

#include <kiln/device/cpu/drivers.hpp>
#include <kiln/device/cpu/elements/argmax.hpp>
#include <kiln/device/cpu/elements/index.hpp>
#include <kiln/device/cpu/elements/order.hpp>
#include <kiln/device/cpu/elements/random.hpp>
#include <kiln/device/cpu/elements/running.hpp>
#include <kiln/device/cpu/elements/scale.hpp>
#include <kiln/device/cpu/images/conv2d.hpp>
#include <kiln/device/cpu/images/pooling.hpp>
#include <kiln/device/cpu/interpreter/interpreted_impl.hpp>
#include <kiln/device/cpu/kernel/prebuilt_keys.hpp>
#include <kiln/device/cpu/maps/map.hpp>
#include <kiln/device/cpu/products/attention.hpp>
#include <kiln/device/cpu/products/lstm.hpp>
#include <kiln/device/cpu/products/multiply.hpp>
#include <kiln/device/cpu/rows/reduce.hpp>

namespace kiln::cpu::inline KILN_VERSION_ISA {

const driver_table& table();
template <class T>
const typed_driver_table<T>& table_for();

/// Of prebuilt.cpp.
extern const std::array<const compiled*, prebuilt_keys.size()> prebuilt_programs;

const driver_table& table() {
  static constexpr driver_table all{
      .run_map = &run_map, .run_rows = &run_rows, .interpret = &interpret, .prebuilt = prebuilt_programs.data()};
  return all;
}

template <class T>
const typed_driver_table<T>& table_for() {
  static constexpr auto all = [] {
    typed_driver_table<T> f;
    f.run_index = &run_index<T>;
    f.order_lines = &order_lines<T>;
    f.run_running = &run_running<T>;
    f.fill_integers = &fill_integers<T>;
    if constexpr (!std::same_as<T, bool>) {
      f.multiply = &multiply<T>;
      f.index_of_largest = &best_index<true, T>;
      f.index_of_smallest = &best_index<false, T>;
    }
    if constexpr (is_floating(dtype_of<T>)) {
      f.fill_uniform = &fill_uniform<T>;
      f.fill_normal = &fill_normal<T>;
      f.scale = &scale<T>;
      f.run_running_product_gradient = &run_running_product_gradient<T>;
      f.conv2d = &conv2d<T>;
      f.conv2d_backward_input = &conv2d_backward_input<T>;
      f.conv2d_backward_weight = &conv2d_backward_weight<T>;
      f.conv2d_backward_bias = &conv2d_backward_bias<T>;
      f.max_pool = &max_pool<T>;
      f.max_pool_backward = &max_pool_backward<T>;
      f.average_pool = &average_pool<T>;
      f.average_pool_backward = &average_pool_backward<T>;
    }
    if constexpr (std::same_as<T, float> || std::same_as<T, double>) {
      f.attention = &attention<T>;
      f.attention_backward = &attention_backward<T>;
      f.lstm = &lstm<T>;
      f.lstm_backward = &lstm_backward<T>;
    }
    return f;
  }();
  return all;
}

template const typed_driver_table<bool>& table_for<bool>();
template const typed_driver_table<std::int8_t>& table_for<std::int8_t>();
template const typed_driver_table<std::int16_t>& table_for<std::int16_t>();
template const typed_driver_table<std::int32_t>& table_for<std::int32_t>();
template const typed_driver_table<std::int64_t>& table_for<std::int64_t>();
template const typed_driver_table<std::uint8_t>& table_for<std::uint8_t>();
template const typed_driver_table<half>& table_for<half>();
template const typed_driver_table<bfloat16>& table_for<bfloat16>();
template const typed_driver_table<float>& table_for<float>();
template const typed_driver_table<double>& table_for<double>();

}  // namespace kiln::cpu::inline KILN_VERSION_ISA
