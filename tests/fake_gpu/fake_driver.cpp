#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <thread>
#include <utility>

#include "runtime/cuda/device_rates.h"
#include "runtime/cuda/driver.h"
#include "tests/fake_gpu/fake_gpu.h"
#include "tests/fake_gpu/fake_memory.h"

namespace smelt::fake {

Gpu& gpu(int device) {
  static std::array<Gpu, kMostGpus> all = [] {
    std::array<Gpu, kMostGpus> gpus;
    if (const char* bytes = std::getenv("FAKE_GPU_BYTES"))
      for (Gpu& gpu : gpus) gpu.total_bytes = std::strtoull(bytes, nullptr, 10);
    if (const char* count = std::getenv("FAKE_GPU_COUNT")) gpus[0].count = std::atoi(count);
    return gpus;
  }();
  return all.at(static_cast<size_t>(device));
}

}  // namespace smelt::fake

namespace smelt::cuda {

// What the driver's handles point to.
struct ContextTag {
  int device = 0;
};
struct GraphTag;
struct EventTag {
  double moment = 0;
  StreamTag* stream = nullptr;  // that it was recorded on
  std::shared_future<void> unfinished;
  const GraphTag* capture = nullptr;  // in which it was recorded, after that work
  std::vector<size_t> after;
};
struct ModuleTag {
  int device = 0;
};
struct FunctionTag {
  std::string name;
  int device = 0;
};
/// Work of a graph, behind other work by its number.
struct GraphNode {
  std::function<void()> work;
  std::vector<size_t> after;
};
using Work = std::vector<GraphNode>;
struct GraphTag {
  Work work;
};
struct GraphExecTag {
  Work work;
};
struct StreamTag {
  int device = 0;
  std::unique_ptr<GraphTag> capture;
  StreamTag* origin = nullptr;  // whose capture it has joined by waiting for an event of it
  bool open = false;            // has work in that capture which the origin does not wait for
  std::vector<size_t> after;    // work of the capture that comes before this stream's next
  const GraphTag* captured() const { return origin ? origin->capture.get() : capture.get(); }
  std::shared_future<void> unfinished;
  bool waits_for_words = false;  // its work is done in order by threads of its own
};

}  // namespace smelt::cuda

namespace {
thread_local int current = 0;  // device
}

int smelt::fake::current_device() { return current; }

static void finish(const std::shared_future<void>& unfinished) {
  if (unfinished.valid()) unfinished.wait();
}

void smelt::fake::leave_unfinished(cuda::Stream stream, std::shared_future<void> until) {
  stream->unfinished = std::move(until);
}

/// Behind what the stream was given before, which may wait for other streams.
static void do_later(smelt::cuda::Stream stream, std::function<void()> work) {
  stream->unfinished =
      std::async(std::launch::async, [before = stream->unfinished, work = std::move(work), device = current] {
        finish(before);
        current = device;
        work();
      }).share();
}

int smelt::fake::enqueue(cuda::Stream stream, std::function<void()> work, bool waits) {
  constexpr int kInvalidHandle = 400;
  if (stream && stream->device != current) return kInvalidHandle;
  if (gpu(current).fault != 0) return gpu(current).fault;
  const auto* of = stream && stream->origin ? stream->origin : stream;
  if (of && of->capture) {
    of->capture->work.push_back({std::move(work), stream->after});
    stream->after = {of->capture->work.size() - 1};
  } else if (stream && stream->waits_for_words)
    do_later(stream, std::move(work));
  else
    finish(stream && waits ? stream->unfinished : std::shared_future<void>()), work();
  if (stream && stream->origin) stream->open = true;
  return 0;
}

