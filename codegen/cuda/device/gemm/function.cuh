// The function `gemm` of the matmul kernel for sm_90a: C = epilogue(A B), with TMA and wgmma
// (codegen/cuda/gemm/gemm_text.h). A is m x k, B is k x n and C is m x n. A work item is kCluster tiles of
// C, one for each block of a cluster. The kernel is persistent: a cluster computes every N-th item, where N
// is the number of clusters. The first warp of a block is the producer, which copies tiles of A and B into a
// ring buffer of kStages stages in shared memory. Two warp groups multiply, each half of the rows of a tile. Two more
// warp groups run the epilogue for the products of one of these each, while that one multiplies its half of the next
// tile.
// Requires: epilogue.cuh, and the products of kWide and of kRest columns.


// ---- named barriers
// wg: number of a warp group that multiplies, or of the one that runs the epilogue for it, 0 or 1. At the first, the
// products are reported to be in shared memory; at the second, to have been read.
SM int products_stored(int wg) { return 2 + wg; }
SM int products_read(int wg) { return 4 + wg; }

// ---- roles
// Sizes and addresses that all warps of a block know.
struct Work {
  int m, n, steps;                             // steps: stages per tile
  int row_tiles, column_tiles, items;          // rows and columns of items, and their product
  int first, step;                             // the cluster's first item, and the distance to its next one
  int rank;                                    // of the block in its cluster
  unsigned stages, parts, full, empty, scratch;  // addresses in shared memory (`gemm`)
};
// The stage of the ring buffer that is used next, and the parity of the phase of its barriers.
struct Turn {
  int stage;
  unsigned phase;
  __device__ __forceinline__ void next() {
    if (++stage == kStages) stage = 0, phase ^= 1;
  }
};

// Copies all tiles of A and B. One warp calls it.
SM void copy_tiles(const TensorMap& a_map, const TensorMap& b_map, const Work& w) {
  const bool leads = is_elected();
  Turn turn = {0, 1};  // all stages are empty at first, so the first wait in each returns at once
  for (int item = w.first; item < w.items; item += w.step) {
    const Tile tile = tile_of(item, w.rank, w.row_tiles, w.column_tiles);
    for (int at = 0; at < w.steps; ++at, turn.next()) {
      const unsigned to = w.stages + turn.stage * kStageBytes, barrier = w.full + 8 * turn.stage;
      barrier_wait(w.empty + 8 * turn.stage, turn.phase);  // the stage is empty in all blocks
      if (!leads) continue;
      // This block copies its own boxes of A, and its share of the boxes of B for the whole cluster.
      barrier_expect(barrier, kStageBytes);
#pragma unroll
      for (int i = 0; i < kABoxes; ++i) {
        const int row = tile.row + 64 * i;
        copy_box(to + i * kBoxBytes, a_map, kATransposed ? row : 64 * at, kATransposed ? 64 * at : row, barrier);
      }
#pragma unroll
      for (int i = 0; i < kBBoxes; ++i) {
        const int column = tile.column + 64 * i;
        if (i % kCluster == w.rank)
          copy_box_to_all(to + (kABoxes + i) * kBoxBytes, b_map, kBTransposed ? column : 64 * at,
                          kBTransposed ? 64 * at : column, barrier);
      }
    }
  }
  __syncwarp();
}

// Reports to all blocks of the cluster that this warp has read the stage, because each of them copies elements into it.
SM void release(const Work& w, int stage, int lane) {
  if (kCluster == 1 && lane == 0) barrier_arrive(w.empty + 8 * stage);
  if (kCluster > 1 && lane < kCluster) arrive_in(lane, w.empty + 8 * stage);
}

