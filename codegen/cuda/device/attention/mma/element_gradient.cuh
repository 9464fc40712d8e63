// The function `attention` of the kernel that computes an element gradient: the gradient of a value that the
// score_mod reads for each pair of a query and a key, such as a bias. The gradient is summed over the batch
// if kKeepsBatch is false, and over the heads if kKeepsHead is false. Rows are queries and columns are keys.
// A block holds a tile of kRows x kColumns gradients in registers, and loops over the batch rows and heads
// that it sums over.
// Requires: gradients.cuh.


// Computes one tile per block. codegen/cuda/attention/attention_mma.h describes the arguments. x_b, x_t and
// x_h are the strides of x for batch row, position and head, in elements. gradient: an array [batch or 1,
// heads or 1, queries, keys] without gaps. Its first size is batch if kKeepsBatch, and its second is heads
// if kKeepsHead. Shared memory: kRows rows of Q and of dO, kColumns rows of K and of V, and the lse and the
// delta (dO . O) of each query (QueryValues).
SM void attention(const Half* q, const Half* k, const Half* v, const Half* d_o, const float* lse,
                  const float* delta, float* gradient, long long batch, long long heads, long long group,
                  long long queries, long long keys, long long q_b, long long q_t, long long q_h,
                  long long k_b, long long k_t, long long k_h, long long v_b, long long v_t, long long v_h,
                  long long d_o_b, long long d_o_t, long long d_o_h, float scale, const BodyArguments& body) {
  extern __shared__ __align__(128) unsigned char memory[];
  const int row_tiles = ((int)queries + kRows - 1) / kRows,
            column_tiles = ((int)keys + kColumns - 1) / kColumns;
  // tile: index of the block's tile among those of one [queries, keys] gradient. kept: index of this
  // gradient among the gradients that are stored separately, for a batch row, a head or both.
  const int tile = blockIdx.x % (row_tiles * column_tiles), kept = blockIdx.x / (row_tiles * column_tiles);
  const int row0 = tile / column_tiles * kRows, column0 = tile % column_tiles * kColumns;
  const int kept_heads = kKeepsHead ? (int)heads : 1, b0 = kept / kept_heads, h0 = kept % kept_heads;
  const int last_b = kKeepsBatch ? b0 + 1 : (int)batch, last_h = kKeepsHead ? h0 + 1 : (int)heads;
  const unsigned qs = shared_address(memory), gs = qs + kRows * kPitch, ks = gs + kRows * kPitch,
                 vs = ks + kColumns * kPitch;
  const unsigned place_in_rows = warp_row() * kPitch + by_rows();
  const Corner corner{row0 + warp_row() + lane_row(), column0 + lane_column()};

  constexpr unsigned values_at = 2 * (kRows + kColumns) * kPitch;
  const QueryValues values{(const float*)(memory + values_at) + warp_row() + lane_row()};

  Chunk sums;
  clear<kChunkTiles>(sums);
  for (int b = b0; b < last_b; ++b)
    for (int h = h0; h < last_h; ++h) {
      const Head head{b, h, (int)heads, (int)queries, (int)keys};
      // seen: the mask state of the tile: 0 all pairs of a query and a key are masked, 1 some may be, 2 none
      // is.
      const int seen = body_tile(body, b, h, row0, min(row0 + kRows, head.queries), column0,
                                 min(column0 + kColumns, head.keys));
      if (seen == 0) continue;
      __syncthreads();  // all warps have read the tiles of the previous head
      const int kv = h / (int)group;
      copy_rows<kRows>(qs, {q + b * q_b + h * q_h, q_t}, row0, head.queries);
      copy_rows<kRows>(gs, {d_o + b * d_o_b + h * d_o_h, d_o_t}, row0, head.queries);
      copy_rows<kColumns>(ks, {k + b * k_b + kv * k_h, k_t}, column0, head.keys);
      copy_rows<kColumns>(vs, {v + b * v_b + kv * v_h, v_t}, column0, head.keys);
      copy_values(qs + values_at, lse, delta, head, row0);
      commit_copies();
      wait_for_copies();
      __syncthreads();
      Chunk scores, weights, products;
      multiply_rows<kChunkTiles>(scores, qs + place_in_rows, ks + by_columns());
      multiply_rows<kChunkTiles>(products, gs + place_in_rows, vs + by_columns());
      if (seen == 2 && row0 + kRows <= head.queries && column0 + kColumns <= head.keys)
        weigh<true>(weights, scores, values, body, head, corner, scale);
      else
        weigh<false>(weights, scores, values, body, head, corner, scale);
      differentiate(weights, products, scores, values, body, head, corner, scale,
                    [&](const Cell& cell, int e, const float* gradients) {
                      at<kChunkTiles>(sums, cell, e) +=
                          gradients[kRowGradients + kColumnGradients + kElement];
                    });
    }

  gradient += (long long)kept * queries * keys;
#pragma unroll
  for (int r = 0; r < kLaneRows; ++r)
#pragma unroll
    for (int n = 0; n < 2 * kChunkTiles; ++n) {
      const int query = corner.query + 8 * r, key = corner.key + 8 * (n / 2) + n % 2;
      if (query < (int)queries && key < (int)keys)
        gradient[query * keys + key] = sums[r / 2][n / 2][r % 2 * 2 + n % 2];
    }
}
