// The function `attention` of the kernel that computes dQ and row gradients. A row gradient is the gradient
// of a value that the score_mod reads for each query. Rows are queries and columns are keys. The next tile
// of K and V is copied to shared memory while the current one is multiplied.
// Requires: gradients.cuh.


// Computes one tile of kRows queries of one head per block. codegen/cuda/attention/attention_mma.h describes
// the arguments. x_b, x_t and x_h are the strides of x along batch, position and head, in elements. Shared
// memory: kRows rows of Q and of dO, two stages of kColumns rows of K and of V, and the lse and the delta
// (dO . O) of each query (QueryValues).
SM void attention(const Half* q, const Half* k, const Half* v, const Half* d_o, const float* lse,
                  const float* delta, Half* dq GRADIENT_PARAMETERS, long long batch, long long heads,
                  long long group, long long queries, long long keys, long long q_b, long long q_t,
                  long long q_h, long long k_b, long long k_t, long long k_h, long long v_b, long long v_t,
                  long long v_h, long long d_o_b, long long d_o_t, long long d_o_h, long long dq_b,
                  long long dq_t, long long dq_h, float scale, const BodyArguments& body) {
  extern __shared__ __align__(128) unsigned char memory[];
  const int tiles = ((int)queries + kRows - 1) / kRows;
  const Place place = place_of(blockIdx.x, tiles, (int)(batch * heads), keys * 4 * kHead);
  const Head head{place.head / (int)heads, place.head % (int)heads, (int)heads, (int)queries, (int)keys};
  const int row0 = (tiles - 1 - place.tile) * kRows, kv = head.h / (int)group;
  const Matrix qm{q + head.b * q_b + head.h * q_h, q_t}, km{k + head.b * k_b + kv * k_h, k_t},
      vm{v + head.b * v_b + kv * v_h, v_t}, gm{d_o + head.b * d_o_b + head.h * d_o_h, d_o_t};
  const unsigned qs = shared_address(memory), gs = qs + kRows * kPitch, stages = gs + kRows * kPitch;
  constexpr unsigned kTileBytes = kColumns * kPitch, kStageBytes = 2 * kTileBytes,
                     values_at = 2 * kRows * kPitch + 2 * kStageBytes;

  // Starts to copy the next tile of keys that some row of the block may see to the current stage. column0:
  // the first key of the tile; at least head.keys if no tile is left. seen: the mask state of the tile: 0
  // all pairs of a query and a key are masked, 1 some may be, 2 none is.
  int column0 = -kColumns, seen = 0, stage = 0;
  const auto advance = [&] {
    do column0 += kColumns;
    while (column0 < head.keys &&
           (seen = body_tile(body, head.b, head.h, row0, min(row0 + kRows, head.queries), column0,
                             min(column0 + kColumns, head.keys))) == 0);
    if (column0 >= head.keys) return;
    copy_rows<kColumns>(stages + stage * kStageBytes, km, column0, head.keys);
    copy_rows<kColumns>(stages + stage * kStageBytes + kTileBytes, vm, column0, head.keys);
  };
  copy_rows<kRows>(qs, qm, row0, head.queries);
  copy_rows<kRows>(gs, gm, row0, head.queries);
  copy_values(qs + values_at, lse, delta, head, row0);
  advance();
  commit_copies();

  const int first_query = row0 + warp_row() + lane_row();
  const QueryValues values{(const float*)(memory + values_at) + warp_row() + lane_row()};
  float row_sums[kGradientSlots][kLaneRows] = {};
  Sums<kPart / 8> sums;
  clear<kPart / 8>(sums);
  const unsigned place_in_rows = warp_row() * kPitch + by_rows();
  while (column0 < head.keys) {
    wait_for_copies();
    __syncthreads();  // this stage has arrived, and all warps have read the other stage
    const int here = column0;
    const unsigned ks = stages + stage * kStageBytes, vs = ks + kTileBytes;
    // kPlainWhenUnmasked: the score_mod does not change the scores of an unmasked tile. If it does change
    // them, all queries of the tile must exist.
    const bool is_unmasked =
        seen == 2 && here + kColumns <= head.keys && (kPlainWhenUnmasked || row0 + kRows <= head.queries);
    stage ^= 1;
    advance();
    commit_copies();
#pragma unroll 1
    for (int c = 0; c < kColumns; c += kChunk) {
      Chunk scores, weights, products;
      multiply_rows<kChunkTiles>(scores, qs + place_in_rows, ks + c * kPitch + by_columns());
      const Corner corner{first_query, here + c + lane_column()};
      if (is_unmasked)
        weigh<true>(weights, scores, values, body, head, corner, scale);
      else
        weigh<false>(weights, scores, values, body, head, corner, scale);
      multiply_rows<kChunkTiles>(products, gs + place_in_rows, vs + c * kPitch + by_columns());
      differentiate(weights, products, scores, values, body, head, corner, scale,
                    [&](const Cell& cell, int, const float* gradients) {
#pragma unroll
                      for (int g = 0; g < kRowGradients; ++g) row_sums[g][cell.row] += gradients[g];
                    });
      add_weighted<kChunkTiles>(sums, products, ks + c * kPitch + by_rows());
    }
  }
  wait_for_copies();
  __syncthreads();  // the copy of Q has ended, even if no tile was visible: results may overwrite Q

#if ROW_GRADIENTS > 0
  float* const gradients[] = {GRADIENT_VALUES};
#pragma unroll
  for (int g = 0; g < kRowGradients; ++g)
#pragma unroll
    for (int r = 0; r < kLaneRows; ++r) {
      const float sum = sum_of_quad(row_sums[g][r]);
      const int query = first_query + 8 * r;
      if ((lane() & 3) == 0 && query < head.queries) gradients[g][row_of(head, query)] = sum;
    }
#endif
  float scales[kRowTiles][2];
#pragma unroll
  for (int r = 0; r < kLaneRows; ++r) scales[r / 2][r % 2] = scale;
  store_rows(dq + head.b * dq_b + head.h * dq_h, dq_t, sums, scales, qs + warp_row() * kPitch,
             row0 + warp_row(), head.queries, 0);
}
