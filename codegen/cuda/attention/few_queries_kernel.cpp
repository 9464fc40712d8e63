#include "codegen/cuda/attention/few_queries_kernel.h"

namespace smelt::few {

/// Lanes that share a key have kOwn of its elements each. A warp's step has kLoads keys of each of the
/// kTogether groups of lanes.
const std::string_view kLayout = R"(
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
)";

/// The keys of a block.
const std::string_view kKeys = R"(
// What the rows see of keys [first, end): 0 nothing, 1 some, 2 everything.
SM int seen_of(const BodyArguments& body, const Rows& rows, int first, int end) {
  const int t0 = query_of(rows, 0), t1 = query_of(rows, rows.count - 1) + 1;
  int least = 2, most = 0;
#pragma unroll 1
  for (int i = 0; i < (kMaskedByHead ? kGroup : 1); ++i) {
    const int seen = body_tile(body, rows.b, rows.key_head * kGroup + i, t0, t1, first, end);
    least = min(least, seen), most = max(most, seen);
  }
  return least == most ? least : 1;
}

// The least x in [low, high) of which `holds` says yes, as of all behind it, or high: lanes try 32 at a time,
// or all the same one where they look up the mask's numbers together.
template <typename Holds>
SM int least_where(int low, int high, const Holds& holds) {
  while (kLooksUp && low < high) {
    const int own = (low + high) / 2;
    if (holds(own)) high = own;
    else low = own + 1;
  }
  while (low < high) {
    const int step = (high - low + 31) / 32, own = low + (int)(threadIdx.x & 31) * step;
    const unsigned yes = __ballot_sync(~0u, own >= high || holds(own));
    const int lane = yes == 0 ? 32 : __ffs(yes) - 1;
    high = min(high, low + lane * step);
    low = lane == 0 ? high : low + (lane - 1) * step + 1;
  }
  return low;
}

// The units of keys that rows see are in parts of `each`, which begin with the unit `first`.
struct Parts {
  int count, first, each, end;
};
SM Parts parts_of(const BodyArguments& body, const Rows& rows) {
  const int units = (rows.keys + kUnit - 1) / kUnit;
  const int end = least_where(min(1, units), units, [&](int unit) { return seen_of(body, rows, unit * kUnit, rows.keys) == 0; });
  const int first = least_where(
      0, max(end - 1, 0), [&](int unit) { return seen_of(body, rows, 0, min((unit + 1) * kUnit, rows.keys)) != 0; });
  const int each = max(1, (end - first + kParts - 1) / kParts);
  return {max(1, (end - first + each - 1) / each), first, each, end};
}
)";

/// Scores of a step, in three parts: a lane sums over its elements of each key; the lanes of a key exchange
/// sums, so that each lane has the whole scores of some keys and rows, for which it calls the body; then all
/// lanes get all scores.
const std::string_view kScoresOfStep = R"(
// Adds x over the lanes of a key, of which each keeps a share: those from lane_of_key() * kCount / kLanes on.
template <int kCount, int kDistance>
SM void add_lanes(float (&x)[kValues]) {
  if constexpr (kDistance > 0 && kCount > 1) {
    const bool is_upper = threadIdx.x & kDistance;
#pragma unroll
    for (int i = 0; i < kCount / 2; ++i) {
      const float given = is_upper ? x[i] : x[i + kCount / 2], kept = is_upper ? x[i + kCount / 2] : x[i];
      x[i] = kept + __shfl_xor_sync(~0u, given, kDistance);
    }
    add_lanes<kCount / 2, kDistance / 2>(x);
  } else if constexpr (kDistance > 0) {
    x[0] += __shfl_xor_sync(~0u, x[0], kDistance);
    add_lanes<1, kDistance / 2>(x);
  }
}

template <bool kUnmasked>
SM float modified_score(const BodyArguments& body, const Rows& rows, int row, int key, float score) {
  float modified, factor;
  row = min(row, rows.count - 1);
  body_forward<kUnmasked>(body, rows.b, head_of(rows, row), query_of(rows, row), min(key, rows.keys - 1),
                          nullptr, score, modified, factor);
  return modified;
}