namespace {

using namespace smelt::cuda;
using smelt::fake::enqueue;
using smelt::fake::is_here;
using smelt::fake::word;
using Code = Driver::Code;

constexpr Code kInvalidValue = 1, kNoDevice = 100, kInvalidDevice = 101, kNoBinary = 209, kNotFound = 500,
               kCaptureUnsupported = 900, kCaptureUnjoined = 904;
constexpr Code kInvalidContext = 201, kInvalidHandle = 400;

/// Of the tables below: ranks that are threads use a GPU each, and these together.
std::recursive_mutex& tables() {
  static std::recursive_mutex all;
  return all;
}

/// The GPU of this thread's context.
smelt::fake::Gpu& gpu() { return smelt::fake::gpu(current); }
/// What is said of the machine, whatever is current.
smelt::fake::Gpu& first() { return smelt::fake::gpu(0); }

std::set<Stream>& streams() {
  static std::set<Stream> all;
  return all;
}

/// What waits for the device tells a fault, and cannot be captured.
Code wait(Stream stream) { return stream && stream->capture ? kCaptureUnsupported : gpu().fault; }

/// The architecture that a cubin's header names; 0 of what is none.
int architecture(const void* image) {
  const auto* bytes = static_cast<const unsigned char*>(image);
  return std::memcmp(bytes, "\177ELF", 4) == 0 ? bytes[49] : 0;
}

}  // namespace

