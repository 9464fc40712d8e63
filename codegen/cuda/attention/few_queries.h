// Attention of few queries over many keys, as when a token is generated: a stream of keys and values.
//
// A block has the rows, queries times heads of a group, that share a head of keys, and a part of the keys: K
// and V are read once for all of these rows. It is bound by memory, so sums are plain multiply-adds in f32,
// which every type of element has; on tensor cores a tile of 16 rows would be nearly empty. Lanes that hold a
// key's pieces of 16 bytes share a score; each warp loads several keys and values at a time, has sums of its
// own, and waits for nobody before the end.
//
// How many blocks share a row's keys, and where their parts begin, follows from those keys alone that the
// row's mask lets it see, and partial results are combined in their order by the block that ends last. So a
// row has the same bits whatever other rows there are. Keys that no row of the block sees are not read, but
// for those of the last few.
#pragma once

#include <string>

#include "ir/kernel.h"
#include "runtime/dim.h"

namespace smelt {

/// Tiles for any number of queries, of which the rows of up to `queries` are few and several blocks share
/// their keys; 0: each block takes all keys.
FewTiles few_tiles(const AttentionKernel& attention, int64_t queries, const Symbols& symbols);

/// Tiles that need fewer registers, in order, the given ones first.
std::vector<FewTiles> lighter_few_tiles(const FewTiles& tiles);

/// What blocks that share keys leave for one another, in f32 numbers; 0 where none do.
Dim few_partials(const AttentionKernel& attention, const FewTiles& tiles);

/// The source, up to the function `attention`, which a kernel of kThreads threads calls:
///
///   attention(q, k, v, E* o, float* lse, float* partials, unsigned* tickets, queries, keys,
///             strides of q, k, v, o, const int* places, strides of places, float scale, const
///             BodyArguments&)
///
/// as in attention_mma.h. Tickets are FewTiles::tickets zeros, and zeros again at the end; they and partials
/// are not touched where a block takes all keys. `places` say in which row of a table each key and its value
/// are, by the row of the batch and the key; they are not read where keys lie in order.
std::string few_queries_text(const Kernel& kernel);

}  // namespace smelt
