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

/// Which keys a block has.
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

struct Span {
  int first, end;
};
// The units of keys outside of which nothing is seen, by bisection.
SM Span seen_units(const BodyArguments& body, const Rows& rows) {
  Span span{0, (rows.keys + kUnit - 1) / kUnit};
  if (span.end <= 1) return span;
  for (int low = 0; low < span.end;) {
    const int middle = (low + span.end) / 2;
    if (seen_of(body, rows, middle * kUnit, rows.keys) == 0)
      span.end = middle;
    else
      low = middle + 1;
  }
  for (int high = span.end; span.first < high;) {
    const int middle = (span.first + high + 1) / 2;
    if (seen_of(body, rows, 0, min(middle * kUnit, rows.keys)) == 0)
      span.first = middle;
    else
      high = middle - 1;
  }
  return span;
}

// Of the blocks that share the rows' keys, as many as `used` have some.
struct Share {
  int used, first, end;
};
SM Share share_of(const BodyArguments& body, const Rows& rows, int split) {
  const Span span = seen_units(body, rows);
  const int units = span.end - span.first, most = max(1, min(units, kSplits));
  const int each = max(1, (units + most - 1) / most), first = span.first + split * each;
  return {max(1, (units + each - 1) / each), first * kUnit,
          min(min(first + each, span.end) * kUnit, rows.keys)};
}
)";

/// Scores of a step, in three moves: a lane sums over its elements of each key; lanes of a key exchange sums,
/// so that each has the whole scores of some keys and rows and asks the body about those; then all have all.
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

// `count` parts of a row as one, in their order; of its sums that of one column.
struct Whole {
  float base, weights, sum;
};
SM Whole whole_of(const float* part, int count, int column) {
  Whole whole{-infinity(), 0.0f, 0.0f};
#pragma unroll 4
  for (int i = 0; i < count; ++i) whole.base = fmaxf(whole.base, part[i * (kRows * kPitch) + kHead]);
#pragma unroll 4
  for (int i = 0; i < count; ++i, part += kRows * kPitch) {
    const float factor = below(part[kHead], whole.base);
    whole.weights = fmaf(factor, part[kHead + 1], whole.weights);
    whole.sum = fmaf(factor, part[column], whole.sum);
  }
  return whole;
}
)";

/// What a block does.
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

SM void attention(const Element* q, const Element* k, const Element* v, Element* o, float* lse,
                  float* partials, unsigned* tickets, long long queries, long long keys, long long q_b,
                  long long q_t, long long q_h, long long k_b, long long k_t, long long k_h, long long v_b,
                  long long v_t, long long v_h, long long o_b, long long o_t, long long o_h,
                  const int* places, long long places_b, long long places_s, float scale,
                  const BodyArguments& body) {
  __shared__ float parts[kWarps * kRows * kPitch];
  const int all = (int)queries * kGroup, tiles = (all + kRows - 1) / kRows;
  const int split = blockIdx.x % kSplits, place = blockIdx.x / kSplits, pair = place / tiles;
  const int row0 = place % tiles * kRows;
  const Rows rows{pair / kKeyHeads, pair % kKeyHeads, row0, min(kRows, all - row0), (int)queries, (int)keys};
  const Share share = share_of(body, rows, split);
  if (split >= share.used) return;

  float own[kRows][kOwn];
#pragma unroll
  for (int row = 0; row < kRows; ++row) {
    const bool is_there = row < rows.count;
    const Element* const from =
        q + rows.b * q_b + query_of(rows, is_there ? row : 0) * q_t + head_of(rows, is_there ? row : 0) * q_h;
    Piece pieces[kTurns];
#pragma unroll
    for (int turn = 0; turn < kTurns; ++turn) pieces[turn] = piece_at(from, turn, is_there);
    widen(own[row], pieces);
#pragma unroll
    for (int e = 0; e < kOwn; ++e) own[row][e] *= scale;
  }
  Sums sums;
  clear(sums);
  sum_keys(sums, own, {k + rows.b * k_b + rows.key_head * k_h, k_t},
           {v + rows.b * v_b + rows.key_head * v_h, v_t}, {places + rows.b * places_b, places_s}, body, rows,
           share.first, share.end);
  add_groups(sums);
  leave_sums(parts + (threadIdx.x >> 5) * (kRows * kPitch), sums);
  __syncthreads();

  const float* from = parts;
  int count = kWarps;
  if (share.used > 1) {
    float* const shared = partials + (long long)place * kSplits * (kRows * kPitch);
    float* const to = shared + split * (kRows * kPitch);
    for (int i = threadIdx.x; i < rows.count * kHead; i += kThreads) {
      const int row = i / kHead, column = i % kHead;
      const Whole whole = whole_of(parts + row * kPitch, kWarps, column);
      to[row * kPitch + column] = whole.sum;
      if (column == 0) to[row * kPitch + kHead] = whole.base, to[row * kPitch + kHead + 1] = whole.weights;
    }
    if (!is_last_of(tickets + place, share.used)) return;
    from = shared, count = share.used;
  }
  for (int i = threadIdx.x; i < rows.count * kHead; i += kThreads) {
    const int row = i / kHead, column = i % kHead, t = query_of(rows, row), h = head_of(rows, row);
    const Whole whole = whole_of(from + row * kPitch, count, column);
    sm_put(o[rows.b * o_b + t * o_t + h * o_h + column], whole.weights == 0.0f ? 0.0f : whole.sum / whole.weights);
    if (column == 0)
      lse[((long long)rows.b * (kGroup * kKeyHeads) + h) * rows.queries + t] =
          whole.weights == 0.0f ? -infinity() : whole.base + logf(whole.weights);
  }
}
)";

}  // namespace smelt::few
