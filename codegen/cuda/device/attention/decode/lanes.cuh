// Division of keys and values among the lanes of a warp, in decode attention by multiply-adds. A key or
// value has kHead elements, in pieces of kVector elements. A warp consists of kTogether groups of kLanes
// lanes. In a step, each group processes kLoads keys, and its lanes share each of these keys: piece p of a
// key or value belongs to lane p % kLanes of the group. So a lane holds kOwn elements of a key.
// Requires: keys.cuh.


// Returns the least power of two that is at least n.
SM constexpr int least_power(int n) { return n <= 1 ? 1 : 2 * least_power((n + 1) / 2); }
// kPieces: pieces per key. kLanes: lanes that share a key, which are a power of two and at most 32.
constexpr int kPieces = kHead / kVector, kLanes = kPieces < 32 ? least_power(kPieces) : 32;
// kTurns: pieces of a key per lane. The lane loads them in turns, one piece per turn. kOwn: elements of a
// key per lane.
constexpr int kTurns = (kPieces + kLanes - 1) / kLanes, kOwn = kTurns * kVector;
// kTogether: groups of lanes per warp. kStep: keys that a warp processes in a step.
constexpr int kTogether = 32 / kLanes, kStep = kLoads * kTogether;
// kValues: scores of a group in a step, one for each of kLoads keys and each of kRows rows (a row is a
// query of one query head). kScores: scores that each lane of the group passes to the score_mod.
constexpr int kValues = kLoads * kRows, kScores = kValues > kLanes ? kValues / kLanes : 1;

// Return the index of the lane in its group, and the index of the group in its warp.
SM int lane_of_key() { return (threadIdx.x & 31) % kLanes; }
SM int group_of_lanes() { return (threadIdx.x & 31) / kLanes; }

// A piece of a key, value or query of type T, which a lane loads at once: kVector elements, at most 16 bytes.
template <typename T>
using Piece = Pack<T, kVector>;
// Returns whether the lane has a piece in this turn (0 to kTurns - 1). Some lanes may have none in the last
// turn.
SM bool has_piece(int turn) { return kPieces % kLanes == 0 || turn * kLanes + lane_of_key() < kPieces; }
// Loads the lane's piece of the key or value at address `from`. Returns zeros if the lane has no piece in
// this turn, or if `is_there` is false.
template <typename T>
SM Piece<T> piece_at(const T* from, int turn, bool is_there) {
  Piece<T> piece = {};
  if (is_there && has_piece(turn))
    piece = *(const Piece<T>*)(from + (turn * kLanes + lane_of_key()) * kVector);
  return piece;
}
// Converts the lane's pieces of a key, value or query to f32, and multiplies codes by their scale.
template <typename T>
SM void widen(float (&to)[kOwn], const Piece<T> (&from)[kTurns], float scale) {
#pragma unroll
  for (int i = 0; i < kOwn; ++i) {
    to[i] = (float)sm_get(from[i / kVector].at[i % kVector]);
    if (kHasCodes) to[i] *= scale;
  }
}
