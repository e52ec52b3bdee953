// SPDX-License-Identifier: BSL-1.0
// Writes the texts that tools/cuda_lint.py has compiled and looks at, one file each: texts FOLDER.
#include <kiln/cuda.hpp>

#include <filesystem>
#include <fstream>
#include <string>

using namespace kiln;

namespace {

std::filesystem::path folder;

template <class E>
void write(const std::string& name, const E& formula) {
  std::ofstream(folder / (name + ".cu")) << source<Cuda>(formula);
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

}  // namespace

int main(int count, char** words) {
  if (count != 2) return 2;
  folder = words[1];
  std::filesystem::create_directories(folder);
  write_all<float>("float");
  write_all<double>("double");
  write_all<bfloat16>("bfloat16");
  write_attention();
}
