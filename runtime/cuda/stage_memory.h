// The memory of a pipeline stage on a GPU: blocks of device memory, called places, for the stage's inputs and
// outputs. Messages to other stages are copies into the other GPU's memory if both GPUs are in one host and
// can map each other's memory (peer_link.h), and otherwise use NCCL.
//
// A link carries all messages from one stage to another. Each link has its own stream, and both stages
// enqueue its messages in the same order. So a message may wait for the stage at the other end of the link,
// but never for a message of another link. CUDA events order messages and runs. A message begins when all
// earlier runs have ended. A run waits until the places that it reads have been received, and until the
// places that it overwrites have been sent.
#pragma once

#include <map>
#include <vector>

#include "runtime/cuda/memory.h"
#include "runtime/cuda/nccl_comms.h"
#include "runtime/cuda/peer_link.h"
#include "runtime/ranks/communicator.h"
#include "runtime/session/stage_memory.h"

namespace smelt::cuda {

class CudaExecutor;

class CudaStageMemory : public StageMemory {
 public:
  /// Creates the links. All ranks of the group call it together. Requires: `executor` outlives this object.
  CudaStageMemory(CudaExecutor& executor, Communicator& group, const StageExchange& exchange);
  ~CudaStageMemory() override;

  int add_place(int64_t bytes) override;
  /// Runs an entry. The executor captures one CUDA graph for each assignment of places to ports (the inputs
  /// and outputs of the entry).
  void run(const PlanEntry& entry, const SymbolValues& symbols, const Ports& ports,
           const Philox& random) override;
  void send(std::span<const Part> parts, int64_t to) override;
  void receive(std::span<const Part> parts, int64_t from) override;
  /// Sums over the stages `holders` by NCCL, which gives all of them the same bits.
  void add_up(int state, int64_t first, int64_t count, const std::vector<int64_t>& holders) override;

 private:
  enum class Message : uint8_t { none, outgoing, incoming };
  struct Place {
    DeviceBlock block;
    EventOwner moved;                 // the end of the last message that used the place
    Message pending = Message::none;  // kind of that message if no run has waited for it yet
  };
  using Stages = std::pair<int64_t, int64_t>;  // sending and receiving stage of a link
  struct Link {
    std::unique_ptr<PeerLink> peer;
    NcclComm comm = nullptr;  // used if `peer` is null
    StreamOwner stream;
    EventOwner begin;  // the end of the runs before a message
    int at_end = 0;    // number (NcclComms::at_end) of the function that ends the waits of `peer`
  };

  void add_link(Communicator& group, Stages stages, const std::vector<std::vector<int64_t>>& messages);
  NcclComm connect(Communicator& group, const std::vector<int64_t>& members, int most_blocks);
  Place& at(int place) { return places_.at(static_cast<size_t>(place)); }
  /// Makes the stream wait for the last message that used the place.
  void wait(Place& place, Stream stream);
  Link& link(Stages stages);
  void move(Stages stages, std::span<const Part> parts, Message kind);
  void move_by_nccl(Link& link, Stages stages, std::span<const Part> parts, Message kind);

  CudaExecutor& executor_;
  const Device& device_;
  int64_t stage_;
  std::vector<Place> places_;
  std::map<Stages, Link> links_;
  std::map<std::vector<int64_t>, NcclComm> holders_;  // communicators of add_up; the key is the stages
};

}  // namespace smelt::cuda
