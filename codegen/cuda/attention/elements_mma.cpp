#include "codegen/cuda/attention/pieces_mma.h"

namespace smelt::mma {

/// A call of the body's random op gives eight columns of a row, and of eight neighbouring columns a lane has
/// two: one word. So each lane of a quad makes one of four calls, and they exchange the words.
const std::string_view kElements = R"(
constexpr int kDrawSlots = kDraws > 0 ? kDraws : 1;
typedef unsigned Words[kDrawSlots][4];

struct Head {
  int b, h, heads, queries, keys;
};
SM long long row_of(const Head& head, int query) { return (long long)(head.b * head.heads + head.h) * head.queries + query; }

SM void exchange(unsigned& first, unsigned& second, int distance) {
  const bool is_second = lane() & distance;
  const unsigned got = __shfl_xor_sync(~0u, is_second ? first : second, distance);
  if (is_second) first = got; else second = got;
}
// Of four words of each lane of a quad, lane i gets word i of each.
SM void exchange_in_quad(unsigned (&words)[4]) {
  exchange(words[0], words[1], 1);
  exchange(words[2], words[3], 1);
  exchange(words[0], words[2], 2);
  exchange(words[1], words[3], 2);
}

// For 32 keys of a query; word j is of the lane's two keys in the j-th eight.
SM void draw_keys(Words& words, const BodyArguments& body, const Head& head, int query, int key) {
#pragma unroll
  for (int op = 0; op < kDraws; ++op) {
    body_draw(body, op, row_of(head, query), key / 8 + (lane() & 3), words[op]);
    exchange_in_quad(words[op]);
  }
}

// Where rows are keys: for all rows of a warp's row tiles and, for each, the lane's two queries. With two row
// tiles words are of [tile][half]; with one of [eight queries][half], for 16 queries.
SM void draw_queries(Words& words, const BodyArguments& body, const Head& head, int query, int key) {
  const int which = lane() & 3;
  const int octet = kRowTiles == 2 ? which : which & 1, row = kRowTiles == 2 ? 0 : which / 2 * 8;
#pragma unroll
  for (int op = 0; op < kDraws; ++op) {
    body_draw(body, op, row_of(head, min(query + row + lane_row(), head.queries - 1)), key / 8 + octet, words[op]);
    exchange_in_quad(words[op]);
#pragma unroll
    for (int i = 0; i < 4; ++i)
      asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %0;" : "+r"(words[op][i]));
  }
}

SM void take_draws(unsigned (&draws)[kDrawSlots], const Words& words, int word, int which) {
#pragma unroll
  for (int op = 0; op < kDrawSlots; ++op)
    draws[op] = kDraws == 0 ? 0 : which ? words[op][word] >> 16 : words[op][word] & 0xffff;
}
)";

/// Scores become `mixed`, and products `dscore`.
const std::string_view kGradients = R"(
constexpr int kGradientCount = kRowGradients + kColumnGradients + kElementGradients;
constexpr int kGradientSlots = kGradientCount > 0 ? kGradientCount : 1;
constexpr int kChunkTiles = kChunk / 8;

// Log-sum-exps in base 2; where no key is seen, one that makes all weights 0.
SM float base2(float lse) { return lse == -infinity() ? infinity() : lse * kLog2e; }

struct Gradients {
  float of[kGradientSlots];
};

template <bool kUnmasked>
SM Gradients differentiate(float& score, float& product, const BodyArguments& body, const Head& head, int query, int key,
                           const unsigned* draws, float lse, float delta, float scale) {
  Gradients gradients;
  float weight, modified, factor, mixed, dscore;
  const bool is_there = kUnmasked || (query < head.queries && key < head.keys);
  query = min(query, head.queries - 1), key = min(key, head.keys - 1);
  if (kUnmasked && kPlainWhenUnmasked) {
    weight = exp2_of(score * (scale * kLog2e) - lse);
  } else {
    body_forward<kUnmasked>(body, head.b, head.h, query, key, draws, scale * score, modified, factor);
    weight = is_there ? exp2_of(modified * kLog2e - lse) : 0.0f;
  }
  body_backward<kUnmasked>(body, head.b, head.h, query, key, draws, scale * score, weight, product, delta, mixed, dscore,
                           gradients.of);
  score = mixed, product = dscore;
  return gradients;
}
)";

}  // namespace smelt::mma
