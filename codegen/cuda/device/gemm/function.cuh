// The function `gemm` of the matmul kernel for sm_90a: C = epilogue(A B), with TMA and wgmma
// (codegen/cuda/gemm/gemm_text.h). A is m x k, B is k x n and C is m x n. A work item is kCluster tiles of
// C, one for each block of a cluster. The kernel is persistent: a cluster computes every N-th item, where N
// is the number of clusters. The first warp of a block is the producer, which copies tiles of A and B into a
// ring buffer of kStages stages in shared memory. The two warp groups after the first are consumers. If
// kSharing is 2, both compute one tile together. Otherwise they alternate: one multiplies a tile while the
// other runs the epilogue of the previous tile.
// Requires: epilogue.cuh, and the products begin_tile and multiply_tile.


// ---- the kernel
// Computes C from A and B, whose elements have 16 bits. All threads of all blocks of a cluster call it.
SM void gemm(const TensorMap& a_map, const TensorMap& b_map, long long m_, long long n_, long long k_,
             const BodyArguments& body) {
  extern __shared__ __align__(1024) unsigned char memory[];
  const int m = (int)m_, n = (int)n_, steps = (int)((k_ + 63) / 64);
  const int row_tiles = (m + kRows * kCluster - 1) / (kRows * kCluster), column_tiles = (n + kColumns - 1) / kColumns;
  const int items = row_tiles * column_tiles, rank = kCluster > 1 ? (int)(blockIdx.x % kCluster) : 0;
  const int first = (int)(blockIdx.x / kCluster), step = (int)(gridDim.x / kCluster);

  // Shared memory contains, from a multiple of 1024 bytes on: the stages; two mbarriers of 8 bytes, `full`
  // and `empty`, per stage; and the column sums of the epilogue (`scratch`). A full barrier gets one
  // arrival, that of the producer. An empty barrier gets one arrival of each consumer warp that reads the
  // stage, in all blocks of the cluster.
  const unsigned tiles = (shared_address(memory) + 1023) & ~1023u, full = tiles + kStages * kStageBytes,
                 empty = full + 8 * kStages, scratch = empty + 8 * kStages;
  if (threadIdx.x == 0) {
    for (int i = 0; i < kStages; ++i) barrier_init(full + 8 * i, 1), barrier_init(empty + 8 * i, 4 * kSharing * kCluster);
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    fence_stores();
  }
  // Other blocks of the cluster use this block's barriers too, so the whole cluster waits for the
  // initialization.
  if (kCluster > 1) cluster_sync();
  else __syncthreads();

  if (threadIdx.x < 128) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kProducerRegisters));
    if (uniform(threadIdx.x / 32) == 0) {
      const bool leads = is_elected();
      int stage = 0;
      unsigned phase = 1;  // all stages are empty at first, so the first wait in each returns at once
      for (int item = first; item < items; item += step) {
        const Tile tile = tile_of(item, rank, row_tiles, column_tiles);
        for (int at = 0; at < steps; ++at) {
          const unsigned to = tiles + stage * kStageBytes, barrier = full + 8 * stage;
          barrier_wait(empty + 8 * stage, phase);  // the stage is empty in all blocks
          if (leads) {
            // This block copies its own boxes of A, and its share of the boxes of B for the whole cluster.
            barrier_expect(barrier, kStageBytes);
#pragma unroll
            for (int i = 0; i < kABoxes; ++i) {
              const int row = tile.row + 64 * i;
              copy_box(to + i * kBoxBytes, a_map, kATransposed ? row : 64 * at, kATransposed ? 64 * at : row, barrier);
            }
#pragma unroll
            for (int j = 0; j < kBBoxes / kCluster; ++j) {
              const int i = rank * (kBBoxes / kCluster) + j, column = tile.column + 64 * i;
              copy_box_to_all(to + (kABoxes + i) * kBoxBytes, b_map, kBTransposed ? column : 64 * at,
                              kBTransposed ? 64 * at : column, barrier);
            }
          }
          if (++stage == kStages) stage = 0, phase ^= 1;
        }
      }
    }
    __syncwarp();
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kConsumerRegisters));
    const int wg = uniform(threadIdx.x / 128) - 1, lane = threadIdx.x & 31, warp = uniform(threadIdx.x / 32) & 3;
    // A tile has pieces of 64 rows. part: number, within the tile, of the first piece that the warp group
    // computes. The warp group computes every `turns`-th item of the block, from the item with index `turn`
    // on.
    const int part = kSharing > 1 ? wg * kRowTiles : 0, turn = kSharing > 1 ? 0 : wg;
    constexpr int turns = kSharing > 1 ? 1 : 2;
    // Low words of wgmma descriptors (`describe`) of the operands in stage 0, in units of 16 bytes.
    const unsigned a_places = describe(tiles + part * kBoxBytes, kATransposed ? kBoxBytes : 0),
                   b_places = describe(tiles + kABoxes * kBoxBytes, kBTransposed ? kBoxBytes : 0);
    float sums[kRowTiles][kColumns / 2];
    // If the warp groups alternate, one begins to multiply its tile only when the other has waited for all
    // stages of its own tile. Without this order, a warp group could wait for a phase of a full barrier that
    // is long over, because the parity of phases repeats after two passes through the ring buffer. Warp group
    // wg waits at named barrier 3 + wg, at which the other one arrives. Warp group 0 begins.
    if (turns > 1 && wg == 1) named_arrive<256>(3);
    int place = turn * steps;  // number of stages that the producer fills before those of the tile
    for (int item = first + turn * step; item < items; item += turns * step, place += turns * steps) {
      int stage = place % kStages, before = 0;
      unsigned phase = place / kStages & 1;
      // Begins the products of the current stage, in steps of 16 elements along k. begins: this is the first
      // stage of the tile, so its products overwrite the sums.
      const auto multiply = [&](bool begins) {
        barrier_wait(full + 8 * stage, phase);
        multiply_begin();
#pragma unroll
        for (int i = 0; i < 4; ++i)
#pragma unroll
          for (int t = 0; t < kRowTiles; ++t) {
            const unsigned at = stage * kStageBytes >> 4;
            const unsigned a = a_places + at + (t * kBoxBytes + i * (kATransposed ? 16 * 128 : 32) >> 4),
                           b = b_places + at + (i * (kBTransposed ? 16 * 128 : 32) >> 4);
            if (begins && i == 0) begin_tile(sums[t], a, b);
            else multiply_tile(sums[t], a, b);
          }
        multiply_commit();
      };
      // Reports to all blocks of the cluster that this warp has read stage `released`, because each of them
      // copies elements into it.
      const auto release = [&](int released) {
        if (kCluster == 1 && lane == 0) barrier_arrive(empty + 8 * released);
        if (kCluster > 1 && lane < kCluster) arrive_in(lane, empty + 8 * released);
      };
      // Moves to the next stage. `before` becomes the stage that was current.
      const auto advance = [&] {
        before = stage;
        if (++stage == kStages) stage = 0, phase ^= 1;
      };
      if (turns > 1) named_sync<256>(3 + wg);
      multiply(true);
      advance();
#pragma unroll 1
      for (int at = 1; at < steps; ++at) {
        multiply(false);
        multiply_wait<1>();
        release(before);
        advance();
      }
      if (turns > 1) named_arrive<256>(3 + (1 - wg));
      multiply_wait<0>();
#pragma unroll
      for (int t = 0; t < kRowTiles; ++t) pin(sums[t]);
      release(before);
      finish_tile(sums, tile_of(item, rank, row_tiles, column_tiles), part, wg, warp, lane, m, n, body, scratch);
    }
  }
  __syncwarp();
  // The other blocks may still arrive at this block's barriers. So a block ends only when all blocks of the
  // cluster are done.
  if (kCluster > 1) cluster_sync();
}
