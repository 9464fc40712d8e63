#include "runtime/cuda/driver.h"

#include "runtime/base/error.h"
#include "runtime/system/dynamic_library.h"

namespace smelt::cuda {
namespace {

constexpr const char* kDriverNames[] = {"libcuda.so.1", "libcuda.so"};

/// Loads an optional function; null in older drivers. Callers that need it report its absence.
template <typename Function>
void load_if_there(const DynamicLibrary& library, Function& function, const char* name) {
  function = nullptr;
  try {
    library.load(function, name);
  } catch (const Error&) {
    // It stays null.
  }
}

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
  load_if_there(library, d.PointerGetAttribute, "cuPointerGetAttribute");
  get(d.MemAlloc, "cuMemAlloc_v2"), get(d.MemFree, "cuMemFree_v2");
  get(d.MemHostAlloc, "cuMemHostAlloc"), get(d.MemFreeHost, "cuMemFreeHost");
  get(d.MemcpyHtoDAsync, "cuMemcpyHtoDAsync_v2"), get(d.MemcpyDtoHAsync, "cuMemcpyDtoHAsync_v2");
  get(d.MemcpyDtoDAsync, "cuMemcpyDtoDAsync_v2"), get(d.Memcpy2DAsync, "cuMemcpy2DAsync_v2");
  get(d.MemsetD8Async, "cuMemsetD8Async"), get(d.MemsetD2D8Async, "cuMemsetD2D8Async");
  get(d.MemsetD16Async, "cuMemsetD16Async"), get(d.MemsetD32Async, "cuMemsetD32Async");
  get(d.ModuleLoadData, "cuModuleLoadData"), get(d.ModuleUnload, "cuModuleUnload");
  get(d.ModuleGetFunction, "cuModuleGetFunction"), get(d.FuncSetAttribute, "cuFuncSetAttribute");
  get(d.LaunchKernel, "cuLaunchKernel");
  load_if_there(library, d.LaunchKernelEx, "cuLaunchKernelEx");
  load_if_there(library, d.TensorMapEncodeTiled, "cuTensorMapEncodeTiled");
  get(d.CtxGetStreamPriorityRange, "cuCtxGetStreamPriorityRange");
  get(d.StreamCreateWithPriority, "cuStreamCreateWithPriority");
  get(d.StreamDestroy, "cuStreamDestroy_v2");
  get(d.StreamSynchronize, "cuStreamSynchronize"), get(d.StreamWaitEvent, "cuStreamWaitEvent");
  load_if_there(library, d.StreamWaitValue32, "cuStreamWaitValue32_v2");
  load_if_there(library, d.StreamBatchMemOp, "cuStreamBatchMemOp_v2");
  load_if_there(library, d.IpcGetMemHandle, "cuIpcGetMemHandle");
  load_if_there(library, d.IpcOpenMemHandle, "cuIpcOpenMemHandle_v2");
  load_if_there(library, d.IpcCloseMemHandle, "cuIpcCloseMemHandle");
  get(d.StreamBeginCapture, "cuStreamBeginCapture_v2"), get(d.StreamEndCapture, "cuStreamEndCapture");
  get(d.EventCreate, "cuEventCreate"), get(d.EventDestroy, "cuEventDestroy_v2");
  get(d.EventRecord, "cuEventRecord"), get(d.EventQuery, "cuEventQuery");
  get(d.EventSynchronize, "cuEventSynchronize"), get(d.EventElapsedTime, "cuEventElapsedTime");
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

}  // namespace smelt::cuda
