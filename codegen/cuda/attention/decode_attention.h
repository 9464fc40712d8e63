// Decode attention: few queries over many keys, as when a token is generated.
//
// A row is a query of one query head. The rows of a block share a key head, so the block reads keys and
// values once for all of its rows. The keys are divided into parts, and a block processes one part or all
// parts. Products are computed in f32: by tensor cores for elements of 16 bits that can be loaded 16 bytes at
// a time, and by multiply-adds otherwise. Each warp of a block has a separate partial result.
//
// The number of parts of the keys, and their boundaries, depend only on the keys that the masks of the
// block's rows allow. The results of the parts are combined in a fixed order. So the result of a row has the
// same bits for any batch size, and for any assignment of parts to blocks. If there are many rows, one block
// processes all parts of its rows. Otherwise each part has a separate block. The blocks of all parts form a
// cluster, and read each other's partial results in shared memory. On a GPU without clusters, blocks store
// partial results in device memory, and the last block to end combines them. Keys that no row of the block
// sees are not read, except for a few at the end.
//
// With AttentionKernel::part_keys, all functions below are those of decode_parts.h.
#pragma once

#include <string>

#include "ir/kernel/kernel.h"
#include "runtime/base/dim.h"

namespace smelt {

/// The workload that tiles are chosen for.
struct DecodeAttention {
  /// Largest number of queries. 0: no limit, and the keys are not divided into parts.
  int64_t queries = 0;
  bool alone = false;          // one block processes all parts of the keys of its rows
  int compute_capability = 0;  // of the GPU: 80, 90, ...
};

/// Returns the tiles for a workload of `attention`.
FewTiles few_tiles(const AttentionKernel& attention, const DecodeAttention& few, const Symbols& symbols);

/// Returns a list of tiles for the kernel. All have the rows and the parts of `tiles`. The first tiles are
/// for tensor cores, if these can multiply the kernel's elements. The others are for multiply-adds, and each
/// needs fewer registers than the one before it.
std::vector<FewTiles> lighter_few_tiles(const FewTiles& tiles, const Kernel& kernel);

/// Returns the size, in f32 numbers, of the partial results in device memory; 0 if blocks do not exchange
/// results there.
Dim few_partials(const AttentionKernel& attention, const FewTiles& tiles);

/// Returns the source up to and including the function `attention`, which a kernel of kThreads threads calls:
///
///   attention(q, k, v, E* o, float* lse, float* partials, unsigned* tickets, queries, keys,
///             strides of q, k, v, o, const int* places, strides of places, Scales of k, Scales of v, float
///             scale, const BodyArguments&)
///
/// E is the element type, o is the result, and BodyArguments has the arguments of the score_mod. `queries`
/// and `keys` are the numbers of queries and keys. The strides of a matrix are those along batch, position
/// and head, in elements. `lse` receives the logarithm of each row's sum of exponentials, and `scale`
/// multiplies the scores. `partials` has the size that few_partials returns, and `tickets` has
/// FewTiles::tickets counters, which are zero before and after a launch. If FewTiles::tickets is 0,
/// `partials` and `tickets` are not accessed. If the keys and values are stored in slots of a table (such as
/// a paged cache), places[b,s] is the slot of key s and value s of batch b. Otherwise key s is at position s,
/// and places is not read. If keys and values are codes of 8 bits, Scales has the address of their scales and
/// its strides along batch, position (or slot) and head; otherwise they are not read.
std::string decode_attention_text(const Kernel& kernel);

}  // namespace smelt
