#include <fmt/format.h>

#include "codegen/cuda/attention/attention_wgmma.h"
#include "codegen/cuda/attention/pieces_wgmma.h"

namespace smelt {
namespace {

constexpr int kAlignment = 1024, kBarrierBytes = 256;  // of tiles; of barriers and what is told beside them

constexpr std::string_view kSizes = R"(
constexpr int kHead = {head}, kColumns = {columns}, kChunks = {chunks};
constexpr int kQueries = {queries}, kKeys = {keys}, kStages = {stages}, kConsumers = {consumers};
constexpr int kThreads = 128 * (kConsumers + 1), kBlocks = 1;
constexpr int kQueryBytes = kQueries * 128 * kChunks, kKeyBytes = kKeys * 128 * kChunks;
constexpr int kProducerRegisters = {producer_registers}, kConsumerRegisters = {consumer_registers};
// A consumer multiplies dQ's own 64 rows, or where there are 64 in all its own columns.
constexpr bool kByColumns = kQueries == 64;
// Where the body's derivative is not asked, weights come with the factor of those that are kept, and delta over it.
constexpr bool kScaled = kHasFactor && kPlainWhenUnmasked;
constexpr int kSumColumns = {sum_columns}, kSumBytes = 128 * kConsumers * kSumColumns * 2;
)";

/// Both operands of dQ's sums are seen by the block; its order is that of the consumers' registers.
constexpr std::string_view kTiles = R"(
// What is told of a tile: its place among the item's heads and queries, two bits for the keys of each consumer
// (body_tile), and whether it is the item's last. Nothing is seen at all: kNothing alone.
constexpr int kLast = 1 << 30, kNothing = -1, kKindAt = 24;
struct Told {
  int info, head, t;  // of all heads
};

SM int kinds_of(const BodyArguments& body, int b, int h, int query_tile, int queries, int key_tile, int keys) {
  const int t0 = query_tile * kQueries, t1 = min(t0 + kQueries, queries);
  int kinds = 0;
#pragma unroll 1
  for (int w = 0; w < kConsumers; ++w) {
    const int s = key_tile * kKeys + 64 * w;
    if (s >= keys) break;
    int kind = body_tile(body, b, h, t0, t1, s, min(s + 64, keys));
    if (kind == 2 && s + 64 > keys) kind = 1;
    kinds |= kind << (kKindAt + 2 * w);
  }
  return kinds;
}

// An item: some keys of one head of K and V; those that queries see first come last.
struct Item {
  int b, h, tile;
};
SM Item item_of(int item, int tiles, int heads) {
  const int head = item / tiles;
  return {head / heads, head % heads, tiles - 1 - item % tiles};
}
// The tiles of queries that see it, of one head of Q after the other; 32 at a time, one a lane.
struct Scan {
  int base, mine;
  unsigned seen;
};
SM int next_tile(Scan& scan, const BodyArguments& body, const Item& item, int group, int tiles, int queries, int keys) {
  while (scan.seen == 0) {
    if (scan.base >= group * tiles) return kNothing;
    const int at = scan.base + (threadIdx.x & 31);
    const int kinds = at < group * tiles ? kinds_of(body, item.b, item.h * group + at / tiles, at % tiles, queries, item.tile, keys) : 0;
    scan.mine = at | kinds;
    scan.seen = __ballot_sync(0xFFFFFFFFu, kinds != 0);
    scan.base += 32;
  }
  const int from = __ffs(scan.seen) - 1;
  scan.seen &= scan.seen - 1;
  return __shfl_sync(0xFFFFFFFFu, scan.mine, from);
}
)";

/// Accumulators are transposed here: a thread holds two keys, and two queries of each 8.
constexpr std::string_view kGradients = R"(
constexpr int kWords = kQueries / 64;

