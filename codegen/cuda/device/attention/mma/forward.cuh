// The function `attention` of the forward kernel, which computes O and lse, the log-sum-exp of each query. A
// block computes kRows queries of one head, and loops over tiles of kColumns keys. A tile of V is copied to
// shared memory while Q and K are multiplied. The next tile of K is copied while the weights and V are
// multiplied.
// Requires: table_rows.cuh, scores.cuh, softmax.cuh and rest.cuh.


// Computes one tile of kRows queries of one head per block. codegen/cuda/attention/attention_mma.h describes
// the arguments. x_b, x_t and x_h are the strides of x along batch, position and head, in elements. Shared
// memory: kRows rows of Q, kColumns rows of K and kColumns rows of V. At the end, the results are staged
// in place of the rows of Q.
SM void attention(const Half* q, const Stored* k, const Stored* v, Half* o, Half* rest, float* lse,
                  long long batch, long long heads, long long group, long long queries, long long keys,
                  long long q_b, long long q_t, long long q_h, long long k_b, long long k_t, long long k_h,
                  long long v_b, long long v_t, long long v_h, long long o_b, long long o_t, long long o_h,
                  long long rest_b, long long rest_t, long long rest_h, const int* places, long long places_b,
                  long long places_s, float scale, const BodyArguments& body, const Scales& k_scales = {},
                  const Scales& v_scales = {}) {
  extern __shared__ __align__(128) unsigned char memory[];
  const int tiles = ((int)queries + kRows - 1) / kRows;
  const Place place = place_of(blockIdx.x, tiles, (int)(batch * heads), keys * 4 * kHead);
  const Head head{place.head / (int)heads, place.head % (int)heads, (int)heads, (int)queries, (int)keys};
  const int row0 = (tiles - 1 - place.tile) * kRows, kv = head.h / (int)group;
  const Matrix qm{q + head.b * q_b + head.h * q_h, q_t};
  const Keys km = keys_of(k, k_b, k_t, k_h, k_scales, head.b, kv),
             vm = keys_of(v, v_b, v_t, v_h, v_scales, head.b, kv);
  const TableRows table{places + head.b * places_b, places_s};
  const unsigned qs = shared_address(memory), ks = qs + kRows * kPitch, vs = ks + kColumns * kPitch;
  const unsigned staging = qs + warp_row() * kPitch;

  // Moves to the next tile of keys that some row of the block may see. column0: the first key of the tile;
  // at least head.keys if no tile is left. seen: the mask state of the tile: 0 all pairs of a query and a
  // key are masked, 1 some may be, 2 none is.
  int column0 = -kColumns, seen = 0;
  const auto advance = [&] {
    do column0 += kColumns;
    while (column0 < head.keys &&
           (seen = body_tile(body, head.b, head.h, row0, min(row0 + kRows, head.queries), column0,
                             min(column0 + kColumns, head.keys))) == 0);
  };
  copy_rows<kRows>(qs, qm, row0, head.queries);
  advance();
  if (column0 < head.keys) copy_keys(ks, km, table, column0, head.keys);
  commit_copies();

  Softmax softmax;
#pragma unroll
  for (int r = 0; r < 2 * kRowTiles; ++r)
    softmax.base[r / 2][r % 2] = -infinity(), softmax.sum[r / 2][r % 2] = 0.0f;
  Sums<kPart / 8> sums;
  clear<kPart / 8>(sums);
  const int first_query = row0 + warp_row() + lane_row();
  while (column0 < head.keys) {
    wait_for_copies();
    __syncthreads();  // K has arrived, and all warps have read the previous tile of V
    copy_keys(vs, vm, table, column0, head.keys);
    commit_copies();
    Scores scores;
    multiply_rows<kColumnTiles>(scores, staging + by_rows(), ks + by_columns());

    const Corner corner{first_query, column0 + lane_column()};
    // kPlainWhenUnmasked: the score_mod does not change the scores of an unmasked tile. If it does change
    // them, all queries of the tile must exist, because the score_mod takes valid indices only.
    const bool is_unmasked =
        seen == 2 && column0 + kColumns <= head.keys && (kPlainWhenUnmasked || row0 + kRows <= head.queries);
    // If the scores are not modified and the scale is positive, the scale is applied later, in the exponent.
    float factor = 1.0f;
    if (is_unmasked && kPlainWhenUnmasked && scale > 0.0f)
      factor = scale * kLog2e;
    else if (is_unmasked && !kPlainWhenUnmasked)
      modify<true>(scores, body, head, corner, scale);
    else
      modify<false>(scores, body, head, corner, scale);
    move_bases(softmax, sums, scores, factor);
    exponentiate(scores, softmax, factor);
    if (kHasFactor) apply_factors(scores, body, head, corner);

    wait_for_copies();
    __syncthreads();  // V has arrived, and all warps have read K
    advance();
    if (column0 < head.keys) copy_keys(ks, km, table, column0, head.keys);
    commit_copies();
    add_weighted<kColumnTiles>(sums, scores, vs + by_rows());
  }
  wait_for_copies();
  __syncthreads();  // the copy of Q has ended, even if no tile was visible: results may overwrite Q

  float scales[kRowTiles][2];
#pragma unroll
  for (int r = 0; r < 2 * kRowTiles; ++r) {
    const float sum = sum_of_quad(softmax.sum[r / 2][r % 2]);
    scales[r / 2][r % 2] = sum == 0.0f ? 0.0f : (kKeptFactor == 0.0f ? 1.0f : kKeptFactor) / sum;
    const int query = first_query + 8 * r;
    if ((lane() & 3) == 0 && query < head.queries)
      lse[row_of(head, query)] =
          sum == 0.0f ? -infinity() : (softmax.base[r / 2][r % 2] + log2_of(sum)) * 0.6931471805599453f;
  }
  store_rows(o + head.b * o_b + head.h * o_h, o_t, sums, scales, staging, row0 + warp_row(), head.queries, 0);
  if (!kHasRest) return;
  leave_rest(sums, scales);
  store_rows(rest + head.b * rest_b + head.h * rest_h, rest_t, sums, scales, staging, row0 + warp_row(),
             head.queries, 0);
}
