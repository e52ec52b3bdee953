// SPDX-License-Identifier: BSL-1.0
// Matrix products beside cuBLASLt called directly, with the kernel that the same question to its heuristic gives.
#include <kiln/device/cuda/libraries/multiply.hpp>

#include "measure.hpp"

using namespace measure;

namespace {

struct shape {
  std::int64_t m, k, n;
};

// cuBLASLt as a program without kiln would call it: everything is chosen beforehand, one call is a run.
class direct_product {
 public:
  direct_product(cuda::cuda_data_type type, cuda::cublas_compute compute, const shape& s, const void* a, const void* b,
                 const void* bias, void* out)
      : api_(cuda::cublaslt_api()), a_(a), b_(b), out_(out), where_(cuda::current_stream({})) {
    using namespace cuda;
    const device_scope scope(Cuda{});  // its calls mean the current context
    check(api_.descriptor_create(&descriptor_, compute, cuda_data_type::float32), "cublasLtMatmulDescCreate");
    const matmul_epilogue epilogue = bias != nullptr ? matmul_epilogue::bias : matmul_epilogue::none;
    set(matmul_attribute::epilogue, epilogue);
    if (bias != nullptr) set(matmul_attribute::bias_pointer, bias);
    // Row-major matrices are the transposed ones in column-major order: out^T = b^T a^T.
    layout(left_, type, s.n, s.k);
    layout(right_, type, s.k, s.m);
    layout(result_, type, s.n, s.m);
    matmul_preference wanted = nullptr;
    check(api_.preference_create(&wanted), "cublasLtMatmulPreferenceCreate");
    const std::uint64_t most = std::uint64_t{32} << 20;
    check(api_.preference_set(wanted, preference_attribute::workspace_bytes, &most, sizeof most), "preference");
    const std::uint32_t aligned = 256;
    for (const auto which : {preference_attribute::alignment_a, preference_attribute::alignment_b,
                             preference_attribute::alignment_c, preference_attribute::alignment_d})
      check(api_.preference_set(wanted, which, &aligned, sizeof aligned), "preference");
    if (type == cuda_data_type::bfloat16) {
      const std::uint32_t schemes = reduction_in_compute_type;
      check(api_.preference_set(wanted, preference_attribute::reduction_schemes, &schemes, sizeof schemes),
            "preference");
    }
    matmul_heuristic best{};
    int found = 0;
    check(api_.get_heuristic(handle_, descriptor_, left_, right_, result_, result_, wanted, 1, &best, &found),
          "cublasLtMatmulAlgoGetHeuristic");
    check(api_.preference_destroy(wanted), "cublasLtMatmulPreferenceDestroy");
    if (found == 0) throw device_error("cuBLASLt has no kernel for this product");
    algorithm_ = best.algorithm;
    workspace_bytes_ = best.workspace_bytes;
    workspace_ = new_storage(std::max<std::size_t>(workspace_bytes_, 1));
  }
  direct_product(const direct_product&) = delete;
  direct_product& operator=(const direct_product&) = delete;
  ~direct_product() {
    for (const cuda::matrix_layout each : {left_, right_, result_}) api_.layout_destroy(each);
    api_.descriptor_destroy(descriptor_);
  }
  void run() const {
    const cuda::device_scope scope(Cuda{});
    const float one = 1, zero = 0;
    cuda::check(api_.multiply(handle_, descriptor_, &one, b_, left_, a_, right_, &zero, out_, result_, out_, result_,
                              &algorithm_, workspace_->data, workspace_bytes_, where_.handle()),
                "cublasLtMatmul");
  }

 private:
  template <class V>
  void set(cuda::matmul_attribute which, const V& value) {
    cuda::check(api_.descriptor_set(descriptor_, which, &value, sizeof value), "cublasLtMatmulDescSetAttribute");
  }
  void layout(cuda::matrix_layout& made, cuda::cuda_data_type type, std::int64_t rows, std::int64_t columns) {
    cuda::check(
        api_.layout_create(&made, type, static_cast<std::uint64_t>(rows), static_cast<std::uint64_t>(columns), rows),
        "cublasLtMatrixLayoutCreate");
  }

