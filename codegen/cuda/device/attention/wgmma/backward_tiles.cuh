// Work items of the backward kernel of attention, and the scan that finds the query tiles of an item. An
// item is a tile of kKeys keys of one key head, together with all query heads that share this key head
// (`group` heads). Its query tiles are numbered: if a head has `tiles` query tiles, tile i of the item's
// query head j is number j * tiles + i.
// A query tile has one mask state for each consumer warp group, which has 64 of the kKeys keys: 0 if all
// pairs of a query and a key are masked, 1 if some may be masked, 2 if none is. A query tile is visible if
// at least one of its mask states is not 0. Other query tiles are skipped.
// Requires: tiles.cuh.


// A tile word describes a query tile. Bits 0 to 23 are its number within the item. The two bits from
// kKindAt + 2 * w on are the mask state for the keys of consumer warp group w. The bit kLast is set for the
// last visible tile of an item. The word kNothing means that there is no tile.
constexpr int kLast = 1 << 30, kNothing = -1, kKindAt = 24;
// Description of a query tile, which the producer warp stores in shared memory for the consumers.
struct Told {
  int info, head, t;  // tile word; batch row * query heads + query head; first query
};

// Returns the mask states of a query tile for all consumer warp groups, at their bits of a tile word. The
// query tile is number query_tile of query head h in batch row b. key_tile is the number of the item's key
// tile. of_queries: the result of body_queries for the query tile. queries and keys: how many there are. If
// the keys of a consumer extend beyond the last key, its mask state is at most 1.
// All lanes of a warp call it. Their query tiles may differ. Their key tiles may differ only if kLooksUp is
// false: if it is true, the mask loads integers for the keys, and all lanes load them together.
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

struct Item {
  int b, h, tile;  // batch row, key head, key tile
};
// Returns work item number `item`. Items are in the order of batch rows, then of key heads, then of key
// tiles from the last to the first. `heads`: key heads; `tiles`: key tiles per head.
SM Item item_of(int item, int tiles, int heads) {
  const int head = item / tiles;
  return {head / heads, head % heads, tiles - 1 - item % tiles};
}
// The query tile that a lane examines.
struct QueryTiles {
  int h, tile;           // query head, tile within the head
  bool there;            // whether the item has a tile with this number
  QueryNumbers numbers;  // range of the integers that the mask reads for the tile's queries
};
// Returns the query tile with the number base + lane. `tiles`: query tiles per head. All lanes of a warp
// call it.
SM QueryTiles query_tiles_of(const BodyArguments& body, const Item& item, int base, int group, int tiles, int queries) {
  const int at = base + (threadIdx.x & 31), h = item.h * group + min(at / tiles, group - 1), tile = at % tiles;
  const bool there = at < group * tiles;
  return {h, tile, there,
          body_queries<true>(body, item.b, h, there ? tile * kQueries : 0, there ? min((tile + 1) * kQueries, queries) : 0)};
}
// State of the scan that returns the visible query tiles of an item in the order of their numbers. The
// lanes of the producer warp examine 32 tiles at a time, one per lane. The state begins as {0, 0, 0}.
struct Scan {
  int base, mine;  // number of the next tile to examine; tile word of the lane's tile
  unsigned seen;   // bit i: the tile of lane i is visible and has not been returned yet
};
// Returns the tile word of the next visible query tile, without kLast, to all lanes of the warp; kNothing
// if none is left. `tiles`: query tiles per head. All lanes of the warp call it.
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
