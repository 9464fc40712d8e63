// Decode attention: few queries over many keys, as when a token is generated. The kernel streams keys and
// values.
//
// A block has the rows (queries times heads of a group) that share a key head, and a part of the keys: K and
// V are read once for all of these rows. The kernel is bound by memory, so sums are plain multiply-adds in
// f32, which work for every element type; on tensor cores a tile of 16 rows would be nearly empty. Lanes that
// hold pieces of 16 bytes of one key share a score; each warp loads several keys and values concurrently, has
// sums of its own, and does not synchronize before the end.
//
// The number of parts of a row's keys, and their boundaries, depend only on the keys that the row's mask
// allows, and the results of the parts are combined in the order of the parts. So a row has the same bits for
// any other rows, and for any assignment of parts to blocks. Where there are many rows, one block takes all
// parts of its rows. Otherwise each part has a block. These blocks are a cluster, which reads the partial
// results in the shared memory of its blocks, or, on a GPU without clusters, they leave partial results in
// memory for the block that ends last. Keys that no row of the block sees are not read, except for a few at
// the end.
#pragma once

#include <string>

#include "ir/kernel/kernel.h"
#include "runtime/base/dim.h"

namespace smelt {

/// The workload of tiles: any number of queries, where rows of up to `queries` queries are few, so that their
/// keys have parts; 0: no keys have parts, and each block takes its keys as they are.
struct DecodeAttention {
  int64_t queries = 0;
  bool alone = false;  // each block takes all parts of its rows
  int compute_capability = 0;
};

FewTiles few_tiles(const AttentionKernel& attention, const DecodeAttention& few, const Symbols& symbols);

/// Tiles that need fewer registers, in order, the given ones first.
std::vector<FewTiles> lighter_few_tiles(const FewTiles& tiles);

/// Returns the size, in f32 numbers, of the partial results that blocks with shared keys leave in memory; 0
/// where no blocks share keys.
Dim few_partials(const AttentionKernel& attention, const FewTiles& tiles);

/// Returns the source, up to the function `attention`, which a kernel of kThreads threads calls:
///
///   attention(q, k, v, E* o, float* lse, float* partials, unsigned* tickets, queries, keys,
///             strides of q, k, v, o, const int* places, strides of places, float scale, const
///             BodyArguments&)
///
/// as in attention_mma.h. Tickets are FewTiles::tickets zeros, and zeros again at the end; where there are
/// none, tickets and partials are not touched. `places` has, by the row of the batch and the key, the row of
/// a table that contains the key and its value; it is not read where keys are stored in order.
std::string decode_attention_text(const Kernel& kernel);

}  // namespace smelt
