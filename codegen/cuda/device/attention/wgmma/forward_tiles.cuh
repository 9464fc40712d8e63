// Work items of the forward kernel, and the scan that finds the key tiles of an item. An item is a tile of
// kQueries queries of one query head. A mask state is a result of body_tile: 0 all pairs of a query and a key
// are masked, 1 some may be, 2 none is. A key tile is visible if some state of it is not 0; the others are
// skipped.
// Requires: tiles.cuh. Comes after weights.cuh.


// A tile word describes a key tile to the consumers: its number in bits 0 to 23, the mask state for the 64
// queries of consumer warp group w in two bits from kKindAt + 2 * w on, and kLast for the item's last tile.
// kNothing is the word of an item that sees no key.
constexpr int kLast = 1 << 30, kNothing = -1, kKindAt = 24;

// State of the scan for an item's visible key tiles, from the last tile down. The lanes of the producer warp
// examine 32 tiles at a time, one per lane. It begins as {number of key tiles, 0, 0}.
struct Scan {
  int base, mine;  // tiles >= base have been examined; tile word of the lane's tile
  unsigned seen;   // bits of the lanes whose tiles are visible and not yet returned
};
// Returns the mask states of key tile `tile` for the queries from t0 on of all consumers, at their bits in a
// tile word; 0 if the tile does not exist. All lanes of the warp call it, each for a tile of its own. A tile
// that extends beyond the last key counts as partly masked, so that `modify` sets the missing keys to -inf.
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
// Returns the tile word of the next visible key tile to all lanes of the warp, or kNothing if there is none
// left.
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
  int b, h, t0;  // batch, query head, first query
};
// Returns item number `item` of `all_heads` (= batches * heads) heads of `tiles` query tiles each. `together`
// consecutive heads are one group, whose keys and values stay in the L2 cache; all items of a group come
// before those of the next. Within a group, the last query tiles come first, because with a causal mask they
// see the most keys.
SM Item item_of(int item, int tiles, int heads, int all_heads, int together) {
  const int group = item / (together * tiles), within = item % (together * tiles);
  const int size = min(together, all_heads - group * together), head = group * together + within % size;
  return {head / heads, head % heads, (tiles - 1 - within / size) * kQueries};
}