// Which elements are kept, in the accumulators' order: bit 4 g + e for element e of column group g. Eight keys are eight
// lanes: each draws for one column group, and hands the others theirs.
SM unsigned draw_word(const BodyArguments& body, long long row, int key) {
  const int lane = threadIdx.x & 31;
  unsigned word = 0;
#pragma unroll
  for (int c = 0; c < 4; ++c) {
    unsigned x = draw_eight(body, row + 8 * (lane >> 2) + 2 * (lane & 3) + (c & 1), (key >> 3) + (c >> 1));
    x = (x | x << 12) & 0x000F000F;
    x = (x | x << 6) & 0x03030303;
    word |= ((x | x << 3) & 0x11111111) << c;
  }
  unsigned other = __shfl_xor_sync(0xFFFFFFFFu, word, 4);
  word = lane & 4 ? (other >> 4 & 0x0F0F0F0F) | (word & 0xF0F0F0F0) : (word & 0x0F0F0F0F) | (other & 0x0F0F0F0F) << 4;
  other = __shfl_xor_sync(0xFFFFFFFFu, word, 8);
  word = lane & 8 ? __byte_perm(word, other, 0x3715) : __byte_perm(word, other, 0x6240);
  other = __shfl_xor_sync(0xFFFFFFFFu, word, 16);
  return lane & 16 ? __byte_perm(word, other, 0x3276) : __byte_perm(word, other, 0x5410);
}
SM void draw(unsigned (&kept)[kWords], const BodyArguments& body, long long row, int key) {
  if (kDraws == 0) return;
#pragma unroll
  for (int w = 0; w < kWords; ++w) kept[w] = draw_word(body, row + 64 * w, key);
}
SM bool is_kept(const unsigned (&kept)[kWords], int g, int e) { return kept[g >> 3] >> (4 * (g & 7) + e) & 1; }
struct Pair {
  float x, y;
};
SM Pair load_pair(unsigned from) {
  Pair v;
  asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(v.x), "=f"(v.y) : "r"(from) : "memory");
  return v;
}

// Where a thread's accumulators lie, and what its elements are made of.
struct Place {
  int b, h, t, queries, key, keys;
  unsigned rows;  // in shared memory, of the lane's queries: LSE as base-2 logarithm, and delta behind
  float scale, factor;
};
// How a tile is taken: scores as they are, by the body without its masks, or by all of it.
enum class Taken { plain, unmasked, masked };

template <Taken taken>
SM float weight_of(float score, const BodyArguments& body, const Place& place, int g, int e, float lse) {
  if (taken == Taken::plain) return exp2_fast(fmaf(score, place.scale * kLog2e, -lse));
  constexpr bool kUnmasked = taken == Taken::unmasked;
  const int t = place.t + 8 * g + (e & 1), key = place.key + 8 * (e >> 1);
  const float modified = modified_of<kUnmasked>(body, place.b, place.h, min(t, place.queries - 1),
                                                kUnmasked ? key : min(key, place.keys - 1), score * place.scale);
  return exp2_fast(fmaf(kUnmasked || key < place.keys ? modified : -infinity(), kLog2e, -lse));
}

