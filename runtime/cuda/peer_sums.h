// Sums and maxima of small vectors over the GPUs of one host: each rank writes its vector into the other
// ranks' memory, and adds what it receives in the order of the ranks, in one kernel on the stream of the
// steps. A token of a model that several GPUs share waits for two of them per layer, and NCCL's take several
// times as long.
//
// The ranks give their sums in one order. The same bits result at every rank.
#pragma once

#include <atomic>
#include <memory>

#include "runtime/cuda/collective_launch.h"
#include "runtime/cuda/peer_memory.h"

namespace smelt::cuda {

class PeerSums {
 public:
  /// All ranks of the group call it at once. Returns null, at all of them, where they cannot reach each
  /// other's memory, where NVRTC is missing, or where a user wants NCCL (SMELT_GATHERS).
  static std::unique_ptr<PeerSums> connect(const Device& device, Communicator& group);
  PeerSums(const PeerSums&) = delete;
  PeerSums& operator=(const PeerSums&) = delete;
  /// Requires: the streams that sums were given to are idle.
  ~PeerSums();

  /// Returns whether it is a small sum whose result the next step reads. All ranks return the same.
  bool takes(const CollectiveLaunch& launch) const;
  void run(const CollectiveLaunch& launch, Stream stream) const;

  /// Ends all waits for other ranks, now and later, because they are gone. Any thread may call it.
  void give_up() noexcept;

 private:
  PeerSums(const Device& device, int64_t ranks, int64_t rank);
  bool load();
  bool reach(Communicator& group);
  bool works(Communicator& group);
  static bool ends_in_time(Event event);

  const Device& device_;
  int64_t ranks_, rank_;
  SharedBlock block_;
  std::unique_ptr<PeerMemory> memory_;
  ModuleOwner module_;
  Function kernel_ = nullptr;
  StreamOwner own_stream_, stop_stream_;  // neither waits for the other
  std::atomic<bool> given_up_ = false;
};

}  // namespace smelt::cuda
