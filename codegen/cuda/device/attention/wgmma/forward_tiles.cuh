// Work items of the forward kernel: a tile of queries and the tiles of keys that it sees.
// Requires: tiles.cuh. Comes after weights.cuh.


// What is told of a tile: its number, two bits for the rows of each consumer (body_tile), and whether it is the
// item's last. Nothing is seen at all: kNothing alone.
constexpr int kLast = 1 << 30, kNothing = -1, kKindAt = 24;

// Which tiles of keys an item sees, from the last one down; 32 at a time, one a lane.
struct Scan {
  int base, mine;
  unsigned seen;
};
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
  int b, h, t0;
};
// Heads whose keys and values stay in the cache together are one behind the other; their last queries, which
// see the most keys where something is causal, come first.
SM Item item_of(int item, int tiles, int heads, int all_heads, int together) {
  const int group = item / (together * tiles), within = item % (together * tiles);
  const int size = min(together, all_heads - group * together), head = group * together + within % size;
  return {head / heads, head % heads, (tiles - 1 - within / size) * kQueries};
}
