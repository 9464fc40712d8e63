#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <mutex>

#include "runtime/cuda/driver.h"
#include "tests/fake_gpu/fake_gpu.h"

namespace smelt::fake {

Gpu& gpu() {
  static Gpu only = [] {
    Gpu gpu;
    if (const char* bytes = std::getenv("FAKE_GPU_BYTES"))
      gpu.total_bytes = std::strtoull(bytes, nullptr, 10);
    if (const char* count = std::getenv("FAKE_GPU_COUNT")) gpu.count = std::atoi(count);
    return gpu;
  }();
  return only;
}

}  // namespace smelt::fake

namespace smelt::cuda {

// What the driver's handles point to.
struct ContextTag {};
struct EventTag {
  double moment = 0;
};
struct ModuleTag {};
struct FunctionTag {
  std::string name;
};
using Work = std::vector<std::function<void()>>;
struct GraphTag {
  Work work;
};
struct GraphExecTag {
  Work work;
};
struct StreamTag {
  std::unique_ptr<GraphTag> capture;
};

}  // namespace smelt::cuda

int smelt::fake::enqueue(cuda::Stream stream, std::function<void()> work) {
  if (gpu().fault != 0) return gpu().fault;
  if (stream && stream->capture)
    stream->capture->work.push_back(std::move(work));
  else
    work();
  return 0;
}

namespace {

using namespace smelt::cuda;
using smelt::fake::enqueue;
using smelt::fake::gpu;
using Code = Driver::Code;

constexpr Code kInvalidValue = 1, kNoDevice = 100, kInvalidDevice = 101, kNoBinary = 209, kNotFound = 500,
               kCaptureUnsupported = 900;
constexpr size_t kAlignment = 256;

std::map<DevicePointer, size_t>& blocks() {
  static std::map<DevicePointer, size_t> all;
  return all;
}

/// What waits for the device tells a fault, and cannot be captured.
Code wait(Stream stream) { return stream && stream->capture ? kCaptureUnsupported : gpu().fault; }

void* host(DevicePointer address) { return reinterpret_cast<void*>(address); }

template <typename T>
Code fill(DevicePointer to, T value, size_t count, Stream stream) {
  return enqueue(stream, [=] { std::fill_n(static_cast<T*>(host(to)), count, value); });
}

/// The architecture that a cubin's header names; 0 of what is none.
int architecture(const void* image) {
  const auto* bytes = static_cast<const unsigned char*>(image);
  return std::memcmp(bytes, "\177ELF", 4) == 0 ? bytes[49] : 0;
}

}  // namespace

