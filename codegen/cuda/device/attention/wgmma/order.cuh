// The order in which the backward kernel adds the contributions of key tiles to dQ. The order is fixed, so
// dQ has the same bits in every run. For each query tile, device memory contains f32 sums, and a counter
// `done` of the key tiles whose contributions have been added to them. Key tiles with higher numbers are
// added first. A key tile is left out if the query tile sees none of its keys. The rank of a key tile for a
// query tile is the number of key tiles that are added before it. So its contribution is added when `done`
// is equal to the rank.
// Requires: backward_tiles.cuh. Comes after gradients.cuh.


// Waits until `done` is equal to `rank`. One lane calls it. The fence orders the load before the following
// bulk copies, which use the async proxy.
SM void wait_in_order(const int* done, int rank) {
  int now;
  do asm volatile("ld.acquire.gpu.global.b32 %0, [%1];" : "=r"(now) : "l"(done) : "memory");
  while (now != rank);
  asm volatile("fence.proxy.async;" ::: "memory");
}
// Adds kSumBytes bytes of f32 numbers at the shared memory address `from` to `sums`. For rank 0 it copies
// instead of adding, so `sums` may be uninitialized. When `from` has been read, arrives at the mbarrier
// `emptied`. When the writes to `sums` are complete, adds 1 to `done`, so that the block which adds next
// sees them. One lane calls this, after wait_in_order.
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
  asm volatile("red.release.gpu.global.add.s32 [%0], 1;" ::"l"(done) : "memory");
}
// Returns the rank of the item's key tile for query tile `query_tile` of query head h: the number of key
// tiles with higher numbers that the query tile sees. All lanes of a warp call it; they examine 32 different
// key tiles at a time. It is called only if the mask loads no integers (kLooksUp is false), so it passes
// an empty QueryNumbers.
SM int count_later(const BodyArguments& body, const Item& item, int h, int query_tile, int queries, int key_tiles, int keys) {
  int rank = 0;
  for (int tile = item.tile + 1; tile < key_tiles; tile += 32) {
    const int at = tile + (threadIdx.x & 31);
    rank += __popc(__ballot_sync(
        0xFFFFFFFFu, at < key_tiles && kinds_of(body, item.b, h, query_tile, QueryNumbers{}, queries, at, keys) != 0));
  }
  return rank;
}
// Ranks of an item's key tile for 32 query tiles, one per lane. Used only if the mask loads integers
// (kLooksUp). The lanes then must examine the same key tile, so each lane examines it for a different query
// tile.
struct Ranks {
  // base: number of the first of these query tiles; -1 before the first call. mine: the rank for tile base +
  // lane.
  int base, mine;
  Item item;
};
// Returns the rank of the item's key tile for query tile `number` of the item. group: query heads per key
// head. tiles: query tiles per query head. ranks: the ranks that were computed last. All lanes of a warp
// call it.
SM int rank_of(Ranks& ranks, const BodyArguments& body, const Item& item, int number, int group, int tiles, int queries,
               int key_tiles, int keys) {
  if (!kLooksUp)
    return count_later(body, item, item.h * group + number / tiles, number % tiles, queries, key_tiles, keys);
  const bool known = (number & ~31) == ranks.base && item.tile == ranks.item.tile && item.h == ranks.item.h &&
                     item.b == ranks.item.b;
  if (!known) {
    ranks = {number & ~31, 0, item};
    const QueryTiles mine = query_tiles_of(body, item, ranks.base, group, tiles, queries);
    for (int later = item.tile + 1; later < key_tiles; ++later)
      ranks.mine += kinds_of(body, item.b, mine.h, mine.tile, mine.numbers, queries, later, keys) != 0;
  }
  return __shfl_sync(0xFFFFFFFFu, ranks.mine, number & 31);
}
