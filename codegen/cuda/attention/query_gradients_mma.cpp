#include "codegen/cuda/attention/pieces_mma.h"

namespace smelt::mma {

/// Rows are queries, columns keys. While a tile of K and V is multiplied the next arrives.
const std::string_view kQueryGradients = R"(
template <bool kUnmasked>
SM void differentiate_chunk(Sums<kChunkTiles>& scores, Sums<kChunkTiles>& products, float (&row_sums)[kGradientSlots][kRowTiles][2],
                            const BodyArguments& body, const Head& head, int first_query, int first_key,
                            const float (&lses)[kRowTiles][2], const float (&deltas)[kRowTiles][2], float scale) {
#pragma unroll
  for (int r = 0; r < 2 * kRowTiles; ++r)
#pragma unroll
    for (int n = 0; n < kChunkTiles; n += 4) {
      const int query = first_query + 8 * r;
      Words words;
      draw_keys(words, body, head, min(query, head.queries - 1), first_key - lane_column() + 8 * n);
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        unsigned draws[kDrawSlots];
        take_draws(draws, words, i / 2, i % 2);
        const int at = r % 2 * 2 + i % 2, key = first_key + 8 * (n + i / 2) + i % 2;
        const Gradients gradients =
            differentiate<kUnmasked>(scores[r / 2][n + i / 2][at], products[r / 2][n + i / 2][at], body, head, query, key,
                                     draws, lses[r / 2][r % 2], deltas[r / 2][r % 2], scale);
#pragma unroll
        for (int g = 0; g < kRowGradients; ++g)
          row_sums[g][r / 2][r % 2] += kUnmasked || key < head.keys ? gradients.of[g] : 0.0f;
      }
    }
}

SM void attention(const Half* q, const Half* k, const Half* v, const Half* d_o, const float* lse, const float* delta,
           Half* dq GRADIENT_PARAMETERS, long long batch, long long heads, long long group, long long queries, long long keys,
           long long q_b, long long q_t, long long q_h, long long k_b, long long k_t, long long k_h, long long v_b,
           long long v_t, long long v_h, long long d_o_b, long long d_o_t, long long d_o_h, long long dq_b, long long dq_t,
           long long dq_h, float scale, const BodyArguments& body) {
  extern __shared__ __align__(128) unsigned char memory[];
  const int tiles = ((int)queries + kRows - 1) / kRows;
  const Place place = place_of(blockIdx.x, tiles, (int)(batch * heads), (int)keys * 4 * kHead);
  const Head head{place.head / (int)heads, place.head % (int)heads, (int)heads, (int)queries, (int)keys};
  const int row0 = (tiles - 1 - place.tile) * kRows, kv = head.h / (int)group;
  const Matrix qm{q + head.b * q_b + head.h * q_h, q_t}, km{k + head.b * k_b + kv * k_h, k_t},
      vm{v + head.b * v_b + kv * v_h, v_t}, gm{d_o + head.b * d_o_b + head.h * d_o_h, d_o_t};
  const unsigned qs = shared_address(memory), gs = qs + kRows * kPitch, stages = gs + kRows * kPitch;
  constexpr unsigned kTileBytes = kColumns * kPitch, kStageBytes = 2 * kTileBytes;

  int column0 = -kColumns, seen = 0, stage = 0;
  const auto advance = [&] {
    do column0 += kColumns;
    while (column0 < head.keys && (seen = body_tile(body, head.b, head.h, row0, min(row0 + kRows, head.queries), column0,
                                                    min(column0 + kColumns, head.keys))) == 0);
    if (column0 >= head.keys) return;
    copy_rows<kColumns>(stages + stage * kStageBytes, km, column0, head.keys);
    copy_rows<kColumns>(stages + stage * kStageBytes + kTileBytes, vm, column0, head.keys);
  };
  copy_rows<kRows>(qs, qm, row0, head.queries);
  copy_rows<kRows>(gs, gm, row0, head.queries);
  advance();
  commit_copies();

  const int first_query = row0 + warp_row() + lane_row();
  float lses[kRowTiles][2], deltas[kRowTiles][2], row_sums[kGradientSlots][kRowTiles][2], scales[kRowTiles][2];
#pragma unroll
  for (int r = 0; r < 2 * kRowTiles; ++r) {
    const long long row = row_of(head, min(first_query + 8 * r, head.queries - 1));
    lses[r / 2][r % 2] = base2(lse[row]), deltas[r / 2][r % 2] = delta[row], scales[r / 2][r % 2] = scale;
#pragma unroll
    for (int g = 0; g < kRowGradients; ++g) row_sums[g][r / 2][r % 2] = 0.0f;
  }
  Sums<kPart / 8> sums;
  clear<kPart / 8>(sums);
  const unsigned place_in_rows = warp_row() * kPitch + by_rows();
  while (column0 < head.keys) {
    wait_for_copies();
    __syncthreads();
    const int here = column0;
    const unsigned ks = stages + stage * kStageBytes, vs = ks + kTileBytes;
    const bool is_unmasked =
        seen == 2 && here + kColumns <= head.keys && (kPlainWhenUnmasked || row0 + kRows <= head.queries);
    stage ^= 1;
    advance();
    commit_copies();
#pragma unroll(kUnrolledChunks)
    for (int c = 0; c < kColumns; c += kChunk) {
      Sums<kChunkTiles> scores, products;
      multiply_rows<kChunkTiles>(scores, qs + place_in_rows, ks + c * kPitch + by_columns());
      multiply_rows<kChunkTiles>(products, gs + place_in_rows, vs + c * kPitch + by_columns());
      const int first_key = here + c + lane_column();
      if (is_unmasked)
        differentiate_chunk<true>(scores, products, row_sums, body, head, first_query, first_key, lses, deltas, scale);
      else
        differentiate_chunk<false>(scores, products, row_sums, body, head, first_query, first_key, lses, deltas, scale);
      add_weighted<kChunkTiles>(sums, products, ks + c * kPitch + by_rows());
    }
  }
  wait_for_copies();
  __syncthreads();

#if ROW_GRADIENTS > 0
  float* const gradients[] = {GRADIENT_VALUES};
#pragma unroll
  for (int g = 0; g < kRowGradients; ++g)
#pragma unroll
    for (int r = 0; r < 2 * kRowTiles; ++r) {
      const float sum = sum_of_quad(row_sums[g][r / 2][r % 2]);
      const int query = first_query + 8 * r;
      if ((lane() & 3) == 0 && query < head.queries) gradients[g][row_of(head, query)] = sum;
    }
#endif
  store_rows(dq + head.b * dq_b + head.h * dq_h, dq_t, sums, scales, qs + warp_row() * kPitch, row0 + warp_row(),
             head.queries, 0);
}
)";

}  // namespace smelt::mma
