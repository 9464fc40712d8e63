// The work of a block, and the function `attention` of decode attention.
// Requires: keys.cuh and sums.cuh.


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
