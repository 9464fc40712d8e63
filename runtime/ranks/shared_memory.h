// A communicator between the processes of one host, over POSIX shared memory.
//
// Data pass through a region of fixed size in chunks: each rank writes its part, and after a barrier each
// reads the parts that it needs. Sums are made in the order of the ranks (runtime/ranks/rank_sums.h). In
// addition to the contract of Communicator: reduce_scatter and all_gather may be in place. Ranks that send to
// each other concurrently do not deadlock, because a rank stores incoming data while it waits in send or
// receive. A message of up to 128 KiB (less in large groups) is sent without waiting for its receiver.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "runtime/ranks/communicator.h"
#include "runtime/ranks/rank_link.h"

namespace smelt {

struct SharedMemoryOptions {
  size_t chunk_bytes = size_t{256} << 10;
};

/// All ranks of the link call this at once, each with the ranks of its own group in increasing order, itself
/// among them. Throws Error, at all ranks, where the groups do not fit together, or a group's ranks are on
/// several hosts. The link outlives the communicator, and its failure ends the communicator's waits.
std::unique_ptr<Communicator> share_memory(RankLink& link, std::span<const int64_t> members,
                                           const SharedMemoryOptions& options = {});

}  // namespace smelt
