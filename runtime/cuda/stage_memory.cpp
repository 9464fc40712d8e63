#include "runtime/cuda/stage_memory.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <exception>

#include "runtime/base/error.h"
#include "runtime/cuda/executor.h"

namespace smelt::cuda {
namespace {

/// Blocks of a message's kernel. It waits on the GPU until the other stage is ready, concurrently with
/// kernels that compute, so it must occupy few multiprocessors. This number of blocks moves about 80 GB/s.
constexpr int kMessageBlocks = 4;

void* place_pointer(DevicePointer address) { return reinterpret_cast<void*>(address); }

/// Returns the NCCL id of the members; the first one makes it.
NcclId link_id(Communicator& group, const std::vector<int64_t>& members) {
  NcclId id;
  const auto bytes = std::as_writable_bytes(std::span(&id, 1));
  if (group.rank() != members.front()) return group.receive(bytes, members.front()), id;
  id = new_nccl_id();
  for (const int64_t member : members)
    if (member != members.front()) group.send(bytes, member);
  return id;
}

}  // namespace

/// Links and groups are lists in one order at all stages, so that no two wait for each other.
CudaStageMemory::CudaStageMemory(CudaExecutor& executor, Communicator& group, const StageExchange& exchange)
    : executor_(executor), device_(executor.device()), stage_(group.rank()) {
  device_.make_current();
  for (const auto& [stages, messages] : exchange.links)
    if (stages.first == stage_ || stages.second == stage_) add_link(group, stages, messages);
  for (const std::vector<int64_t>& holders : exchange.holders) holders_[holders] = connect(group, holders, 0);
}

void CudaStageMemory::add_link(Communicator& group, Stages stages,
                               const std::vector<std::vector<int64_t>>& messages) {
  int64_t most = 0;
  for (const std::vector<int64_t>& parts : messages) {
    int64_t bytes = 0;
    for (const int64_t part : parts) bytes += PeerLink::padded(part);
    most = std::max(most, bytes);
  }
  Link& link = links_[stages];
  link.stream = make_stream(device_, StreamPriority::high), link.begin = make_event(device_);
  link.peer = PeerLink::connect(device_, group, stages.first, stages.second, most);
  if (link.peer)
    link.at_end = executor_.comms().at_end([peer = link.peer.get()] { peer->give_up(); });
  else
    link.comm = connect(group, {stages.first, stages.second}, kMessageBlocks);
}

NcclComm CudaStageMemory::connect(Communicator& group, const std::vector<int64_t>& members, int most_blocks) {
  const auto place = std::ranges::find(members, stage_) - members.begin();
  return executor_.comms().connect(device_, std::ssize(members), place, link_id(group, members),
                                   fmt::format("of the stages {}", fmt::join(members, ", ")), most_blocks);
}

/// Memory goes when nothing uses it any more. Where an exception is the reason, messages may wait for stages
/// that never come: they are ended.
CudaStageMemory::~CudaStageMemory() {
  device_.try_make_current();
  if (std::uncaught_exceptions() > 0) executor_.comms().end(nccl().CommAbort);
  driver().StreamSynchronize(executor_.stream());
  for (const auto& [stages, link] : links_) {
    if (link.peer) link.peer->finish(link.stream.get());
    driver().StreamSynchronize(link.stream.get());
    if (link.peer) executor_.comms().forget(link.at_end);
  }
}

int CudaStageMemory::add_place(int64_t bytes) {
  device_.make_current();
  places_.push_back({device_block(device_, bytes), make_event(device_)});
  return static_cast<int>(places_.size()) - 1;
}

void CudaStageMemory::wait(Place& place, Stream stream) {
  check(driver().StreamWaitEvent(stream, place.moved.get(), 0), "waiting for a message");
}

void CudaStageMemory::run(const PlanEntry& entry, const SymbolValues& symbols, const Ports& ports,
                          const Philox& random) {
  device_.make_current();
  std::vector<DevicePointer> addresses;
  const auto use = [&](int number, bool writes) {
    if (number == kHost) return addresses.push_back(0);
    Place& place = at(number);
    if (place.pending == Message::incoming || (writes && place.pending == Message::outgoing)) {
      wait(place, executor_.stream());
      place.pending = Message::none;
    }
    addresses.push_back(place.block.get());
  };
  for (const int place : ports.input_places) use(place, false);
  for (const int place : ports.output_places) use(place, true);
  executor_.run_at(entry, symbols, ports.inputs, ports.outputs, addresses, random);
}

CudaStageMemory::Link& CudaStageMemory::link(Stages stages) {
  const auto found = links_.find(stages);
  if (found == links_.end())
    fail("stage {} has no link from stage {} to {}", stage_, stages.first, stages.second);
  return found->second;
}

void CudaStageMemory::move(Stages stages, std::span<const Part> parts, Message kind) {
  device_.make_current();
  executor_.comms().check();
  Link& link = this->link(stages);
  const Stream stream = link.stream.get();
  check(driver().EventRecord(link.begin.get(), executor_.stream()), "beginning a message");
  check(driver().StreamWaitEvent(stream, link.begin.get(), 0), "beginning a message");
  std::vector<PeerLink::Piece> pieces;
  for (const Part& part : parts) {
    if (at(part.place).pending != Message::none) wait(at(part.place), stream);
    pieces.push_back({at(part.place).block.get(), part.bytes});
  }
  if (!link.peer)
    move_by_nccl(link, stages, parts, kind);
  else if (kind == Message::outgoing)
    link.peer->send(pieces, stream);
  else
    link.peer->receive(pieces, stream);
  for (const Part& part : parts) {
    Place& place = at(part.place);
    check(driver().EventRecord(place.moved.get(), stream), "ending a message");
    place.pending = kind;
  }
}

/// The parts of a message are one kernel. Of the two members of a link the first one sends.
void CudaStageMemory::move_by_nccl(Link& link, Stages stages, std::span<const Part> parts, Message kind) {
  const auto call = [&](const Part& part) {
    void* place = place_pointer(at(part.place).block.get());
    const auto bytes = static_cast<size_t>(part.bytes);
    return kind == Message::outgoing ? nccl().Send(place, bytes, kNcclBytes, 1, link.comm, link.stream.get())
                                     : nccl().Recv(place, bytes, kNcclBytes, 0, link.comm, link.stream.get());
  };
  executor_.comms().call([&] {
    check_nccl(nccl().GroupStart(), "a message");
    for (const Part& part : parts)
      if (part.bytes > 0)
        check_nccl(call(part), fmt::format("a message of {} bytes from stage {} to {}", part.bytes,
                                           stages.first, stages.second));
    check_nccl(nccl().GroupEnd(), fmt::format("a message from stage {} to {}", stages.first, stages.second));
  });
}

void CudaStageMemory::send(std::span<const Part> parts, int64_t to) {
  move({stage_, to}, parts, Message::outgoing);
}

void CudaStageMemory::receive(std::span<const Part> parts, int64_t from) {
  move({from, stage_}, parts, Message::incoming);
}

void CudaStageMemory::add_up(int state, int64_t first, int64_t count, const std::vector<int64_t>& holders) {
  device_.make_current();
  const DevicePointer address =
      executor_.written_state(state) + static_cast<DevicePointer>(first) * sizeof(float);
  executor_.comms().call([&] {
    check_nccl(nccl().AllReduce(place_pointer(address), place_pointer(address), static_cast<size_t>(count),
                                nccl_type(DType::f32), kNcclAdd, holders_.at(holders), executor_.stream()),
               "adding up gradients of several stages");
  });
}

}  // namespace smelt::cuda
