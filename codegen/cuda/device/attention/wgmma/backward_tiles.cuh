// Work items of the backward kernel, and the scan that finds the query tiles of an item. An item is a tile of
// kKeys keys of one key head, with all query heads that share it (`group` heads). Its query tiles have
// numbers: if a head has `tiles` query tiles, tile i of the group's query head j is number j * tiles + i. A
// mask state is a result of body_tile: 0 all pairs of a query and a key are masked, 1 some may be, 2 none is.
// A query tile is visible if some state of it is not 0; the others are skipped.
// Requires: tiles.cuh.


// A tile word describes a query tile: its number within the item in bits 0 to 23, the mask state for the 64
// keys of consumer warp group w in two bits from kKindAt + 2 * w on, and kLast for the item's last tile.
// kNothing: no tile.
constexpr int kLast = 1 << 30, kNothing = -1, kKindAt = 24;
// Description of a query tile that the producer stores in shared memory for the consumers.
struct Told {
  int info, head, t;  // tile word, batch * heads + query head, first query
};

// Returns the mask states of query tile `query_tile` of query head h and the keys of all consumers in key
// tile `key_tile`, at their bits in a tile word. of_queries is what body_queries returns for the query tile.
// All lanes of a warp call it, and may have different query tiles. They may have different key tiles only if
// kLooksUp is false, because otherwise the lanes together load what the mask reads of the keys. A consumer
// whose keys extend beyond the last one counts as partly masked.
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
  int b, h, tile;  // batch, key head, key tile
};
// Returns item number `item` of heads (batch, key head) with `tiles` key tiles each, from the last tile down.
SM Item item_of(int item, int tiles, int heads) {
  const int head = item / tiles;
  return {head / heads, head % heads, tiles - 1 - item % tiles};
}
// The query tile of a lane.
struct QueryTiles {
  int h, tile;           // query head, tile within the head
  bool there;            // the item has this tile
  QueryNumbers numbers;  // integers that the mask reads for its queries (body_queries)
};
// Returns the query tile number base + lane of the item; `tiles` per head. All lanes of a warp call it.
SM QueryTiles query_tiles_of(const BodyArguments& body, const Item& item, int base, int group, int tiles, int queries) {
  const int at = base + (threadIdx.x & 31), h = item.h * group + min(at / tiles, group - 1), tile = at % tiles;
  const bool there = at < group * tiles;
  return {h, tile, there,
          body_queries<true>(body, item.b, h, there ? tile * kQueries : 0, there ? min((tile + 1) * kQueries, queries) : 0)};
}
// State of the scan for an item's visible query tiles, in the order of their numbers. The lanes of the
// producer warp examine 32 tiles at a time, one per lane. It begins as {0, 0, 0}.
struct Scan {
  int base, mine;  // tiles < base have been examined; tile word of the lane's tile
  unsigned seen;   // bits of the lanes whose tiles are visible and not yet returned
};
// Returns the tile word of the next visible query tile to all lanes of the warp, or kNothing if none is left.
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
