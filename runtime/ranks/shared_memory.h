// A communicator between the processes of one host, over POSIX shared memory.
//
// Data pass in chunks through a region of fixed size: each rank writes its part of a chunk, and after a
// barrier reads the parts that it needs. Values are added in the order of the ranks
// (runtime/ranks/rank_sums.h).
//
// In addition to the contract of Communicator, reduce_scatter and all_gather may be in place. Two ranks that
// send to each other do not deadlock, because a rank stores incoming data while it waits in send or receive.
// A message of up to 128 KiB (less in large groups) is sent without waiting for the receiver, if the
// receiver has read all earlier messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "runtime/ranks/communicator.h"
#include "runtime/ranks/rank_link.h"

namespace smelt {

struct SharedMemoryOptions {
  size_t chunk_bytes = size_t{256} << 10;  // memory for a rank's part of a chunk
};

/// Returns the communicator of this rank's group. All ranks of the link call it together. `members` are the
/// ranks of the caller's group, including the caller, in increasing order. All ranks throw Error if two ranks
/// give different members or chunk sizes for one group, if the ranks of a group are on several hosts, or if a
/// host has no memory for a region. A failure of the link ends the waits of the communicator. Requires:
/// `link` outlives the communicator.
std::unique_ptr<Communicator> share_memory(RankLink& link, std::span<const int64_t> members,
                                           const SharedMemoryOptions& options = {});

}  // namespace smelt
