// SPDX-License-Identifier: BSL-1.0
// source<Cuda>(f), source<Cuda>(grad(f)): the CUDA that computes a function of plain numbers, or its derivative, for
// every element of a tensor. Nothing is compiled or launched, and no GPU is needed.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <kiln/tensor/cuda_source.hpp>
#include <kiln/transform/cpp_source.hpp>

namespace kiln {

namespace detail {

template <class F, PlainFloat... X>
std::string cuda_function_source(const F& f, const X&... x) {
  constexpr int inputs = static_cast<int>(sizeof...(X));
  const auto e = trace(f, x...);
  using E = std::remove_const_t<decltype(e)>;
  using Tag = inputs_of<F>;
  tape_names printed;
  std::vector<std::uint64_t> numbers;
  held_numbers::each(e, [&](auto number) {
    if constexpr (std::is_floating_point_v<decltype(number)>)
      numbers.push_back(std::bit_cast<std::uint64_t>(static_cast<double>(number)));
    else
      numbers.push_back(static_cast<std::uint64_t>(static_cast<std::int64_t>(number)));
    printed.numbers.push_back(number_text(static_cast<double>(number), dtype_of<decltype(number)>));
  });
  const tape_view tape = view(traced_value<Tag, E, inputs>::tape);
  // Where nothing lies: whole megabytes, one after the other, of which the text has the layout alone.
  cuda::task task = cuda::task_for(tape, {std::int64_t{1} << 20});
  std::uintptr_t next = std::uintptr_t{1} << 44;
  const auto place = [&] { return reinterpret_cast<void*>(std::exchange(next, next + (std::uintptr_t{1} << 44))); };
  for (cuda::leaf_view& leaf : task.leaves) leaf.data = place(), leaf.strides = {1};
  for (cuda::result_view& result : task.results) result.data = place(), result.strides = {1};
  task.numbers = numbers.data();
  std::string text;
  const cuda::device_shape shape = cuda_available() ? cuda::detail::shape_of(Cuda{}) : cuda::device_shape{};
  std::size_t scratch = 0;
  for (const cuda::launch& each : cuda::schedule(task, shape, cuda::detail::planned_scratch(scratch)))
    text += (text.empty() ? "" : "\n") + print_kernel(each).text;
  std::string formula = infix(view(traced_formula<Tag, E, inputs>::tape), facts_at_run_time<E>(), printed);
  for (std::size_t at = 0; (at = formula.find('\n', at)) != formula.npos;) formula.insert(++at, "// ");
  return "// " + formula + "\n" + text;
}

}  // namespace detail

/// The kernel that computes f for each element of contiguous tensors; source<Cuda>(grad(f)), that of its derivative. f
/// is a generic function of plain numbers, as of source<Cpp>(f); source<Cuda, double>(f) says of what type they are.
template <std::same_as<Cuda> Device, detail::PlainFloat... X, class F>
  requires(!Expression<F>)
std::string source(const F& f) {
  if constexpr (sizeof...(X) > 0)
    return detail::cuda_function_source(f, X()...);
  else
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return detail::cuda_function_source(f, (static_cast<void>(I), 0.0f)...);
    }
  (std::make_index_sequence<static_cast<std::size_t>(detail::argument_count<F>::value)>{});
}

}  // namespace kiln
