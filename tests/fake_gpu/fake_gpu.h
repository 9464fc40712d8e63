// GPUs that are not there: libcuda.so.1, libcublasLt.so.13 and libnccl.so.2 that work in the host's memory,
// one call after the other. The runtime loads them by these names as it loads NVIDIA's, so that all of the
// executor but the machine code is tested on any machine; a test says what a GPU is like and looks at what
// became of it. The variables FAKE_GPU_BYTES and FAKE_GPU_COUNT tell it to programs that are no tests.
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

/// What is told of a tensor map.
struct Map {
  void* address = nullptr;
  uint64_t extents[5] = {}, strides[4] = {};  // strides in bytes
  unsigned box[5] = {}, rank = 0;
  int type = 0, swizzle = 0;
};

/// A kernel's launch as the kernel sees it.
struct KernelCall {
  unsigned blocks = 0, copies = 1, threads = 0;
  std::vector<Map> maps = {};
  std::vector<uint64_t> arguments;
  bool dependent = false;  // it may have begun before launches in front of it had ended

  template <typename T>
  T argument(size_t i) const {
    T value;
    std::memcpy(&value, &arguments.at(i), sizeof value);
    return value;
  }
};

struct Kernel {
  size_t arguments = 0;
  std::function<void(const KernelCall&)> run = {};
  size_t together = 1;           // so many of them are the members of the first parameter, a struct
  size_t maps = 0;               // in front of them
  bool waits_for_words = false;  // it runs on a thread of its own
};

struct Gpu {
  // What it is like.
  std::string name = "Fake GPU";
  int count = 1, driver_version = 13000;  // of the first alone: how many there are
  int capability = 90, multiprocessors = 4;
  size_t total_bytes = size_t{1} << 30, library_version = 130100;
  std::map<std::string, Kernel> kernels = {};           // by name; others do nothing
  std::vector<double> milliseconds_by_algorithm = {1};  // of a GEMM; each algorithm rounds in its own way
  double clock_step = 0;     // milliseconds: times between events are multiples of it
  bool has_peers = true;     // of the first: GPUs open each other's memory
  bool late_events = false;  // who asks for an event finds that it has not happened yet
  // What it does.
  int fault = 0;                 // set by a kernel: the status that every call answers with from then on
  size_t refuses_blocks_of = 0;  // bytes: as if memory were in pieces
  size_t used_bytes = 0, blocks_in_use = 0, allocations = 0;
  int gemms = 0, launches = 0, graph_launches = 0, downloads = 0, uploads = 0,
      waits = 0;  // waits: for all of a stream
  int event_waits = 0;
  std::vector<size_t> nccl_groups = {};  // sums and gathers that were given at once, each time
  double clock = 0;                      // milliseconds
};

inline constexpr int kMostGpus = 4;
/// What a thread uses is the context of one; memory, streams, code and handles are that GPU's alone.
Gpu& gpu(int device = 0);
/// Of this thread's context.
int current_device();
/// Does the work now, or keeps it for the graph that the stream is capturing; a status of the driver's.
/// `waits`: for what leave_unfinished has told of; else the work is begun in order and does so itself.
int enqueue(cuda::StreamTag* stream, std::function<void()> work, bool waits = true);
/// What the stream was given last is still under way until then: its next work waits, and so does who waits
/// for an event that is recorded on it.
void leave_unfinished(cuda::StreamTag* stream, std::shared_future<void> until);

}  // namespace smelt::fake