// Scores become weights, unless the body's derivative needs them again; p is what multiplies dO.
template <Taken taken>
SM void weigh(float (&s)[kQueries / 2], unsigned (&p)[kQueries / 4], const unsigned (&kept)[kWords],
              const BodyArguments& body, const Place& place) {
#pragma unroll
  for (int g = 0; g < kQueries / 8; ++g) {
    const Pair lse = load_pair(place.rows + 32 * g);
    float w[4];
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      w[e] = weight_of<taken>(s[4 * g + e], body, place, g, e, e & 1 ? lse.y : lse.x);
      if (kPlainWhenUnmasked) s[4 * g + e] = w[e];
      if (kScaled) w[e] = is_kept(kept, g, e) ? w[e] : 0.0f;
      else if (kHasFactor) w[e] *= is_kept(kept, g, e) ? place.factor : 0.0f;
    }
    p[2 * g] = pack(w[0], w[1]), p[2 * g + 1] = pack(w[2], w[3]);
  }
}
// The gradients of the scores go to shared memory: 128-byte rows of 64 queries, permuted like the tiles. `to` is
// where the lane's row of the warp's keys begins. Where scores are plain or not seen, weights are enough.
template <Taken taken>
SM void differentiate(const float (&s)[kQueries / 2], const float (&products)[kQueries / 2],
                      const unsigned (&kept)[kWords], const BodyArguments& body, const Place& place, unsigned to) {
  const int lane = threadIdx.x & 31;
  unsigned p[4];
#pragma unroll
  for (int g = 0; g < kQueries / 8; ++g) {
    const Pair delta = load_pair(place.rows + 4 * kQueries + 32 * g);
    const Pair lse = kPlainWhenUnmasked ? delta : load_pair(place.rows + 32 * g);
    float d[4];
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      const float product = products[4 * g + e], x = s[4 * g + e], minus = e & 1 ? delta.y : delta.x;
      const bool keep = !kHasFactor || is_kept(kept, g, e);
      if (kPlainWhenUnmasked) {
        d[e] = x * ((keep ? product : 0.0f) - minus);
      } else {
        unsigned draws[kOps];
#pragma unroll
        for (int op = 0; op < kOps; ++op) draws[op] = keep ? kept_draw(body) : kept_draw(body) ^ 0xFFFFu;
        const int t = min(place.t + 8 * g + (e & 1), place.queries - 1), key = min(place.key + 8 * (e >> 1), place.keys - 1);
        const float weight = weight_of<taken>(x, body, place, g, e, e & 1 ? lse.y : lse.x);
        float mixed, none[1];
        body_backward<taken == Taken::unmasked>(body, place.b, place.h, t, key, draws, x * place.scale, weight, product,
                                                minus, mixed, d[e], none);
      }
    }
    p[2 * (g & 1)] = pack(d[0], d[1]), p[2 * (g & 1) + 1] = pack(d[2], d[3]);
    const int piece = (g & ~1) + (lane >> 4);
    if (g & 1)
      asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(
                       to + (piece >> 3) * kKeys * 128 + (((piece ^ lane) & 7) << 4)),
                   "r"(p[0]), "r"(p[1]), "r"(p[2]), "r"(p[3]) : "memory");
  }
}
SM void weigh_tile(float (&s)[kQueries / 2], unsigned (&p)[kQueries / 4], const unsigned (&kept)[kWords],
                   const BodyArguments& body, const Place& place, bool unmasked) {
  if (!unmasked) weigh<Taken::masked>(s, p, kept, body, place);
  else weigh<kPlainWhenUnmasked ? Taken::plain : Taken::unmasked>(s, p, kept, body, place);
}
SM void differentiate_tile(const float (&s)[kQueries / 2], const float (&products)[kQueries / 2],
                           const unsigned (&kept)[kWords], const BodyArguments& body, const Place& place, bool unmasked,
                           unsigned to) {
  if (kPlainWhenUnmasked) differentiate<Taken::plain>(s, products, kept, body, place, to);
  else if (unmasked) differentiate<Taken::unmasked>(s, products, kept, body, place, to);
  else differentiate<Taken::masked>(s, products, kept, body, place, to);
}
)";

constexpr std::string_view kOrder = R"(
// What a tile adds to dQ goes to device memory in the order of the items, those of later keys first: `done` counts.
SM void wait_in_order(const int* done, int rank) {
  int now;
  do asm volatile("ld.acquire.gpu.global.b32 %0, [%1];" : "=r"(now) : "l"(done) : "memory");
  while (now != rank);
  asm volatile("fence.proxy.async;" ::: "memory");
}
SM void add_in_order(float* sums, int* done, int rank, unsigned from, unsigned emptied) {
  if (rank == 0)
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(sums), "r"(from), "n"(kSumBytes) : "memory");
  else
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], %2;" ::"l"(sums), "r"(from),
                 "n"(kSumBytes) : "memory");
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
  asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
  barrier_arrive(emptied);
  asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
  asm volatile("fence.proxy.async;" ::: "memory");
  asm volatile("red.release.gpu.global.add.s32 [%0], 1;" ::"l"(done) : "memory");
}
// How many tiles of later keys add to it.
SM int rank_of(const BodyArguments& body, int b, int h, int query_tile, int queries, int key_tile, int key_tiles, int keys) {
  int rank = 0;
  for (int tile = key_tile + 1; tile < key_tiles; tile += 32) {
    const int at = tile + (threadIdx.x & 31);
    rank += __popc(__ballot_sync(0xFFFFFFFFu, at < key_tiles && kinds_of(body, b, h, query_tile, queries, at, keys) != 0));
  }
  return rank;
}
)";

