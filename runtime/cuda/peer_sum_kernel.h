// The kernel that sums small vectors of several GPUs (peer_sums.h), as CUDA C++.
#pragma once

#include <cstdint>
#include <string_view>

namespace smelt::cuda {

/// Returns the text of `smelt_peer_sum(from, to, block, elements, type, sum, rank, ranks)`, all of 64 bits.
/// `type` is 0 for f32, 1 for bf16, 2 for f16; `sum` is 0 to add, 1 for the maximum; `block` has the layout
/// of PeerSumBlock.
std::string_view peer_sum_text();

/// The block of device memory that each rank shares with the others.
///
///   0                    calls: how many sums have been completed
///   kTicketsAt           blocks of threads that have completed the current sum
///   kStopAt              not 0: waits for other ranks end
///   kPeersAt             addresses of the other ranks' blocks, as this rank reaches them
///   kSlotsAt             [2][ranks][slot]: what each rank sends, by turns of the calls
struct PeerSumBlock {
  static constexpr int64_t kTicketsAt = 128, kStopAt = 256, kPeersAt = 512, kSlotsAt = 4096;
  static constexpr int kMostRanks = 64;
  /// The most bytes of all ranks' vectors together.
  static constexpr int64_t kBytes = 1 << 20;

  /// Returns the bytes of the longest vector of one rank.
  static constexpr int64_t most_bytes(int64_t ranks) { return kBytes / ranks / 8 * 8; }
  /// Returns the bytes of a slot: a word of 4 bytes is sent with the number of the call next to it.
  static constexpr int64_t slot_bytes(int64_t ranks) { return 2 * most_bytes(ranks); }
  static constexpr int64_t bytes(int64_t ranks) { return kSlotsAt + 2 * ranks * slot_bytes(ranks); }
};

}  // namespace smelt::cuda
