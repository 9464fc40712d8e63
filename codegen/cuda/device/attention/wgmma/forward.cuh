// The function `attention` of the forward kernel (flash attention for sm_90a), which computes O and the
// log-sum-exps. codegen/cuda/attention/attention_wgmma.h describes its arguments. A block processes one work
// item after the other. An item is a tile of kQueries queries of one head. The first warp of the block is
// the producer: it takes items, finds the key tiles that their queries see, and copies tiles by TMA. The
// kConsumers warp groups after the first warp group are consumers. They compute the scores, the weights and
// the outputs, each for 64 of the item's queries. A stage is a buffer for one tile in shared memory.
// Requires: weights.cuh and forward_tiles.cuh.


// Query heads are processed together if their keys and values have at most this many bytes in all. So the L2
// cache keeps the keys and values until all queries of these heads have used them.
constexpr int kTogetherBytes = 20 << 20;

// All threads of the block call it. o_b, o_t and o_h are the strides of `output` for batch row, query and
// head, in elements. rest_b, rest_t and rest_h are those of `rest`.
SM void attention(const TensorMap& q_map, const TensorMap& k_map, const TensorMap& v_map, Half* output, Half* rest,
                  float* lse, unsigned* counters, long long batch_, long long heads_, long long group_, long long queries_,
                  long long keys_, long long o_b, long long o_t, long long o_h, long long rest_b, long long rest_t,
                  long long rest_h, float scale, const BodyArguments& body) {
  extern __shared__ __align__(1024) unsigned char memory[];
  const int heads = (int)heads_, queries = (int)queries_, keys = (int)keys_;
  const int tiles = (queries + kQueries - 1) / kQueries, all_heads = (int)batch_ * heads, items = tiles * all_heads;

  // Shared memory contains, from a multiple of 1024 bytes on: kQueryStages tiles of queries; kStages tiles
  // of keys; kStages tiles of values; two mbarriers of 8 bytes, `full` and `empty`, for each of these
  // stages; a tile word (forward_tiles.cuh) for each stage of keys; and the item for each stage of queries,
  // in 16 bytes: the ints b, h and first query. b = -1 means that no item is left. A tile is kChunks boxes,
  // as copy_rows stores them.
  const unsigned q_tiles = (shared_address(memory) + 1023) & ~1023u;
  const unsigned k_tiles = q_tiles + kQueryStages * kQueryBytes, v_tiles = k_tiles + kStages * kKeyBytes;
  const unsigned barriers = v_tiles + kStages * kKeyBytes;
  const unsigned full_q = barriers, empty_q = full_q + 8 * kQueryStages, full_k = empty_q + 8 * kQueryStages, empty_k = full_k + 8 * kStages,
                 full_v = empty_k + 8 * kStages, empty_v = full_v + 8 * kStages, infos = empty_v + 8 * kStages,
                 items_at = infos + 4 * kStages;
  if (threadIdx.x == 0) {
    // The producer arrives once at a full barrier, and every consumer thread arrives at an empty one.
    for (int i = 0; i < kQueryStages; ++i) barrier_init(full_q + 8 * i, 1), barrier_init(empty_q + 8 * i, 128 * kConsumers);
    for (int i = 0; i < kStages; ++i) {
      barrier_init(full_k + 8 * i, 1), barrier_init(empty_k + 8 * i, 128 * kConsumers);
      barrier_init(full_v + 8 * i, 1), barrier_init(empty_v + 8 * i, 128 * kConsumers);
    }
    // TMA accesses the barriers too, so the fences make the initialization visible to it.
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    fence_stores();
  }
  __syncthreads();

  if (threadIdx.x < 128) {
    // If there are several consumers, the producer's warp group releases registers. The consumers get these
    // registers by setmaxnreg.inc.
    if (kConsumers > 1) asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kProducerRegisters));
    if (threadIdx.x >= 32) return;
    const bool leader = threadIdx.x == 0;
    // head_bytes: bytes of K and V per query head. An element of K or V has 2 bytes, and `group` query heads
    // share a key head. together: number of query heads that are processed together.
    const int group = (int)group_, head_bytes = max(keys * kHead * 4 / group, 1);
    const int together = min(max(kTogetherBytes / head_bytes, 1), all_heads);
    // The current stages of keys, values and queries, and the parities to wait for. All stages are empty at
    // first, so the first wait for each has parity 1, which returns at once.
    int ks = 0, vs = 0, qs = 0;
    unsigned k_phase = 1, v_phase = 1, q_phase = 1;
    // Copies tile number `tile` of the values of query head h to the next stage.
    const auto load_values = [&](int tile, int h, int b) {
      barrier_wait(empty_v + 8 * vs, v_phase);
      if (leader) {
        barrier_expect(full_v + 8 * vs, kKeyBytes);
        copy_rows(v_tiles + vs * kKeyBytes, v_map, kKeys, tile * kKeys, h / group, b, full_v + 8 * vs);
      }
      if (++vs == kStages) vs = 0, v_phase ^= 1;
    };
    for (int at = blockIdx.x; at < items;) {
      const Item item = item_of(at, tiles, heads, all_heads, together);
      Scan scan{(keys + kKeys - 1) / kKeys, 0, 0};
      int tile = next_tile(scan, body, item.b, item.h, item.t0, queries, keys), before = kNothing;
      // Consumers multiply the keys of a tile before the values of the previous tile. So the keys of a tile
      // are copied before the values of the previous tile, whose number is `before`. The first keys of an
      // item are copied before its queries, because the previous item may still use the stage of the
      // queries.
      do {
        const int after = tile == kNothing ? kNothing : next_tile(scan, body, item.b, item.h, item.t0, queries, keys);
        const int number = tile & ((1 << kKindAt) - 1);
        barrier_wait(empty_k + 8 * ks, k_phase);
        if (leader) {
          store_shared(infos + 4 * ks, after == kNothing ? tile | kLast : tile);
          if (tile == kNothing) {  // nothing to copy
            barrier_arrive(full_k + 8 * ks);
          } else {
            barrier_expect(full_k + 8 * ks, kKeyBytes);
            copy_rows(k_tiles + ks * kKeyBytes, k_map, kKeys, number * kKeys, item.h / group, item.b, full_k + 8 * ks);
          }
        }
        if (++ks == kStages) ks = 0, k_phase ^= 1;
        if (before == kNothing) {
          barrier_wait(empty_q + 8 * qs, q_phase);
          if (leader) {
            const unsigned to = items_at + 16 * qs;
            store_shared(to, item.b), store_shared(to + 4, item.h), store_shared(to + 8, item.t0);
            barrier_expect(full_q + 8 * qs, kQueryBytes);
            copy_rows(q_tiles + qs * kQueryBytes, q_map, kQueries, item.t0, item.h, item.b, full_q + 8 * qs);
          }
          if (++qs == kQueryStages) qs = 0, q_phase ^= 1;
        } else {
          load_values(before, item.h, item.b);
        }
        before = tile == kNothing ? kNothing : number;
        tile = after;
      } while (tile != kNothing);
      at = take_item(counters, items);
      if (before != kNothing) load_values(before, item.h, item.b);
    }
    barrier_wait(empty_q + 8 * qs, q_phase);
    if (leader) {
      store_shared(items_at + 16 * qs, -1);
      barrier_arrive(full_q + 8 * qs);
    }
  } else {
    if (kConsumers > 1) asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kConsumerRegisters));
    const int wg = uniform(threadIdx.x / 128) - 1, lane = threadIdx.x & 31, warp = uniform(threadIdx.x / 32) & 3;
    // A lane has two queries of the tile: number own_row and number own_row + 8.
    const int own_row = 64 * wg + 16 * warp + (lane >> 2);
    const float scale_log2 = scale * kLog2e;
    // Low words of wgmma descriptors (`describe`) for stage 0, in units of 16 bytes. q_places is for the 64
    // queries of the warp group.
    const unsigned q_places = describe(q_tiles + wg * 64 * 128, 0), k_places = describe(k_tiles, 0),
                     v_places = describe(v_tiles, kKeys * 128);
    // Consumers take turns: one multiplies while another computes exponentials. Warp group w waits for its
    // turn at named barrier 1 + w, which completes when all other consumers have arrived there (pass_turn).
    // Warp group 0 has the first turn.
    const auto wait_for_turn = [&] {
      if (kTakesTurns) named_sync<128 * kConsumers>(1 + wg);
    };
    const auto pass_turn = [&] {
#pragma unroll
      for (int i = 1; i < kConsumers && kTakesTurns; ++i) named_arrive<128 * kConsumers>(1 + (wg + i) % kConsumers);
    };
    for (int i = 0; i < wg && kTakesTurns; ++i) named_arrive<128 * kConsumers>(1 + i);

    int ks = 0, vs = 0, qs = 0;
    unsigned k_phase = 0, v_phase = 0, q_phase = 0;
    // s: scores, later weights [64 x kKeys]. o: outputs [64 x kColumns]. p: the weights in 16 bits. kept:
    // which weights dropout keeps (weights.cuh).
    float s[kKeys / 2], o[kColumns / 2];
    unsigned p[kKeys / 4], kept[kWords];
    // Begins s = Q K^T with the current stages, in steps of 16 columns of the head.
    const auto multiply_keys = [&] {
      multiply_begin();
      const unsigned k_place = k_places + (ks * kKeyBytes >> 4), q_place = q_places + (qs * kQueryBytes >> 4);
#pragma unroll
      for (int i = 0; i < kColumns / 16; ++i) {
        const int q_at = (i / 4 * kQueries * 128 + i % 4 * 32) >> 4, k_at = (i / 4 * kKeys * 128 + i % 4 * 32) >> 4;
        if (i == 0) begin_scores(s, q_place, k_place);
        else multiply_scores(s, q_place + q_at, k_place + k_at);
      }
      multiply_commit();
    };
    // Begins o += P V with the current stage of values, in steps of 16 keys. P are the weights.
    const auto multiply_values = [&] {
      multiply_begin();
      const unsigned v_place = v_places + (vs * kKeyBytes >> 4);
#pragma unroll
      for (int i = 0; i < kKeys / 16; ++i) multiply_outputs(o, p + 4 * i, v_place + (i * 16 * 128 >> 4));
      multiply_commit();
    };
    // These three functions return the current stage to the producer, and move to the next one.
    const auto release_queries = [&] {
      barrier_arrive(empty_q + 8 * qs);
      if (++qs == kQueryStages) qs = 0, q_phase ^= 1;
    };
    const auto release_keys = [&] {
      barrier_arrive(empty_k + 8 * ks);
      if (++ks == kStages) ks = 0, k_phase ^= 1;
    };
    const auto release_values = [&] {
      barrier_arrive(empty_v + 8 * vs);
      if (++vs == kStages) vs = 0, v_phase ^= 1;
    };

    while (true) {
      barrier_wait(full_q + 8 * qs, q_phase);
      const unsigned item_at = items_at + 16 * qs;
      const int b = uniform(load_shared(item_at));
      if (b < 0) break;
      const int h = uniform(load_shared(item_at + 4)), t = uniform(load_shared(item_at + 8)) + own_row;
      // row: index of the lane's first query among all (b, h, t). top, sum: largest score and sum of weights
      // of each of the lane's two queries so far. shrink: factors by which earlier sums are multiplied
      // (weigh).
      const long long row = ((long long)b * heads + h) * queries + t;
      float top[2] = {-infinity(), -infinity()}, sum[2] = {0.0f, 0.0f}, shrink[2];
      barrier_wait(full_k + 8 * ks, k_phase);
      int info = uniform(load_shared(infos + 4 * ks));
      clear(o);
      // Replaces the products in s by weights. If the score_mod does not change the scores of an unmasked
      // tile (kPlainWhenUnmasked), only the scale is applied.
      const auto weigh_tile = [&] {
        const int key = (info & ((1 << kKindAt) - 1)) * kKeys + 2 * (lane & 3);
        float coefficient = scale_log2;
        const bool unmasked = (info >> (kKindAt + 2 * wg) & 3) == 2;
        if (!kPlainWhenUnmasked || !unmasked) {
          if (unmasked) modify<true>(s, body, b, h, t, queries, key, keys, scale);
          else modify<false>(s, body, b, h, t, queries, key, keys, scale);
          coefficient = kLog2e;
        }
        weigh(s, coefficient, top, sum, shrink);
      };
      // Draws the dropout bits of the tile, while a product is in flight.
      const auto draw_tile = [&] { draw(kept, body, row, (info & ((1 << kKindAt) - 1)) * kKeys); };
      if (info == kNothing) {  // the item sees no key
        release_keys();
        release_queries();
      } else {
        multiply_keys();
        draw_tile();
        multiply_wait<0>();
        pin(s);
        release_keys();
        weigh_tile();
        pack_weights(p, s, kept);
        // Q K^T of a tile and P V of the previous tile are in flight together.
        while (!(info & kLast)) {
          barrier_wait(full_k + 8 * ks, k_phase);
          info = uniform(load_shared(infos + 4 * ks));
          wait_for_turn();
          multiply_keys();
          barrier_wait(full_v + 8 * vs, v_phase);
          multiply_values();
          pass_turn();
          draw_tile();
          multiply_wait<1>();
          pin(s);
          release_keys();
          weigh_tile();
          // finish makes the compiler compute the exponentials before the wait for P V, not after it.
          finish(sum[0] + sum[1]);
          multiply_wait<0>();
          pin(o), pin(p);
          release_values();
          // The outputs so far are relative to the previous largest scores.
#pragma unroll
          for (int i = 0; i < kColumns / 2; ++i) o[i] *= shrink[i >> 1 & 1];
          pack_weights(p, s, kept);
        }
        release_queries();
        barrier_wait(full_v + 8 * vs, v_phase);
        multiply_values();
        multiply_wait<0>();
        pin(o), pin(p);
        release_values();
      }
      // Adds up the sums of the four lanes that have the same rows. share[r]: factor of the outputs of the
      // lane's row r.
      float share[2];
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        sum[r] += __shfl_xor_sync(0xFFFFFFFFu, sum[r], 1);
        sum[r] += __shfl_xor_sync(0xFFFFFFFFu, sum[r], 2);
        const bool there = t + 8 * r < queries;
        share[r] = sum[r] > 0.0f ? (kHasFactor ? kKeptFactor : 1.0f) * __frcp_rn(sum[r]) : 0.0f;
        store_row(output + b * o_b + h * o_h + (t + 8 * r) * o_t, there, o, r, share[r], kHead);
        if (there && (lane & 3) == 0) lse[row + 8 * r] = sum[r] > 0.0f ? (top[r] + log2_fast(sum[r])) * kLn2 : -infinity();
      }
      if (!kHasRest) continue;
      leave_rest(o, share);
#pragma unroll
      for (int r = 0; r < 2; ++r)
        store_row(rest + b * rest_b + h * rest_h + (t + 8 * r) * rest_t, t + 8 * r < queries, o, r, 1.0f, kHead);
    }
  }
}
