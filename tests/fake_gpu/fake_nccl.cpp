// libnccl.so.2 of ranks that are threads of one process: each gives the addresses of its memory, all wait,
// and each makes its own result. A call is work of its stream, so that graphs keep it.
#include <array>
#include <condition_variable>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/cuda/nccl.h"
#include "tests/fake_gpu/fake_gpu.h"

namespace smelt::cuda {

/// What the ranks of a group share.
struct Group {
  explicit Group(size_t size) : from(size) {}
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<const std::byte*> from;
  size_t there = 0, round = 0, readers = 0;

  /// False where this rank has ended its communicator: the others know nothing of it. Where `reads`, each
  /// then reads what the others gave, and calls has_read().
  bool meet(const bool& ended, bool reads = false) {
    std::unique_lock lock(mutex);
    if (ended) return false;
    const size_t now = round;
    if (++there == from.size()) {
      there = 0, ++round;
      readers = reads ? from.size() : 0;
      changed.notify_all();
    }
    changed.wait(lock, [&] { return ended || round != now; });
    if (round == now) --there;
    return round != now;
  }
  void has_read() {
    const std::lock_guard lock(mutex);
    --readers;
    changed.notify_all();
  }
  /// Memory that a rank gave stays while others read it.
  void end(bool& ended) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return readers == 0; });
    ended = true;
    changed.notify_all();
  }
};

namespace {

using Code = Nccl::Code;
constexpr Code kInvalidArgument = 4;
constexpr int kFloat = 7;  // ncclDataType_t

std::shared_ptr<Group> group_of(const NcclId& id, size_t size) {
  static std::mutex mutex;
  static std::map<std::array<char, 128>, std::shared_ptr<Group>> groups;
  const std::lock_guard lock(mutex);
  std::shared_ptr<Group>& group = groups[id.bytes];
  if (!group) group = std::make_shared<Group>(size);
  return group;
}

float sum_of(const std::vector<const std::byte*>& from, size_t element, int sum) {
  float result = 0;
  for (size_t rank = 0; rank < from.size(); ++rank) {
    float x;
    std::memcpy(&x, from[rank] + element * sizeof x, sizeof x);
    result = rank == 0 ? x : sum == kNcclAdd ? result + x : std::max(result, x);
  }
  return result;
}

/// Messages of a group call: parts that go to each rank, and come from it.
struct Messages {
  std::vector<const void*> sent;
  std::vector<void*> received;
  size_t bytes = 0;
  Stream stream = nullptr;
  NcclComm comm = nullptr;
};
thread_local Messages messages;

}  // namespace

struct NcclCommTag {
  std::shared_ptr<Group> group;
  size_t rank = 0;
  bool ended = false;
};

namespace {

/// `make` has what all ranks gave, and writes this rank's result where no other reads.
Code together(const void* from, NcclComm comm, Stream stream, const std::function<void(std::byte*)>& make,
              size_t bytes, void* to) {
  return fake::enqueue(stream, [=] {
    Group& group = *comm->group;
    group.from[comm->rank] = static_cast<const std::byte*>(from);
    if (!group.meet(comm->ended, true)) return;
    std::vector<std::byte> result(bytes);
    make(result.data());
    group.has_read();
    if (!group.meet(comm->ended)) return;
    std::memcpy(to, result.data(), bytes);
  });
}

Code sum_of_ranks(const void* from, void* to, size_t first, size_t count, int type, int sum, NcclComm comm,
                  Stream stream) {
  if (type != kFloat) return kInvalidArgument;
  const auto make = [=](std::byte* result) {
    for (size_t i = 0; i < count; ++i) {
      const float x = sum_of(comm->group->from, first + i, sum);
      std::memcpy(result + i * sizeof x, &x, sizeof x);
    }
  };
  return together(from, comm, stream, make, count * sizeof(float), to);
}

}  // namespace
}  // namespace smelt::cuda

using namespace smelt::cuda;

extern "C" {

Code ncclGetVersion(int* version) { return *version = 22703, 0; }
const char* ncclGetErrorString(Code code) { return code == 0 ? "no error" : "invalid argument"; }
const char* ncclGetLastError(NcclComm) { return ""; }
Code ncclGetUniqueId(NcclId* id) {
  static std::mutex mutex;
  static int made = 0;
  const std::lock_guard lock(mutex);
  std::snprintf(id->bytes.data(), id->bytes.size(), "group %d", made++);
  return 0;
}
Code ncclCommInitRank(NcclComm* comm, int ranks, NcclId id, int rank) {
  static std::mutex mutex;
  static std::vector<std::unique_ptr<NcclCommTag>> all;  // graphs may have calls of one that has ended
  const std::lock_guard lock(mutex);
  all.push_back(
      std::make_unique<NcclCommTag>(group_of(id, static_cast<size_t>(ranks)), static_cast<size_t>(rank)));
  *comm = all.back().get();
  return 0;
}
/// Waits for nobody: what a rank has started is done when its work returns.
Code ncclCommDestroy(NcclComm comm) { return comm ? 0 : kInvalidArgument; }
/// Its graphs may be there: the group is kept.
Code ncclCommAbort(NcclComm comm) { return comm->group->end(comm->ended), 0; }
Code ncclAllReduce(const void* from, void* to, size_t count, int type, int sum, NcclComm comm,
                   Stream stream) {
  return sum_of_ranks(from, to, 0, count, type, sum, comm, stream);
}
Code ncclReduceScatter(const void* from, void* to, size_t count, int type, int sum, NcclComm comm,
                       Stream stream) {
  return sum_of_ranks(from, to, comm->rank * count, count, type, sum, comm, stream);
}
Code ncclAllGather(const void* from, void* to, size_t count, int type, NcclComm comm, Stream stream) {
  if (type != kNcclBytes) return kInvalidArgument;
  const auto make = [=](std::byte* result) {
    for (const std::byte* part : comm->group->from) result = std::copy_n(part, count, result);
  };
  return together(from, comm, stream, make, count * comm->group->from.size(), to);
}
Code ncclGroupStart() { return messages = {}, 0; }
Code ncclSend(const void* from, size_t count, int, int, NcclComm comm, Stream stream) {
  messages.sent.push_back(from), messages.bytes = count, messages.comm = comm, messages.stream = stream;
  return 0;
}
Code ncclRecv(void* to, size_t, int, int, NcclComm, Stream) { return messages.received.push_back(to), 0; }
/// Parts lie one behind the other at every rank.
Code ncclGroupEnd() {
  const Messages all = messages;
  const auto make = [all](std::byte* result) {
    for (const std::byte* parts : all.comm->group->from)
      result = std::copy_n(parts + all.comm->rank * all.bytes, all.bytes, result);
  };
  return together(all.sent.at(0), all.comm, all.stream, make, all.bytes * all.sent.size(),
                  all.received.at(0));
}
}
