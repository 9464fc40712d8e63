// Layout of decode attention: the keys of a warp, the pieces of a key in each lane, and the rows of a block.
// A key or value has kHead elements, in pieces of kVector elements. A warp consists of kTogether groups of
// kLanes lanes. In a step, each group processes kLoads keys, and its lanes share each of these keys: piece p
// of a key or value belongs to lane p % kLanes of the group. So a lane holds kOwn elements of a key. A row
// is a query of one of the kGroup query heads that share a key head. A block has up to kRows rows.
// Requires: the functions of the score_mod ("body", codegen/cuda/attention/attention_hooks.h), the prelude,
// and the constants and the namespace `sharing` that codegen/cuda/attention/decode_attention.cpp puts before
// this text.
// Order of the text: layout, keys, scores, sums, block.


// Returns the least power of two that is at least n.
SM constexpr int least_power(int n) { return n <= 1 ? 1 : 2 * least_power((n + 1) / 2); }
// kPieces: pieces per key. kLanes: lanes that share a key, which are a power of two and at most 32.
constexpr int kPieces = kHead / kVector, kLanes = kPieces < 32 ? least_power(kPieces) : 32;
// kTurns: pieces of a key per lane; the lane loads one in each of its turns. kOwn: elements of a key per
// lane.
constexpr int kTurns = (kPieces + kLanes - 1) / kLanes, kOwn = kTurns * kVector;
// kTogether: groups of lanes per warp. kStep: keys that a warp processes in a step.
constexpr int kTogether = 32 / kLanes, kStep = kLoads * kTogether;
// kValues: scores of a group in a step (kLoads keys x kRows rows). kScores: scores that each lane of the
// group passes to the score_mod.
constexpr int kValues = kLoads * kRows, kScores = kValues > kLanes ? kValues / kLanes : 1;
// kPitch: floats per row of a partial result. A partial result has kRows rows, one after the other in
// memory. A row has kHead sums of weight * value, then the base (the largest score), and then the sum of the
// weights exp(score - base).
constexpr int kPitch = kHead + 2;

SM float infinity() { return __uint_as_float(0x7f800000u); }
// Return the index of the lane in its group, and the index of the group in its warp.
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
// Returns exp(x - base) for x <= base. If both are -inf, as before the first visible key, the result is 0.
SM float below(float x, float base) { return exponential(x - (base == -infinity() ? 0.0f : base)); }

// The keys or values of one batch row and key head. at: address of row 0. place: elements from one row to
// the next.
struct Matrix {
  const Element* at;
  long long place;
};
// A table that says in which row of Matrix each key of a batch row is stored, as for a paged cache. at: the
// table's entry for key 0. place: entries from one key to the next. The table is read only if kHasPlaces.
// Otherwise key s is in row s.
struct Places {
  const int* at;
  long long place;
};
// Returns the row of Matrix in which a key (or its value) is stored.
SM int place_of(const Places& places, int key) { return kHasPlaces ? places.at[key * places.place] : key; }

// The rows of a block: `count` rows (at most kRows) of batch row b and key head key_head. kGroup query heads
// share the key head. Row r is query (first + r) / kGroup of the query head with index (first + r) % kGroup
// among them. queries, keys: numbers of queries and keys in the batch row.
struct Rows {
  int b, key_head, first, count, queries, keys;
};
// Return the query of a row, and its query head as an index among all query heads.
SM int query_of(const Rows& rows, int row) { return (rows.first + row) / kGroup; }
SM int head_of(const Rows& rows, int row) { return rows.key_head * kGroup + (rows.first + row) % kGroup; }

// A piece of a key or value, which a lane loads at once: kVector elements, at most 16 bytes.
typedef Pack<Element, kVector> Piece;
// Returns whether the lane has a piece in this turn (0 to kTurns - 1). Some lanes may have none in the last
// turn.
SM bool has_piece(int turn) { return kPieces % kLanes == 0 || turn * kLanes + lane_of_key() < kPieces; }
// Loads the lane's piece of the key or value at address `from`. Returns zeros if the lane has no piece in
// this turn, or if `is_there` is false.
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
