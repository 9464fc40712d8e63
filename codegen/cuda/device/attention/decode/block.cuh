// The function `attention` of decode attention. It computes O and lse (the log-sum-exp of the scores) for
// few queries over many keys. A row is a query of one query head. A block has up to kRows rows that share a
// key head (layout.cuh). The keys are divided into parts (keys.cuh). kSharers blocks have the same rows, and
// each of them processes some of the parts. Each warp of a block has a partial result of each part. At the
// end, these results are added in a fixed order: for each warp over the parts, then over the warps.
// Requires: results.cuh, keys.cuh, lane_sums.cuh or tile_sums.cuh, and tickets.cuh.


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

// kPartFloats: floats of the partial results of a block. Each of its kWarps warps has a partial result of
// kRows x kPitch floats.
constexpr int kPartFloats = kWarps * kRows * kPitch;
// Returns the sum of warp number `warp` over `count` parts, for element number row * kHead + column of the
// block's output. part_at(i) returns the address of the partial results of part i.
template <typename PartAt>
SM Whole sum_of_parts(int count, const PartAt& part_at, int warp, int element) {
  Whole whole{-infinity(), 0.0f, 0.0f};
#pragma unroll
  for (int part = 0; part < kParts; ++part)
    if (part < count)
      add(whole, whole_of(part_at(part) + (warp * kRows + element / kHead) * kPitch, element % kHead));
  return whole;
}
// Stores elements number first, first + step, ... of the block's output from the partial results of its
// warps, which are added in the order of the warps.
SM void store_sums(const Results& to, const Rows& rows, const float* warps, int first, int step) {
  for (int element = first; element < rows.count * kHead; element += step) {
    Whole whole{-infinity(), 0.0f, 0.0f};
#pragma unroll
    for (int warp = 0; warp < kWarps; ++warp)
      add(whole, whole_of(warps + (warp * kRows + element / kHead) * kPitch, element % kHead));
    store(to, rows, element, whole);
  }
}
// Does the same for partial results of `count` parts. Four adjacent lanes share an element, because all parts
// of a warp are added before the warps, and loads take long. Thread number `first` of `step` threads calls
// this, together with all lanes of its warp.
template <typename PartAt>
SM void store_sums_of_parts(const Results& to, const Rows& rows, int count, int first, int step,
                            const PartAt& part_at) {
  static_assert(kWarps == 4);
  const int lane = threadIdx.x & 31, own_warp = lane % kWarps, end = rows.count * kHead;
  for (int i = first; (i - lane) / kWarps < end; i += step) {
    const int element = i / kWarps;
    const Whole own = sum_of_parts(element < end ? count : 0, part_at, own_warp, element);
    Whole whole{-infinity(), 0.0f, 0.0f};
#pragma unroll
    for (int warp = 0; warp < kWarps; ++warp) {
      const int from = lane - own_warp + warp;
      add(whole, {__shfl_sync(~0u, own.base, from), __shfl_sync(~0u, own.weights, from),
                  __shfl_sync(~0u, own.sum, from)});
    }
    if (own_warp == 0 && element < end) store(to, rows, element, whole);
  }
}

// Computes o and lse. codegen/cuda/attention/decode_attention.h describes the arguments. x_b, x_t and x_h
// are the strides of x for batch row, position and head, in elements. The grid has kBlocksOfRows blocks for
// each batch row, key head and tile of rows. If kHasTickets, each of these blocks stores its partial results
// in `partials`, in device memory, and the last block to do so adds them up. `tickets` has a counter per tile
// of rows to find the last block. If not kHasTickets, several such blocks form a cluster, and read each
// other's partial results in shared memory.
SM void attention(const Element* q, const Stored* k, const Stored* v, Element* o, float* lse,
                  float* partials, unsigned* tickets, long long queries, long long keys, long long q_b,
                  long long q_t, long long q_h, long long k_b, long long k_t, long long k_h, long long v_b,
                  long long v_t, long long v_h, long long o_b, long long o_t, long long o_h,
                  const int* places, long long places_b, long long places_s, const Scales& k_scales,
                  const Scales& v_scales, float scale, const BodyArguments& body) {
  __shared__ float warps[kPartFloats];
  const int all = (int)queries * kGroup, tiles = (all + kRows - 1) / kRows;
  // sharer: index of this block among the kBlocksOfRows blocks with the same rows. place: index of the tile
  // of rows in the grid. pair: index of its batch row and key head.
  const int sharer = blockIdx.x % kBlocksOfRows, place = blockIdx.x / kBlocksOfRows, pair = place / tiles;
  if (sharer >= kSharers) return;  // only in tests on a host, where block 0 of a cluster does all work
  const int row0 = place % tiles * kRows;
  const Rows rows{pair / kKeyHeads, pair % kKeyHeads, row0, min(kRows, all - row0), (int)queries, (int)keys};
  Queries own;
  load_queries(own, q + rows.b * q_b, q_t, q_h, rows, scale);
  const Parts parts = parts_of(body, rows);

  float* const of_warp = warps + (threadIdx.x >> 5) * (kRows * kPitch);
  Totals totals;
  const Places table{places + rows.b * places_b, places_s};
  const auto first_key = [&](int part) { return (parts.first + part * parts.each) * kUnit; };
  const int end = min(parts.end * kUnit, rows.keys);
  const auto of_head = [&](const Scales& x) {
    return Scales{x.at + rows.b * x.b + rows.key_head * x.h, x.b, x.place, x.h};
  };
  const Matrix km{k + rows.b * k_b + rows.key_head * k_h, k_t, of_head(k_scales)},
      vm{v + rows.b * v_b + rows.key_head * v_h, v_t, of_head(v_scales)};
  Ahead ahead;
  look_ahead(ahead, table, first_key(sharer), end);
  for (int part = sharer; part < parts.count; part += kSharers) {
    Sums sums;
    clear(sums);
    sum_keys(sums, own, km, vm, table, body, rows,
             {first_key(part), min(first_key(part + 1), end), first_key(part + kSharers), end}, ahead);
    add_part(totals, of_warp, sums, part == sharer);
  }
  if (sharer < parts.count) leave_totals(of_warp, totals);

  const Results to{o, lse, o_b, o_t, o_h};
  if (kSharers == 1) {
    __syncthreads();
    store_sums(to, rows, warps, threadIdx.x, kThreads);
  } else if (kHasTickets) {
    float* const shared = partials + (long long)place * kParts * kPartFloats;
    if (sharer >= parts.count) return;  // there is no part for this block
    __syncthreads();
    for (int i = threadIdx.x; i < kPartFloats; i += kThreads) shared[sharer * kPartFloats + i] = warps[i];
    if (!is_last_of(tickets + place, parts.count)) return;
    store_sums_of_parts(to, rows, parts.count, threadIdx.x, kThreads,
                        [&](int part) { return shared + part * kPartFloats; });
  } else {
    // The blocks of the cluster read each other's partial results in shared memory.
    sharing::row_sync();
    store_sums_of_parts(to, rows, parts.count, sharer * kThreads + threadIdx.x, kSharers * kThreads,
                        [&](int part) { return sharing::in_block(warps, part); });
    sharing::row_sync();  // keeps `warps` alive until the other blocks have read it
  }
}
