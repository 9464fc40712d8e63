// Blocks of device memory that the ranks of a group share. The ranks are processes of one host, each with its
// own GPU. They map each other's blocks (CUDA IPC), and can then copy into them.
#pragma once

#include <memory>
#include <vector>

#include "runtime/cuda/memory.h"
#include "runtime/ranks/communicator.h"

namespace smelt::cuda {

/// Returns whether the driver has the functions that map other processes' memory.
bool driver_maps_peers();
/// CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS
inline constexpr unsigned kMapForPeers = 1;

/// A block that other objects or ranks may write to. Each object that may still write to it has a copy of the
/// shared pointer `memory`, so that the block is not freed.
struct SharedBlock {
  std::shared_ptr<const DeviceBlock> memory;
  int64_t bytes = 0;

  DevicePointer address() const { return memory->get(); }
};

/// Allocates a block by device_block (memory.h).
SharedBlock shared_block(const Device& device, int64_t bytes,
                         const std::shared_ptr<const Allocator>& allocator = {});

/// This rank's blocks, and the mappings of the other ranks' blocks in this process.
class PeerMemory {
 public:
  /// Maps the blocks of all ranks. All ranks of the group call it together, with the same number of blocks in
  /// the same order. Returns null at all ranks if one of them cannot map another's blocks.
  static std::unique_ptr<PeerMemory> map(Communicator& group, std::vector<SharedBlock> blocks);
  PeerMemory(const PeerMemory&) = delete;
  PeerMemory& operator=(const PeerMemory&) = delete;
  ~PeerMemory();

  /// Returns whether these bytes are inside one of this rank's blocks.
  bool holds(DevicePointer begin, int64_t bytes) const { return find(begin, bytes) != nullptr; }
  /// Returns the address at which this rank has mapped the byte of another rank's memory that corresponds to
  /// `own`: the same offset in the same block. Requires: holds(own, 1), and `rank` is not this rank.
  DevicePointer at(int64_t rank, DevicePointer own) const;
  /// Leaves this rank's blocks allocated until the process ends, because other ranks may still write to them.
  void keep() noexcept { kept_ = true; }

 private:
  explicit PeerMemory(std::vector<SharedBlock> blocks) : blocks_(std::move(blocks)) {}
  bool open(Communicator& group);
  const SharedBlock* find(DevicePointer begin, int64_t bytes) const;

  std::vector<SharedBlock> blocks_;
  std::vector<std::vector<DevicePointer>> opened_;  // by rank and block; empty for this rank
  bool kept_ = false;
};

}  // namespace smelt::cuda