// Multiplies half of the rows of all tiles, and leaves the products in shared memory. Warp group number wg calls it.
SM void multiply_tiles(const Work& w, int wg, int warp, int lane) {
  // Low words of wgmma descriptors (`describe`) of the operands in stage 0, in units of 16 bytes.
  const unsigned a_places = describe(w.stages + wg * kBoxBytes, kATransposed ? kBoxBytes : 0),
                 b_places = describe(w.stages + kABoxes * kBoxBytes, kBTransposed ? kBoxBytes : 0);
  const unsigned part = w.parts + wg * kPartBytes;
  float wide[kWide / 2], rest[kRest > 0 ? kRest / 2 : 1];
  Turn turn = {0, 0};
  // Begins the products of the current stage, in steps of 16 elements along k. begins: this is the first stage of the
  // tile, so its products overwrite the sums.
  const auto multiply = [&](bool begins) {
    barrier_wait(w.full + 8 * turn.stage, turn.phase);
    multiply_begin();
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const unsigned at = turn.stage * (kStageBytes >> 4);
      const unsigned a = a_places + at + i * (kATransposed ? 16 * 128 >> 4 : 32 >> 4),
                     b = b_places + at + i * (kBTransposed ? 16 * 128 >> 4 : 32 >> 4);
      if (begins && i == 0) begin_wide(wide, a, b);
      else multiply_wide(wide, a, b);
#if REST
      if (begins && i == 0) begin_rest(rest, a, b + (2 * kBoxBytes >> 4));
      else multiply_rest(rest, a, b + (2 * kBoxBytes >> 4));
#endif
    }
    multiply_commit();
  };
  for (int item = w.first; item < w.items; item += w.step) {
    int before = turn.stage;
    multiply(true);
    turn.next();
#pragma unroll 1
    for (int at = 1; at < w.steps; ++at) {
      multiply(false);
      multiply_wait<1>();
      release(w, before, lane);
      before = turn.stage;
      turn.next();
    }
    multiply_wait<0>();
    pin(wide);
    if (kRest > 0) pin(rest);
    release(w, before, lane);
    named_sync<256>(products_read(wg));
    store_products(part, 0, wide, warp, lane);
    if (kRest > 0) store_products(part, kWide, rest, warp, lane);
    named_arrive<256>(products_stored(wg));
  }
}

// Runs the epilogue for half of the rows of all tiles. Warp group number wg calls it.
SM void finish_tiles(const Work& w, int wg, int warp, int lane, const BodyArguments& body) {
  named_arrive<256>(products_read(wg));  // there are none yet
  for (int item = w.first; item < w.items; item += w.step) {
    const Tile tile = tile_of(item, w.rank, w.row_tiles, w.column_tiles);
    const Tile next = tile_of(item + w.step, w.rank, w.row_tiles, w.column_tiles);
    run_epilogue(w.parts + wg * kPartBytes, tile.row + wg * kPartRows, tile.column, next.row + wg * kPartRows,
                 item + w.step < w.items ? next.column : w.n, wg, warp, lane, w.m, w.n, body, w.scratch,
                 [&] { named_sync<256>(products_stored(wg)); }, [&] { named_arrive<256>(products_read(wg)); });
  }
}

// ---- the kernel
// Computes C from A and B, whose elements have 16 bits. All threads of all blocks of a cluster call it.
SM void gemm(const TensorMap& a_map, const TensorMap& b_map, long long m, long long n, long long k,
             const BodyArguments& body) {
  extern __shared__ __align__(1024) unsigned char memory[];
  // Shared memory contains, from a multiple of 1024 bytes on: the stages; the products of each warp group that
  // multiplies (`parts`); two mbarriers of 8 bytes, `full` and `empty`, per stage; and the column sums of the
  // epilogue (`scratch`). A full barrier gets one arrival, that of the producer. An empty barrier gets one
  // arrival of each warp that reads the stage, in all blocks of the cluster.
  Work w = {(int)m, (int)n, (int)((k + 63) / 64)};
  w.stages = (shared_address(memory) + 1023) & ~1023u, w.parts = w.stages + kStages * kStageBytes;
  w.full = w.parts + 2 * kPartBytes, w.empty = w.full + 8 * kStages, w.scratch = w.empty + 8 * kStages;
  w.row_tiles = (w.m + kRows * kCluster - 1) / (kRows * kCluster), w.column_tiles = (w.n + kColumns - 1) / kColumns;
  w.items = w.row_tiles * w.column_tiles, w.rank = kCluster > 1 ? (int)(blockIdx.x % kCluster) : 0;
  w.first = (int)(blockIdx.x / kCluster), w.step = (int)(gridDim.x / kCluster);

  if (threadIdx.x == 0) {
    for (int i = 0; i < kStages; ++i) barrier_init(w.full + 8 * i, 1), barrier_init(w.empty + 8 * i, 8 * kCluster);
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    fence_stores();
  }
  // Other blocks of the cluster use this block's barriers too, so the whole cluster waits for the
  // initialization.
  if (kCluster > 1) cluster_sync();
  else __syncthreads();

  const int lane = threadIdx.x & 31, warp = uniform(threadIdx.x / 32) & 3, group = uniform(threadIdx.x / 128);
  if (group == 0) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kCopyRegisters));
    if (warp == 0) copy_tiles(a_map, b_map, w);
  } else if (group < 3) {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kProductRegisters));
    multiply_tiles(w, group - 1, warp, lane);
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kEpilogueRegisters));
    finish_tiles(w, group - 3, warp, lane, body);
  }
  __syncwarp();
  // The other blocks may still arrive at this block's barriers. So a block ends only when all blocks of the
  // cluster are done.
  if (kCluster > 1) cluster_sync();
}
