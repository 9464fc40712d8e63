// Work items of the forward kernel of attention, and the scan that finds the key tiles of an item. An item
// is a tile of kQueries queries of one query head. A key tile is kKeys consecutive keys. It has one mask
// state for each consumer warp group, which has 64 of the kQueries queries: 0 if all pairs of a query and a
// key are masked, 1 if some may be masked, 2 if none is. A key tile is visible if at least one of its mask
// states is not 0. Other key tiles are skipped.
// Requires: tiles.cuh. Comes after weights.cuh.


// A tile word describes a key tile to the consumers. Bits 0 to 23 are its number. The two bits from kKindAt
// + 2 * w on are the mask state for the queries of consumer warp group w. The bit kLast is set for the tile
// of an item that is processed last: the visible tile with the lowest number. The word kNothing means that
// there is no tile.
constexpr int kLast = 1 << 30, kNothing = -1, kKindAt = 24;

// State of the scan that returns the visible key tiles of an item in descending order of their numbers. The
// lanes of the producer warp examine 32 tiles at a time, one per lane. The state begins as {number of key
// tiles, 0, 0}.
struct Scan {
  int base, mine;  // number of tiles not yet examined; tile word of the lane's tile
  unsigned seen;   // bit i: the tile of lane i is visible and has not been returned yet
};
// Returns the mask states of a key tile for all consumer warp groups, at their bits of a tile word; 0 if
// the key tile does not exist. b: batch row; h: query head; t0: the first query of the item; tile: the
// number of the key tile; queries and keys: how many there are. If the tile extends beyond the last key,
// its mask states are at most 1, so that scores of missing keys are set to -inf. All lanes of the warp call
// it, each for a different tile.
SM int kinds_of(const BodyArguments& body, int b, int h, int t0, int queries, int tile, int keys) {
  const bool there = tile >= 0 && tile * kKeys < keys;
  const int s0 = there ? tile * kKeys : 0, s1 = there ? min(s0 + kKeys, keys) : 0;
  const auto of_keys = body_keys<true>(body, b, h, s0, s1);
  int kinds = 0;
#pragma unroll 1
  for (int w = 0; w < kConsumers; ++w) {
    const int t = t0 + 64 * w, t1 = min(t + 64, queries);
    if (t >= queries) break;
    int kind = body_tile(body, b, h, t, t1, s0, s1, body_queries<false>(body, b, h, t, t1), of_keys);
    if (kind == 2 && s0 + kKeys > keys) kind = 1;
    kinds |= kind << (kKindAt + 2 * w);
  }
  return there ? kinds : 0;
}
// Returns the tile word of the next visible key tile, without kLast, to all lanes of the warp; kNothing if
// none is left. All lanes of the warp call it.
SM int next_tile(Scan& scan, const BodyArguments& body, int b, int h, int t0, int queries, int keys) {
  const int lane = threadIdx.x & 31;
  while (scan.seen == 0) {
    if (scan.base <= 0) return kNothing;
    const int tile = scan.base - 1 - lane, kinds = kinds_of(body, b, h, t0, queries, tile, keys);
    scan.mine = tile | kinds;
    scan.seen = __ballot_sync(0xFFFFFFFFu, kinds != 0);
    scan.base -= 32;
  }
  const int from = __ffs(scan.seen) - 1;
  scan.seen &= scan.seen - 1;
  return __shfl_sync(0xFFFFFFFFu, scan.mine, from);
}

struct Item {
  int b, h, t0;  // batch row, query head, first query
};
// Returns work item number `item`. heads: number of query heads per batch row. all_heads: number of query
// heads of all batch rows. tiles: number of query tiles per head. Every `together` consecutive heads are a
// group, whose keys and values stay in the L2 cache. All items of a group come before those of the next
// group. Within a group, the last query tiles come first, because with a causal mask they see the most
// keys.
SM Item item_of(int item, int tiles, int heads, int all_heads, int together) {
  const int group = item / (together * tiles), within = item % (together * tiles);
  const int size = min(together, all_heads - group * together), head = group * together + within % size;
  return {head / heads, head % heads, (tiles - 1 - within / size) * kQueries};
}
