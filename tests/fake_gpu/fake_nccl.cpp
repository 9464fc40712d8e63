// libnccl.so.2 of ranks that are threads of one process: each gives the addresses of its memory, all wait,
// and each makes its own result. A call is work of its stream, so that graphs keep it.
//
// A message is taken from the sender's memory when the receiver is there: until then the sender's stream is
// under way with it. Messages of two ranks match in their order, and their sizes must be equal.
#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <future>
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

  struct Message {
    const void* from = nullptr;
    size_t bytes = 0;
    std::shared_ptr<std::promise<void>> taken = std::make_shared<std::promise<void>>();
  };
  std::map<std::pair<size_t, size_t>, std::deque<Message>> messages;  // by sender and receiver

  std::shared_future<void> send(const bool& ended, size_t sender, size_t receiver, const void* from,
                                size_t bytes) {
    const std::lock_guard lock(mutex);
    const Message sent{from, bytes};
    if (ended)
      sent.taken->set_value();
    else
      messages[{sender, receiver}].push_back(sent);
    changed.notify_all();
    return sent.taken->get_future().share();
  }
  void receive(const bool& ended, size_t sender, size_t receiver, void* to, size_t bytes) {
    std::unique_lock lock(mutex);
    std::deque<Message>& queue = messages[{sender, receiver}];
    changed.wait(lock, [&] { return ended || !queue.empty(); });
    if (ended) return;
    const Message message = queue.front();
    queue.pop_front();
    if (message.bytes != bytes) std::abort();  // NCCL would hang, or write where nothing is
    std::memcpy(to, message.from, bytes);
    message.taken->set_value();
  }

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
    for (auto& [ranks, queue] : messages) {
      for (const Message& message : queue) message.taken->set_value();
      queue.clear();
    }
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

struct OneMessage {
  bool is_sent = false;
  void* memory = nullptr;
  size_t bytes = 0, peer = 0;
};
/// Messages of a group call, all of one communicator.
struct Messages {
  std::vector<OneMessage> all;
  Stream stream = nullptr;
  NcclComm comm = nullptr;
};
thread_local Messages messages;
/// What a group begins when it ends. Groups within one are part of it.
thread_local std::vector<std::function<Code()>> begun_together;
thread_local int groups = 0;

}  // namespace

struct NcclCommTag {
  std::shared_ptr<Group> group;
  size_t rank = 0;
  bool ended = false;
};

namespace {

/// Now, or with the group.
Code begin(const std::function<Code()>& call) {
  if (groups > 0) return begun_together.push_back(call), 0;
  fake::gpu(fake::current_device()).nccl_groups.push_back(1);
  return call();
}

/// `make` has what all ranks gave, and writes this rank's result where no other reads.
Code together(const void* from, NcclComm comm, Stream stream, const std::function<void(std::byte*)>& make,
              size_t bytes, void* to) {
  const auto work = [=] {
    Group& group = *comm->group;
    group.from[comm->rank] = static_cast<const std::byte*>(from);
    if (!group.meet(comm->ended, true)) return;
    std::vector<std::byte> result(bytes);
    make(result.data());
    group.has_read();
    if (!group.meet(comm->ended)) return;
    std::memcpy(to, result.data(), bytes);
  };
  return begin([=] { return fake::enqueue(stream, work); });
}

std::shared_future<void> all_of(const std::vector<std::shared_future<void>>& parts) {
  return std::async(std::launch::deferred,
                    [parts] {
                      for (const auto& part : parts) part.wait();
                    })
      .share();
}

/// A group ends when all its messages have been taken; one that sends alone leaves its stream under way, and
/// messages of another wait behind it.
Code exchange() {
  if (messages.all.empty()) return 0;
  const auto is_received = [](const OneMessage& one) { return !one.is_sent; };
  const bool receives = std::ranges::any_of(messages.all, is_received);
  const auto work = [m = messages, receives] {
    Group& group = *m.comm->group;
    std::vector<std::shared_future<void>> sent;
    for (const OneMessage& one : m.all)
      if (one.is_sent)
        sent.push_back(group.send(m.comm->ended, m.comm->rank, one.peer, one.memory, one.bytes));
    for (const OneMessage& one : m.all)
      if (!one.is_sent) group.receive(m.comm->ended, one.peer, m.comm->rank, one.memory, one.bytes);
    if (!receives) return fake::leave_unfinished(m.stream, all_of(sent));
    for (const auto& each : sent) each.wait();
  };
  return fake::enqueue(messages.stream, work, receives);
}

Code add(OneMessage message, int type, NcclComm comm, Stream stream) {
  if (type != kNcclBytes) return kInvalidArgument;
  if (groups == 0) messages = {};
  messages.all.push_back(message), messages.comm = comm, messages.stream = stream;
  return groups > 0 ? 0 : exchange();
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
Code ncclCommInitRankConfig(NcclComm* comm, int ranks, NcclId id, int rank, NcclConfig* config) {
  if (config->magic != 0xcafebeef || config->size != sizeof *config) return kInvalidArgument;
  return ncclCommInitRank(comm, ranks, id, rank);
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
Code ncclGroupStart() {
  if (groups++ == 0) messages = {}, begun_together.clear();
  return 0;
}
Code ncclSend(const void* from, size_t count, int type, int peer, NcclComm comm, Stream stream) {
  return add({true, const_cast<void*>(from), count, static_cast<size_t>(peer)}, type, comm, stream);
}
Code ncclRecv(void* to, size_t count, int type, int peer, NcclComm comm, Stream stream) {
  return add({false, to, count, static_cast<size_t>(peer)}, type, comm, stream);
}
Code ncclGroupEnd() {
  if (--groups > 0) return 0;
  if (!begun_together.empty())
    smelt::fake::gpu(smelt::fake::current_device()).nccl_groups.push_back(begun_together.size());
  for (const auto& call : begun_together)
    if (const Code code = call()) return code;
  return exchange();
}
}
