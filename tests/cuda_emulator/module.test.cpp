// SPDX-License-Identifier: BSL-1.0
// The emulator on CUDA text: right kernels give right results under every seed, planted bugs are each reported.
#include <cuda_emulator/module.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <string_view>

using emulate::buffer;
using emulate::failure;
using emulate::module;

namespace {

// One text for all tests here, as the compiler is what costs time.
constexpr std::string_view text = R"(
extern "C" __global__ void __launch_bounds__(256) total(const float* __restrict__ in, float* out, int n) {
  __shared__ float part[8];
  float sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += in[i];
  for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(0xffffffffu, sum, step);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    sum = 0;
    for (int i = 0; i < blockDim.x / 32; ++i) sum += part[i];
    atomicAdd(out, sum);
  }
}

extern "C" __global__ void __cluster_dims__(4, 1, 1) __launch_bounds__(64)
    numbers_in_cluster(int* out, int begins, int meets) {
  __shared__ int numbers[4];
  const auto meet = [] { __cluster_barrier_arrive(), __cluster_barrier_wait(); };
  if (begins) meet();
  if (threadIdx.x < 4)
    static_cast<int*>(__cluster_map_shared_rank(numbers, threadIdx.x))[blockIdx.x % 4] = blockIdx.x + 1;
  if (meets) meet();
  if (threadIdx.x == 63) out[blockIdx.x] = numbers[0] + numbers[1] + numbers[2] + numbers[3];
}

// 16 threads copy four numbers each in one group, and eight of them in a second one, which is zeros beyond; each reads
// what another has copied.
extern "C" __global__ void reversed_by_copies(float* out, const float* in, int waits, int meets, int ends) {
  extern __shared__ float memory[];
  const int own = 4 * threadIdx.x, other = 60 - own;
  emulator::copy_async(memory + own, in + own, 16, 16);
  emulator::commit_copies();
  emulator::copy_async(memory + 64 + own, in + own, threadIdx.x < 8 ? 16 : 0, 16);
  emulator::commit_copies();
  if (waits) emulator::wait_for_copies(1);
  if (meets) __syncthreads();
  for (int i = 0; i < 4; ++i) out[own + i] = memory[other + i];
  if (ends) emulator::wait_for_copies(0);
  __syncthreads();
  for (int i = 0; i < 4; ++i) out[64 + own + i] = memory[64 + other + i];
}

extern "C" __global__ void total_without_barrier(const float* in, float* out) {
  __shared__ float part[256];
  part[threadIdx.x] = in[threadIdx.x];
  if (threadIdx.x == 128) {
    float sum = 0;
    for (int i = 0; i < 256; ++i) sum += part[i];
    *out = sum;
  }
}

// The bug: a warp's lanes exchange values through memory, with a shuffle in the place of __syncwarp.
extern "C" __global__ void neighbours(int* out, int wait) {
  __shared__ int place[64];
  place[threadIdx.x] = threadIdx.x;
  if (wait) __syncwarp();
  else __shfl_sync(0xffffffffu, 0, 0);
  out[threadIdx.x] = place[threadIdx.x ^ 1];
  if (wait) __syncwarp();
  place[threadIdx.x] = out[threadIdx.x];
}

extern "C" __global__ void one_adds_between_reads(int* out, int at, int wait) {
  __shared__ int place[8];
  if (threadIdx.x == 0) place[at] = 1;
  __syncwarp();
  out[threadIdx.x] = place[at];
  if (wait) __syncwarp();
  if (threadIdx.x == 5) place[at] += 1;
  __syncwarp();
  out[threadIdx.x] += place[at];
}

extern "C" __global__ void histogram(const int* in, int* out, int counts) {
  __shared__ int bins[4];
  if (threadIdx.x < 4) bins[threadIdx.x] = 0;
  __syncthreads();
  if (counts) atomicAdd(&bins[in[threadIdx.x] % 4], 1);
  else bins[in[threadIdx.x] % 4] += 1;
  __syncthreads();
  if (threadIdx.x < 4) out[threadIdx.x] = bins[threadIdx.x];
}

