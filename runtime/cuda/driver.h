// The CUDA driver, loaded when it is first needed, so that a program that links this library starts on
// machines without a GPU. The types and functions that Smelt uses are declared here, so that building needs
// no CUDA toolkit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace smelt::cuda {

using DevicePointer = uint64_t;  // an address in the GPU's address space; 0: null
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

/// CUDA_MEMCPY2D: a copy of `rows` rows of `width` bytes. `pitch` is the number of bytes from one row to the
/// next.
struct Copy2D {
  /// CUmemorytype. kUnified: the driver finds out from the address where the memory is.
  static constexpr int kHost = 1, kDevice = 2, kUnified = 4;
  /// One side of the copy. It begins at byte x of row y of a matrix. `memory` says whether `host` or `device`
  /// has the address of the matrix. `array` is not used.
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

/// CUtensorMap, and constants of its enumerations: element types, interleaving, fill mode, L2 promotion.
struct alignas(128) DriverTensorMap {
  static constexpr int kBytes = 0, kF16 = 6, kF32 = 7, kBf16 = 9;
  static constexpr int kNoInterleaving = 0, kZeros = 0;  // kZeros: elements out of bounds read as 0
  static constexpr int kPromotion128 = 2;                // L2 reads 128 bytes at a time
  unsigned char bytes[128] = {};
};

/// CUlaunchAttribute.
struct LaunchAttribute {
  /// Programmatic dependent launch: the value 1 lets a kernel begin before earlier launches have ended.
  static constexpr int kDependent = 6;
  int id = 0;
  char unused[4] = {};
  union {
    int value;
    char bytes[64] = {};
  };
};
/// CUlaunchConfig.
struct LaunchConfig {
  unsigned grid[3], block[3], shared_bytes;
  Stream stream;
  LaunchAttribute* attributes;
  unsigned attribute_count;
};

/// CUipcMemHandle: identifies a block of device memory in other processes.
struct IpcHandle {
  char bytes[64] = {};
};

/// CUstreamBatchMemOpParams: an operation in a stream that waits until a 32-bit word has a value (kWait), or
/// writes a value to a word after all earlier work of the stream (kWrite).
struct WordOperation {
  static constexpr int kWait = 1, kWrite = 2;
  /// Flags of a wait. kEqual: it ends when the word is equal to `value`. kFlush: earlier writes of other
  /// devices are visible when it ends.
  static constexpr unsigned kEqual = 1, kFlush = 1U << 30;
  int kind = kWait;
  DevicePointer word = 0;
  uint64_t value = 0;
  unsigned flags = 0;
  uint64_t unused[2] = {};
};

/// Functions of the driver API under their names without the prefix "cu". The result is a status for check().
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
  /// Sets `width` bytes of each of `height` lines, which begin `pitch` bytes apart.
  Code (*MemsetD2D8Async)(DevicePointer to, size_t pitch, unsigned char value, size_t width, size_t height,
                          Stream stream);
  Code (*MemsetD16Async)(DevicePointer to, unsigned short value, size_t count, Stream stream);
  Code (*MemsetD32Async)(DevicePointer to, unsigned value, size_t count, Stream stream);
  Code (*ModuleLoadData)(Module* module, const void* image);
  Code (*ModuleUnload)(Module module);
  Code (*ModuleGetFunction)(Function* function, Module module, const char* name);
  Code (*FuncSetAttribute)(Function function, int attribute, int value);
  /// Null in drivers before CUDA 12.
  Code (*TensorMapEncodeTiled)(DriverTensorMap* map, int type, unsigned rank, void* address,
                               const uint64_t* extents, const uint64_t* strides, const unsigned* box,
                               const unsigned* steps, int interleave, int swizzle, int promotion, int fill);
  Code (*LaunchKernel)(Function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                       unsigned block_y, unsigned block_z, unsigned shared_bytes, Stream stream,
                       void** arguments, void** extra);
  /// Null in drivers before CUDA 12.
  Code (*LaunchKernelEx)(const LaunchConfig* config, Function function, void** arguments, void** extra);
  Code (*CtxGetStreamPriorityRange)(int* lowest, int* highest);
  Code (*StreamCreateWithPriority)(Stream* stream, unsigned flags, int priority);
  Code (*StreamDestroy)(Stream stream);
  Code (*StreamSynchronize)(Stream stream);
  Code (*StreamWaitEvent)(Stream stream, Event event, unsigned flags);
  /// The functions from here to IpcCloseMemHandle are null in drivers that lack them.
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

  std::string path;  // of the library file
};

/// CUDA_ERROR_OUT_OF_MEMORY
inline constexpr Driver::Code kOutOfMemory = 2;
/// CUDA_ERROR_NOT_READY, the result of EventQuery for an event that has not happened yet.
inline constexpr Driver::Code kNotReady = 600;

/// Loads the driver in the first call, and returns it. Throws Error (unavailable) if there is no driver, if
/// it does not start, or if it lacks a function above that may not be null.
const Driver& driver();

/// Returns the newest CUDA version that the driver supports, for messages: "13.0".
std::string driver_cuda_version();

/// Returns the meaning of a status, for messages: "CUDA_ERROR_ILLEGAL_ADDRESS (an illegal memory access
/// ...)".
std::string describe(Driver::Code code);
/// If `code` is an error, throws Error with the failed operation `what` and the driver's message. The status
/// of the Error is out_of_memory for kOutOfMemory, else internal.
void check(Driver::Code code, const char* what);

/// Returns the number of GPUs; 0 without a driver.
int device_count();

}  // namespace smelt::cuda