constexpr std::string_view kKernel = R"(
SM void attention(const TensorMap& q_map, const TensorMap& k_map, const TensorMap& v_map, const TensorMap& do_map,
                  const float* lse, const float* delta, Half* dk_to, Half* dv_to, float* sums, unsigned* counters,
                  long long batch_, long long heads_, long long group_, long long queries_, long long keys_,
                  long long dk_b, long long dk_t, long long dk_h, long long dv_b, long long dv_t, long long dv_h,
                  float scale, const BodyArguments& body) {
  extern __shared__ __align__(1024) unsigned char memory[];
  const int heads = (int)heads_, group = (int)group_, key_heads = heads / group;
  const int queries = (int)queries_, keys = (int)keys_;
  const int query_tiles = (queries + kQueries - 1) / kQueries, key_tiles = (keys + kKeys - 1) / kKeys;
  const int items = key_tiles * (int)batch_ * key_heads;

  const unsigned k_tile = (shared_address(memory) + 1023) & ~1023u, v_tile = k_tile + kKeyBytes;
  const unsigned q_tiles = v_tile + kKeyBytes, do_tiles = q_tiles + kStages * kQueryBytes;
  const unsigned ds_tiles = do_tiles + kStages * kQueryBytes, ds_bytes = kKeys * kQueries * 2;
  const unsigned sum_tiles = ds_tiles + 2 * ds_bytes, row_values = sum_tiles + 2 * kSumBytes;
  const unsigned barriers = row_values + kStages * kQueries * 8;
  const unsigned full_keys = barriers, empty_keys = barriers + 8, full_sum = barriers + 16, empty_sum = barriers + 32,
                 full = barriers + 48, empty = full + 8 * kStages, infos = empty + 8 * kStages,
                 item_at = infos + 16 * kStages;
  if (threadIdx.x == 0) {
    barrier_init(full_keys, 1), barrier_init(empty_keys, 4 * kConsumers);
    for (int i = 0; i < 2; ++i) barrier_init(full_sum + 8 * i, 4 * kConsumers), barrier_init(empty_sum + 8 * i, 1);
    for (int i = 0; i < kStages; ++i) barrier_init(full + 8 * i, 2), barrier_init(empty + 8 * i, 4 * kConsumers + 1);
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    fence_stores();
  }
  __syncthreads();

  if (threadIdx.x < 128) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kProducerRegisters));
    const int lane = threadIdx.x & 31;
    if (threadIdx.x < 32) {
      int stage = 0;
      unsigned phase = 1, key_phase = 1;
      const float factor = kScaled ? kept_factor(body) : 1.0f, factor_log2 = log2_fast(factor), per_factor = 1.0f / factor;
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
        while (tile != kNothing) {
          const int after = next_tile(scan, body, item, group, query_tiles, queries, keys);
          const int number = tile & ((1 << kKindAt) - 1), h = item.h * group + number / query_tiles;
          const int t = number % query_tiles * kQueries;
          const unsigned there = full + 8 * stage, values = row_values + stage * kQueries * 8;
          barrier_wait(empty + 8 * stage, phase);
          if (lane == 0) {
            store_shared(infos + 16 * stage, after == kNothing ? tile | kLast : tile);
            store_shared(infos + 16 * stage + 4, item.b * heads + h), store_shared(infos + 16 * stage + 8, t);
            store_shared(infos + 16 * stage + 12, item.tile);
            barrier_expect(there, 2 * kQueryBytes);
            copy_rows(q_tiles + stage * kQueryBytes, q_map, kQueries, t, h, item.b, there);
            copy_rows(do_tiles + stage * kQueryBytes, do_map, kQueries, t, h, item.b, there);
          }
          const long long row = ((long long)item.b * heads + h) * queries;
#pragma unroll
          for (int i = 0; i < kQueries; i += 32) {
            const int at = t + i + lane;
            float x = infinity(), y = 0.0f;
            if (at < queries) x = lse[row + at] * kLog2e, y = delta[row + at];
            if (x == -infinity()) x = infinity();
            if (kScaled) x -= factor_log2, y *= per_factor;
            store_shared(values + 4 * (i + lane), __float_as_int(x));
            store_shared(values + 4 * (kQueries + i + lane), __float_as_int(y));
          }
          warp_arrive(there);
          if (++stage == kStages) stage = 0, phase ^= 1;
          tile = after;
        }
        // Not before: items are added in their order, and this one may be long.
        at = take_item(counters, items);
      }
      for (int i = 0; i < 2; ++i) {
        barrier_wait(empty + 8 * stage, phase);
        if (lane == 0) {
          store_shared(infos + 16 * stage, kNothing);
          barrier_arrive(full + 8 * stage), barrier_arrive(full + 8 * stage);
        }
        if (++stage == kStages) stage = 0, phase ^= 1;
      }
      barrier_wait(empty_keys, key_phase);
      if (lane == 0) {
        store_shared(item_at, -1);
        barrier_arrive(full_keys);
      }
    } else if (threadIdx.x < 96) {
      // Two warps take turns with dQ's tiles: one waits for its turn in device memory while the other adds.
      const unsigned which = threadIdx.x / 32 - 1;
      for (unsigned count = which;; count += 2) {
        const unsigned stage = count & (kStages - 1), from = infos + 16 * stage;
        barrier_wait(full + 8 * stage, count / kStages & 1);
        const int info = load_shared(from), head = load_shared(from + 4), query_tile = load_shared(from + 8) / kQueries,
                  key_tile = load_shared(from + 12);
        warp_arrive(empty + 8 * stage);
        if (info == kNothing) break;
        const int rank = rank_of(body, head / heads, head % heads, query_tile, queries, key_tile, key_tiles, keys);
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
    const int own_row = 64 * wg + 16 * warp;
    const unsigned k_place = describe(k_tile + wg * 64 * 128, 0), v_place = describe(v_tile + wg * 64 * 128, 0);
    const unsigned q_places = describe(q_tiles, kQueries * 128), do_places = describe(do_tiles, kQueries * 128);
    const unsigned ds_places = describe(ds_tiles + (kByColumns ? 0 : wg * kKeys * 128), 0);
    const unsigned ds_rows = describe(ds_tiles + wg * 64 * 128, 0), ds_row = ds_tiles + (own_row + (lane & 15)) * 128;
    const unsigned k_columns =
        describe(k_tile + (kByColumns ? (kChunks > 1 ? wg * kKeys * 128 : wg * kSumColumns * 2) : 0), kKeys * 128);
    const unsigned sum_to = sum_tiles + (wg * kSumColumns * 64 + (threadIdx.x & 127) * 4) * 4;

    float s[kQueries / 2], ds[kQueries / 2], dk[kColumns / 2], dv[kColumns / 2], dq[kSumColumns / 2];
    unsigned p[kQueries / 4], kept[kWords];
    const float factor = kHasFactor ? kept_factor(body) : 1.0f;
    const auto multiply_rows = [&](float(&to)[kQueries / 2], unsigned a, unsigned b) {
      multiply_begin();
#pragma unroll
      for (int i = 0; i < kColumns / 16; ++i) {
        const int a_at = (i / 4 * kKeys * 128 + i % 4 * 32) >> 4, b_at = (i / 4 * kQueries * 128 + i % 4 * 32) >> 4;
        if (i == 0) begin_scores(to, a, b);
        else multiply_scores(to, a + a_at, b + b_at);
      }
      multiply_commit();
    };
    const auto multiply_weights = [&](unsigned do_place) {
      multiply_begin();
#pragma unroll
      for (int i = 0; i < kQueries / 16; ++i) multiply_values(dv, p + 4 * i, do_place + (i * 16 * 128 >> 4));
      multiply_commit();
    };
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

    // Tiles so far: their stage, the phase of its barrier, and which of two tiles of gradients is theirs.
    unsigned count = 0, key_phase = 0;
    static_assert((kStages & (kStages - 1)) == 0);
    const auto stage_of = [&] { return count & (kStages - 1); };
    const auto take_tile = [&] {
      barrier_wait(full + 8 * stage_of(), count / kStages & 1);
      const unsigned from = infos + 16 * stage_of();
      return Told{uniform(load_shared(from)), uniform(load_shared(from + 4)), uniform(load_shared(from + 8))};
    };
    // Of the tile before `count`.
    const auto wait_for_sums = [&] { barrier_wait(empty_sum + 8 * (~count & 1), (count + 1) / 2 & 1); };
    const auto hand_over = [&] {
      const unsigned which = ~count & 1;
#pragma unroll
      for (int i = 0; i < kSumColumns / 2; i += 4)
        store_four(sum_to + which * kSumBytes + i * 512, dq[i], dq[i + 1], dq[i + 2], dq[i + 3]);
      fence_stores();
      warp_arrive(full_sum + 8 * which);
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
        multiply_rows(s, k_place, q_places + (stage_of() * kQueryBytes >> 4));
        draw(kept, body, (long long)told.head * queries + told.t, key);
        multiply_wait<0>();
        pin(s);
        while (true) {
          const Place place = {b, told.head - b * heads, told.t + 2 * (lane & 3), queries, key + (lane >> 2), keys,
                               row_values + stage_of() * kQueries * 8 + 8 * (lane & 3), scale, factor};
          const bool unmasked = (told.info >> (kKindAt + 2 * wg) & 3) == 2;
          const unsigned q_place = q_places + (stage_of() * kQueryBytes >> 4),
                         do_place = do_places + (stage_of() * kQueryBytes >> 4);
          multiply_rows(ds, v_place, do_place);
          weigh_tile(s, p, kept, body, place, unmasked);
          multiply_weights(do_place);
          multiply_wait<1>();
          pin(ds);
          // These look new, or the compiler would keep what it has made of them since the weights.
          Place again = place;
          if (!kPlainWhenUnmasked) again.scale = __shfl_sync(0xFFFFFFFFu, place.scale, lane);
#pragma unroll
          for (int i = 0; i < (kDraws > 0 ? kWords : 0); ++i) kept[i] = __shfl_sync(0xFFFFFFFFu, kept[i], lane);
          differentiate_tile(s, ds, kept, body, again, unmasked, ds_row + (count & 1) * ds_bytes);
          fence_stores();
          multiply_wait<0>();
          pin(p);
          const unsigned ds_tile = (count & 1) * ds_bytes, emptied = empty + 8 * stage_of();
          ++count;
          // The end of what is in flight is in one branch with its begin, else the compiler waits at once.
          if (told.info & kLast) {
            multiply_gradients_of(ds_tile, q_place);
            wait_for_sums();
            multiply_wait<0>();
            pin(dq);
            hand_over();
            warp_arrive(emptied);
            break;
          }
          multiply_gradients_of(ds_tile, q_place);
          const Told next = take_tile();
          multiply_rows(s, k_place, q_places + (stage_of() * kQueryBytes >> 4));
          draw(kept, body, (long long)next.head * queries + next.t, key);
          wait_for_sums();
          multiply_wait<1>();
          pin(dq);
          hand_over();
          warp_arrive(emptied);
          told = next;
          multiply_wait<0>();
          pin(s);
        }
        pin(dk), pin(dv);
      }
      warp_arrive(empty_keys);
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        const int row = key + (lane >> 2) + 8 * r;
        store_row(dk_to + b * dk_b + key_head * dk_h + row * dk_t, row < keys, dk, r, scale, kHead);
        store_row(dv_to + b * dv_b + key_head * dv_h + row * dv_t, row < keys, dv, r, 1.0f, kHead);
      }
    }
  }
}
)";

