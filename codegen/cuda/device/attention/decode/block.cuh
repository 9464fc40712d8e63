// The function `attention` of decode attention. It computes O and lse (the log-sum-exp of the scores) for
// few queries over many keys. A row is a query of one query head. A block has up to kRows rows that share a
// key head (layout.cuh). The keys are divided into parts (keys.cuh). kSharers blocks have the same rows, and
// each of them processes some of the parts. At the end, the partial results of all parts are added.
// Requires: keys.cuh and sums.cuh.


// Adds keys [first, end) to the sums of the block's rows. All threads of the block call this. Its warps take
// the keys in turn, kStep keys at a time. sums: the sums of the lane's group. q: the lane's elements of the
// scaled queries. places: the rows of k and v in which the keys and values are stored. All loads of a step
// are issued before the first result is used.
SM void sum_keys(Sums& sums, const float (&q)[kRows][kOwn], const Matrix& k, const Matrix& v,
                 const Places& places, const BodyArguments& body, const Rows& rows, int first, int end) {
  for (first += (threadIdx.x >> 5) * kStep; first < end; first += kWarps * kStep) {
    // The mask state of the keys of this step; 0: no row of the block sees any of them.
    const int seen = seen_of(body, rows, first, min(first + kStep, end));
    if (seen == 0) continue;
    const int own = first + group_of_lanes();  // the first of the lane's keys own + i * kTogether
    // The rows in which these keys are stored.
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

// Loads the lane's elements of the block's queries into `to`, in f32 and multiplied by `scale`. q: address
// of query 0 of head 0 of the batch row. q_t, q_h: elements from one query to the next, and from one head to
// the next. Rows that the block does not have become 0.
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

// The output of a block is kRows x kHead elements. Element number e is in row e / kHead and column e %
// kHead. It belongs to thread e % kThreads. So a thread has up to kTurnsOfThread elements, and processes one
// of them in each of its turns.
constexpr int kTurnsOfThread = (kRows * kHead + kThreads - 1) / kThreads;
// Returns the number of the thread's element in turn `turn`. In the last turn, the number may be too large.
// The caller then skips it.
SM int element_of(int turn) { return turn * kThreads + (int)threadIdx.x; }

// Adds the results of one part of the keys to `whole`, the thread's elements of the output. warps: the
// partial results of the kWarps warps in shared memory, kRows x kPitch floats each (layout.cuh).
SM void add_warps(Whole (&whole)[kTurnsOfThread], const float* warps, const Rows& rows) {
#pragma unroll
  for (int turn = 0; turn < kTurnsOfThread; ++turn) {
    const int element = element_of(turn);
    if (element < rows.count * kHead)
      add(whole[turn], whole_of_warps(warps + element / kHead * kPitch, element % kHead));
  }
}

// Stores `whole`, the thread's elements of the output, in the partial result at `to`: kRows x kPitch floats
// (layout.cuh).
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

// Returns true in the last of `count` blocks that call this with the same ticket, and false in the others.
// The ticket is a counter in device memory. It is 0 before the first of these calls and 0 again after the
// last. All threads of the block call this.
SM bool is_last_of(unsigned* ticket, unsigned count) {
  __shared__ bool is_last;
  __threadfence();
  __syncthreads();
  // The stores of all threads are now visible to other blocks, so this block may be counted.
  if (threadIdx.x == 0) is_last = atomicInc(ticket, count - 1) == count - 1;
  __syncthreads();
  if (is_last) __threadfence();  // makes the earlier stores of the other blocks visible
  return is_last;
}

// The output arrays: o, and lse[batch, head, query], which has no gaps between its elements.
struct Results {
  Element* o;
  float* lse;
  long long b, t, h;  // strides of o in elements: batch row, query, head
};
// Stores element number `element` of the block's output, and the row's lse if the element is in column 0. A
// row that sees no key gets o = 0 and lse = -inf.
SM void store(const Results& to, const Rows& rows, int element, const Whole& whole) {
  const int row = element / kHead, column = element % kHead, t = query_of(rows, row), h = head_of(rows, row);
  const bool sees = whole.weights != 0.0f;
  sm_put(to.o[rows.b * to.b + t * to.t + h * to.h + column], sees ? whole.sum / whole.weights : 0.0f);
  if (column == 0)
    to.lse[((long long)rows.b * (kGroup * kKeyHeads) + h) * rows.queries + t] =
        sees ? whole.base + logf(whole.weights) : -infinity();
}

// Adds up the partial results of `count` parts, in the order of the parts, and stores elements number first,
// first + step, ... of the block's output. part_at(i) returns the address of partial result i.
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

// Computes o and lse. codegen/cuda/attention/decode_attention.h describes the arguments. x_b, x_t and x_h
// are the strides of x for batch row, position and head, in elements. The grid has kBlocksOfRows blocks for
// each batch row, key head and tile of rows. If kHasTickets, these blocks form no cluster. Each of them then
// stores its partial result in `partials`, in device memory, and the last one to do so adds up the results.
// `tickets` has a counter per tile of rows to find the last one.
SM void attention(const Element* q, const Element* k, const Element* v, Element* o, float* lse,
                  float* partials, unsigned* tickets, long long queries, long long keys, long long q_b,
                  long long q_t, long long q_h, long long k_b, long long k_t, long long k_h, long long v_b,
                  long long v_t, long long v_h, long long o_b, long long o_t, long long o_h,
                  const int* places, long long places_b, long long places_s, float scale,
                  const BodyArguments& body) {
  __shared__ float warps[kWarps * kRows * kPitch];
  const int all = (int)queries * kGroup, tiles = (all + kRows - 1) / kRows;
  // sharer: index of this block among the kBlocksOfRows blocks with the same rows. place: index of the tile
  // of rows in the grid. pair: index of its batch row and key head.
  const int sharer = blockIdx.x % kBlocksOfRows, place = blockIdx.x / kBlocksOfRows, pair = place / tiles;
  if (sharer >= kSharers) return;  // only in tests on a host, where kSharers is 1
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
    if (part != sharer) __syncthreads();  // all threads have read the results of the previous part
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
    if (sharer >= parts.count) return;  // there is no part for this block
    leave_part(shared + sharer * (kRows * kPitch), whole, rows);
    if (!is_last_of(tickets + place, parts.count)) return;
    store_sums(to, rows, parts.count, threadIdx.x, kThreads, [&](int part) { return shared + part * (kRows * kPitch); });
  } else {
    __shared__ float left[kRows * kPitch];
    leave_part(left, whole, rows);
    // The blocks of the cluster read each other's partial results in shared memory.
    sharing::row_sync();
    store_sums(to, rows, parts.count, sharer * kThreads + threadIdx.x, kSharers * kThreads, [&](int part) { return sharing::in_block(left, part); });
    sharing::row_sync();  // keeps `left` alive until the other blocks have read it
  }
}
