// The order of the additions to dQ: the items of one head add to it one after the other.
// Requires: backward_tiles.cuh. Comes after gradients.cuh.


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
  asm volatile("red.release.gpu.global.add.s32 [%0], 1;" ::"l"(done) : "memory");
}
// How many tiles of later keys add to a tile of queries; those keys' tiles are looked at by one lane each.
SM int count_later(const BodyArguments& body, const Item& item, int h, int query_tile, int queries, int key_tiles, int keys) {
  int rank = 0;
  for (int tile = item.tile + 1; tile < key_tiles; tile += 32) {
    const int at = tile + (threadIdx.x & 31);
    rank += __popc(__ballot_sync(
        0xFFFFFFFFu, at < key_tiles && kinds_of(body, item.b, h, query_tile, QueryNumbers{}, queries, at, keys) != 0));
  }
  return rank;
}
// Where numbers are looked up for it, they are found for 32 tiles of queries at a time, one a lane.
struct Ranks {
  int base, mine;
  Item item;
};
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
