#include "runtime/cuda/driver.h"

#include <array>
#include <charconv>
#include <cstdlib>
#include <cstring>

#include "runtime/error.h"
#include "runtime/system/dynamic_library.h"

namespace smelt::cuda {
namespace {

constexpr const char* kDriverNames[] = {"libcuda.so.1", "libcuda.so"};

// CUdevice_attribute
constexpr int kMultiprocessors = 16, kL2Bytes = 38, kCapabilityMajor = 75, kCapabilityMinor = 76;

/// Names as the library exports them: of functions that changed, the version whose form is declared here.
Driver load_driver() {
  const DynamicLibrary library("the CUDA driver", kDriverNames);
  Driver d{};
  const auto get = [&](auto& function, const char* name) { library.load(function, name); };
  get(d.Init, "cuInit"), get(d.DriverGetVersion, "cuDriverGetVersion");
  get(d.GetErrorName, "cuGetErrorName"), get(d.GetErrorString, "cuGetErrorString");
  get(d.DeviceGetCount, "cuDeviceGetCount"), get(d.DeviceGet, "cuDeviceGet");
  get(d.DeviceGetName, "cuDeviceGetName"), get(d.DeviceGetAttribute, "cuDeviceGetAttribute");
  get(d.DevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain");
  get(d.CtxSetCurrent, "cuCtxSetCurrent"), get(d.MemGetInfo, "cuMemGetInfo_v2");
  get(d.MemAlloc, "cuMemAlloc_v2"), get(d.MemFree, "cuMemFree_v2");
  get(d.MemHostAlloc, "cuMemHostAlloc"), get(d.MemFreeHost, "cuMemFreeHost");
  get(d.MemcpyHtoDAsync, "cuMemcpyHtoDAsync_v2"), get(d.MemcpyDtoHAsync, "cuMemcpyDtoHAsync_v2");
  get(d.MemcpyDtoDAsync, "cuMemcpyDtoDAsync_v2"), get(d.Memcpy2DAsync, "cuMemcpy2DAsync_v2");
  get(d.MemsetD8Async, "cuMemsetD8Async");
  get(d.MemsetD16Async, "cuMemsetD16Async"), get(d.MemsetD32Async, "cuMemsetD32Async");
  get(d.ModuleLoadData, "cuModuleLoadData"), get(d.ModuleUnload, "cuModuleUnload");
  get(d.ModuleGetFunction, "cuModuleGetFunction"), get(d.FuncSetAttribute, "cuFuncSetAttribute");
  get(d.LaunchKernel, "cuLaunchKernel");
  get(d.StreamCreate, "cuStreamCreate"), get(d.StreamDestroy, "cuStreamDestroy_v2");
  get(d.StreamSynchronize, "cuStreamSynchronize"), get(d.StreamWaitEvent, "cuStreamWaitEvent");
  get(d.StreamBeginCapture, "cuStreamBeginCapture_v2"), get(d.StreamEndCapture, "cuStreamEndCapture");
  get(d.EventCreate, "cuEventCreate"), get(d.EventDestroy, "cuEventDestroy_v2");
  get(d.EventRecord, "cuEventRecord"), get(d.EventSynchronize, "cuEventSynchronize");
  get(d.EventElapsedTime, "cuEventElapsedTime");
  get(d.GraphInstantiate, "cuGraphInstantiateWithFlags"), get(d.GraphLaunch, "cuGraphLaunch");
  get(d.GraphDestroy, "cuGraphDestroy"), get(d.GraphExecDestroy, "cuGraphExecDestroy");
  d.path = library.path();
  if (const int code = d.Init(0); code != 0) {
    const char* text = nullptr;
    d.GetErrorString(code, &text);
    fail_with(Status::unavailable, "the CUDA driver ({}) does not start: {}; is there an NVIDIA GPU?", d.path,
              text ? text : "no reason given");
  }
  return d;
}

int wanted_ordinal(int count) {
  const char* text = std::getenv("SMELT_DEVICE");
  if (!text || !*text) return 0;
  int ordinal = -1;
  const char* end = text + std::strlen(text);
  const auto [stop, error] = std::from_chars(text, end, ordinal);
  if (error != std::errc{} || stop != end || ordinal < 0 || ordinal >= count)
    fail("SMELT_DEVICE is '{}': expected the number of a GPU, 0 to {}", text, count - 1);
  return ordinal;
}

/// Of SMELT_DEVICE, or the first.
int ordinal_of_process() {
  int count = 0;
  check(driver().DeviceGetCount(&count), "counting GPUs");
  if (count == 0)
    fail_with(Status::unavailable, "the CUDA driver finds no GPU (CUDA_VISIBLE_DEVICES hides them?)");
  return wanted_ordinal(count);
}

int handle_of(int ordinal) {
  int device = 0;
  check(driver().DeviceGet(&device, ordinal), "opening the GPU");
  return device;
}

int attribute(int which, int device) {
  int value = 0;
  check(driver().DeviceGetAttribute(&value, which, device), "asking for a property of the GPU");
  return value;
}

int compute_capability(int device) {
  return 10 * attribute(kCapabilityMajor, device) + attribute(kCapabilityMinor, device);
}

}  // namespace

const Driver& driver() {
  static const Driver loaded = load_driver();
  return loaded;
}

std::string driver_cuda_version() {
  int version = 0;
  check(driver().DriverGetVersion(&version), "asking for the driver's version");
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

std::string describe(Driver::Code code) {
  const char *name = nullptr, *text = nullptr;
  driver().GetErrorName(code, &name);
  driver().GetErrorString(code, &text);
  return fmt::format("{} ({})", name ? name : std::to_string(code), text ? text : "unknown");
}

void check(Driver::Code code, const char* what) {
  if (code == 0) return;
  fail_with(code == kOutOfMemory ? Status::out_of_memory : Status::internal, "GPU: {} failed: {}", what,
            describe(code));
}

int device_count() {
  try {
    int count = 0;
    return driver().DeviceGetCount(&count) == 0 ? count : 0;
  } catch (const Error&) {
    return 0;
  }
}

Device::Device(int ordinal) {
  const Driver& d = driver();
  info_.ordinal = ordinal;
  const int device = handle_of(ordinal);
  std::array<char, 256> name{};
  check(d.DeviceGetName(name.data(), name.size(), device), "asking for the GPU's name");
  info_.name = name.data();
  info_.compute_capability = compute_capability(device);
  info_.multiprocessors = attribute(kMultiprocessors, device);
  info_.l2_bytes = attribute(kL2Bytes, device);
  check(d.DevicePrimaryCtxRetain(&context_, device), "making a context on the GPU");
  make_current();
  check(d.MemGetInfo(&info_.free_bytes, &info_.total_bytes), "asking for free memory");
}

int native_compute_capability() { return compute_capability(handle_of(ordinal_of_process())); }

Device& Device::of_process() {
  static Device device(ordinal_of_process());
  device.make_current();
  return device;
}

std::vector<DeviceInfo> Device::all() {
  std::vector<DeviceInfo> all;
  for (int i = 0; i < device_count(); ++i) all.push_back(Device(i).info());
  return all;
}

void Device::make_current() const {
  const std::lock_guard lock(mutex_);
  if (!fault_.empty()) fail_with(Status::internal, "{}", fault_);
  check(driver().CtxSetCurrent(context_), "using the GPU");
}

void Device::try_make_current() const noexcept { driver().CtxSetCurrent(context_); }

void Device::fail_from_now_on(const std::string& fault) {
  const std::lock_guard lock(mutex_);
  if (fault_.empty()) fault_ = fault;
}

size_t Device::free_bytes() const {
  size_t free = 0, total = 0;
  check(driver().MemGetInfo(&free, &total), "asking for free memory");
  return free;
}

}  // namespace smelt::cuda