  const cuda::cublaslt_functions& api_;
  const void *a_, *b_;
  void* out_;
  cuda::stream where_;
  cuda::cublaslt_handle handle_ = cuda::detail::product_library::of({}).handle();  // one for the process
  cuda::matmul_descriptor descriptor_ = nullptr;
  cuda::matrix_layout left_ = nullptr, right_ = nullptr, result_ = nullptr;
  cuda::matmul_algorithm algorithm_{};
  std::size_t workspace_bytes_ = 0;
  ref<storage> workspace_;
};

template <class T>
struct operands {
  shape s;
  on_device<T> a, b, bias, out;
  explicit operands(const shape& sizes)
      : s(sizes),
        a(cast<T>(randn<float, Cuda>({s.m, s.k}))),
        b(cast<T>(randn<float, Cuda>({s.k, s.n}))),
        bias(cast<T>(randn<float, Cuda>({s.n}))) {}

  // A few rows of the result, by a few columns.
  std::string wrong(bool with_bias, double limit) const {
    const std::int64_t rows = std::max<std::int64_t>(1, s.m / 7), columns = std::max<std::int64_t>(1, s.n / 7);
    const auto x = values_of(a.slice(0, 0, s.m, rows)), y = values_of(on_device<T>(b.slice(1, 0, s.n, columns)));
    const auto got = values_of(on_device<T>(out.slice(0, 0, s.m, rows).slice(1, 0, s.n, columns)));
    const auto added = values_of(bias);
    const auto k = static_cast<std::size_t>(s.k), few = y.size() / k;
    std::vector<double> wanted;
    for (std::size_t r = 0; r < x.size() / k; ++r)
      for (std::size_t c = 0; c < few; ++c) {
        double sum = with_bias ? added[c * static_cast<std::size_t>(columns)] : 0;
        for (std::size_t i = 0; i < k; ++i) sum += x[r * k + i] * y[i * few + c];
        wanted.push_back(sum);
      }
    return difference(got, wanted, limit);
  }
};

template <class T>
void enter_product(const std::string& type, const shape& s, bool tf32, bool with_bias) {
  const std::string contest = "product/" + type + "/" + std::to_string(s.m) + "x" + std::to_string(s.k) + "x" +
                              std::to_string(s.n) + (with_bias ? "/bias" : "");
  const double operations = 2.0 * static_cast<double>(s.m) * static_cast<double>(s.k) * static_cast<double>(s.n);
  const double limit = tf32 ? 2e-3 : tolerance<T>();
  enter(contest, "kiln", [=] {
    cuda::set_allow_tf32(tf32);
    auto x = std::make_shared<operands<T>>(s);
    work made;
    if (with_bias)
      made.run = [=] { x->out = matmul(x->a, x->b) + x->bias; };
    else
      made.run = [=] { x->out = matmul(x->a, x->b); };
    made.wrong = [=] { return x->wrong(with_bias, limit); };
    made.operations = operations;
    return made;
  });
  enter(contest, "cublaslt", [=] {
    auto x = std::make_shared<operands<T>>(s);
    x->out = empty<T, Cuda>({s.m, s.n});
    const auto kind = std::is_same_v<T, float> ? cuda::cuda_data_type::float32 : cuda::cuda_data_type::bfloat16;
    auto direct =
        std::make_shared<direct_product>(kind, tf32 ? cuda::cublas_compute::tf32 : cuda::cublas_compute::float32, s,
                                         x->a.data(), x->b.data(), with_bias ? x->bias.data() : nullptr, x->out.data());
    work made;
    made.run = [direct] { direct->run(); };
    made.wrong = [=] { return x->wrong(with_bias, limit); };
    made.operations = operations;
    return made;
  });
}

[[maybe_unused]] const bool entered = [] {
  const std::int64_t large = sized(4096, 48);
  enter_product<float>("float32", {large, large, large}, false, false);
  enter_product<float>("tf32", {large, large, large}, true, false);
  enter_product<bfloat16>("bfloat16", {large, large, large}, false, false);
  enter_product<float>("float32", {64, 784, 256}, false, false);
  enter_product<bfloat16>("bfloat16", {sized(8192, 32), sized(1024, 32), large}, false, true);
  enter_product<float>("tf32", {sized(8192, 32), sized(1024, 32), large}, true, true);
  return true;
}();

}  // namespace
