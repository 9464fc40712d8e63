// The memory of a stage of a pipeline on a GPU: places in the device's memory, and messages by copies into
// the other GPU's memory where the two are of one host and reach each other (peer_link.h), else by NCCL.
//
// Each link, which is all messages from one stage to another, has a stream of its own, and both ends give its
// messages in one order. So a message waits for the other stage alone, never for a message of another link,
// and stages wait for each other no longer than in pipeline_simulation.h. Events order messages and runs: a
// message begins when earlier runs have ended, and a run waits for the messages that use the places that it
// reads or writes.
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
  /// All ranks of the group make it at once. `executor` outlives it.
  CudaStageMemory(CudaExecutor& executor, Communicator& group, const StageExchange& exchange);
  ~CudaStageMemory() override;

  int add_place(int64_t bytes) override;
  /// The entry is one graph a set of places, once it has run.
  void run(const PlanEntry& entry, const SymbolValues& symbols, const Ports& ports,
           const Philox& random) override;
  void send(std::span<const Part> parts, int64_t to) override;
  void receive(std::span<const Part> parts, int64_t from) override;
  /// Adds in NCCL's order, which is the same at all holders.
  void add_up(int state, int64_t first, int64_t count, const std::vector<int64_t>& holders) override;

 private:
  enum class Message : uint8_t { none, outgoing, incoming };
  struct Place {
    DeviceBlock block;
    EventOwner moved;                 // the end of the last message
    Message pending = Message::none;  // whether runs have yet to wait for it
  };
  using Stages = std::pair<int64_t, int64_t>;  // from, to
  struct Link {
    std::unique_ptr<PeerLink> peer;
    NcclComm comm = nullptr;  // where there is no peer
    StreamOwner stream;
    EventOwner begin;
    int at_end = 0;  // of NcclComms
  };

  void add_link(Communicator& group, Stages stages, const std::vector<std::vector<int64_t>>& messages);
  NcclComm connect(Communicator& group, const std::vector<int64_t>& members, int most_blocks);
  Place& at(int place) { return places_.at(static_cast<size_t>(place)); }
  void wait(Place& place, Stream stream);
  Link& link(Stages stages);
  void move(Stages stages, std::span<const Part> parts, Message kind);
  void move_by_nccl(Link& link, Stages stages, std::span<const Part> parts, Message kind);

  CudaExecutor& executor_;
  const Device& device_;
  int64_t stage_;
  std::vector<Place> places_;
  std::map<Stages, Link> links_;
  std::map<std::vector<int64_t>, NcclComm> holders_;
};

}  // namespace smelt::cuda