extern "C" {

Code cuInit(unsigned) { return gpu().count == 0 ? kNoDevice : 0; }
/// NVRTC asks for it and does without.
Code cuGetExportTable(const void**, const void*) { return kNotFound; }
Code cuDriverGetVersion(int* version) { return *version = gpu().driver_version, 0; }
Code cuGetErrorName(Code code, const char** text) {
  *text = code == kOutOfMemory ? "CUDA_ERROR_OUT_OF_MEMORY"
          : code == 700        ? "CUDA_ERROR_ILLEGAL_ADDRESS"
                               : "CUDA_ERROR_OF_SOME_KIND";
  return 0;
}
Code cuGetErrorString(Code code, const char** text) {
  *text = code == kNoDevice ? "no CUDA-capable device is detected" : "a fault of the fake GPU";
  return 0;
}
Code cuDeviceGetCount(int* count) { return *count = gpu().count, 0; }
Code cuDeviceGet(int* device, int ordinal) {
  return *device = ordinal, ordinal < gpu().count ? 0 : kInvalidDevice;
}
Code cuDeviceGetName(char* name, int length, int) {
  return std::snprintf(name, static_cast<size_t>(length), "%s", gpu().name.c_str()), 0;
}
Code cuDeviceGetAttribute(int* value, int attribute, int) {
  *value = attribute == 75 ? gpu().capability / 10 : attribute == 76 ? gpu().capability % 10 : 4;
  return 0;
}
Code cuDevicePrimaryCtxRetain(Context* context, int) {
  static ContextTag only;
  return *context = &only, 0;
}
Code cuDevicePrimaryCtxRelease_v2(int) { return 0; }
Code cuCtxSetCurrent(Context) { return 0; }
Code cuMemGetInfo_v2(size_t* free, size_t* total) {
  *total = gpu().total_bytes, *free = gpu().total_bytes - gpu().used_bytes;
  return gpu().fault;
}

// ---- memory

Code cuMemAlloc_v2(DevicePointer* address, size_t bytes) {
  if (gpu().fault != 0) return gpu().fault;
  if (bytes == 0) return kInvalidValue;
  if (bytes > gpu().total_bytes - gpu().used_bytes || bytes == gpu().refuses_blocks_of) return kOutOfMemory;
  void* memory = std::aligned_alloc(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment);
  std::memset(memory, 0xA5, bytes);  // nobody may count on zeros
  *address = reinterpret_cast<DevicePointer>(memory);
  blocks()[*address] = bytes;
  gpu().used_bytes += bytes, ++gpu().blocks_in_use, ++gpu().allocations;
  return 0;
}
Code cuMemFree_v2(DevicePointer address) {
  const auto found = blocks().find(address);
  if (found == blocks().end()) return kInvalidValue;
  gpu().used_bytes -= found->second, --gpu().blocks_in_use;
  blocks().erase(found);
  std::free(host(address));
  return gpu().fault;
}
Code cuMemHostAlloc(void** address, size_t bytes, unsigned) {
  return *address = std::malloc(bytes), gpu().fault;
}
Code cuMemFreeHost(void* address) { return std::free(address), gpu().fault; }
Code cuMemcpyHtoDAsync_v2(DevicePointer to, const void* from, size_t bytes, Stream stream) {
  return enqueue(stream, [=] { std::memcpy(host(to), from, bytes); });
}
Code cuMemcpyDtoHAsync_v2(void* to, DevicePointer from, size_t bytes, Stream stream) {
  ++gpu().downloads;
  return enqueue(stream, [=] { std::memcpy(to, host(from), bytes); });
}
Code cuMemcpy2DAsync_v2(const Copy2D* copy, Stream stream) {
  ++gpu().downloads;
  return enqueue(stream, [copy = *copy] {
    for (size_t row = 0; row < copy.rows; ++row)
      std::memcpy(static_cast<char*>(copy.to.host) + row * copy.to.pitch,
                  static_cast<const char*>(host(copy.from.device)) + row * copy.from.pitch, copy.width);
  });
}
Code cuMemcpyDtoDAsync_v2(DevicePointer to, DevicePointer from, size_t bytes, Stream stream) {
  return enqueue(stream, [=] { std::memmove(host(to), host(from), bytes); });
}
Code cuMemsetD8Async(DevicePointer to, unsigned char value, size_t count, Stream stream) {
  return fill(to, value, count, stream);
}
Code cuMemsetD16Async(DevicePointer to, unsigned short value, size_t count, Stream stream) {
  return fill(to, value, count, stream);
}
Code cuMemsetD32Async(DevicePointer to, unsigned value, size_t count, Stream stream) {
  return fill(to, value, count, stream);
}

// ---- kernels

Code cuModuleLoadData(Module* module, const void* image) {
  const int made_for = architecture(image);
  if (made_for / 10 != gpu().capability / 10 && made_for != 0) return kNoBinary;
  return *module = new ModuleTag, gpu().fault;
}
Code cuModuleUnload(Module module) { return delete module, gpu().fault; }
Code cuModuleGetFunction(Function* function, Module, const char* name) {
  static std::map<std::string, FunctionTag> all;
  *function = &all.try_emplace(name, FunctionTag{name}).first->second;
  return 0;
}
Code cuFuncSetAttribute(Function, int, int) { return 0; }
Code cuLaunchKernel(Function function, unsigned grid, unsigned copies, unsigned, unsigned threads, unsigned,
                    unsigned, unsigned, Stream stream, void** arguments, void**) {
  ++gpu().launches;
  const auto kernel = gpu().kernels.find(function->name);
  if (kernel == gpu().kernels.end()) return gpu().fault;
  smelt::fake::KernelCall call{grid, copies, threads, {}};
  const size_t together = kernel->second.together;
  for (size_t i = 0; i < kernel->second.arguments; ++i)
    call.arguments.push_back(i < together ? static_cast<uint64_t*>(arguments[0])[i]
                                          : *static_cast<uint64_t*>(arguments[i - together + 1]));
  return enqueue(stream, [run = kernel->second.run, call] { run(call); });
}

// ---- streams, events, graphs

Code cuStreamCreate(Stream* stream, unsigned) { return *stream = new StreamTag, gpu().fault; }
Code cuStreamDestroy_v2(Stream stream) { return delete stream, gpu().fault; }
Code cuStreamSynchronize(Stream stream) { return wait(stream); }
Code cuStreamWaitEvent(Stream, Event, unsigned) { return gpu().fault; }
Code cuStreamBeginCapture_v2(Stream stream, int) {
  return stream->capture = std::make_unique<GraphTag>(), gpu().fault;
}
Code cuStreamEndCapture(Stream stream, Graph* graph) {
  return *graph = stream->capture.release(), gpu().fault;
}
Code cuEventCreate(Event* event, unsigned) { return *event = new EventTag, gpu().fault; }
Code cuEventDestroy_v2(Event event) { return delete event, gpu().fault; }
Code cuEventRecord(Event event, Stream) { return event->moment = gpu().clock, gpu().fault; }
Code cuEventSynchronize(Event) { return gpu().fault; }
Code cuEventElapsedTime(float* milliseconds, Event begin, Event end) {
  double passed = end->moment - begin->moment;
  if (const double step = gpu().clock_step; step > 0) passed = std::floor(passed / step + 1e-6) * step;
  return *milliseconds = static_cast<float>(passed), gpu().fault;
}
Code cuGraphInstantiateWithFlags(GraphExec* executable, Graph graph, unsigned long long) {
  return *executable = new GraphExecTag{graph->work}, gpu().fault;
}
Code cuGraphLaunch(GraphExec executable, Stream stream) {
  ++gpu().graph_launches;
  for (const auto& work : executable->work)
    if (const Code code = enqueue(stream, work); code != 0) return 0;  // it is told later
  return 0;
}
Code cuGraphDestroy(Graph graph) { return delete graph, gpu().fault; }
Code cuGraphExecDestroy(GraphExec executable) { return delete executable, gpu().fault; }
}