// The modified scores of keys from `first` on: that of a row and the i-th key of a lane is at i * kRows + row.
SM void score_keys(float (&scores)[kValues], const float (&q)[kRows][kOwn], const Piece (&k)[kLoads][kTurns],
                   const BodyArguments& body, const Rows& rows, int first, int end, int seen) {
#pragma unroll
  for (int i = 0; i < kLoads; ++i) {
    float key[kOwn];
    widen(key, k[i]);
#pragma unroll
    for (int row = 0; row < kRows; ++row) {
      float sum = 0.0f;
#pragma unroll
      for (int e = 0; e < kOwn; ++e) sum = fmaf(q[row][e], key[e], sum);
      scores[i * kRows + row] = sum;
    }
  }
  add_lanes<kValues, kLanes / 2>(scores);
  float own[kScores];
#pragma unroll
  for (int i = 0; i < kScores; ++i) {
    const int value = lane_of_key() * kValues / kLanes + i, row = value % kRows;
    const int key = first + value / kRows * kTogether + group_of_lanes();
    const bool is_there = key < end && row < rows.count;
    const float modified = seen != 2           ? modified_score<false>(body, rows, row, key, scores[i])
                           : kPlainWhenUnmasked ? scores[i]
                                                : modified_score<true>(body, rows, row, key, scores[i]);
    own[i] = is_there ? modified : -infinity();
  }
  const int group = group_of_lanes() * kLanes;
#pragma unroll
  for (int value = 0; value < kValues; ++value)
    scores[value] = __shfl_sync(~0u, own[value % kScores],
                                group + (kValues > kLanes ? value / kScores : value * (kLanes / kValues)));
}
)";

/// Weights are below the largest score so far of a group of lanes, which all sums follow.
const std::string_view kSums = R"(
struct Sums {
  float base[kRows], weights[kRows], of[kRows][kOwn];
};

SM void clear(Sums& sums) {
#pragma unroll
  for (int row = 0; row < kRows; ++row) {
    sums.base[row] = -infinity(), sums.weights[row] = 0.0f;
#pragma unroll
    for (int e = 0; e < kOwn; ++e) sums.of[row][e] = 0.0f;
  }
}

SM void move_base(Sums& sums, int row, float base) {
  const float factor = below(sums.base[row], base);
  sums.base[row] = base, sums.weights[row] *= factor;
#pragma unroll
  for (int e = 0; e < kOwn; ++e) sums.of[row][e] *= factor;
}

// Scores become weights, which values are summed with.
SM void add_values(Sums& sums, float (&scores)[kValues], const Piece (&v)[kLoads][kTurns]) {
#pragma unroll
  for (int row = 0; row < kRows; ++row) {
    float top = sums.base[row];
#pragma unroll
    for (int i = 0; i < kLoads; ++i) top = fmaxf(top, scores[i * kRows + row]);
    move_base(sums, row, top);
#pragma unroll
    for (int i = 0; i < kLoads; ++i)
      sums.weights[row] += scores[i * kRows + row] = below(scores[i * kRows + row], top);
  }
#pragma unroll
  for (int i = 0; i < kLoads; ++i) {
    float value[kOwn];
    widen(value, v[i]);
#pragma unroll
    for (int row = 0; row < kRows; ++row)
#pragma unroll
      for (int e = 0; e < kOwn; ++e)
        sums.of[row][e] = fmaf(scores[i * kRows + row], value[e], sums.of[row][e]);
  }
}

// Over the groups of lanes of a warp.
SM void add_groups(Sums& sums) {
#pragma unroll
  for (int distance = kLanes; distance < 32; distance *= 2)
#pragma unroll
    for (int row = 0; row < kRows; ++row) {
      move_base(sums, row, fmaxf(sums.base[row], __shfl_xor_sync(~0u, sums.base[row], distance)));
      sums.weights[row] += __shfl_xor_sync(~0u, sums.weights[row], distance);
#pragma unroll
      for (int e = 0; e < kOwn; ++e) sums.of[row][e] += __shfl_xor_sync(~0u, sums.of[row][e], distance);
    }
}

// A warp's sums as parts of rows in memory.
SM void leave_sums(float* parts, const Sums& sums) {
  if (group_of_lanes() > 0) return;
#pragma unroll
  for (int row = 0; row < kRows; ++row) {
    float* const part = parts + row * kPitch;
#pragma unroll
    for (int e = 0; e < kOwn; ++e)
      if (has_piece(e / kVector)) part[(e / kVector * kLanes + lane_of_key()) * kVector + e % kVector] = sums.of[row][e];
    if (lane_of_key() == 0) part[kHead] = sums.base[row], part[kHead + 1] = sums.weights[row];
  }
}

