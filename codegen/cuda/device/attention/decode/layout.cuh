// Layout of decode attention: pieces of a key, lanes that share a key, and rows of a block.
// A warp is kTogether groups of kLanes lanes. Keys and values have kHead elements, in pieces of kVector
// elements. A group processes kLoads keys in a step. Piece p of a key or value belongs to lane p % kLanes of
// the group, so a lane holds kOwn elements. A row is a query of one of the kGroup query heads that share a
// key head, and a block has up to kRows of them.
// Requires: the body (attention_hooks.h), the prelude, the constants of decode_attention_text, and the
// namespace `sharing` (codegen/cuda/attention/decode_attention.cpp).
// Order: layout, keys, scores, sums, block.


// Returns the least power of two that is at least n.
SM constexpr int least_power(int n) { return n <= 1 ? 1 : 2 * least_power((n + 1) / 2); }
// Pieces per key, and lanes per key: a power of two, at most a warp.
constexpr int kPieces = kHead / kVector, kLanes = kPieces < 32 ? least_power(kPieces) : 32;
// Pieces and elements of a key per lane.
constexpr int kTurns = (kPieces + kLanes - 1) / kLanes, kOwn = kTurns * kVector;
// Groups of lanes per warp, and keys per step of a warp.
constexpr int kTogether = 32 / kLanes, kStep = kLoads * kTogether;
// Scores of a group per step (kLoads keys x kRows rows), and the number of them that each lane modifies.
constexpr int kValues = kLoads * kRows, kScores = kValues > kLanes ? kValues / kLanes : 1;
// Floats per row of a partial result, which is kRows rows in memory. A row has kHead sums of weight * value,
// then the base (the largest score) and the sum of the weights exp(score - base).
constexpr int kPitch = kHead + 2;

SM float infinity() { return __uint_as_float(0x7f800000u); }
// Return the index of the lane in its group, and of the group in its warp.
SM int lane_of_key() { return (threadIdx.x & 31) % kLanes; }
SM int group_of_lanes() { return (threadIdx.x & 31) / kLanes; }
// Returns exp(x). Tests compile the second branch for a host.
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
// Returns exp(x - base) for x <= base; 0 if both are -inf, as before the first visible key.
SM float below(float x, float base) { return exponential(x - (base == -infinity() ? 0.0f : base)); }

// The keys or values of a batch row and key head: the address of row 0, and the stride of rows in elements.
struct Matrix {
  const Element* at;
  long long place;
};
// The indices of the keys of a batch row in a table such as a paged cache, and the stride of the indices.
// They are read only if kHasPlaces; otherwise key s is in row s.
struct Places {
  const int* at;
  long long place;
};
// Returns the row of Matrix in which a key (or its value) is stored.
SM int place_of(const Places& places, int key) { return kHasPlaces ? places.at[key * places.place] : key; }

// The `count` <= kRows rows of a block, in batch row b. Row r is query (first + r) / kGroup and the query
// head (first + r) % kGroup of the group that shares key_head. A batch row has `queries` and `keys`.
struct Rows {
  int b, key_head, first, count, queries, keys;
};
// Return the query, and the query head among all query heads, of a row of the block.
SM int query_of(const Rows& rows, int row) { return (rows.first + row) / kGroup; }
SM int head_of(const Rows& rows, int row) { return rows.key_head * kGroup + (rows.first + row) % kGroup; }

// The unit of a load: kVector elements, at most 16 bytes.
typedef Pack<Element, kVector> Piece;
// Returns whether the lane has a piece in this turn (0 to kTurns - 1). Only the last turn may be incomplete.
SM bool has_piece(int turn) { return kPieces % kLanes == 0 || turn * kLanes + lane_of_key() < kPieces; }
// Loads the lane's piece of the key or value at `from`; zeros if it has none or if `is_there` is false.
SM Piece piece_at(const Element* from, int turn, bool is_there) {
  Piece piece = {};
  if (is_there && has_piece(turn)) piece = *(const Piece*)(from + (turn * kLanes + lane_of_key()) * kVector);
  return piece;
}
// Converts the lane's pieces of a key or value to f32.
SM void widen(float (&to)[kOwn], const Piece (&from)[kTurns]) {
#pragma unroll
  for (int i = 0; i < kOwn; ++i) to[i] = sm_get(from[i / kVector].at[i % kVector]);
}