extern "C" __global__ void reverse_in_dynamic_memory(int* data, int places) {
  extern __shared__ __align__(16) int memory[];
  memory[threadIdx.x] = data[threadIdx.x];
  __syncthreads();
  data[threadIdx.x] = memory[places - 1 - threadIdx.x];
}

// The bug: a whole vector although less than one may be left.
extern "C" __global__ void copy_vectors(const float* in, float* out, int n) {
  int i = 4 * threadIdx.x;
  if (i < n) *reinterpret_cast<float4*>(out + i) = *reinterpret_cast<const float4*>(in + i);
}

extern "C" __global__ void shuffle_with(unsigned mask, int source, int* out) {
  out[threadIdx.x] = __shfl_sync(mask, static_cast<int>(threadIdx.x), source);
}

extern "C" __global__ void barrier_for(unsigned threads) {
  if (threadIdx.x < threads) __syncthreads();
}

extern "C" __global__ void two_barriers(int* out) {
  if (threadIdx.x < 32) {
    __syncthreads();
  } else {
    __syncthreads();
  }
  out[threadIdx.x] = 1;
}

extern "C" __global__ void half_a_warp_shuffles(int* out) {
  if (threadIdx.x < 16) out[threadIdx.x] = __shfl_xor_sync(0xffffffffu, 1, 1);
  else out[threadIdx.x] = __any_sync(0xffffffffu, 1);
}

extern "C" __global__ void index_shared(int place, int* out) {
  __shared__ int few[4];
  few[place] = 1;
  *out = few[place];
}

extern "C" __global__ void read_shared(float* out) {
  __shared__ float kept[32];
  out[blockIdx.x * blockDim.x + threadIdx.x] = kept[threadIdx.x];
  kept[threadIdx.x] = 1;
}

extern "C" __global__ void divide(int a, int b, int* out) { *out = a / b; }

extern "C" __global__ void meetings(int* out) {
  const int odd = threadIdx.x % 2;
  const unsigned lanes = __ballot_sync(0xffffffffu, odd);
  out[threadIdx.x] = __syncthreads_count(odd) + (lanes == 0xaaaaaaaau ? 1000 : 0) + (__all_sync(~0u, 1) ? 2000 : 0);
  double value = threadIdx.x;
  value = __shfl_up_sync(0xffffffffu, value, 1, 8);
  out[64 + threadIdx.x] = static_cast<int>(value);
  out[128 + threadIdx.x] = __shfl_xor_sync(0xffffffffu, static_cast<int>(threadIdx.x), 5);
}

// extern "C" __global__ void not_a_kernel(int)
struct sizes { int rows, columns; };
// c += (a + block) b of whole numbers, 16 x 16 and 16 x 8; b comes out of memory transposed. With `away`, one lane
// stays away.
extern "C" __global__ void tensor_cores(const unsigned short* a, const unsigned short* b, float* c, int away) {
  alignas(16) __shared__ unsigned short left[256];
  alignas(16) __shared__ unsigned short right[16 * 8];
  const int lane = threadIdx.x;
  for (int i = lane; i < 256; i += 32) left[i] = a[i] + blockIdx.x;
  for (int i = lane; i < 128; i += 32) right[i] = b[i];
  __syncwarp();
  if (away && lane == 5) return;
  unsigned x[4], y[4];
  emulator::load_matrices(x, left + lane % 16 * 16 + lane / 16 * 8, false);
  emulator::load_matrices(y, right + lane % 16 * 8, true);
  float* const upper = c + blockIdx.x * 128 + lane / 4 * 8 + lane % 4 * 2;
  emulator::multiply_matrices(upper[0], upper[1], upper[64], upper[65], x, y[0], y[1],
                              [](unsigned short bits) { return float(bits); });
}

