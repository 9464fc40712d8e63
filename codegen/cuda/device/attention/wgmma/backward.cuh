// The function `attention` of the backward kernel for sm_90a. It computes dK and dV, and f32 sums from which
// another kernel computes dQ (query_gradient.cuh).
// A block processes one work item after the other. An item is a tile of kKeys keys of one key head. For each
// item, the block loops over the tiles of kQueries queries that see some of these keys (backward_tiles.cuh).
// Warp group 0 is the producer: its warp 0 loads tiles by TMA, its warps 1 and 2 add tiles of dQ to device
// memory, and its warp 3 has no work. The other warp groups are the kConsumers consumers. Each of them
// accumulates dK and dV of 64 keys in registers. dO is the gradient of the output O, delta is dO . O for each
// query, and dS are the gradients of the scores. A query tile is loaded into one of kStages stages. Shared
// memory contains, from a multiple of 1024 bytes on:
//   K, then V       the item's tile of kKeys rows of each
//   Q, then dO      a tile of kQueries rows of each per stage
//   dS              two tiles of kKeys rows and kQueries columns
//   dQ              two tiles of f32 sums, in the order of the consumers' registers
//   lse and delta   kQueries f32 numbers of each per stage
//   mbarriers       8 bytes each
//   ints            four per stage, which describe its query tile; then four that describe the item
// A tile of 16-bit elements consists of chunks of 64 columns. A row of a chunk is 128 bytes, with the
// 128-byte swizzle of TMA.
// Requires: gradients.cuh and order.cuh.


