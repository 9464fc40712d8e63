// The function `attention` for few queries over many keys whose sums have the order of mma/parts.cuh, so that
// a row has the same bits as among many queries. A row is a query of one query head. A block has up to
// kBlockRows rows that share a key head, as the rows of one tile. Each warp computes whole parts of the keys.
// The results of the parts are merged in ascending order. kSharers blocks have the same rows, and share the
// parts.
// Requires: part_copies.cuh, part_merge.cuh, tickets.cuh, and keys.cuh in the namespace `visible`, where a
// unit is a part.

// Sizes and addresses of a block's shared memory: the queries, the buffers of the warps, their results, the
// totals. codegen/cuda/attention/decode_attention.cpp computes its size.
struct BlockMemory {
  unsigned char *queries, *buffers;
  float* results;
  SharedTotals totals;
};
SM BlockMemory divide(unsigned char* memory) {
  BlockMemory parts;
  parts.queries = memory, parts.buffers = memory + 16 * kPitch;
  parts.results = (float*)(parts.buffers + kWarps * kBuffers * kBufferBytes);
  parts.totals.merges = (Merge(*)[kTurns])(parts.results + kWarps * kResultFloats);
  parts.totals.factors = (float*)(parts.totals.merges + kBlockRows);
  parts.totals.sums = parts.totals.factors + kBlockRows;
  return parts;
}

// Replaces the products of a tile by the scores that the softmax takes. All lanes of a warp call this. A row
// that the block does not have takes the place of its last row; its results are not used.
template <bool kUnmasked>
SM void take_scores(Scores& scores, const BodyArguments& body, const Rows& rows, int first, float scale) {
  if (kUnmasked && takes_products(scale)) return;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = min(8 * half + lane_row(), rows.count - 1);
    const Head head{rows.b, head_of(rows, row), kGroup * kKeyHeads, rows.queries, rows.keys};
#pragma unroll
    for (int n = 0; n < kColumnTiles; ++n)
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        float& score = scores[0][n][2 * half + e];
        score = softmax_score<kUnmasked>(score, scale, body, head, query_of(rows, row),
                                         first + 8 * n + lane_column() + e, nullptr);
      }
  }
}

// Keys and values of a block's rows, and the keys that they may see: up to `end`.
struct KeysOfRows {
  Matrix k, v;
  Places places;
  int end;
};

// A warp that goes through the tiles of its parts, two at a time: it multiplies one and copies the next.
struct Warp {
  unsigned buffers;  // address
  Tile now, next;    // `first` is at least KeysOfRows::end if there is none
};

// Sets `to` to the first tile from key `first` on that a row may see. Tiles of the warp's next part follow
// those of a part. All lanes of a warp call this.
SM void find_tile(Tile& to, int first, const BodyArguments& body, const Rows& rows, const KeysOfRows& keys) {
  to.first = first;
  while (to.first < keys.end &&
         (to.seen = visible::seen_of(body, rows, to.first, min(to.first + kColumns, rows.keys))) == 0) {
    to.first += kColumns;
    if (to.first % kPartKeys == 0) to.first += (kTurns - 1) * kPartKeys;
  }
  load_places(to, keys.places, keys.end);
}
SM void find_next(Warp& warp, const BodyArguments& body, const Rows& rows, const KeysOfRows& keys) {
  int first = warp.now.first + kColumns;
  if (first % kPartKeys == 0) first += (kTurns - 1) * kPartKeys;
  find_tile(warp.next, first, body, rows, keys);
}