extern "C" {

Code cuInit(unsigned) { return first().count == 0 ? kNoDevice : 0; }
/// NVRTC asks for it and does without.
Code cuGetExportTable(const void**, const void*) { return kNotFound; }
Code cuDriverGetVersion(int* version) { return *version = first().driver_version, 0; }
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
Code cuDeviceGetCount(int* count) { return *count = first().count, 0; }
Code cuDeviceGet(int* device, int ordinal) {
  return *device = ordinal, ordinal < first().count ? 0 : kInvalidDevice;
}
Code cuDeviceGetName(char* name, int length, int device) {
  return std::snprintf(name, static_cast<size_t>(length), "%s", smelt::fake::gpu(device).name.c_str()), 0;
}
/// But for what a test says, those of an H100.
Code cuDeviceGetAttribute(int* value, int attribute, int device) {
  const smelt::fake::Gpu& gpu = smelt::fake::gpu(device);
  const std::map<int, int> values = {{kBlockThreads, 1024},
                                     {kWarpThreads, 32},
                                     {kMultiprocessors, gpu.multiprocessors},
                                     {kMemoryKilohertz, 2619000},
                                     {kMemoryBits, 5120},
                                     {kL2Bytes, 50 << 20},
                                     {kMultiprocessorThreads, 2048},
                                     {kCapabilityMajor, gpu.capability / 10},
                                     {kCapabilityMinor, gpu.capability % 10},
                                     {kMultiprocessorSharedBytes, 228 << 10},
                                     {kMultiprocessorRegisters, 65536},
                                     {kBlockSharedBytes, 227 << 10}};
  const auto found = values.find(attribute);
  if (found == values.end()) return kInvalidValue;
  return *value = found->second, 0;
}
Code cuDevicePrimaryCtxRetain(Context* context, int device) {
  static std::array<ContextTag, smelt::fake::kMostGpus> all;
  ContextTag& made = all.at(static_cast<size_t>(device));
  made.device = device;
  return *context = &made, 0;
}
Code cuDevicePrimaryCtxRelease_v2(int) { return 0; }
Code cuCtxSetCurrent(Context context) {
  if (!context) return kInvalidContext;
  return current = context->device, 0;
}
Code cuMemGetInfo_v2(size_t* free, size_t* total) {
  *total = gpu().total_bytes, *free = gpu().total_bytes - gpu().used_bytes;
  return gpu().fault;
}

// ---- kernels

Code cuModuleLoadData(Module* module, const void* image) {
  const int made_for = architecture(image);
  if (made_for / 10 != gpu().capability / 10 && made_for != 0) return kNoBinary;
  return *module = new ModuleTag{current}, gpu().fault;
}
Code cuModuleUnload(Module module) { return delete module, gpu().fault; }
Code cuModuleGetFunction(Function* function, Module module, const char* name) {
  static std::map<std::pair<int, std::string>, FunctionTag> all;
  const std::lock_guard lock(tables());
  *function = &all.try_emplace({module->device, name}, FunctionTag{name, module->device}).first->second;
  return 0;
}
/// Refuses what the driver does, and an address that is nowhere.
Code cuTensorMapEncodeTiled(DriverTensorMap* map, int type, unsigned rank, void* address,
                            const uint64_t* extents, const uint64_t* strides, const unsigned* box,
                            const unsigned* steps, int, int swizzle, int, int) {
  smelt::fake::Map made{.address = address, .rank = rank, .type = type, .swizzle = swizzle};
  const auto place = reinterpret_cast<DevicePointer>(address);
  if (rank < 1 || rank > 5 || place % 16 != 0 || !is_here(place) || gpu().capability < 90)
    return kInvalidValue;
  for (unsigned i = 0; i < rank; ++i) {
    made.extents[i] = extents[i], made.box[i] = box[i];
    if (extents[i] == 0 || box[i] == 0 || box[i] > 256 || steps[i] != 1) return kInvalidValue;
    if (i + 1 < rank && (made.strides[i] = strides[i]) % 16 != 0) return kInvalidValue;
  }
  static_assert(sizeof made <= sizeof map->bytes);
  std::memcpy(map->bytes, &made, sizeof made);
  return 0;
}
Code cuFuncSetAttribute(Function, int, int) { return 0; }
static Code launch(Function function, smelt::fake::KernelCall call, Stream stream, void** arguments) {
  if (function->device != current) return kInvalidHandle;
  ++gpu().launches;
  const auto kernel = gpu().kernels.find(function->name);
  if (kernel == gpu().kernels.end()) return gpu().fault;
  if (kernel->second.waits_for_words) stream->waits_for_words = true;
  call.maps.resize(kernel->second.maps);
  for (smelt::fake::Map& map : call.maps) std::memcpy(&map, *arguments++, sizeof map);
  const size_t together = kernel->second.together;
  for (size_t i = 0; i < kernel->second.arguments; ++i)
    call.arguments.push_back(i < together ? static_cast<uint64_t*>(arguments[0])[i]
                                          : *static_cast<uint64_t*>(arguments[i - together + 1]));
  return enqueue(stream, [run = kernel->second.run, call] { run(call); });
}
Code cuLaunchKernel(Function function, unsigned grid, unsigned copies, unsigned, unsigned threads, unsigned,
                    unsigned, unsigned, Stream stream, void** arguments, void**) {
  return launch(function, {grid, copies, threads, {}, {}}, stream, arguments);
}
Code cuLaunchKernelEx(const LaunchConfig* config, Function function, void** arguments, void**) {
  bool dependent = false;
  for (unsigned i = 0; i < config->attribute_count; ++i) {
    const LaunchAttribute& attribute = config->attributes[i];
    if (attribute.id != LaunchAttribute::kDependent || gpu().capability < 90) return kInvalidValue;
    dependent |= attribute.value != 0;
  }
  return launch(function, {config->grid[0], config->grid[1], config->block[0], {}, {}, dependent},
                config->stream, arguments);
}

// ---- streams, events, graphs

Code cuCtxGetStreamPriorityRange(int* lowest, int* highest) {
  return *lowest = 0, *highest = -5, gpu().fault;
}
Code cuStreamCreateWithPriority(Stream* stream, unsigned, int priority) {
  if (priority > 0 || priority < -5) return kInvalidValue;
  *stream = new StreamTag{};
  (*stream)->device = current;
  const std::lock_guard lock(tables());
  streams().insert(*stream);
  return gpu().fault;
}
Code cuStreamDestroy_v2(Stream stream) {
  const std::lock_guard lock(tables());
  return streams().erase(stream), delete stream, gpu().fault;
}
Code cuStreamSynchronize(Stream stream) {
  if (stream) finish(stream->unfinished);
  return ++gpu().waits, wait(stream);
}
Code cuStreamWaitEvent(Stream stream, Event event, unsigned) {
  StreamTag* of = event->stream;
  finish(event->unfinished);
  if (of && of->capture && of != stream && !stream->origin) stream->origin = of, stream->after.clear();
  if (of && of->origin == stream) of->open = false;
  if (event->capture && event->capture == stream->captured())
    stream->after.insert(stream->after.end(), event->after.begin(), event->after.end());
  return gpu().fault;
}
Code cuStreamWaitValue32_v2(Stream stream, DevicePointer address, uint32_t value, unsigned) {
  if (!is_here(address)) return kInvalidValue;
  stream->waits_for_words = true;
  return enqueue(stream, [=] {
    while (static_cast<int32_t>(word(address).load() - value) < 0)
      std::this_thread::sleep_for(std::chrono::microseconds(20));
  });
}
/// Of waits and writes, one behind the other.
Code cuStreamBatchMemOp_v2(Stream stream, unsigned count, WordOperation* operations, unsigned) {
  for (unsigned i = 0; i < count; ++i)
    if (!is_here(operations[i].word, operations[i].kind == WordOperation::kWrite)) return kInvalidValue;
  stream->waits_for_words = true;
  return enqueue(stream, [all = std::vector(operations, operations + count)] {
    for (const WordOperation& one : all) {
      const auto value = static_cast<uint32_t>(one.value);
      if (one.kind == WordOperation::kWrite) word(one.word).store(value);
      while (one.kind == WordOperation::kWait && word(one.word).load() != value)
        std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
  });
}
Code cuStreamBeginCapture_v2(Stream stream, int) {
  stream->after.clear();
  return stream->capture = std::make_unique<GraphTag>(), gpu().fault;
}
Code cuStreamEndCapture(Stream stream, Graph* graph) {
  *graph = stream->capture.release();
  bool open = false;
  const std::lock_guard lock(tables());
  for (StreamTag* other : streams())
    if (other->origin == stream) other->origin = nullptr, open |= std::exchange(other->open, false);
  return open ? kCaptureUnjoined : gpu().fault;
}
Code cuEventCreate(Event* event, unsigned) { return *event = new EventTag, gpu().fault; }
Code cuEventDestroy_v2(Event event) { return delete event, gpu().fault; }
Code cuEventRecord(Event event, Stream stream) {
  event->moment = gpu().clock, event->stream = stream;
  event->unfinished = stream ? stream->unfinished : std::shared_future<void>();
  event->capture = stream ? stream->captured() : nullptr;
  event->after = event->capture ? stream->after : std::vector<size_t>();
  return gpu().fault;
}
static bool is_under_way(const std::shared_future<void>& work) {
  return work.valid() && work.wait_for(std::chrono::seconds(0)) != std::future_status::ready;
}
Code cuEventQuery(Event event) {
  if (gpu().fault != 0) return gpu().fault;
  return gpu().late_events || is_under_way(event->unfinished) ? kNotReady : 0;
}
Code cuEventSynchronize(Event) { return ++gpu().event_waits, gpu().fault; }
Code cuEventElapsedTime(float* milliseconds, Event begin, Event end) {
  double passed = end->moment - begin->moment;
  if (const double step = gpu().clock_step; step > 0) passed = std::floor(passed / step + 1e-6) * step;
  return *milliseconds = static_cast<float>(passed), gpu().fault;
}
Code cuGraphInstantiateWithFlags(GraphExec* executable, Graph graph, unsigned long long) {
  return *executable = new GraphExecTag{graph->work}, gpu().fault;
}
static bool is_a_chain(const Work& all) {
  for (size_t i = 1; i < all.size(); ++i)
    if (all[i].after != std::vector{i - 1}) return false;
  return true;
}
/// Mostly short, and seldom longer than all other work of a small graph takes.
static std::chrono::microseconds any_while() {
  const unsigned number = std::random_device()();
  return std::chrono::microseconds(number % 8 == 0 ? 3000 : number % 100);
}
/// Work begins when that before it has ended, and when chance wants: what a graph does not order may
/// come in any order.
static void run_concurrently(const Work& all) {
  std::vector<std::shared_future<void>> ended;
  for (size_t i = 0; i < all.size(); ++i)
    ended.push_back(std::async(std::launch::async, [&all, i, before = ended, device = current] {
                      for (const size_t other : all[i].after) before[other].wait();
                      std::this_thread::sleep_for(any_while());
                      current = device;
                      if (gpu().fault == 0) all[i].work();
                    }).share());
  for (const auto& each : ended) each.wait();
}
Code cuGraphLaunch(GraphExec executable, Stream stream) {
  ++gpu().graph_launches;
  if (!is_a_chain(executable->work))
    return enqueue(stream, [all = executable->work] { run_concurrently(all); }), 0;
  for (const GraphNode& node : executable->work)
    if (const Code code = enqueue(stream, node.work); code != 0) return 0;  // it is told later
  return 0;
}
Code cuGraphDestroy(Graph graph) { return delete graph, gpu().fault; }
Code cuGraphExecDestroy(GraphExec executable) { return delete executable, gpu().fault; }
}
