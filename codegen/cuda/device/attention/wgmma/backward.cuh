// The function `attention` of the backward kernel for sm_90a: dK, dV, and f32 sums for dQ.
// A block takes one work item after the other: an item is a tile of kKeys keys of one key head. For each
// item, the block loops over the tiles of kQueries queries that see some of these keys (backward_tiles.cuh).
// Warp group 0 is the producer: warp 0 loads tiles by TMA, warps 1 and 2 add tiles of dQ to device memory,
// and warp 3 has no work. The other warp groups are consumers: each accumulates dK and dV of 64 keys in
// registers. dS are the gradients of the scores. Shared memory, from a multiple of 1024 bytes on:
//   K, then V       a tile of kKeys rows of each
//   Q, then dO      kStages tiles of kQueries rows of each
//   dS              two tiles of kKeys rows and kQueries columns
//   dQ              two tiles of f32 in the order of the consumers' registers
//   lse and delta   kQueries f32 of each per stage
//   mbarriers       8 bytes each
//   ints            four per stage, which describe its tile; then four that describe the item
// Tiles of 16-bit elements consist of chunks of 64 columns: rows of 128 bytes with the 128-byte swizzle of
// TMA.
// Requires: gradients.cuh and order.cuh.


// attention_wgmma.h lists the arguments. `sums` and `counters` are for dQ and the order of its additions.
SM void attention(const TensorMap& q_map, const TensorMap& k_map, const TensorMap& v_map, const TensorMap& do_map,
                  const float* lse, const float* delta, Half* dk_to, Half* dv_to, float* sums, unsigned* counters,
                  long long batch_, long long heads_, long long group_, long long queries_, long long keys_,
                  long long dk_b, long long dk_t, long long dk_h, long long dv_b, long long dv_t, long long dv_h,
                  float scale, const BodyArguments& body) {
  static_assert((kStages & (kStages - 1)) == 0);
  extern __shared__ __align__(1024) unsigned char memory[];
  const int heads = (int)heads_, group = (int)group_, key_heads = heads / group;
  const int queries = (int)queries_, keys = (int)keys_;
  const int query_tiles = (queries + kQueries - 1) / kQueries, key_tiles = (keys + kKeys - 1) / kKeys;
  const int items = key_tiles * (int)batch_ * key_heads;

  const unsigned k_tile = (shared_address(memory) + 1023) & ~1023u, v_tile = k_tile + kKeyBytes;
  const unsigned q_tiles = v_tile + kKeyBytes, do_tiles = q_tiles + kStages * kQueryBytes;
  const unsigned ds_tiles = do_tiles + kStages * kQueryBytes, ds_bytes = kKeys * kQueries * 2;
  const unsigned sum_tiles = ds_tiles + 2 * ds_bytes, row_values = sum_tiles + 2 * kSumBytes;
  // Barriers: `full` for the readers of a buffer, `empty` for its writer. infos, per stage: Told::info, b *
  // heads + h, first query, tile of keys. item_at: b, key head, tile of keys, whether no query sees it.
  const unsigned barriers = row_values + kStages * kQueries * 8;
  const unsigned full_keys = barriers, empty_keys = barriers + 8, full_sum = barriers + 16, empty_sum = barriers + 32,
                 full = barriers + 48, empty = full + 8 * kStages, infos = empty + 8 * kStages,
                 item_at = infos + 16 * kStages;
  if (threadIdx.x == 0) {
    barrier_init(full_keys, 1), barrier_init(empty_keys, 128 * kConsumers);
    for (int i = 0; i < 2; ++i) barrier_init(full_sum + 8 * i, 128 * kConsumers), barrier_init(empty_sum + 8 * i, 1);
    // full: bytes of TMA, and 32 lanes that store lse and delta. empty: consumers, and the warp that adds dQ.
    for (int i = 0; i < kStages; ++i) barrier_init(full + 8 * i, 33), barrier_init(empty + 8 * i, 128 * kConsumers + 32);
    // The initialized barriers become visible to TMA, which accesses them through the async proxy.
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    fence_stores();
  }
  __syncthreads();

  if (threadIdx.x < 128) {
    // The producer gives registers to the consumers, which wait for them in setmaxnreg.inc.
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kProducerRegisters));
    const int lane = threadIdx.x & 31;
    if (threadIdx.x < 32) {
      // count: tiles of queries so far. A wait for parity 1 returns at once at first: all buffers are empty.
      unsigned count = 0, key_phase = 1;
      const auto wait_for_room = [&] { barrier_wait(empty + 8 * (count & (kStages - 1)), ~(count / kStages) & 1); };
      for (int at = blockIdx.x; at < items;) {
        const Item item = item_of(at, key_tiles, key_heads);
        Scan scan{0, 0, 0};
        int tile = next_tile(scan, body, item, group, query_tiles, queries, keys);
        barrier_wait(empty_keys, key_phase);
        key_phase ^= 1;
        if (lane == 0) {
          store_shared(item_at, item.b), store_shared(item_at + 4, item.h), store_shared(item_at + 8, item.tile);
          store_shared(item_at + 12, tile == kNothing);
          barrier_expect(full_keys, 2 * kKeyBytes);
          copy_rows(k_tile, k_map, kKeys, item.tile * kKeys, item.h, item.b, full_keys);
          copy_rows(v_tile, v_map, kKeys, item.tile * kKeys, item.h, item.b, full_keys);
        }
        // The tile after this one is found first, because the last tile of an item is marked.
        while (tile != kNothing) {
          const int after = next_tile(scan, body, item, group, query_tiles, queries, keys);
          const int number = tile & ((1 << kKindAt) - 1), h = item.h * group + number / query_tiles;
          const int t = number % query_tiles * kQueries;
          const unsigned stage = count & (kStages - 1), there = full + 8 * stage, values = row_values + stage * kQueries * 8;
          wait_for_room();
          if (lane == 0) {
            store_shared(infos + 16 * stage, after == kNothing ? tile | kLast : tile);
            store_shared(infos + 16 * stage + 4, item.b * heads + h), store_shared(infos + 16 * stage + 8, t);
            store_shared(infos + 16 * stage + 12, item.tile);
            barrier_expect(there, 2 * kQueryBytes);
            copy_rows(q_tiles + stage * kQueryBytes, q_map, kQueries, t, h, item.b, there);
            copy_rows(do_tiles + stage * kQueryBytes, do_map, kQueries, t, h, item.b, there);
          }
          // x: base-2 lse, minus the logarithm of the factor, so that weights include the factor; inf makes
          // all weights of a query 0. y: delta / factor.
          const long long row = ((long long)item.b * heads + h) * queries;
#pragma unroll
          for (int i = 0; i < kQueries; i += 32) {
            const int at = t + i + lane;
            float x = infinity(), y = 0.0f;
            if (at < queries) x = lse[row + at] * kLog2e, y = delta[row + at];
            if (x == -infinity()) x = infinity();
            if (kHasFactor) x -= kFactorLog2, y *= 1.0f / kFactor;
            store_shared(values + 4 * (i + lane), __float_as_int(x));
            store_shared(values + 4 * (kQueries + i + lane), __float_as_int(y));
          }
          barrier_arrive(there);
          ++count;
          tile = after;
        }
        // The next item is taken only now. Blocks add to dQ in the order of the items, and would wait for one
        // that is taken and not begun.
        at = take_item(counters, items);
      }
      // Two marks of the end, one for each warp that adds dQ. Afterwards, b = -1 ends the consumers.
      for (int i = 0; i < 2; ++i, ++count) {
        const unsigned stage = count & (kStages - 1);
        wait_for_room();
        if (lane == 0) {
          store_shared(infos + 16 * stage, kNothing);
          barrier_arrive(full + 8 * stage);
        }
        barrier_arrive(full + 8 * stage);
      }
      barrier_wait(empty_keys, key_phase);
      if (lane == 0) {
        store_shared(item_at, -1);
        barrier_arrive(full_keys);
      }
    } else if (threadIdx.x < 96) {
      // Two warps add dQ's tiles alternately: one waits for its turn in device memory while the other adds.
      // rank: additions to this tile that come before; done: those that are complete.
      const unsigned which = threadIdx.x / 32 - 1;
      Ranks ranks{-1, 0, {}};
      for (unsigned count = which;; count += 2) {
        const unsigned stage = count & (kStages - 1), from = infos + 16 * stage;
        barrier_wait(full + 8 * stage, count / kStages & 1);
        const int info = load_shared(from), head = load_shared(from + 4), query_tile = load_shared(from + 8) / kQueries;
        const Item item = {head / heads, head % heads / group, load_shared(from + 12)};
        barrier_arrive(empty + 8 * stage);
        if (info == kNothing) break;
        const int rank =
            rank_of(ranks, body, item, info & ((1 << kKindAt) - 1), group, query_tiles, queries, key_tiles, keys);
        const long long place = (long long)head * query_tiles + query_tile;
        int* done = (int*)counters + 2 + place;
        if (lane == 0) wait_in_order(done, rank);
        __syncwarp();
        barrier_wait(full_sum + 8 * which, count / 2 & 1);
        if (lane == 0)
          add_in_order(sums + place * (kSumBytes / 4), done, rank, sum_tiles + which * kSumBytes, empty_sum + 8 * which);
        __syncwarp();
      }
    }
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kConsumerRegisters));
    const int wg = uniform(threadIdx.x / 128) - 1, lane = threadIdx.x & 31, warp = uniform(threadIdx.x / 32) & 3;
    // own_row: the warp's first row of the tile of keys.
    const int own_row = 64 * wg + 16 * warp;
    // Descriptors. k_place, v_place, ds_rows: the consumer's 64 keys; q_places, do_places: stage 0. dQ = dS^T
    // K is divided among consumers by columns if kByColumns (k_columns), else by queries (ds_places). ds_row:
    // address of the lane's row of dS; sum_to: address of the thread's part of dQ.
    const unsigned k_place = describe(k_tile + wg * 64 * 128, 0), v_place = describe(v_tile + wg * 64 * 128, 0);
    const unsigned q_places = describe(q_tiles, kQueries * 128), do_places = describe(do_tiles, kQueries * 128);
    const unsigned ds_places = describe(ds_tiles + (kByColumns ? 0 : wg * kKeys * 128), 0);
    const unsigned ds_rows = describe(ds_tiles + wg * 64 * 128, 0), ds_row = ds_tiles + (own_row + (lane & 15)) * 128;
    const unsigned k_columns =
        describe(k_tile + (kByColumns ? (kChunks > 1 ? wg * kKeys * 128 : wg * kSumColumns * 2) : 0), kKeys * 128);
    const unsigned sum_to = sum_tiles + (wg * kSumColumns * 64 + (threadIdx.x & 127) * 4) * 4;

    // Accumulators: s and ds have 64 keys x 64 queries. s: scores, later the factors of dS; ds: products of
    // dO and V. p: the weights as operand A; kept: which weights dropout keeps (gradients.cuh).
    float s[kParts][32], ds[32], dk[kColumns / 2], dv[kColumns / 2], dq[kSumColumns / 2];
    unsigned p[16], kept[kParts];
    // Starts to = A B^T over the columns of the head; a, b: descriptors.
    const auto multiply_rows = [&](float(&to)[32], unsigned a, unsigned b) {
      multiply_begin();
#pragma unroll
      for (int i = 0; i < kColumns / 16; ++i) {
        const int a_at = (i / 4 * kKeys * 128 + i % 4 * 32) >> 4, b_at = (i / 4 * kQueries * 128 + i % 4 * 32) >> 4;
        if (i == 0) begin_scores(to, a, b);
        else multiply_scores(to, a + a_at, b + b_at);
      }
      multiply_commit();
    };
    // Starts dv += weights dO, for 64 queries.
    const auto multiply_weights = [&](unsigned do_place) {
      multiply_begin();
#pragma unroll
      for (int i = 0; i < 4; ++i) multiply_values(dv, p + 4 * i, do_place + (i * 16 * 128 >> 4));
      multiply_commit();
    };
    // Starts dk += dS Q, and dq = dS^T K as a second group. The barrier: dq needs the dS of all consumers.
    const auto multiply_gradients_of = [&](unsigned ds_tile, unsigned q_place) {
      named_sync<128 * kConsumers>(1);
      multiply_begin();
#pragma unroll
      for (int i = 0; i < kQueries / 16; ++i)
        multiply_keys(dk, ds_rows + ((ds_tile + i / 4 * kKeys * 128 + i % 4 * 32) >> 4), q_place + (i * 16 * 128 >> 4));
      multiply_commit();
      multiply_begin();
#pragma unroll
      for (int i = 0; i < kKeys / 16; ++i) {
        const unsigned a = ds_places + (ds_tile >> 4), step = i * 16 * 128 >> 4;
        if (i == 0) begin_sums(dq, a, k_columns);
        else multiply_sums(dq, a + step, k_columns + step);
      }
      multiply_commit();
    };

    // count: tiles of queries so far; determines the stage, parities, and the buffer of dS and dQ.
    unsigned count = 0, key_phase = 0;
    const auto stage_of = [&] { return count & (kStages - 1); };
    // Waits until tile `count` is in its stage, and returns what the producer stored with it.
    const auto take_tile = [&] {
      barrier_wait(full + 8 * stage_of(), count / kStages & 1);
      const unsigned from = infos + 16 * stage_of();
      return Told{uniform(load_shared(from)), uniform(load_shared(from + 4)), uniform(load_shared(from + 8))};
    };
    // For the tile before `count`: wait until its dQ buffer is empty; store dq for a bulk copy (fence).
    const auto wait_for_sums = [&] { barrier_wait(empty_sum + 8 * (~count & 1), (count + 1) / 2 & 1); };
    const auto hand_over = [&] {
      const unsigned which = ~count & 1;
#pragma unroll
      for (int i = 0; i < kSumColumns / 2; i += 4)
        store_four(sum_to + which * kSumBytes + i * 512, dq[i], dq[i + 1], dq[i + 2], dq[i + 3]);
      fence_stores();
      barrier_arrive(full_sum + 8 * which);
    };
    while (true) {
      barrier_wait(full_keys, key_phase);
      key_phase ^= 1;
      const int b = uniform(load_shared(item_at));
      if (b < 0) break;
      const int key_head = uniform(load_shared(item_at + 4)), key_tile = uniform(load_shared(item_at + 8));
      const bool nothing = load_shared(item_at + 12);
      const int key = key_tile * kKeys + own_row;
      clear(dk), clear(dv);
      if (!nothing) {
        Told told = take_tile();
        multiply_rows(s[0], k_place, q_places + (stage_of() * kQueryBytes >> 4));
        draw(kept, body, (long long)told.head * queries + told.t, key);
        multiply_wait<0>();
        pin(s[0]);
        while (true) {
          const bool unmasked = (told.info >> (kKindAt + 2 * wg) & 3) == 2;
          const unsigned q_place = q_places + (stage_of() * kQueryBytes >> 4),
                         do_place = do_places + (stage_of() * kQueryBytes >> 4);
#pragma unroll
          for (int part = 0; part < kParts; ++part) {
            const Place place = {b, told.head - b * heads, told.t + 64 * part + 2 * (lane & 3), queries, key + (lane >> 2), keys,
                           row_values + stage_of() * kQueries * 8 + 256 * part + 8 * (lane & 3), scale};
            // The tensor cores compute ds, and the scores of the next 64 queries, during weigh_tile.
            if (kEarlyProducts) multiply_rows(ds, v_place, do_place + part * kPartStep);
            if (part + 1 < kParts) multiply_rows(s[kParts - 1], k_place, q_place + kPartStep);
            if (part > 0) {
              multiply_wait<kEarlyProducts ? 1 : 0>();  // dv of the previous part has read p
              pin(p);
            }
            weigh_tile(s[part], p, kept[part], body, place, unmasked);
            if (!kEarlyProducts) multiply_rows(ds, v_place, do_place + part * kPartStep);
            multiply_weights(do_place + part * kPartStep);
            // All but dv is complete. (pin: the compiler must not read the accumulators before the wait.)
            multiply_wait<1>();
            pin(ds);
            if (part + 1 < kParts) pin(s[kParts - 1]);
            // The same bits, but unknown to the compiler, which would keep masks of weigh_tile in registers.
            if (kDraws > 0) kept[part] = __shfl_sync(0xFFFFFFFFu, kept[part], lane);
            differentiate(s[part], ds, kept[part], place, ds_row + (count & 1) * ds_bytes + part * kKeys * 128);
          }
          fence_stores();  // wgmma reads dS through the async proxy
          multiply_wait<0>();
          pin(p);
          const unsigned ds_tile = (count & 1) * ds_bytes, emptied = empty + 8 * stage_of();
          ++count;
          // A wgmma and its wait are in one branch. Otherwise the compiler waits directly after the wgmma.
          if (told.info & kLast) {
            multiply_gradients_of(ds_tile, q_place);
            wait_for_sums();
            multiply_wait<0>();
            pin(dq);
            hand_over();
            barrier_arrive(emptied);
            break;
          }
          multiply_gradients_of(ds_tile, q_place);
          // The next scores are started before the wait for dk and dq, so that the tensor cores stay busy.
          const Told next = take_tile();
          multiply_rows(s[0], k_place, q_places + (stage_of() * kQueryBytes >> 4));
          draw(kept, body, (long long)next.head * queries + next.t, key);
          wait_for_sums();
          multiply_wait<1>();
          pin(dq);
          hand_over();
          barrier_arrive(emptied);
          told = next;
          multiply_wait<0>();
          pin(s[0]);
        }
        pin(dk), pin(dv);
      }
      barrier_arrive(empty_keys);
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        const int row = key + (lane >> 2) + 8 * r;
        store_row(dk_to + b * dk_b + key_head * dk_h + row * dk_t, row < keys, dk, r, scale, kHead);
        store_row(dv_to + b * dv_b + key_head * dv_h + row * dv_t, row < keys, dv, r, 1.0f, kHead);
      }
    }
  }
}