// All threads of the block call it. codegen/cuda/attention/attention_wgmma.h describes the arguments. sums:
// the f32 sums of dQ. counters: two counters for take_item, then one per query tile, which counts the
// additions to its sums (order.cuh).
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
  // A `full` barrier completes when a buffer has been written, and an `empty` one when it has been read.
  // infos has four ints per stage: the tile word (Told::info), b * heads + h, the first query, and the key
  // tile. item_at has four ints: b, the key head, the key tile, and 1 if no query sees the item (else 0).
  const unsigned barriers = row_values + kStages * kQueries * 8;
  const unsigned full_keys = barriers, empty_keys = barriers + 8, full_sum = barriers + 16, empty_sum = barriers + 32,
                 full = barriers + 48, empty = full + 8 * kStages, infos = empty + 8 * kStages,
                 item_at = infos + 16 * kStages;
  if (threadIdx.x == 0) {
    barrier_init(full_keys, 1), barrier_init(empty_keys, 128 * kConsumers);
    for (int i = 0; i < 2; ++i) barrier_init(full_sum + 8 * i, 128 * kConsumers), barrier_init(empty_sum + 8 * i, 1);
    // A full barrier of a stage gets 33 arrivals: one when the TMA copies are started, and one of each lane
    // of the warp, which stores lse and delta. An empty one gets an arrival of each consumer thread, and of
    // each lane of the warp that adds the tile's dQ.
    for (int i = 0; i < kStages; ++i) barrier_init(full + 8 * i, 33), barrier_init(empty + 8 * i, 128 * kConsumers + 32);
    // The initialized barriers become visible to TMA, which accesses them through the async proxy.
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    fence_stores();
  }
  __syncthreads();

  if (threadIdx.x < 128) {
    // The producer releases registers, which the consumers then get by setmaxnreg.inc.
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kProducerRegisters));
    const int lane = threadIdx.x & 31;
    if (threadIdx.x < 32) {
      // count: number of query tiles so far. All buffers are empty at first, so the first wait for each of
      // them has parity 1, which returns at once. wait_for_room waits until the stage of the next tile is
      // empty.
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
        // The next tile is found before the current one is loaded, because the last tile of an item gets a
        // mark (kLast).
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
          // x: lse * log2(e). It is inf if the query sees no key or does not exist; the weights of the
          // query are then 0.
          // y: delta. If there is dropout (kHasFactor), log2(kFactor) is subtracted from x, so that the
          // weights include the factor, and y is divided by kFactor.
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
        // The next item is taken as late as possible. Blocks add to dQ in the order of the items, so other
        // blocks would wait for an item that is taken but not begun.
        at = take_item(counters, items);
      }
      // kNothing in two stages ends the two warps that add dQ. Then b = -1 in the item ends the consumers.
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
      // These two warps add tiles of dQ alternately: while one adds a tile, the other may already wait for
      // the next. which: index of the warp among the two, and of its dQ buffer. rank: number of additions
      // to the same tile of dQ that must come before. done: address of the number of complete additions to
      // the tile.
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
    // own_row: index within the key tile of the first of the warp's 16 keys.
    const int own_row = 64 * wg + 16 * warp;
    // Low words of wgmma descriptors (`describe`). k_place, v_place and ds_rows are for the consumer's 64
    // keys. q_places and do_places are for stage 0. ds_places and k_columns are the operands of dQ = dS^T K.
    // Each consumer computes a part of that product: some columns if kByColumns, otherwise 64 queries. Two
    // addresses: ds_row is the row of dS to which the lane stores, and sum_to is the thread's place in the
    // dQ buffer.
    const unsigned k_place = describe(k_tile + wg * 64 * 128, 0), v_place = describe(v_tile + wg * 64 * 128, 0);
    const unsigned q_places = describe(q_tiles, kQueries * 128), do_places = describe(do_tiles, kQueries * 128);
    const unsigned ds_places = describe(ds_tiles + (kByColumns ? 0 : wg * kKeys * 128), 0);
    const unsigned ds_rows = describe(ds_tiles + wg * 64 * 128, 0), ds_row = ds_tiles + (own_row + (lane & 15)) * 128;
    const unsigned k_columns =
        describe(k_tile + (kByColumns ? (kChunks > 1 ? wg * kKeys * 128 : wg * kSumColumns * 2) : 0), kKeys * 128);
    const unsigned sum_to = sum_tiles + (wg * kSumColumns * 64 + (threadIdx.x & 127) * 4) * 4;

    // s: the scores of 64 keys x 64 queries, for each part of 64 queries of the tile. weigh_tile replaces
    // them by factors of dS. ds: the products of dO and V, also 64 keys x 64 queries. dk, dv, dq: the sums.
    // p: the weights in 16 bits, as operand A of wgmma. kept: which weights dropout keeps (gradients.cuh).
    float s[kParts][32], ds[32], dk[kColumns / 2], dv[kColumns / 2], dq[kSumColumns / 2];
    unsigned p[16], kept[kParts];
    // Starts the products `to` = A B^T, where A has 64 keys, B has 64 queries, and both have the columns
    // of the head. a, b: their descriptors.
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
    // Starts dv += weights dO for 64 queries. do_place: descriptor of dO.
    const auto multiply_weights = [&](unsigned do_place) {
      multiply_begin();
#pragma unroll
      for (int i = 0; i < 4; ++i) multiply_values(dv, p + 4 * i, do_place + (i * 16 * 128 >> 4));
      multiply_commit();
    };
    // Starts dk += dS Q, and then dq = dS^T K as a second group of products. The barrier comes first,
    // because dq needs the dS of all consumers. ds_tile: offset of the dS tile in bytes.
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

    // count: number of query tiles so far. It determines the stage, the parities of the barriers, and the
    // buffer of dS and of dQ.
    unsigned count = 0, key_phase = 0;
    const auto stage_of = [&] { return count & (kStages - 1); };
    // Waits until tile `count` is in its stage, and returns what the producer stored with it.
    const auto take_tile = [&] {
      barrier_wait(full + 8 * stage_of(), count / kStages & 1);
      const unsigned from = infos + 16 * stage_of();
      return Told{uniform(load_shared(from)), uniform(load_shared(from + 4)), uniform(load_shared(from + 8))};
    };
    // Both functions are for the dQ of the tile before tile `count`. wait_for_sums waits until its buffer is
    // empty. hand_over stores dq in the buffer, and passes the buffer to the warp that adds it to device
    // memory.
    const auto wait_for_sums = [&] { barrier_wait(empty_sum + 8 * (~count & 1), (count + 1) / 2 & 1); };
    const auto hand_over = [&] {
      const unsigned which = ~count & 1;
#pragma unroll
      for (int i = 0; i < kSumColumns / 2; i += 4)
        store_four(sum_to + which * kSumBytes + i * 512, dq[i], dq[i + 1], dq[i + 2], dq[i + 3]);
      fence_stores();  // the bulk copy reads the buffer through the async proxy
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
            // During weigh_tile, the tensor cores compute the scores of the next 64 queries and, if
            // kEarlyProducts, ds.
            if (kEarlyProducts) multiply_rows(ds, v_place, do_place + part * kPartStep);
            if (part + 1 < kParts) multiply_rows(s[kParts - 1], k_place, q_place + kPartStep);
            if (part > 0) {
              multiply_wait<kEarlyProducts ? 1 : 0>();  // dv of the previous part has read p
              pin(p);
            }
            weigh_tile(s[part], p, kept[part], body, place, unmasked);
            if (!kEarlyProducts) multiply_rows(ds, v_place, do_place + part * kPartStep);
            multiply_weights(do_place + part * kPartStep);
            // Afterwards only the product for dv is in flight. pin keeps the compiler from reading
            // accumulators before the wait.
            multiply_wait<1>();
            pin(ds);
            if (part + 1 < kParts) pin(s[kParts - 1]);
            // The shuffle returns the same bits, but the compiler does not know that. So the values that
            // weigh_tile derived from the bits are computed again, instead of being kept in registers.
            if (kDraws > 0) kept[part] = __shfl_sync(0xFFFFFFFFu, kept[part], lane);
            differentiate(s[part], ds, kept[part], place, ds_row + (count & 1) * ds_bytes + part * kKeys * 128);
          }
          fence_stores();  // wgmma reads dS through the async proxy
          multiply_wait<0>();
          pin(p);
          const unsigned ds_tile = (count & 1) * ds_bytes, emptied = empty + 8 * stage_of();
          ++count;
          // Both branches contain products and the wait for them. If the wait were in another branch than
          // the products, the compiler would wait directly after them.
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
