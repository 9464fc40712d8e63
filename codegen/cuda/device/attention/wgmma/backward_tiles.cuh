// Work items of the backward kernel: a tile of keys and the tiles of queries that see it, and the sums of dQ.
// The block sees both operands of dQ's sums; the order of the sums is that of the consumers' registers.
// Requires: tiles.cuh.


// What is told of a tile: its place among the item's heads and queries, two bits for the keys of each consumer
// (body_tile), and whether it is the item's last. Nothing is seen at all: kNothing alone.
constexpr int kLast = 1 << 30, kNothing = -1, kKindAt = 24;
struct Told {
  int info, head, t;  // of all heads
};

// Of a tile of queries for each lane and one of keys for all.
SM int kinds_of(const BodyArguments& body, int b, int h, int query_tile, const QueryNumbers& of_queries, int queries,
                int key_tile, int keys) {
  const int t0 = query_tile * kQueries, t1 = min(t0 + kQueries, queries);
  int kinds = 0;
#pragma unroll 1
  for (int w = 0; w < kConsumers; ++w) {
    const int s = key_tile * kKeys + 64 * w, s1 = min(s + 64, keys);
    if (s >= keys) break;
    int kind = body_tile(body, b, h, t0, t1, s, s1, of_queries, body_keys<false>(body, b, h, s, s1));
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
// Tiles of queries, one a lane: of one head of Q after the other, as they are numbered for an item.
struct QueryTiles {
  int h, tile;
  bool there;
  QueryNumbers numbers;
};
SM QueryTiles query_tiles_of(const BodyArguments& body, const Item& item, int base, int group, int tiles, int queries) {
  const int at = base + (threadIdx.x & 31), h = item.h * group + min(at / tiles, group - 1), tile = at % tiles;
  const bool there = at < group * tiles;
  return {h, tile, there,
          body_queries<true>(body, item.b, h, there ? tile * kQueries : 0, there ? min((tile + 1) * kQueries, queries) : 0)};
}
// Those that see the item's keys; 32 at a time.
struct Scan {
  int base, mine;
  unsigned seen;
};
SM int next_tile(Scan& scan, const BodyArguments& body, const Item& item, int group, int tiles, int queries, int keys) {
  while (scan.seen == 0) {
    if (scan.base >= group * tiles) return kNothing;
    const QueryTiles mine = query_tiles_of(body, item, scan.base, group, tiles, queries);
    const int kinds = kinds_of(body, item.b, mine.h, mine.tile, mine.numbers, queries, item.tile, keys);
    scan.mine = scan.base + (threadIdx.x & 31) | kinds;
    scan.seen = __ballot_sync(0xFFFFFFFFu, mine.there && kinds != 0);
    scan.base += 32;
  }
  const int from = __ffs(scan.seen) - 1;
  scan.seen &= scan.seen - 1;
  return __shfl_sync(0xFFFFFFFFu, scan.mine, from);
}
