// The CUDA driver, loaded when it is first needed: a program that links this library starts on any machine.
// The few types and functions that are used are declared here, so that building needs no toolkit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace smelt::cuda {

using DevicePointer = uint64_t;  // an address of the GPU's
struct ContextTag;
struct StreamTag;
struct EventTag;
struct ModuleTag;
struct FunctionTag;
struct GraphTag;
struct GraphExecTag;
using Context = ContextTag*;
using Stream = StreamTag*;
using Event = EventTag*;
using Module = ModuleTag*;
using Function = FunctionTag*;
using Graph = GraphTag*;
using GraphExec = GraphExecTag*;

/// The driver's functions, by its names without the prefix; all but a few return a status for check().
/// CUDA_MEMCPY2D: rows of bytes between two places, each with the distance from one row to the next.
struct Copy2D {
  /// kUnified: the memory and the GPU follow from the address.
  static constexpr int kHost = 1, kDevice = 2, kUnified = 4;
  struct Place {
    size_t x = 0, y = 0;
    int memory = kDevice;
    void* host = nullptr;
    DevicePointer device = 0;
    void* array = nullptr;
    size_t pitch = 0;
  } from, to;
  size_t width = 0, rows = 0;
};

/// CUtensorMap, and numbers of its enumerations.
struct alignas(128) DriverTensorMap {
  static constexpr int kF16 = 6, kF32 = 7, kBf16 = 9;
  static constexpr int kNoInterleaving = 0, kZeros = 0;  // the last: of what lies outside
  static constexpr int kPromotion128 = 2;                // bytes that L2 reads at once
  unsigned char bytes[128] = {};
};

/// CUlaunchAttribute, and CUlaunchConfig with its list of them.
struct LaunchAttribute {
  /// The value 1 lets a kernel begin before earlier launches have ended.
  static constexpr int kDependent = 6;
  int id = 0;
  char unused[4] = {};
  union {
    int value;
    char bytes[64] = {};
  };
};
struct LaunchConfig {
  unsigned grid[3], block[3], shared_bytes;
  Stream stream;
  LaunchAttribute* attributes;
  unsigned attribute_count;
};

/// CUipcMemHandle: names a block of device memory to other processes.
struct IpcHandle {
  char bytes[64] = {};
};

/// CUstreamBatchMemOpParams: a stream waits until a 32-bit word has a value, or writes one after all its
/// earlier work.
struct WordOperation {
  static constexpr int kWait = 1, kWrite = 2;
  /// Flags of a wait: it ends when the value is equal, and earlier writes of other devices are then visible.
  static constexpr unsigned kEqual = 1, kFlush = 1U << 30;
  int kind = kWait;
  DevicePointer word = 0;
  uint64_t value = 0;
  unsigned flags = 0;
  uint64_t unused[2] = {};
};