// What some keys make of a row: of its sums that of one column.
struct Whole {
  float base, weights, sum;
};
SM Whole whole_of(const float* part, int column) { return {part[kHead], part[kHead + 1], part[column]}; }
SM void add(Whole& whole, const Whole& more) {
  const float base = fmaxf(whole.base, more.base), factor = below(whole.base, base), other = below(more.base, base);
  whole.weights = fmaf(other, more.weights, factor * whole.weights);
  whole.sum = fmaf(other, more.sum, factor * whole.sum);
  whole.base = base;
}
// What a block's warps have left, in their order.
SM Whole whole_of_warps(const float* part, int column) {
  Whole whole{-infinity(), 0.0f, 0.0f};
#pragma unroll
  for (int i = 0; i < kWarps; ++i) whole.base = fmaxf(whole.base, part[i * (kRows * kPitch) + kHead]);
#pragma unroll
  for (int i = 0; i < kWarps; ++i, part += kRows * kPitch) {
    const float factor = below(part[kHead], whole.base);
    whole.weights = fmaf(factor, part[kHead + 1], whole.weights);
    whole.sum = fmaf(factor, part[column], whole.sum);
  }
  return whole;
}
)";

/// The work of a block.
const std::string_view kBlock = R"(
// The block's rows over keys [first, end): a warp takes every kWarps-th step.
SM void sum_keys(Sums& sums, const float (&q)[kRows][kOwn], const Matrix& k, const Matrix& v,
                 const Places& places, const BodyArguments& body, const Rows& rows, int first, int end) {
  for (first += (threadIdx.x >> 5) * kStep; first < end; first += kWarps * kStep) {
    const int seen = seen_of(body, rows, first, min(first + kStep, end));
    if (seen == 0) continue;
    const int own = first + group_of_lanes();  // the lane's first key
    int at[kLoads];
    Piece keys[kLoads][kTurns], values[kLoads][kTurns];
#pragma unroll
    for (int i = 0; i < kLoads; ++i) at[i] = own + i * kTogether < end ? place_of(places, own + i * kTogether) : 0;
#pragma unroll
    for (int i = 0; i < kLoads; ++i)
#pragma unroll
      for (int turn = 0; turn < kTurns; ++turn)
        keys[i][turn] = piece_at(k.at + at[i] * k.place, turn, own + i * kTogether < end);
#pragma unroll
    for (int i = 0; i < kLoads; ++i)
#pragma unroll
      for (int turn = 0; turn < kTurns; ++turn)
        values[i][turn] = piece_at(v.at + at[i] * v.place, turn, own + i * kTogether < end);
    float scores[kValues];
    score_keys(scores, q, keys, body, rows, first, end, seen);
    add_values(sums, scores, values);
  }
}

// The rows' queries, scaled.
SM void load_queries(float (&to)[kRows][kOwn], const Element* q, long long q_t, long long q_h, const Rows& rows,
                     float scale) {
#pragma unroll
  for (int row = 0; row < kRows; ++row) {
    const bool is_there = row < rows.count;
    const Element* const from =
        q + query_of(rows, is_there ? row : 0) * q_t + head_of(rows, is_there ? row : 0) * q_h;
    Piece pieces[kTurns];
#pragma unroll
    for (int turn = 0; turn < kTurns; ++turn) pieces[turn] = piece_at(from, turn, is_there);
    widen(to[row], pieces);
#pragma unroll
    for (int e = 0; e < kOwn; ++e) to[row][e] *= scale;
  }
}

// A block's threads have the elements of its rows in turns.
constexpr int kTurnsOfThread = (kRows * kHead + kThreads - 1) / kThreads;
SM int element_of(int turn) { return turn * kThreads + (int)threadIdx.x; }

// Adds what the block's warps have left behind a part of the keys.
SM void add_warps(Whole (&whole)[kTurnsOfThread], const float* warps, const Rows& rows) {
#pragma unroll
  for (int turn = 0; turn < kTurnsOfThread; ++turn) {
    const int element = element_of(turn);
    if (element < rows.count * kHead)
      add(whole[turn], whole_of_warps(warps + element / kHead * kPitch, element % kHead));
  }
}

SM void leave_part(float* to, const Whole (&whole)[kTurnsOfThread], const Rows& rows) {
#pragma unroll
  for (int turn = 0; turn < kTurnsOfThread; ++turn) {
    const int element = element_of(turn), column = element % kHead;
    if (element >= rows.count * kHead) continue;
    float* const part = to + element / kHead * kPitch;
    part[column] = whole[turn].sum;
    if (column == 0) part[kHead] = whole[turn].base, part[kHead + 1] = whole[turn].weights;
  }
}

// Whether this is the last of `count` blocks; what the others have written is there for it.
SM bool is_last_of(unsigned* ticket, unsigned count) {
  __shared__ bool is_last;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) is_last = atomicInc(ticket, count - 1) == count - 1;
  __syncthreads();
  if (is_last) __threadfence();
  return is_last;
}