// Starts to copy piece number `piece` of the tile warp.now, or of warp.next if the number is at least 2 *
// kPieces. All lanes of a warp call this.
SM void copy_ahead(const Warp& warp, const KeysOfRows& keys, int piece) {
  const Tile& tile = piece < 2 * kPieces ? warp.now : warp.next;
  const int of_tile = piece % (2 * kPieces);
  __syncwarp(~0u);  // all lanes have read what was in the buffer
  if (tile.first < keys.end)
    copy_keys(warp.buffers + piece % kBuffers * kBufferBytes, of_tile < kPieces ? keys.k : keys.v, tile,
              of_tile % kPieces, keys.end);
  commit_copies();
}
// Waits for a piece of warp.now, and returns its address.
SM unsigned wait_for_piece(const Warp& warp, int piece) {
  wait_for_copies_before<kBuffers - 1>();
  __syncwarp(~0u);
  return warp.buffers + piece % kBuffers * kBufferBytes;
}

// Adds the tile warp.now to a part. queries: address of the block's queries.
SM void add_tile(Softmax& part, Sums<kPart / 8>& sums, const Warp& warp, unsigned queries,
                 const BodyArguments& body, const Rows& rows, const KeysOfRows& keys, float scale) {
  constexpr int kOfPiece = kPieceKeys / 8;
  Scores scores;
#pragma unroll
  for (int piece = 0; piece < kPieces; ++piece) {
    Sums<kOfPiece> own;
    multiply_rows<kOfPiece>(own, queries + by_rows(), wait_for_piece(warp, piece) + by_columns());
#pragma unroll
    for (int i = 0; i < 4 * kOfPiece; ++i) scores[0][kOfPiece * piece + i / 4][i % 4] = own[0][i / 4][i % 4];
    copy_ahead(warp, keys, piece + kBuffers);
  }
  if (warp.now.seen == 2 && warp.now.first + kColumns <= rows.keys)
    take_scores<true>(scores, body, rows, warp.now.first, scale);
  else
    take_scores<false>(scores, body, rows, warp.now.first, scale);
  raise_bases(part, sums, scores, exponent_factor(scale));
  replace_by_weights(scores, part, exponent_factor(scale));
#pragma unroll
  for (int piece = 0; piece < kPieces; ++piece) {
    Sums<kOfPiece> own;
#pragma unroll
    for (int i = 0; i < 4 * kOfPiece; ++i) own[0][i / 4][i % 4] = scores[0][kOfPiece * piece + i / 4][i % 4];
    add_weighted<kOfPiece>(sums, own, wait_for_piece(warp, kPieces + piece) + by_rows());
    copy_ahead(warp, keys, kPieces + piece + kBuffers);
  }
}

// Computes the part that ends with key `end` - 1, from the tile warp.now on, and stores its result.
SM void compute_part(float* to, Warp& warp, int end, unsigned queries, const BodyArguments& body,
                     const Rows& rows, const KeysOfRows& keys, float scale) {
  Softmax part;
  Sums<kPart / 8> sums;
  begin(part, sums);
  while (warp.now.first < min(end, keys.end)) {
    add_tile(part, sums, warp, queries, body, rows, keys, scale);
    warp.now = warp.next;
    find_next(warp, body, rows, keys);
  }
  leave_result(to, part, sums);
}

