// Sums and maxima of small vectors over the GPUs of one host. Each rank (GPU) runs one kernel per sum. The
// kernel writes this rank's vector into the memory of the other ranks and waits for their vectors. It adds
// all vectors in the order of the ranks, so that every rank has the same bits. NCCL takes several times as
// long for such sums. The time matters for generation with a sharded model, because each token waits for two
// sums per layer.
//
// Requires: all ranks enqueue their sums in the same order.
#pragma once

#include <atomic>
#include <memory>

#include "runtime/cuda/collective_launch.h"
#include "runtime/cuda/peer_memory.h"

namespace smelt::cuda {

class PeerSums {
 public:
  /// Creates the object. All ranks of the group call it together. Returns null at all ranks in three cases:
  /// they cannot write to each other's memory; the kernel cannot be compiled or loaded, for example because
  /// NVRTC is missing; or the environment variable SMELT_GATHERS selects NCCL.
  static std::unique_ptr<PeerSums> connect(const Device& device, Communicator& group);
  PeerSums(const PeerSums&) = delete;
  PeerSums& operator=(const PeerSums&) = delete;
  /// Requires: the streams on which sums were enqueued are idle.
  ~PeerSums();

  /// Returns whether this object can execute the collective. It must be an all-reduce of at most
  /// PeerSumBlock::most_bytes(ranks) bytes, and the next step must wait for it. All ranks return the same.
  bool takes(const CollectiveLaunch& launch) const;
  /// Enqueues the kernel. Requires: takes(launch).
  void run(const CollectiveLaunch& launch, Stream stream) const;

  /// Ends all waits for other ranks, present and later ones, after a rank has failed. Any thread may call it.
  void give_up() noexcept;

 private:
  PeerSums(const Device& device, int64_t ranks, int64_t rank);
  bool load();
  bool reach(Communicator& group);
  /// Tries the kernel on one number per rank; returns whether all ranks got the right sum in time.
  bool works(Communicator& group);
  static bool ends_in_time(Event event);

  const Device& device_;
  int64_t ranks_, rank_;
  SharedBlock block_;
  std::unique_ptr<PeerMemory> memory_;
  ModuleOwner module_;
  Function kernel_ = nullptr;
  StreamOwner own_stream_, stop_stream_;  // not ordered with each other
  std::atomic<bool> given_up_ = false;
};

}  // namespace smelt::cuda