struct Driver {
  using Code = int;
  Code (*Init)(unsigned flags);
  Code (*DriverGetVersion)(int* version);
  Code (*GetErrorName)(Code code, const char** text);
  Code (*GetErrorString)(Code code, const char** text);
  Code (*DeviceGetCount)(int* count);
  Code (*DeviceGet)(int* device, int ordinal);
  Code (*DeviceGetName)(char* name, int length, int device);
  Code (*DeviceGetAttribute)(int* value, int attribute, int device);
  Code (*DevicePrimaryCtxRetain)(Context* context, int device);
  Code (*CtxSetCurrent)(Context context);
  Code (*MemGetInfo)(size_t* free, size_t* total);
  /// Null in drivers that lack it.
  Code (*PointerGetAttribute)(void* value, int attribute, DevicePointer address);
  Code (*MemAlloc)(DevicePointer* address, size_t bytes);
  Code (*MemFree)(DevicePointer address);
  Code (*MemHostAlloc)(void** address, size_t bytes, unsigned flags);
  Code (*MemFreeHost)(void* address);
  Code (*MemcpyHtoDAsync)(DevicePointer to, const void* from, size_t bytes, Stream stream);
  Code (*MemcpyDtoHAsync)(void* to, DevicePointer from, size_t bytes, Stream stream);
  Code (*Memcpy2DAsync)(const Copy2D* copy, Stream stream);
  Code (*MemcpyDtoDAsync)(DevicePointer to, DevicePointer from, size_t bytes, Stream stream);
  Code (*MemsetD8Async)(DevicePointer to, unsigned char value, size_t count, Stream stream);
  Code (*MemsetD16Async)(DevicePointer to, unsigned short value, size_t count, Stream stream);
  Code (*MemsetD32Async)(DevicePointer to, unsigned value, size_t count, Stream stream);
  Code (*ModuleLoadData)(Module* module, const void* image);
  Code (*ModuleUnload)(Module module);
  Code (*ModuleGetFunction)(Function* function, Module module, const char* name);
  Code (*FuncSetAttribute)(Function function, int attribute, int value);
  /// Null in drivers of before CUDA 12.
  Code (*TensorMapEncodeTiled)(DriverTensorMap* map, int type, unsigned rank, void* address,
                               const uint64_t* extents, const uint64_t* strides, const unsigned* box,
                               const unsigned* steps, int interleave, int swizzle, int promotion, int fill);
  Code (*LaunchKernel)(Function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                       unsigned block_y, unsigned block_z, unsigned shared_bytes, Stream stream,
                       void** arguments, void** extra);
  /// Null in drivers of before CUDA 12.
  Code (*LaunchKernelEx)(const LaunchConfig* config, Function function, void** arguments, void** extra);
  Code (*CtxGetStreamPriorityRange)(int* lowest, int* highest);
  Code (*StreamCreateWithPriority)(Stream* stream, unsigned flags, int priority);
  Code (*StreamDestroy)(Stream stream);
  Code (*StreamSynchronize)(Stream stream);
  Code (*StreamWaitEvent)(Stream stream, Event event, unsigned flags);
  /// Null in drivers that lack them, as the next four are.
  Code (*StreamWaitValue32)(Stream stream, DevicePointer word, uint32_t value, unsigned flags);
  Code (*StreamBatchMemOp)(Stream stream, unsigned count, WordOperation* operations, unsigned flags);
  Code (*IpcGetMemHandle)(IpcHandle* handle, DevicePointer block);
  Code (*IpcOpenMemHandle)(DevicePointer* block, IpcHandle handle, unsigned flags);
  Code (*IpcCloseMemHandle)(DevicePointer block);
  Code (*StreamBeginCapture)(Stream stream, int mode);
  Code (*StreamEndCapture)(Stream stream, Graph* graph);
  Code (*EventCreate)(Event* event, unsigned flags);
  Code (*EventDestroy)(Event event);
  Code (*EventRecord)(Event event, Stream stream);
  Code (*EventQuery)(Event event);
  Code (*EventSynchronize)(Event event);
  Code (*EventElapsedTime)(float* milliseconds, Event begin, Event end);
  Code (*GraphInstantiate)(GraphExec* executable, Graph graph, unsigned long long flags);
  Code (*GraphLaunch)(GraphExec executable, Stream stream);
  Code (*GraphDestroy)(Graph graph);
  Code (*GraphExecDestroy)(GraphExec executable);

  std::string path;
};

/// CUDA_ERROR_OUT_OF_MEMORY
inline constexpr Driver::Code kOutOfMemory = 2;
/// CUDA_ERROR_NOT_READY, the result of EventQuery for an event that has not happened yet.
inline constexpr Driver::Code kNotReady = 600;

/// Throws Error (unavailable) if there is no driver, or one older than the functions above.
const Driver& driver();

/// The newest CUDA that the driver can run, for messages: "13.0".
std::string driver_cuda_version();

/// Returns the meaning of a status, for messages: "CUDA_ERROR_ILLEGAL_ADDRESS (an illegal memory access
/// ...)".
std::string describe(Driver::Code code);
/// Throws Error with the failed operation `what` and the driver's message; out of memory has its own status.
void check(Driver::Code code, const char* what);

/// Returns the number of GPUs; 0 without a driver.
int device_count();

}  // namespace smelt::cuda