extern "C" __global__ void where(sizes all, int2* out) {
  int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
  if (row < all.rows && column < all.columns) out[row * all.columns + column] = make_int2(row, column);
}
template <int N>
__device__ float first_of_shared(bool write) {
  __shared__ float values[N];
  if (write && threadIdx.x == 0) values[0] = 1;
  __syncthreads();
  return values[0];
}
extern "C" __global__ void shared_of_a_template(float* out, bool write) {
  out[blockIdx.x] = first_of_shared<8>(write && blockIdx.x == 0);
}
extern "C" __global__ void neighbour_block(float* x) {
  const float other = x[(blockIdx.x + 1) % gridDim.x];
  x[blockIdx.x] = other + 1;
}
extern "C" __global__ void both_write(float* x, bool same) { x[0] = same ? 1 : blockIdx.x; }
extern "C" __global__ void last_block_adds(float* part, unsigned* count, float* out, bool fence) {
  if (threadIdx.x != 0) return;
  part[blockIdx.x] = 1;
  if (fence) __threadfence();
  if (atomicAdd(count, 1u) != gridDim.x - 1) return;
  float sum = 0;
  for (unsigned i = 0; i < gridDim.x; ++i) sum += part[i];
  *out = sum;
  *count = 0;
}
// The bug: another block may come between the two operations, each of which is atomic.
extern "C" __global__ void counts_in_two_steps(int* total) { atomicExch(total, atomicAdd(total, 0) + 1); }
extern "C" __global__ void counts_without_atomic(int* total) { *total += 1; }
extern "C" __global__ void each_waits_for_the_other(unsigned* there) {
  atomicAdd(there + blockIdx.x, 1u);
  while (atomicAdd(there + 1 - blockIdx.x, 0u) == 0) __nanosleep(1);
}
extern "C" __global__ void shared_of_each_block(int* turns, int2* out) {
  __shared__ int declared[2];
  extern __shared__ int given[];
  declared[threadIdx.x] = given[threadIdx.x] = blockIdx.x;
  atomicAdd(turns, 1);
  __syncthreads();
  out[2 * blockIdx.x + threadIdx.x] = make_int2(declared[1 - threadIdx.x], given[1 - threadIdx.x]);
}
extern "C" __global__ void bytes_of_blocks(char* x) { x[blockIdx.x] = 1; }
extern "C" __global__ void reads_ahead(float* y, const float* __restrict__ x) {
  y[blockIdx.x] = x[(blockIdx.x + 1) % gridDim.x];
}
extern "C" __global__ void reads_back(float* y, const float* __restrict__ cached, const float* x) {
  y[0] = 5;
  y[1] = cached[0];
  y[2] = x[0];
}
)";

const module& kernels() {
  static const module compiled(text);
  return compiled;
}

template <class... Arguments>
std::string report(const std::string& kernel, const emulate::shape& how, Arguments... arguments) {
  try {
    kernels().launch(kernel, how, arguments...);
  } catch (const failure& caught) {
    return caught.what();
  }
  return "nothing to report";
}

bool holds(const std::string& words, std::string_view part) {
  INFO(words);
  return words.find(part) != words.npos;
}

}  // namespace