// Computes o and lse. codegen/cuda/attention/decode_attention.h describes the arguments. x_b, x_t and x_h are
// the strides of x for batch row, position and head, in elements. The grid has kBlocksOfRows blocks for each
// batch row, key head and tile of rows. If kHasTickets, these blocks store the results of parts in
// `partials`, in device memory, and the last block to do so merges them. `tickets` has a counter per tile of
// rows to find the last block. If not kHasTickets, several such blocks form a cluster, and read each other's
// results in shared memory after each round.
SM void attention(const Element* q, const Element* k, const Element* v, Element* o, float* lse,
                  float* partials, unsigned* tickets, long long queries, long long keys, long long q_b,
                  long long q_t, long long q_h, long long k_b, long long k_t, long long k_h, long long v_b,
                  long long v_t, long long v_h, long long o_b, long long o_t, long long o_h,
                  const int* places, long long places_b, long long places_s, float scale,
                  const BodyArguments& body) {
  extern __shared__ __align__(128) unsigned char memory[];
  const int all = (int)queries * kGroup, tiles = (all + kBlockRows - 1) / kBlockRows;
  // sharer: index of this block among the kBlocksOfRows blocks with the same rows. place: index of the tile
  // of rows in the grid. pair: index of its batch row and key head.
  const int sharer = blockIdx.x % kBlocksOfRows, place = blockIdx.x / kBlocksOfRows, pair = place / tiles;
  if (sharer >= kSharers) return;  // only in tests on a host, where block 0 of a cluster does all work
  const int row0 = place % tiles * kBlockRows, warp_number = threadIdx.x >> 5;
  const int row_count = min(kBlockRows, all - row0);
  const Rows rows{pair / kKeyHeads, pair % kKeyHeads, row0, row_count, (int)queries, (int)keys};
  const BlockMemory block = divide(memory);
  const unsigned own_queries = shared_address(block.queries);
  copy_queries(own_queries, q + rows.b * q_b, q_t, q_h, rows);
  commit_copies();

  const visible::Parts parts = visible::parts_of(body, rows);
  const int count = parts.end - parts.first;
  const KeysOfRows of_rows{{k + rows.b * k_b + rows.key_head * k_h, k_t},
                           {v + rows.b * v_b + rows.key_head * v_h, v_t},
                           {places + rows.b * places_b, places_s},
                           min(parts.end * kPartKeys, rows.keys)};
  Warp warp;
  warp.buffers = shared_address(block.buffers) + warp_number * (kBuffers * kBufferBytes);
  const int turn = warp_number * kSharers + sharer;
  find_tile(warp.now, (parts.first + turn) * kPartKeys, body, rows, of_rows);
  find_next(warp, body, rows, of_rows);
  for (int piece = 0; piece < kBuffers; ++piece) copy_ahead(warp, of_rows, piece);
  for (int i = 0; i < kOwned; ++i) block.totals.sums[i * kThreads + (int)threadIdx.x] = 0.0f;
  wait_for_copies_before<kBuffers>();
  __syncthreads();  // the queries have arrived

  RowTotal own{-infinity(), 0.0f};
  const auto put = [&](int row, int column, float result) {
    o[rows.b * o_b + query_of(rows, row) * o_t + head_of(rows, row) * o_h + column] =
        (Element)(pack(result, 0.0f) & 0xffff);
  };
  const auto end_of = [&](int part) { return (parts.first + part + 1) * kPartKeys; };
  if (kHasTickets) {
    float* const shared = partials + (long long)place * ((keys + kPartKeys - 1) / kPartKeys) * kResultFloats;
    for (int part = turn; part < count; part += kTurns)
      compute_part(shared + (long long)part * kResultFloats, warp, end_of(part), own_queries, body, rows,
                   of_rows, scale);
    if (!is_last_of(tickets + place, kSharers)) return;
    for (int first = 0; first < count; first += kTurns) {
      merge_round(
          block.totals, own, rows, min(kTurns, count - first), first + kTurns >= count, threadIdx.x,
          [&](int i) { return shared + (long long)(first + i) * kResultFloats; }, put);
      __syncthreads();
    }
  } else {
    float* const result = block.results + warp_number * kResultFloats;
    for (int first = 0; first < count; first += kTurns) {
      if (first + turn < count)
        compute_part(result, warp, end_of(first + turn), own_queries, body, rows, of_rows, scale);
      sharing::row_sync();  // the results of the round are complete
      merge_round(
          block.totals, own, rows, min(kTurns, count - first), first + kTurns >= count,
          sharer * kThreads + (int)threadIdx.x,
          [&](int i) {
            return sharing::in_block(block.results, i % kSharers) + i / kSharers * kResultFloats;
          },
          put);
      sharing::row_sync();  // the results have been read, and other blocks may end
    }
  }
  if ((kHasTickets || sharer == 0) && (int)threadIdx.x < rows.count)
    lse[((long long)rows.b * (kGroup * kKeyHeads) + head_of(rows, threadIdx.x)) * rows.queries +
        query_of(rows, threadIdx.x)] = log_sum(own.base, own.weights);
}
