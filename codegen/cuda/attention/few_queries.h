// Attention of few queries over many keys, as when a token is generated: a stream of keys and values.
//
// A block has the rows, queries times heads of a group, that share a head of keys, and a part of the keys: K
// and V are read once for all of these rows. It is bound by memory, so sums are plain multiply-adds in f32,
// which every type of element has; on tensor cores a tile of 16 rows would be nearly empty. Lanes that hold a
// key's pieces of 16 bytes share a score; each warp loads several keys and values at a time, has sums of its
// own, and waits for nobody before the end.
//
// How many parts a row's keys have, and where they begin, follows from those keys alone that the row's mask
// lets it see, and what the parts make is combined in their order. So a row has the same bits whatever other
// rows there are, and whoever takes its parts: where there are many rows one block takes all parts of its
// own; else each has a block, and these are a cluster, which reads what its blocks have left in shared
// memory, or, on a GPU without clusters, leave it in memory for the one that ends last. Keys that no row of
// the block sees are not read, but for those of the last few.
#pragma once

#include <string>

#include "ir/kernel.h"
#include "runtime/dim.h"

namespace smelt {

/// What tiles are for: any number of queries, of which the rows of up to `queries` are few, so that their
/// keys have parts; 0: none have, and each block takes its keys as they are.
struct FewQueries {
  int64_t queries = 0;
  bool alone = false;  // each block takes all parts of its rows
  int compute_capability = 0;
};

FewTiles few_tiles(const AttentionKernel& attention, const FewQueries& few, const Symbols& symbols);

/// Tiles that need fewer registers, in order, the given ones first.
std::vector<FewTiles> lighter_few_tiles(const FewTiles& tiles);

/// What blocks that share keys leave for one another in memory, in f32 numbers; 0 where none do.
Dim few_partials(const AttentionKernel& attention, const FewTiles& tiles);

/// The source, up to the function `attention`, which a kernel of kThreads threads calls:
///
///   attention(q, k, v, E* o, float* lse, float* partials, unsigned* tickets, queries, keys,
///             strides of q, k, v, o, const int* places, strides of places, float scale, const
///             BodyArguments&)
///
/// as in attention_mma.h. Tickets are FewTiles::tickets zeros, and zeros again at the end; they and partials
/// are not touched where there are none. `places` say in which row of a table each key and its value
/// are, by the row of the batch and the key; they are not read where keys lie in order.
std::string few_queries_text(const Kernel& kernel);

}  // namespace smelt