TEST_CASE("a reduction with shuffles, shared memory and a barrier is right under every seed") {
  buffer<float> in(100'003), out(1);
  std::iota(in.values().begin(), in.values().end(), -50'000.0f);
  for (const unsigned seed : {0u, 1u, 2u, 3u}) {
    out[0] = 0;
    kernels().launch("total", {{7}, {256}, 0, seed}, static_cast<const float*>(in.data()), out.data(), 100'003);
    CHECK(out[0] == doctest::Approx(100'003).epsilon(0.01));
  }
}

TEST_CASE("a missing barrier is reported under every seed") {
  buffer<float> in(256), out(1);
  for (float& value : in.values()) value = 1;
  for (const unsigned seed : {0u, 1u, 2u, 3u}) {
    CHECK(
        holds(report("total_without_barrier", {{1}, {256}, 0, seed}, static_cast<const float*>(in.data()), out.data()),
              "race on shared memory"));
  }
}

TEST_CASE("lanes that exchange values through memory need __syncwarp, which a shuffle does not replace") {
  buffer<int> out(64);
  CHECK(report("neighbours", {{1}, {64}}, out.data(), 1) == "nothing to report");
  CHECK(out[7] == 6);
  CHECK(holds(report("neighbours", {{1}, {64}}, out.data(), 0), "race on shared memory"));
}

TEST_CASE("what lanes have read before __syncwarp, one of them may read and write after it") {
  buffer<int> out(32);
  CHECK(report("one_adds_between_reads", {{1}, {32}}, out.data(), 3, 1) == "nothing to report");
  CHECK(out[9] == 3);
  CHECK(holds(report("one_adds_between_reads", {{1}, {32}}, out.data(), 3, 0), "race on shared memory"));
}

TEST_CASE("atomic operations on one place do not race, plain ones do") {
  buffer<int> in(128), out(4);
  std::iota(in.values().begin(), in.values().end(), 0);
  CHECK(report("histogram", {{1}, {128}}, static_cast<const int*>(in.data()), out.data(), 1) == "nothing to report");
  CHECK(out[3] == 32);
  CHECK(holds(report("histogram", {{1}, {128}}, static_cast<const int*>(in.data()), out.data(), 0), "race"));
}

TEST_CASE("dynamic shared memory has the size of the launch and not a byte more") {
  buffer<int> data{1, 2, 3, 4};
  kernels().launch("reverse_in_dynamic_memory", {{1}, {4}, 16}, data.data(), 4);
  CHECK(data[0] == 4);
  CHECK(data[3] == 1);
  CHECK(holds(report("reverse_in_dynamic_memory", {{1}, {4}, 15}, data.data(), 4), "of 15 bytes of dynamic shared"));
}

TEST_CASE("a vector that reaches past the tail of a buffer is reported with the place") {
  buffer<float> in(10), out(12);
  for (float& value : in.values()) value = 3;
  CHECK(report("copy_vectors", {{1}, {2}}, static_cast<const float*>(in.data()), out.data(), 8) == "nothing to report");
  CHECK(out[7] == 3);
  const std::string words = report("copy_vectors", {{1}, {3}}, static_cast<const float*>(in.data()), out.data(), 10);
  CHECK(holds(words, "thread (2, 0, 0)"));
  CHECK(holds(words, "of a block of 40 bytes"));
}

TEST_CASE("a misaligned vector is reported") {
  if (emulate::host_compiler_is_clang()) {
    MESSAGE("skipped: clang++ does not check the alignment of vectors that are copied whole; g++ does");
    return;
  }
  buffer<float> in(8, 1), out(8);
  CHECK(holds(report("copy_vectors", {{1}, {2}}, static_cast<const float*>(in.data()), out.data(), 8), "misaligned"));
}

TEST_CASE("memory that is gone or was never there is reported") {
  buffer<float> out(4);
  const float here[4] = {};
  CHECK(holds(report("copy_vectors", {{1}, {1}}, +here, out.data(), 4), "no device memory"));
  const float* gone = nullptr;
  {
    const buffer<float> in(4);
    gone = const_cast<buffer<float>&>(in).data();
  }
  CHECK(holds(report("copy_vectors", {{1}, {1}}, gone, out.data(), 4), "reads"));
  const std::string words = report("copy_vectors", {{1}, {1}}, static_cast<const float*>(nullptr), out.data(), 4);
  CHECK((holds(words, "null pointer") || holds(words, "no device memory")));
}

TEST_CASE("a shuffle whose mask lacks the calling or the source lane is reported") {
  buffer<int> out(32);
  CHECK(report("shuffle_with", {{1}, {32}}, ~0u, 5, out.data()) == "nothing to report");
  CHECK(out[31] == 5);
  CHECK(holds(report("shuffle_with", {{1}, {32}}, 0x7fffffffu, 5, out.data()), "does not hold the calling lane 31"));
  CHECK(holds(report("shuffle_with", {{1}, {16}}, ~0u, 20, out.data()), "reads lane 20"));
}

TEST_CASE("a barrier that part of the block never reaches is reported") {
  CHECK(report("barrier_for", {{1}, {64}}, 64u) == "nothing to report");
  CHECK(holds(report("barrier_for", {{1}, {64}}, 40u), "divergent barrier: 40 threads at __syncthreads"));
}

TEST_CASE("threads that meet at different barriers are reported") {
  buffer<int> out(64);
  CHECK(holds(report("two_barriers", {{1}, {64}}, out.data()), "divergent barrier"));
}

TEST_CASE("lanes of one mask that wait at different places are reported") {
  buffer<int> out(32);
  const std::string words = report("half_a_warp_shuffles", {{1}, {32}}, out.data());
  CHECK(holds(words, "16 threads at shuffle"));
  CHECK(holds(words, "16 threads at vote"));
}

TEST_CASE("an index outside a shared array is reported") {
  buffer<int> out(1);
  CHECK(report("index_shared", {{1}, {1}}, 3, out.data()) == "nothing to report");
  CHECK(holds(report("index_shared", {{1}, {1}}, 4, out.data()), "outside the bounds"));
}

TEST_CASE("shared memory is poisoned before each block") {
  buffer<float> out(64);
  kernels().launch("read_shared", {{2}, {32}}, out.data());
  for (const float value : out.values()) CHECK(value != value);
}

TEST_CASE("a division by zero is reported, not fatal") {
  buffer<int> out(1);
  CHECK(report("divide", {{1}, {1}}, 7, 2, out.data()) == "nothing to report");
  CHECK(out[0] == 3);
  CHECK(holds(report("divide", {{1}, {1}}, 7, 0, out.data()), "division by zero"));
}

TEST_CASE("votes, counting barriers and shuffles over segments follow CUDA's definitions") {
  buffer<int> out(192);
  kernels().launch("meetings", {{1}, {64}}, out.data());
  for (unsigned i = 0; i < 64; ++i) {
    CHECK(out[i] == 3032);
    CHECK(out[64 + i] == static_cast<int>(i % 8 == 0 ? i : i - 1));
    CHECK(out[128 + i] == static_cast<int>(i ^ 5));
  }
}

TEST_CASE("indices run over blocks and threads in two dimensions") {
  struct pair {
    int row, column;
  };
  struct sizes {
    int rows, columns;
  };
  buffer<pair> out(35);
  kernels().launch("where", {{2, 3}, {4, 2}}, sizes{5, 7}, out.data());
  for (int i = 0; i < 35; ++i) {
    CHECK(out[static_cast<std::size_t>(i)].row == i / 7);
    CHECK(out[static_cast<std::size_t>(i)].column == i % 7);
  }
}

TEST_CASE("a warp multiplies matrices as tensor cores do, all lanes together") {
  buffer<unsigned short> a(256), b(128);
  buffer<float> c(384);
  for (std::size_t i = 0; i < 256; ++i) a[i] = static_cast<unsigned short>(i * i % 31);
  for (std::size_t i = 0; i < 128; ++i) b[i] = static_cast<unsigned short>(i * 7 % 29);
  for (float& value : c.values()) value = 3;
  const auto run = [&](int away) {
    return report("tensor_cores", {{3}, {32}}, static_cast<const unsigned short*>(a.data()),
                  static_cast<const unsigned short*>(b.data()), c.data(), away);
  };
  CHECK(run(0) == "nothing to report");
  for (std::size_t block = 0; block < 3; ++block)
    for (std::size_t i = 0; i < 16; ++i)
      for (std::size_t j = 0; j < 8; ++j) {
        float sum = 3;
        for (std::size_t k = 0; k < 16; ++k) sum += static_cast<float>((a[i * 16 + k] + block) * b[k * 8 + j]);
        CHECK(c[block * 128 + i * 8 + j] == sum);
      }
  CHECK(holds(run(1), "all 32 lanes of a warp must take part"));
}

TEST_CASE("a launch that no device takes is an error") {
  buffer<int> out(1);
  CHECK(holds(report("divide", {{1}, {1025}}, 1, 1, out.data()), "1 to 1024 threads"));
  CHECK(holds(report("divide", {{0}, {1}}, 1, 1, out.data()), "at least one block"));
  CHECK(holds(report("absent", {{1}, {1}}, 1), "no kernel absent"));
}

TEST_CASE("text that does not compile is an error with the compiler's words, as is a standard header") {
  CHECK_THROWS_WITH_AS(module("extern \"C\" __global__ void broken() { missing(); }"), doctest::Contains("missing"),
                       failure);
  CHECK_THROWS_WITH_AS(module("extern \"C\" __global__ void f(uint32_t) {}"), doctest::Contains("uint32_t"), failure);
}

TEST_CASE("a named header is found, in a folder too") {
  const module compiled("#include \"kiln/twice.cuh\"\nextern \"C\" __global__ void f(int* out) { *out = twice(21); }\n",
                        {{"kiln/twice.cuh", "__device__ __forceinline__ int twice(int x) { return 2 * x; }\n"}});
  buffer<int> out(1);
  compiled.launch("f", {}, out.data());
  CHECK(out[0] == 42);
}

TEST_CASE("dynamic shared memory is declared as in CUDA") {
  CHECK(emulate::with_dynamic_shared("a; extern __shared__ float part[]; b;") ==
        "a; float * const part = static_cast<float *>(emulator::dynamic_shared()); b;");
  CHECK(
      emulate::with_dynamic_shared("extern __shared__ alignas(16) unsigned char raw[];").starts_with(" unsigned char"));
  CHECK(emulate::with_dynamic_shared("extern __shared__ and no more") == "extern __shared__ and no more");
}

TEST_CASE("the kernels of a text are found by their mark") {
  const auto names = emulate::kernels_of(text);
  CHECK(names.size() == 30);
  CHECK(names.front() == "total");
  CHECK(names.back() == "reads_back");
}

TEST_CASE("shared memory of a template is poisoned before each block") {
  buffer<float> out(7);
  for (const unsigned seed : {0u, 1u, 2u}) {
    kernels().launch("shared_of_a_template", {{7}, {32}, 0, seed}, out.data(), true);
    CHECK(out[0] == 1);
    for (std::size_t i = 1; i < 7; ++i) CHECK(out[i] != out[i]);
  }
}

TEST_CASE("a race between blocks is reported in whatever order they run") {
  buffer<float> x(4), part(4), out(1);
  buffer<unsigned> count{0};
  buffer<char> bytes(8);
  for (const unsigned seed : {0u, 1u, 2u, 3u}) {
    CHECK(holds(report("neighbour_block", {{4}, {1}, 0, seed}, x.data()), "race between blocks"));
    CHECK(holds(report("both_write", {{2}, {1}, 0, seed}, x.data(), false), "race between blocks: writes what block"));
    CHECK(report("both_write", {{2}, {1}, 0, seed}, x.data(), true) == "nothing to report");
    CHECK(report("bytes_of_blocks", {{8}, {1}, 0, seed}, bytes.data()) == "nothing to report");
    count[0] = 0;
    CHECK(report("last_block_adds", {{4}, {32}, 0, seed}, part.data(), count.data(), out.data(), true) ==
          "nothing to report");
    CHECK(out[0] == 4);
    CHECK(count[0] == 0);
    CHECK(holds(report("last_block_adds", {{4}, {32}, 0, seed}, part.data(), count.data(), out.data(), false),
                "race between blocks: reads what block"));
  }
}

TEST_CASE("blocks interleave, so that a result which depends on their order is wrong under some seed") {
  buffer<int> total(1);
  unsigned wrong = 0;
  for (unsigned seed = 0; seed < 32; ++seed) {
    total[0] = 0;
    kernels().launch("counts_in_two_steps", {{4}, {1}, 0, seed}, total.data());
    wrong += total[0] != 4;
    if (seed == 0) CHECK(total[0] == 4);  // one block after the other, which hides it
  }
  CHECK(wrong >= 16);
  for (unsigned seed = 0; seed < 32; ++seed) {
    const std::string words = report("counts_without_atomic", {{4}, {1}, 0, seed}, total.data());
    CHECK(holds(words, "race between blocks"));
    CHECK((seed == 0 || holds(words, "(seed " + std::to_string(seed) + ")")));
  }
}

TEST_CASE("the block that ends last folds what the others left, under every seed") {
  buffer<float> part(9), out(1);
  buffer<unsigned> count{0};
  for (unsigned seed = 0; seed < 100; ++seed) {
    INFO("seed ", seed);
    std::fill(part.values().begin(), part.values().end(), 100.0f);
    CHECK(report("last_block_adds", {{9}, {32}, 0, seed}, part.data(), count.data(), out.data(), true) ==
          "nothing to report");
    CHECK(out[0] == 9);
    CHECK(count[0] == 0);
  }
}

TEST_CASE("two blocks that wait for each other both go on") {
  buffer<unsigned> there{0, 0};
  CHECK(report("each_waits_for_the_other", {{2}, {1}}, there.data()) == "nothing to report");
}

TEST_CASE("each block has shared memory of its own, declared and dynamic, while others have their turns") {
  struct pair {
    int declared, given;
  };
  buffer<int> turns{0};
  buffer<pair> out(14);
  for (const unsigned seed : {0u, 1u, 2u, 3u}) {
    kernels().launch("shared_of_each_block", {{7}, {2}, 8, seed}, turns.data(), out.data());
    for (int i = 0; i < 14; ++i) {
      CHECK(out[static_cast<std::size_t>(i)].declared == i / 2);
      CHECK(out[static_cast<std::size_t>(i)].given == i / 2);
    }
  }
}

TEST_CASE("the blocks of a cluster reach each other's shared memory, and show who does not wait") {
  buffer<int> out(12);
  int early = 0, wrong = 0;
  for (unsigned seed = 0; seed < 24; ++seed) {
    CHECK(report("numbers_in_cluster", {{12}, {64}, 0, seed}, out.data(), 1, 1) == "nothing to report");
    for (int i = 0; i < 12; ++i) CHECK(out[static_cast<std::size_t>(i)] == 16 * (i / 4) + 10);
    early += holds(report("numbers_in_cluster", {{12}, {64}, 0, seed}, out.data(), 0, 1), "which has not begun");
    wrong += report("numbers_in_cluster", {{12}, {64}, 0, seed}, out.data(), 1, 0) != "nothing to report" ||
             out[0] != 10 || out[7] != 26 || out[11] != 42;
  }
  CHECK(early >= 16);
  CHECK(wrong >= 16);
  CHECK(holds(report("numbers_in_cluster", {{6}, {64}}, out.data(), 1, 1), "whole clusters"));
}

TEST_CASE("copies to shared memory arrive when they are waited for, and who does not wait is reported") {
  buffer<float> in(65), out(128);
  std::iota(in.values().begin(), in.values().end(), 1.0f);
  for (const unsigned seed : {0u, 1u, 2u, 3u}) {
    const emulate::shape how{{1}, {16}, 512, seed};
    CHECK(report("reversed_by_copies", how, out.data(), in.data(), 1, 1, 1) == "nothing to report");
    for (std::size_t i = 0; i < 64; ++i) {
      const std::size_t from = 60 - i / 4 * 4 + i % 4;
      CHECK(out[i] == static_cast<float>(from + 1));
      CHECK(out[64 + i] == static_cast<float>(from < 32 ? from + 1 : 0));
    }
    CHECK(holds(report("reversed_by_copies", how, out.data(), in.data(), 0, 1, 1), "race on shared memory"));
    CHECK(holds(report("reversed_by_copies", how, out.data(), in.data(), 1, 0, 1), "race on shared memory"));
    CHECK(holds(report("reversed_by_copies", how, out.data(), in.data(), 1, 1, 0), "ends with"));
    CHECK(holds(report("reversed_by_copies", how, out.data(), in.data() + 1, 1, 1, 1), "no multiple of that"));
    CHECK(
        holds(report("reversed_by_copies", {{1}, {16}, 256, seed}, out.data(), in.data(), 1, 1, 1), "writes 16 bytes"));
  }
}

TEST_CASE("what is read through the read-only cache does not learn of what the kernel writes") {
  buffer<float> y{1, 2, 3};
  const float* const same = y.data();
  CHECK(holds(report("reads_back", {{1}, {1}}, y.data(), same, same), "and writes another value there"));
  CHECK(y[1] == 1);
  CHECK(y[2] == 5);
  // And races between blocks are seen through it.
  CHECK(holds(report("reads_ahead", {{3}, {1}}, y.data(), same), "race between blocks"));
}

TEST_CASE("a kernel tells the threads of its launch bounds, and which parameters are read-only") {
  CHECK(kernels().find("total")->most_threads == 256);
  CHECK(kernels().find("both_write")->most_threads == 1024);
  CHECK(kernels().find("reads_back")->read_only == std::string(".r."));
  CHECK(emulate::read_only_parameters("void f(\n    const vec<float, 4>* __restrict__ a, float* __restrict__ b)",
                                      "f") == "r.");
}
