// CUDA C++ text of the kernel that sums small vectors of several GPUs (peer_sums.h), and the layout of its
// memory.
#pragma once

#include <cstdint>
#include <string_view>

namespace smelt::cuda {

/// Returns the text of the kernel `smelt_peer_sum(from, to, block, elements, type, sum, rank, ranks)`, whose
/// arguments have 64 bits each. `from` and `to` are the addresses of this rank's vector and of its result.
/// `block` is the address of this rank's PeerSumBlock. `elements` is the length of the vector, and `type` the
/// type of its elements: 0 for f32, 1 for bf16, 2 for f16. `sum` is 0 for the sum, 1 for the maximum. `rank`
/// is the number of this rank among `ranks` ranks.
std::string_view peer_sum_text();

/// Layout of the block of device memory that each rank shares with the others. Constants are offsets in
/// bytes. Numbers have 4 bytes, and addresses 8.
///
///   0                    number of completed calls of the kernel
///   kTicketsAt           number of thread blocks that have completed the current call
///   kStopAt              if not 0, the kernel ends without waiting for other ranks
///   kPeersAt             [ranks]: addresses of all ranks' blocks, as mapped in this process
///   kSlotsAt             [2][ranks][slot]: data received from each rank, in even and in odd calls
struct PeerSumBlock {
  static constexpr int64_t kTicketsAt = 128, kStopAt = 256, kPeersAt = 512, kSlotsAt = 4096;
  static constexpr int kMostRanks = 64;
  /// Most bytes of all ranks' vectors together.
  static constexpr int64_t kBytes = 1 << 20;

  /// Returns the bytes of the longest vector of one rank.
  static constexpr int64_t most_bytes(int64_t ranks) { return kBytes / ranks / 8 * 8; }
  /// Returns the bytes of a slot. It is twice as long as the vector, because each 4 bytes of data are sent
  /// with a 4-byte number of the call next to them.
  static constexpr int64_t slot_bytes(int64_t ranks) { return 2 * most_bytes(ranks); }
  /// Returns the bytes of a block.
  static constexpr int64_t bytes(int64_t ranks) { return kSlotsAt + 2 * ranks * slot_bytes(ranks); }
};

}  // namespace smelt::cuda
