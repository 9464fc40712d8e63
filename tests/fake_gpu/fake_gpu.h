// Fake GPUs: substitutes of libcuda.so.1, libcublasLt.so.13 and libnccl.so.2 that use host memory and usually
// do their work within the call. The runtime loads them by these names instead of NVIDIA's libraries, so all
// of the GPU executor except the code of kernels can be tested on any machine. A test sets the properties of
// a GPU in `Gpu`, and checks its counters. For other programs, the environment variables FAKE_GPU_BYTES (of
// memory) and FAKE_GPU_COUNT (number of GPUs) set properties.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <future>
#include <map>
#include <string>
#include <vector>

namespace smelt::cuda {
struct StreamTag;
}

namespace smelt::fake {

/// The fields of a tensor map, as given to cuTensorMapEncodeTiled.
struct Map {
  void* address = nullptr;
  uint64_t extents[5] = {}, strides[4] = {};  // strides in bytes
  unsigned box[5] = {}, rank = 0;
  int type = 0, swizzle = 0;
};

/// A launch of a kernel.
struct KernelCall {
  unsigned blocks = 0, copies = 1, threads = 0;  // grid size in x and y; threads per block
  std::vector<Map> maps = {};
  std::vector<uint64_t> arguments;
  bool dependent = false;  // launched with programmatic dependent launch

  template <typename T>
  T argument(size_t i) const {
    T value;
    std::memcpy(&value, &arguments.at(i), sizeof value);
    return value;
  }
};

/// A kernel. A function on the host does its work.
struct Kernel {
  size_t arguments = 0;                             // number of 8-byte arguments
  std::function<void(const KernelCall&)> run = {};  // does the work of the kernel
  size_t together = 1;           // number of arguments that are members of the first parameter, a struct
  size_t maps = 0;               // number of tensor maps, which are parameters before the arguments
  bool waits_for_words = false;  // the kernel waits for words in memory, so it runs in a separate thread
};

/// A fake GPU: its properties, and counters of what was done.
struct Gpu {
  // Properties.
  std::string name = "Fake GPU";
  int count = 1, driver_version = 13000;  // read from gpu(0) only; count: number of GPUs
  int capability = 90, multiprocessors = 4;
  size_t total_bytes = size_t{1} << 30, library_version = 130100;
  std::map<std::string, Kernel> kernels = {};           // by name; launches of other kernels do nothing
  std::vector<double> milliseconds_by_algorithm = {1};  // of a GEMM; each algorithm rounds differently
  double clock_step = 0;           // times between events are multiples of it; milliseconds
  bool has_peers = true;           // read from gpu(0) only: whether GPUs can open each other's memory
  uint32_t reduction_schemes = 7;  // written: those that were allowed when algorithms were last asked for
  bool late_events = false;        // queries of events return that the event has not happened yet

  // State and counters.
  int fault = 0;                 // status that all following calls return; a kernel may set it
  size_t refuses_blocks_of = 0;  // allocations of exactly this size (bytes) fail, as with fragmented memory
  size_t used_bytes = 0, blocks_in_use = 0, allocations = 0;
  int gemms = 0, launches = 0, graph_launches = 0, downloads = 0, uploads = 0,
      waits = 0;                         // waits: synchronizations of streams
  int moves = 0;                         // copies within the device's memory
  int event_waits = 0;                   // synchronizations of events
  std::vector<size_t> nccl_groups = {};  // for each NCCL group, the number of its collectives
  double clock = 0;                      // milliseconds
};

inline constexpr int kMostGpus = 4;

/// Returns a GPU. Each thread has the context of one GPU; memory, streams, modules and handles of a GPU are
/// invalid on the others.
Gpu& gpu(int device = 0);
/// Returns the GPU of this thread's context.
int current_device();

/// Does the work now, or adds it to the graph that the stream is capturing. Returns a status of the driver.
/// If `waits`, `work` is done only after the earlier work of the stream is finished (leave_unfinished); if
/// not, `work` must wait for it itself.
int enqueue(cuda::StreamTag* stream, std::function<void()> work, bool waits = true);

/// Marks the last work of the stream as unfinished until `until` is ready. The next work of the stream waits
/// for `until`, and so does everything that waits for an event that is recorded after the unfinished work.
void leave_unfinished(cuda::StreamTag* stream, std::shared_future<void> until);

}  // namespace smelt::fake
