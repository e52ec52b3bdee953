// SPDX-License-Identifier: BSL-1.0
// Writes the texts that tools/cuda_lint.py has compiled and looks at, one file each: texts FOLDER.
#include <kiln/cuda.hpp>

#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

using namespace kiln;

namespace {

std::filesystem::path folder;

template <class E>
void write(const std::string& name, const E& formula) {
  std::ofstream(folder / (name + ".cu")) << source<Cuda>(formula);
}

/// The kernels of a backward pass, as source<Cuda> writes those of a value: gradients lie where no tensor does, and
/// leaves of the same tensor have one.
template <class E>
void write_backward(const std::string& name, const E& formula) {
  using program = detail::gradient_program<E>;
  constexpr int slots = census<E>::leaves;
  detail::collected<E> c(formula);
  detail::evaluation how;
  if (!detail::plan_evaluation(formula, c, how)) std::abort();
  std::uintptr_t next = std::uintptr_t{1} << 60;
  const auto place = [&] { return reinterpret_cast<void*>(std::exchange(next, next + (std::uintptr_t{1} << 44))); };
  tensor_state result;
  result.type = dtype_of<typename E::value_type>;
  result.sizes = how.domain;
  result.strides = contiguous_strides(how.domain);
  std::array<common::operand_view, slots + 2> in;
  std::array<common::result_view, slots> out;
  for (int k = 0; k < slots; ++k) {
    const tensor_state& leaf = *c.leaf[k];
    in[static_cast<std::size_t>(k)] = detail::operand_over(leaf, how.domain);
    common::result_view& y = out[static_cast<std::size_t>(k)];
    y.type = leaf.type;
    if (shared_leaves<E>.leaf[static_cast<std::size_t>(k)] != k) continue;
    y = {place(), common::broadcast_strides(leaf.sizes, leaf.strides, how.domain), leaf.type, false};
    for (int first = k; first-- > 0;)
      if (c.leaf[first] == c.leaf[k]) y.data = out[static_cast<std::size_t>(first)].data, y.add = true;
  }
  for (int k = slots; k < slots + 2; ++k) {
    result.data = place();
    in[static_cast<std::size_t>(k)] = detail::operand_over(result, how.domain);
  }
  const common::program_view& view = detail::cuda_program<program>;
  cuda::task task;
  cuda::take(task, {.program = &view,
                    .domain = how.domain,
                    .reduced_axes = view.reductions ? how.axes : 0,
                    .in = in.data(),
                    .out = out.data(),
                    .scalars = c.number.data()});
  std::ofstream file(folder / (name + ".cu"));
  std::size_t scratch = 0;
  for (const cuda::launch& each : cuda::schedule(task, cuda::device_shape{}, cuda::detail::planned_scratch(scratch)))
    file << print_kernel(each).text;
}

template <class T>
void write_all(const std::string& type) {
  const auto a = empty<T>({1 << 20}), b = empty<T>({1 << 20}), c = empty<T>({1 << 20});
  const auto x = empty<T>({4096, 1024}), row = empty<T>({1024}), column = empty<T>({4096, 1});
  write("map_" + type, relu(a * b + c));
  write("smooth_" + type, tanh(a) * sigmoid(b) + exp(c));
  write("broadcast_" + type, (x + row) * column);
  write("transposed_" + type, x + empty<T>({1024, 4096}).t());
  write("softmax_" + type, softmax(x, 1));
  write("layer_norm_" + type, layer_norm(x, 1) * row);
  write("short_rows_" + type, softmax(empty<T>({1 << 16, 64}), 1));
  write("long_rows_" + type, softmax(empty<T>({256, 1 << 20}), 1));
  const auto wide = empty<T>({64, 131072});
  write("cluster_" + type, softmax(wide, 1));
  write("two_rows_" + type, softmax(wide + empty<T>({64, 131072}), 1));
  write("columns_" + type, sum(x, 0));
  write("sum_" + type, sum(x));
}

// Of heads of 64 and 128, as most models have: the registers are full.
void write_attention() {
  using cuda::attention_kernel;
  for (const cuda::attention_text& text : cuda::attention_texts(dtype::bfloat16)) {
    const bool forward = text.which == attention_kernel::forward;
    if (text.extras || text.width < (forward ? 64 : 128)) continue;
    const cuda::source made = print_attention(text);
    std::ofstream(folder / (made.name + ".cu")) << made.text;
  }
}
// What models of half types spend their time on: rows, and what goes back through them.
template <class T>
void write_rows(const std::string& type) {
  for (const auto& [length, of] : {std::pair{1024, "1024_"}, {8192, "8192_"}}) {
    const auto x = empty<T>({4096, length}), row = empty<T>({length});
    write("rows_softmax_" + (of + type), softmax(x, 1));
    write("rows_layer_norm_" + (of + type), layer_norm(x, 1) * row);
    write_backward("backward_softmax_" + (of + type), softmax(x, 1));
    write_backward("backward_layer_norm_" + (of + type), layer_norm(x, 1) * row);
  }
  const auto a = empty<T>({1 << 20}), c = empty<T>({1 << 20});
  write_backward("backward_repeated_" + type, a * c + a);
}

}  // namespace

int main(int count, char** words) {
  if (count != 2) return 2;
  folder = words[1];
  std::filesystem::create_directories(folder);
  write_all<float>("float");
  write_all<double>("double");
  write_all<bfloat16>("bfloat16");
  write_attention();
  write_rows<bfloat16>("bfloat16");
  write_rows<half>("half");
}
