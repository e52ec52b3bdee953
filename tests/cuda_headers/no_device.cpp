// SPDX-License-Identifier: BSL-1.0
// A libcuda.so.1 without a device, for cuDNN's compilation ahead of time: it starts no device, and takes each kernel
// that cuDNN has compiled as loaded.
#include <cstddef>

namespace {

constexpr int no_device = 100;
int anything = 0;  // what handles point to

int succeed(void** made) {
  *made = &anything;
  return 0;
}

}  // namespace

extern "C" {

int cuInit(unsigned) {
  return no_device;
}
int cuDeviceGetCount(int* count) {
  *count = 0;
  return no_device;
}
int cuDriverGetVersion(int* version) {
  *version = 13000;
  return 0;
}
int cuGetErrorName(int, const char** text) {
  *text = "CUDA_ERROR_NO_DEVICE";
  return 0;
}
int cuGetErrorString(int, const char** text) {
  *text = "no device";
  return 0;
}
int cuLibraryLoadData(void** library, const void*, int*, void**, unsigned, int*, void**, unsigned) {
  return succeed(library);
}
int cuLibraryGetKernel(void** kernel, void*, const char*) {
  return succeed(kernel);
}
int cuLibraryUnload(void*) {
  return 0;
}
int cuKernelGetFunction(void** function, void*) {
  return succeed(function);
}

// cuDNN looks these up, and calls none of them without a device.
int not_there() {
  return no_device;
}
[[gnu::alias("not_there")]] int cuCtxGetCurrent();
[[gnu::alias("not_there")]] int cuCtxGetLimit();
[[gnu::alias("not_there")]] int cuCtxPopCurrent();
[[gnu::alias("not_there")]] int cuCtxPushCurrent();
[[gnu::alias("not_there")]] int cuDeviceGet();
[[gnu::alias("not_there")]] int cuFuncGetAttribute();
[[gnu::alias("not_there")]] int cuFuncSetAttribute();
[[gnu::alias("not_there")]] int cuKernelGetAttribute();
[[gnu::alias("not_there")]] int cuKernelSetAttribute();
[[gnu::alias("not_there")]] int cuLaunchCooperativeKernel();
[[gnu::alias("not_there")]] int cuLaunchKernel();
[[gnu::alias("not_there")]] int cuLaunchKernelEx();
[[gnu::alias("not_there")]] int cuLibraryLoadFromFile();
[[gnu::alias("not_there")]] int cuLinkAddData();
[[gnu::alias("not_there")]] int cuLinkComplete();
[[gnu::alias("not_there")]] int cuLinkCreate();
[[gnu::alias("not_there")]] int cuLinkDestroy();
[[gnu::alias("not_there")]] int cuOccupancyMaxPotentialClusterSize();
[[gnu::alias("not_there")]] int cuStreamGetCtx();

}  // extern "C"