struct Results {
  Element* o;
  float* lse;
  long long b, t, h;  // strides of o
};
SM void store(const Results& to, const Rows& rows, int element, const Whole& whole) {
  const int row = element / kHead, column = element % kHead, t = query_of(rows, row), h = head_of(rows, row);
  const bool sees = whole.weights != 0.0f;
  sm_put(to.o[rows.b * to.b + t * to.t + h * to.h + column], sees ? whole.sum / whole.weights : 0.0f);
  if (column == 0)
    to.lse[((long long)rows.b * (kGroup * kKeyHeads) + h) * rows.queries + t] =
        sees ? whole.base + logf(whole.weights) : -infinity();
}

// Parts of the rows' keys, in their order, of which `part_at` says where they lie.
template <typename PartAt>
SM void store_sums(const Results& to, const Rows& rows, int count, int first, int step, const PartAt& part_at) {
  for (int element = first; element < rows.count * kHead; element += step) {
    Whole whole{-infinity(), 0.0f, 0.0f};
#pragma unroll
    for (int part = 0; part < kParts; ++part)
      if (part < count) add(whole, whole_of(part_at(part) + element / kHead * kPitch, element % kHead));
    store(to, rows, element, whole);
  }
}

SM void attention(const Element* q, const Element* k, const Element* v, Element* o, float* lse,
                  float* partials, unsigned* tickets, long long queries, long long keys, long long q_b,
                  long long q_t, long long q_h, long long k_b, long long k_t, long long k_h, long long v_b,
                  long long v_t, long long v_h, long long o_b, long long o_t, long long o_h,
                  const int* places, long long places_b, long long places_s, float scale,
                  const BodyArguments& body) {
  __shared__ float warps[kWarps * kRows * kPitch];
  const int all = (int)queries * kGroup, tiles = (all + kRows - 1) / kRows;
  const int sharer = blockIdx.x % kBlocksOfRows, place = blockIdx.x / kBlocksOfRows, pair = place / tiles;
  if (sharer >= kSharers) return;
  const int row0 = place % tiles * kRows;
  const Rows rows{pair / kKeyHeads, pair % kKeyHeads, row0, min(kRows, all - row0), (int)queries, (int)keys};
  float own[kRows][kOwn];
  load_queries(own, q + rows.b * q_b, q_t, q_h, rows, scale);
  const Parts parts = parts_of(body, rows);

  Whole whole[kTurnsOfThread];
#pragma unroll
  for (int turn = 0; turn < kTurnsOfThread; ++turn) whole[turn] = {-infinity(), 0.0f, 0.0f};
  for (int part = sharer; part < parts.count; part += kSharers) {
    const int first = parts.first + part * parts.each;
    Sums sums;
    clear(sums);
    sum_keys(sums, own, {k + rows.b * k_b + rows.key_head * k_h, k_t},
             {v + rows.b * v_b + rows.key_head * v_h, v_t}, {places + rows.b * places_b, places_s}, body, rows,
             first * kUnit, min(min(first + parts.each, parts.end) * kUnit, rows.keys));
    add_groups(sums);
    if (part != sharer) __syncthreads();  // for those that read what warps have left behind the last part
    leave_sums(warps + (threadIdx.x >> 5) * (kRows * kPitch), sums);
    __syncthreads();
    add_warps(whole, warps, rows);
  }

  const Results to{o, lse, o_b, o_t, o_h};
  if (kSharers == 1) {
#pragma unroll
    for (int turn = 0; turn < kTurnsOfThread; ++turn)
      if (element_of(turn) < rows.count * kHead) store(to, rows, element_of(turn), whole[turn]);
  } else if (kHasTickets) {
    float* const shared = partials + (long long)place * kParts * (kRows * kPitch);
    if (sharer >= parts.count) return;
    leave_part(shared + sharer * (kRows * kPitch), whole, rows);
    if (!is_last_of(tickets + place, parts.count)) return;
    store_sums(to, rows, parts.count, threadIdx.x, kThreads, [&](int part) { return shared + part * (kRows * kPitch); });
  } else {
    __shared__ float left[kRows * kPitch];
    leave_part(left, whole, rows);
    sharing::row_sync();
    store_sums(to, rows, parts.count, sharer * kThreads + threadIdx.x, kSharers * kThreads, [&](int part) { return sharing::in_block(left, part); });
    sharing::row_sync();  // for those that read what this block has left
  }
}
)";

}  // namespace smelt::few