constexpr std::string_view kQueryGradientKernel = R"(
SM void attention(const float* sums, Half* dq_to, unsigned* counters, long long heads_, long long queries_,
                  long long dq_b, long long dq_t, long long dq_h, float scale) {
  const int heads = (int)heads_, queries = (int)queries_, tiles = (queries + kQueries - 1) / kQueries;
  const int tile = blockIdx.x % tiles, h = blockIdx.x / tiles % heads, b = blockIdx.x / tiles / heads;
  const int wg = threadIdx.x / 128, lane = threadIdx.x & 31, warp = threadIdx.x / 32 & 3;
  const Four* from = (const Four*)(sums + (long long)blockIdx.x * (kSumBytes / 4)) + wg * kSumColumns * 16 + (threadIdx.x & 127);
  const bool seen = counters[2 + blockIdx.x] != 0;
  float dq[kSumColumns / 2];
#pragma unroll
  for (int i = 0; i < kSumColumns / 8; ++i) {
    const Four x = seen ? from[128 * i] : Four{0.0f, 0.0f, 0.0f, 0.0f};
    dq[4 * i] = x.x, dq[4 * i + 1] = x.y, dq[4 * i + 2] = x.z, dq[4 * i + 3] = x.w;
  }
  const int column = kByColumns ? wg * kSumColumns : 0;
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const int t = tile * kQueries + (kByColumns ? 0 : 64 * wg) + 16 * warp + (lane >> 2) + 8 * r;
    store_row(dq_to + b * dq_b + h * dq_h + t * dq_t + column, t < queries, dq, r, scale, kHead - column);
  }
  __syncthreads();
  if (threadIdx.x == 0) counters[2 + blockIdx.x] = 0;
}
)";

