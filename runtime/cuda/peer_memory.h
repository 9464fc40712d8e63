// Blocks of device memory that the ranks of a group have in common: processes of one host, each with a GPU of
// its own, which map each other's blocks and then copy into them.
#pragma once

#include <memory>
#include <vector>

#include "runtime/cuda/memory.h"
#include "runtime/ranks/communicator.h"

namespace smelt::cuda {

/// Returns whether the driver is one that maps other processes' memory.
bool driver_maps_peers();
/// CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS
inline constexpr unsigned kMapForPeers = 1;

/// Kept as long as others may write there.
struct SharedBlock {
  std::shared_ptr<const DeviceBlock> memory;
  int64_t bytes = 0;

  DevicePointer address() const { return memory->get(); }
};

SharedBlock shared_block(const Device& device, int64_t bytes,
                         const std::shared_ptr<const Allocator>& allocator = {});

class PeerMemory {
 public:
  /// Maps the blocks of all ranks. All ranks of the group call it together, with equally many blocks in the
  /// same order. Returns null, at all of them, if one cannot map another's blocks.
  static std::unique_ptr<PeerMemory> map(Communicator& group, std::vector<SharedBlock> blocks);
  PeerMemory(const PeerMemory&) = delete;
  PeerMemory& operator=(const PeerMemory&) = delete;
  ~PeerMemory();

  /// Returns whether these bytes are inside one of this rank's blocks.
  bool holds(DevicePointer begin, int64_t bytes) const { return find(begin, bytes) != nullptr; }
  /// Returns this rank's address for the same offset in the same block of another rank.
  DevicePointer at(int64_t rank, DevicePointer own) const;
  /// Nothing frees this rank's blocks from now on, since others may be writing there.
  void keep() noexcept { kept_ = true; }

 private:
  explicit PeerMemory(std::vector<SharedBlock> blocks) : blocks_(std::move(blocks)) {}
  bool open(Communicator& group);
  const SharedBlock* find(DevicePointer begin, int64_t bytes) const;

  std::vector<SharedBlock> blocks_;
  std::vector<std::vector<DevicePointer>> opened_;  // by rank and block; this rank's: none
  bool kept_ = false;
};

}  // namespace smelt::cuda
