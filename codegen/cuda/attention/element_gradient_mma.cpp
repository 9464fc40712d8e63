#include "codegen/cuda/attention/pieces_mma.h"

namespace smelt::mma {

/// Rows are queries, columns keys: a block has one tile of the result in registers, and walks along the
/// batches and heads that are summed.
const std::string_view kElementGradient = R"(
template <bool kUnmasked>
SM void add_elements(Sums<kChunkTiles>& sums, Sums<kChunkTiles>& scores, Sums<kChunkTiles>& products, const BodyArguments& body,
                     const Head& head, int first_query, int first_key, const float* lse, const float* delta, float scale) {
#pragma unroll
  for (int r = 0; r < 2 * kRowTiles; ++r) {
    const int query = first_query + 8 * r;
    const long long row = row_of(head, min(query, head.queries - 1));
    const float row_lse = base2(lse[row]), row_delta = delta[row];
#pragma unroll
    for (int n = 0; n < kChunkTiles; n += 4) {
      Words words;
      draw_keys(words, body, head, min(query, head.queries - 1), first_key - lane_column() + 8 * n);
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        unsigned draws[kDrawSlots];
        take_draws(draws, words, i / 2, i % 2);
        const int at = r % 2 * 2 + i % 2, tile = n + i / 2;
        sums[r / 2][tile][at] +=
            differentiate<kUnmasked>(scores[r / 2][tile][at], products[r / 2][tile][at], body, head, query,
                                     first_key + 8 * tile + i % 2, draws, row_lse, row_delta, scale)
                .of[kRowGradients + kColumnGradients + kElement];
      }
    }
  }
}

SM void attention(const Half* q, const Half* k, const Half* v, const Half* d_o, const float* lse, const float* delta,
           float* gradient, long long batch, long long heads, long long group, long long queries, long long keys,
           long long q_b, long long q_t, long long q_h, long long k_b, long long k_t, long long k_h, long long v_b,
           long long v_t, long long v_h, long long d_o_b, long long d_o_t, long long d_o_h, float scale, const BodyArguments& body) {
  extern __shared__ __align__(128) unsigned char memory[];
  const int row_tiles = ((int)queries + kRows - 1) / kRows, column_tiles = ((int)keys + kColumns - 1) / kColumns;
  const int tile = blockIdx.x % (row_tiles * column_tiles), kept = blockIdx.x / (row_tiles * column_tiles);
  const int row0 = tile / column_tiles * kRows, column0 = tile % column_tiles * kColumns;
  const int kept_heads = kKeepsHead ? (int)heads : 1, b0 = kept / kept_heads, h0 = kept % kept_heads;
  const int last_b = kKeepsBatch ? b0 + 1 : (int)batch, last_h = kKeepsHead ? h0 + 1 : (int)heads;
  const unsigned qs = shared_address(memory), gs = qs + kRows * kPitch, ks = gs + kRows * kPitch, vs = ks + kColumns * kPitch;
  const unsigned place_in_rows = warp_row() * kPitch + by_rows();
  const int first_query = row0 + warp_row() + lane_row(), first_key = column0 + lane_column();

  Sums<kChunkTiles> sums;
  clear<kChunkTiles>(sums);
  for (int b = b0; b < last_b; ++b)
    for (int h = h0; h < last_h; ++h) {
      const Head head{b, h, (int)heads, (int)queries, (int)keys};
      const int seen = body_tile(body, b, h, row0, min(row0 + kRows, head.queries), column0, min(column0 + kColumns, head.keys));
      if (seen == 0) continue;
      const int kv = h / (int)group;
      copy_rows<kRows>(qs, {q + b * q_b + h * q_h, q_t}, row0, head.queries);
      copy_rows<kRows>(gs, {d_o + b * d_o_b + h * d_o_h, d_o_t}, row0, head.queries);
      copy_rows<kColumns>(ks, {k + b * k_b + kv * k_h, k_t}, column0, head.keys);
      copy_rows<kColumns>(vs, {v + b * v_b + kv * v_h, v_t}, column0, head.keys);
      commit_copies();
      wait_for_copies();
      __syncthreads();
      Sums<kChunkTiles> scores, products;
      multiply_rows<kChunkTiles>(scores, qs + place_in_rows, ks + by_columns());
      multiply_rows<kChunkTiles>(products, gs + place_in_rows, vs + by_columns());
      __syncthreads();
      if (seen == 2 && row0 + kRows <= head.queries && column0 + kColumns <= head.keys)
        add_elements<true>(sums, scores, products, body, head, first_query, first_key, lse, delta, scale);
      else
        add_elements<false>(sums, scores, products, body, head, first_query, first_key, lse, delta, scale);
    }

  gradient += (long long)kept * queries * keys;
#pragma unroll
  for (int r = 0; r < 2 * kRowTiles; ++r)
#pragma unroll
    for (int n = 0; n < kChunkTiles; ++n)
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        const int query = first_query + 8 * r, key = first_key + 8 * n + e;
        if (query < (int)queries && key < (int)keys) gradient[query * keys + key] = sums[r / 2][n][r % 2 * 2 + e];
      }
}
)";

}  // namespace smelt::mma