/// Of a thread: what a multiprocessor's 64 K leave for two consumers.
constexpr int kProducerRegisters = 40, kConsumerRegisters = 232;

struct Sizes {
  int columns, chunks, sum_columns;
};
Sizes sizes_of(const WgmmaAttention& attention) {
  const int columns = (attention.head_size + 15) / 16 * 16, chunks = (attention.head_size + 63) / 64;
  return {columns, chunks, attention.tiles.queries == 64 ? 32 * chunks : columns};
}

std::string prelude(const WgmmaAttention& attention) {
  const auto [columns, chunks, sum_columns] = sizes_of(attention);
  const WgmmaTiles& tiles = attention.tiles;
  return wgmma_prelude(
      attention,
      fmt::format(kSizes, fmt::arg("head", attention.head_size), fmt::arg("columns", columns),
                  fmt::arg("chunks", chunks), fmt::arg("queries", tiles.queries), fmt::arg("keys", tiles.keys),
                  fmt::arg("stages", tiles.stages), fmt::arg("consumers", tiles.consumers),
                  fmt::arg("producer_registers", kProducerRegisters),
                  fmt::arg("consumer_registers", kConsumerRegisters), fmt::arg("sum_columns", sum_columns)));
}

}  // namespace

std::optional<WgmmaTiles> backward_wgmma_tiles(int head_size, bool draws) {
  if (head_size % 8 || head_size > 128 || head_size <= 0) return std::nullopt;
  if (head_size <= 64) return WgmmaTiles{draws ? 64 : 128, 128, 2, 2};
  return WgmmaTiles{64, 128, 2, 2};
}

