// The function `attention` of the kernel that computes dK, dV and column gradients. A column gradient is
// the gradient of a value that the score_mod reads per key. But in the tiles of scores of this kernel, the
// rows are keys, and the columns are queries. A block processes the queries of all query heads that share
// its key head, one head after the other. While a tile of Q and dO is multiplied, the next one is copied.
// If heads are so large that dK and dV do not fit into registers, kParts blocks compute the same weights.
// Each of these blocks computes a different part of the columns of dK and dV.
// Requires: gradients.cuh.


// Every kParts consecutive blocks compute the gradients of one tile: kRows keys of one key head. All
// threads of a block call this. attention_mma.h lists the arguments. `group` is the number of query heads
// per key head. x_b, x_t and x_h are the strides of a tensor x between batch rows, positions and heads, in
// elements. Shared memory has kRows rows of K, then kRows rows of V, then two stages. A stage has kColumns
// rows of Q, kColumns rows of dO, and the lse and delta of these queries.
SM void attention(const Half* q, const Half* k, const Half* v, const Half* d_o, const float* lse,
                  const float* delta, Half* dk, Half* dv GRADIENT_PARAMETERS, long long batch,
                  long long heads, long long group, long long queries, long long keys, long long q_b,
                  long long q_t, long long q_h, long long k_b, long long k_t, long long k_h, long long v_b,
                  long long v_t, long long v_h, long long d_o_b, long long d_o_t, long long d_o_h,
                  long long dk_b, long long dk_t, long long dk_h, long long dv_b, long long dv_t,
                  long long dv_h, float scale, const BodyArguments& body) {
  extern __shared__ __align__(128) unsigned char memory[];
  const int tiles = ((int)keys + kRows - 1) / kRows, shared_heads = (int)(heads / group);
  const int part = blockIdx.x % kParts;
  const Place place =
      place_of(blockIdx.x / kParts, tiles, (int)batch * shared_heads, queries * group * 4 * kHead);
  const int b = place.head / shared_heads, kv = place.head % shared_heads, row0 = place.tile * kRows;
  Head head{b, kv * (int)group, (int)heads, (int)queries, (int)keys};
  const int last_head = head.h + (int)group;
  const unsigned ks = shared_address(memory), vs = ks + kRows * kPitch, stages = vs + kRows * kPitch;
  constexpr unsigned kTileBytes = kColumns * kPitch, kStageBytes = 2 * kTileBytes + 8 * kColumns;
#if COLUMN_GRADIENTS > 0
  float* const gradients[] = {GRADIENT_VALUES};
#endif
  const int first_key = row0 + warp_row() + lane_row();
  // row_sums[g][r]: column gradient number g of the lane's key number r, summed over the lane's queries of
  // head head.h. store_row_sums adds up the lanes of a quad, stores the results, and sets the sums to 0.
  float row_sums[kGradientSlots][kLaneRows] = {};
  const auto store_row_sums = [&] {
#if COLUMN_GRADIENTS > 0
#pragma unroll
    for (int g = 0; g < kColumnGradients; ++g)
#pragma unroll
      for (int r = 0; r < kLaneRows; ++r) {
        const float sum = sum_of_quad(row_sums[g][r]);
        const int key = first_key + 8 * r;
        if ((lane() & 3) == 0 && key < head.keys && part == 0)
          gradients[g][(long long)(head.b * head.heads + head.h) * head.keys + key] = sum;
        row_sums[g][r] = 0.0f;
      }
#endif
  };

  // Finds the next tile of queries that is not completely masked, and starts to copy it. The tile begins at
  // query column0 of head next_head. `seen` is its mask state: 2 if all its queries see all keys of the
  // block, otherwise 1. If no tile is left, next_head becomes last_head.
  int next_head = head.h, column0 = -kColumns, seen = 0, stage = 0;
  const auto advance = [&] {
    for (column0 += kColumns;; column0 += kColumns) {
      if (column0 >= head.queries) column0 = 0, ++next_head;
      if (next_head == last_head) return;
      seen = body_tile(body, b, next_head, column0, min(column0 + kColumns, head.queries), row0,
                       min(row0 + kRows, head.keys));
      if (seen != 0) break;
    }
    const unsigned to = stages + stage * kStageBytes;
    copy_rows<kColumns>(to, {q + b * q_b + next_head * q_h, q_t}, column0, head.queries);
    copy_rows<kColumns>(to + kTileBytes, {d_o + b * d_o_b + next_head * d_o_h, d_o_t}, column0, head.queries);
    copy_values(to + 2 * kTileBytes, lse, delta, {b, next_head, head.heads, head.queries, head.keys},
                column0);
  };
  copy_rows<kRows>(ks, {k + b * k_b + kv * k_h, k_t}, row0, head.keys);
  copy_rows<kRows>(vs, {v + b * v_b + kv * v_h, v_t}, row0, head.keys);
  advance();
  commit_copies();

  Sums<kPart / 8> dk_sums, dv_sums;
  clear<kPart / 8>(dk_sums);
  clear<kPart / 8>(dv_sums);
  const unsigned place_in_rows = warp_row() * kPitch + by_rows();
  while (next_head < last_head) {
    // Stores the column gradients of the heads before next_head. A head without visible tiles gets zeros.
    for (; head.h < next_head; ++head.h) store_row_sums();
    const unsigned qs = stages + stage * kStageBytes, gs = qs + kTileBytes;
    const float* const column_values =
        (const float*)(memory + 2 * kRows * kPitch + stage * kStageBytes + 2 * kTileBytes);
    wait_for_copies();
    __syncthreads();  // the copies to this stage are complete, and no warp reads the other stage
    const int here = column0;
    const bool is_unmasked =
        seen == 2 && here + kColumns <= head.queries && (kPlainWhenUnmasked || row0 + kRows <= head.keys);
    stage ^= 1;
    advance();
    commit_copies();
#pragma unroll 1
    for (int c = 0; c < kColumns; c += kChunk) {
      Chunk scores, weights, products;
      multiply_rows<kChunkTiles>(scores, ks + place_in_rows, qs + c * kPitch + by_columns());
      const Corner corner{here + c + lane_column(), first_key};
      const QueryValues values{column_values + c + lane_column()};
      if (is_unmasked)
        weigh<true>(weights, scores, values, body, head, corner, scale);
      else
        weigh<false>(weights, scores, values, body, head, corner, scale);
      multiply_rows<kChunkTiles>(products, vs + place_in_rows, gs + c * kPitch + by_columns());
      differentiate(weights, products, scores, values, body, head, corner, scale,
                    [&](const Cell& cell, int, const float* gradients) {
#pragma unroll
                      for (int g = 0; g < kColumnGradients; ++g)
                        row_sums[g][cell.row] += gradients[kRowGradients + g];
                    });
      add_weighted<kChunkTiles>(dv_sums, weights, gs + c * kPitch + 2 * part * kPart + by_rows());
      add_weighted<kChunkTiles>(dk_sums, products, qs + c * kPitch + 2 * part * kPart + by_rows());
    }
  }
  wait_for_copies();
  __syncthreads();  // the copies of K and V are complete, and no warp reads them; the results overwrite them
  for (; head.h < last_head; ++head.h) store_row_sums();

  float scales[kRowTiles][2], ones[kRowTiles][2];
#pragma unroll
  for (int r = 0; r < kLaneRows; ++r) scales[r / 2][r % 2] = scale, ones[r / 2][r % 2] = 1.0f;
  const unsigned own = warp_row() * kPitch;
  store_rows(dk + b * dk_b + kv * dk_h, dk_t, dk_sums, scales, ks + own, row0 + warp_row(), head.keys, part);
  store_rows(dv + b * dv_b + kv * dv_h, dv_t, dv_sums, ones, vs + own, row0 + warp_row(), head.keys, part);
}
