// SPDX-License-Identifier: BSL-1.0
// The graphs that kiln builds, given to the real cuDNN, whose heuristics and compilers make plans for GPUs that are
// only described: plans LIBCUDA, a libcuda.so.1 without a device (no_device.cpp). Exits 77 where cuDNN 9.8 or NVRTC is
// not.
#include <kiln/device/cuda/compile/nvrtc.hpp>
#include <kiln/device/cuda/cudnn/attention_graph.hpp>
#include <kiln/device/cuda/cudnn/batch_norm_graph.hpp>

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <string>

using namespace kiln::cuda;

namespace {

// As cuDNN itself writes one down; most are what every GPU since sm_80 has.
std::string description(int architecture) {
  const std::string shared = architecture == 80 ? "166912" : "232448";
  return R"({"deviceName":"described","cudaDeviceId":0,"deviceVer":)" + std::to_string(architecture * 10) +
         R"(,"driverVer":13000,"multiProcessorCount":132,"maxGridSize":[2147483647,65535,65535],)"
         R"("maxBlockSize":[1024,1024,64],"regsPerBlock":65536,"warpSize":32,"maxSharedMemoryPerBlock":49152,)"
         R"("maxSharedMemoryPerBlockOptin":)" +
         shared +
         R"(,"reservedSharedMemoryPerBlock":1024,"maxRegistersPerSM":65536,"maxCtasPerSM":32,)"
         R"("maxThreadsPerBlock":1024,"maxThreadsPerSM":2048,"pciDeviceId":0,"isTccDriver":0,"supportCoopLaunch":1,)"
         R"("smClockRateKHz":1980000,"memClockRateKHz":3201000,"l2CacheSize":52428800,"totalGlobalMem":85000000000})";
}

backend_handle described(int architecture) {
  const cudnn_backend_functions& api = cudnn_backend();
  const std::string text = description(architecture);
  backend_handle made = nullptr;
  if (api.create(backend_kind::device_properties, &made) != cudnn_status::success ||
      api.set(made, backend_attribute::device_json, backend_value::character, static_cast<std::int64_t>(text.size()),
              text.data()) != cudnn_status::success ||
      api.finalize(made) != cudnn_status::success)
    return nullptr;
  return made;
}

int failures = 0;

void expect_plan(int architecture, const std::string& what, const graph_plan& plan) {
  failures += plan ? 0 : 1;
  std::printf("sm_%d %s: %s", architecture, what.c_str(), plan ? "" : ("REFUSED: " + plan.refusal()).c_str());
  if (plan) std::printf("engine %lld, workspace %zu", static_cast<long long>(plan.engine()), plan.workspace_bytes());
  std::printf("\n");
}

void plan_attention(int architecture, const graph_target& target, cudnn_type type, std::int64_t queries,
                    std::int64_t keys, std::int64_t width, bool causal) {
  // Heads next to each other, as a layer's projections leave them.
  const std::int64_t heads = 4, row = heads * width;
  const attention_layout s{.type = type,
                           .batch = 2,
                           .heads = heads,
                           .queries = queries,
                           .keys = keys,
                           .width = width,
                           .value_width = width,
                           .q = {queries * row, width, row},
                           .k = {keys * row, width, row},
                           .v = {keys * row, width, row},
                           .causal = causal};
  const std::string name = std::to_string(queries) + " x " + std::to_string(keys) + " x " + std::to_string(width) +
                           (type == cudnn_type::bfloat16 ? " bfloat16" : " half") + (causal ? " causal" : "");
  expect_plan(architecture, "attention " + name, attention_forward_graph(s).graph.plan(target, {}));
  expect_plan(architecture, "its gradients", attention_backward_graph(s, true).graph.plan(target, {}));
  expect_plan(architecture, "its gradients, in any order",
              attention_backward_graph(s, false).graph.plan(target, {.deterministic = false}));
}

void plan_batch_norm(int architecture, const graph_target& target, kiln::dtype type, std::int64_t channels) {
  for (const bool running : {false, true}) {
    const batch_norm_layout s{.type = type, .batch = 4, .positions = 49, .channels = channels, .running = running};
    const std::string name = std::to_string(channels) + " channels" + (running ? " with running statistics" : "");
    expect_plan(architecture, "batch norm of " + name, batch_norm_training_graph(s).graph.plan(target, {}));
    if (!running) expect_plan(architecture, "its gradients", batch_norm_backward_graph(s).graph.plan(target, {}));
  }
}

}  // namespace

int main(int count, char** words) {
  if (count != 2) return 2;
  if (::dlopen(words[1], RTLD_NOW | RTLD_GLOBAL) == nullptr) {
    std::printf("%s\n", ::dlerror());
    return 1;
  }
  try {
    if (cudnn_api().version < 90800 || !cudnn_backend().complete) {
      std::printf("SKIPPED: cuDNN %zu does not compile for devices that are not there\n", cudnn_api().version);
      return 77;
    }
    open_library(detail::nvrtc_library(0));
  } catch (const kiln::device_error& missing) {
    std::printf("SKIPPED: %s\n", missing.what());
    return 77;
  }
  for (const int architecture : {80, 90, 100}) {
    const graph_target target{.properties = described(architecture)};
    if (target.properties == nullptr) {
      std::printf("SKIPPED: this cuDNN describes devices in another way: %s\n", detail::last_backend_error().c_str());
      return 77;
    }
    const bool hopper = architecture == 90;
    plan_attention(architecture, target, cudnn_type::bfloat16, 512, 512, 64, true);
    if (hopper) plan_attention(architecture, target, cudnn_type::float16, 33, 130, 128, false);
    plan_batch_norm(architecture, target, kiln::dtype::bfloat16, 64);
    if (hopper) plan_batch_norm(architecture, target, kiln::dtype::float16, 8);
  }
  return failures == 0 ? 0 : 1;
}