WgmmaKernelText attention_backward_wgmma(const WgmmaAttention& attention) {
  const auto [columns, chunks, sum_columns] = sizes_of(attention);
  const WgmmaTiles& tiles = attention.tiles;
  WgmmaKernelText kernel;
  kernel.threads = 128 * (tiles.consumers + 1);
  kernel.shared_bytes = kAlignment + 2 * tiles.keys * 128 * chunks + 2 * tiles.stages * tiles.queries * 128 * chunks +
                        2 * tiles.keys * tiles.queries * 2 + 2 * 128 * tiles.consumers * sum_columns * 2 +
                        tiles.stages * tiles.queries * 8 + kBarrierBytes;
  kernel.text = prelude(attention);
  for (const WgmmaShape& shape :
       {WgmmaShape{.name = "scores", .columns = tiles.queries},
        WgmmaShape{.name = "values", .columns = columns, .a_in_registers = true, .b_transposed = true},
        WgmmaShape{.name = "keys", .columns = columns, .b_transposed = true},
        WgmmaShape{.name = "sums", .columns = sum_columns, .a_transposed = true, .b_transposed = true}})
    kernel.text += wgmma_functions(shape, attention.dtype);
  kernel.text.append(kTiles).append(kGradients).append(kOrder).append(kKernel);
  return kernel;
}

WgmmaKernelText attention_query_gradient_wgmma(const WgmmaAttention& attention) {
  return {prelude(attention).append(kQueryGradientKernel), 128 * attention.tiles.consumers, 0};
}

}  // namespace smelt
