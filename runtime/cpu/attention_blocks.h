// Inline functions of AttentionLane, the computation of attention by one thread (attention_lane.h). They
// divide the thread's work into blocks of queries and keys of one head.
#pragma once

#include <algorithm>

#include "runtime/cpu/attention_lane.h"

namespace smelt {

/// Returns block number `index` of the queries of head h of batch b. The block has no keys yet.
inline AttentionLane::Block AttentionLane::query_block(int64_t b, int64_t h, int64_t index) const {
  const int64_t first = index * tile_queries();
  return {b, h, first, std::min(tile_queries(), a_.queries - first), 0, 0};
}

/// Calls f for each block of keys in order, with the queries of `block`.
template <typename F>
void AttentionLane::for_key_blocks(Block block, const F& f) const {
  for (block.first_key = 0; block.first_key < a_.keys; block.first_key += tile_keys()) {
    block.keys = std::min(tile_keys(), a_.keys - block.first_key);
    f(block);
  }
}

/// Calls f for each block of queries in order, with the keys of `block`.
template <typename F>
void AttentionLane::for_query_blocks(Block block, const F& f) const {
  for (block.first_query = 0; block.first_query < a_.queries; block.first_query += tile_queries()) {
    block.queries = std::min(tile_queries(), a_.queries - block.first_query);
    f(block);
  }
}

}  // namespace smelt
