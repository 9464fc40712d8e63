// Decode attention in parts of the keys (AttentionKernel::part_keys): the template for few queries that gives
// a row the same bits as the template for many queries. The rows of a block, which are queries of the query
// heads that share a key head, are the rows of one tile of mma.sync. Each warp computes whole parts by the
// functions of the template for many queries, and the results of the parts are merged in ascending order.
#pragma once

#include <string>

#include "codegen/cuda/attention/decode_attention.h"

namespace smelt {

// ---- decode_parts.cpp
// Tiles have these meanings: `loads` is the number of 16 keys in a buffer of a warp, and `parts` the largest
// number of blocks that have the same rows.

/// Returns whether the buffers of a block fit into the shared memory of a GPU.
bool fits_few_parts(const AttentionKernel& attention, int compute_capability);
/// Returns the tiles for a workload. Requires: fits_few_parts, or the tiles need too much shared memory.
FewTiles few_part_tiles(const AttentionKernel& attention, const DecodeAttention& few, const Symbols& symbols);
/// Returns the number of f32 in device memory for the results of parts; 0 if blocks do not exchange them
/// there.
Dim few_part_partials(const AttentionKernel& attention, const FewTiles& tiles);
/// Returns the dynamic shared memory of a block, in bytes.
int64_t few_part_shared_bytes(const AttentionKernel& attention, const FewTiles& tiles);
/// Returns the source up to and including the function `attention` (decode_attention_text).
std::string decode_parts_text(const Kernel& kernel);

// ---- decode_attention.cpp
/// Returns the number of query heads that share a key head. Requires: the numbers of heads are constant.
int64_t group_of(const AttentionKernel& attention);
/// Returns whether the mask of the kernel's score_mod differs from query head to query head.
bool is_masked_by_head(const Kernel& kernel);
/// Returns text with the number of blocks of the grid that have the same rows, and the number of these that
/// work. A host runs one block at a time, so there the first block of a cluster does the work of all.
std::string sharing_text(const FewTiles& tiles);

}  // namespace smelt
