// The layout of decode attention: pieces of a key, lanes of a key, rows of a block.
// Lanes that share a key have kOwn of its elements each. A warp's step has kLoads keys of each of the kTogether groups of lanes.
// Requires: the body (attention_hooks.h), the prelude, the constants of decode_attention_text, and the namespace `sharing`
// (codegen/cuda/attention/decode_attention.cpp). Order: layout, keys, scores, sums, block.


SM constexpr int least_power(int n) { return n <= 1 ? 1 : 2 * least_power((n + 1) / 2); }
constexpr int kPieces = kHead / kVector, kLanes = kPieces < 32 ? least_power(kPieces) : 32;
constexpr int kTurns = (kPieces + kLanes - 1) / kLanes, kOwn = kTurns * kVector;
constexpr int kTogether = 32 / kLanes, kStep = kLoads * kTogether;
constexpr int kValues = kLoads * kRows, kScores = kValues > kLanes ? kValues / kLanes : 1;
constexpr int kPitch = kHead + 2;  // of a row's part: its sums, then their base and the sum of weights

SM float infinity() { return __uint_as_float(0x7f800000u); }
SM int lane_of_key() { return (threadIdx.x & 31) % kLanes; }
SM int group_of_lanes() { return (threadIdx.x & 31) / kLanes; }
SM float exponential(float x) {
  x *= 1.4426950408889634f;
#ifdef __CUDA_ARCH__
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
#else
  return exp2f(x);
#endif
}
// exp(x - base), of bases that may have seen nothing yet.
SM float below(float x, float base) { return exponential(x - (base == -infinity() ? 0.0f : base)); }

// The keys or values of a row of the batch and a head.
struct Matrix {
  const Element* at;
  long long place;
};
// Which row of a table a key is in, where keys have one; else they lie in order.
struct Places {
  const int* at;
  long long place;
};
SM int place_of(const Places& places, int key) { return kHasPlaces ? places.at[key * places.place] : key; }

// The rows of a block: neighbouring queries, of each the heads that share one of keys.
struct Rows {
  int b, key_head, first, count, queries, keys;
};
SM int query_of(const Rows& rows, int row) { return (rows.first + row) / kGroup; }
SM int head_of(const Rows& rows, int row) { return rows.key_head * kGroup + (rows.first + row) % kGroup; }

typedef Pack<Element, kVector> Piece;
SM bool has_piece(int turn) { return kPieces % kLanes == 0 || turn * kLanes + lane_of_key() < kPieces; }
// As it lies in memory, or zeros.
SM Piece piece_at(const Element* from, int turn, bool is_there) {
  Piece piece = {};
  if (is_there && has_piece(turn)) piece = *(const Piece*)(from + (turn * kLanes + lane_of_key()) * kVector);
  return piece;
}
SM void widen(float (&to)[kOwn], const Piece (&from)[kTurns]) {
#pragma unroll
  for (int i = 0; i < kOwn; ++i) to[i] = sm_get(from[i / kVector].at[i % kVector]);
}
