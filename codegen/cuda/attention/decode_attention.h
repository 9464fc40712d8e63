// Decode attention: few queries over many keys, as when a token is generated.
//
// A block has some rows, and a part of the keys. A row is a query of one query head, and the rows of a block
// share a key head, so K and V are read once for all of them. The kernel is bound by memory. So sums are
// plain multiply-adds in f32, which work for every element type; on tensor cores a tile of 16 rows would be
// nearly empty. Several lanes compute one score, each from pieces of 16 bytes of the key. Each warp loads
// several keys and values concurrently and has its own sums; warps synchronize only at the end of a part.
//
// The number of parts of the keys, and their boundaries, depend only on the keys that the masks of the
// block's rows allow. The results of the parts are combined in the order of the parts. So a row has the same
// bits for any rows of other blocks, and for any assignment of parts to blocks. If there are many rows, one
// block processes all parts of its rows. Otherwise each part has its own block. These blocks form a cluster,
// and read each other's partial results in shared memory. On a GPU without clusters they store partial
// results in device memory, where the block that ends last combines them. Keys that no row of the block sees
// are not read, except for a few at the end.
#pragma once

#include <string>

#include "ir/kernel/kernel.h"
#include "runtime/base/dim.h"

namespace smelt {

/// The workload that tiles are chosen for.
struct DecodeAttention {
  /// The largest number of queries if the keys are divided into parts; 0: keys are not divided.
  int64_t queries = 0;
  bool alone = false;  // one block processes all parts of its rows
  int compute_capability = 0;
};

/// Returns the tiles for a workload of `attention`.
FewTiles few_tiles(const AttentionKernel& attention, const DecodeAttention& few, const Symbols& symbols);

/// Returns the given tiles, followed by tiles that need fewer and fewer registers.
std::vector<FewTiles> lighter_few_tiles(const FewTiles& tiles);

/// Returns the size, in f32 numbers, of the partial results in device memory; 0 if blocks do not exchange
/// results there.
Dim few_partials(const AttentionKernel& attention, const FewTiles& tiles);

/// Returns the source up to and including the function `attention`, which a kernel of kThreads threads calls:
///
///   attention(q, k, v, E* o, float* lse, float* partials, unsigned* tickets, queries, keys,
///             strides of q, k, v, o, const int* places, strides of places, float scale, const
///             BodyArguments&)
///
/// Arguments with the names of attention_mma.h have the same meaning. `tickets` has FewTiles::tickets
/// counters, which are zero before and after a launch. If that number is 0, tickets and partials are not
/// accessed. places[b,s] is the row of a table that contains key s of batch b and its value; it is read only
/// if keys are stored in such a table and not in order.
std::string decode_attention_text(const Kernel& kernel);

}  // namespace smelt
