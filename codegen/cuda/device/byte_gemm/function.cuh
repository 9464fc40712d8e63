// The function byte_gemm: C = A B for sm_90a, where A has m rows of 16-bit floats, and B has n columns of k
// signed bytes (codegen/cuda/byte_gemm/byte_gemm_text.h). It computes the transposed product: the weights
// are the left operand of wgmma, which may be in registers, so a lane converts the bytes that it multiplies
// and no converted weight is stored. The rows of A are the right operand, in shared memory.
// A tile has ROWS rows of C, and COLUMNS columns of each of the PARTS parts of C: kWeights columns together.
// A cluster of TILES * SPLITS blocks computes TILES tiles that are adjacent along n. SPLITS blocks compute a
// tile together: each adds up a contiguous share of the k terms. Then each of them adds up the sums of all for
// its share of the rows, always in the same order. So an element of C depends only on its row of A and its
// column of B. The TILES blocks with the same share need the same elements of A: each copies a part of them to
// all of these blocks.
// Two threads of a block are producers: one copies pieces of 64 terms of B into a ring buffer of STAGES stages
// by TMA, and the other one copies pieces of A into another ring buffer. The two warp groups after the first
// one are consumers; each multiplies 64 weights by all rows of A. The kernel is persistent: a cluster computes one
// group of TILES tiles after the other.
// Requires: the macros ROWS, COLUMNS, PARTS, TILES, SPLITS, STAGES, ROW_STAGES and WIDEN_TWO; the files of ../wgmma;
// widen_two.cuh; the function multiply_tile (codegen/cuda/wgmma_text.h).


constexpr int kWeights = 128, kDepth = 64;  // columns of a tile, and terms of a stage
constexpr int kRowsBytes = ROWS * kDepth * 2, kWeightsBytes = kWeights * kDepth;
// A row of sums in shared memory has kSumsPitch floats. With this padding, the lanes of a warp write to
// different banks.
constexpr int kSumsPitch = kWeights + 4;
constexpr int kConsumers = 256, kConsumerWarps = kConsumers / 32;

// A block's place in its cluster: which of the tiles it computes, and which share of the terms.
constexpr int kCluster = TILES * SPLITS;
SM unsigned block_of(int split, int side) { return split * TILES + side; }

// The tiles of this block. Groups of tiles with adjacent numbers have the same columns, so the clusters that
// run at the same time read the same weights.
struct Tiles {
  int row_tiles, first, step, count;  // group i of this cluster has the number first + i * step
  int side;                           // the block computes this tile of each group

  __device__ __forceinline__ Tiles(int m, int n) {
    row_tiles = (m + ROWS - 1) / ROWS;
    const int all = row_tiles * ((n + TILES * COLUMNS - 1) / (TILES * COLUMNS));
    first = (int)blockIdx.x / kCluster, step = (int)gridDim.x / kCluster, side = blockIdx.x % TILES;
    count = first < all ? (all - first + step - 1) / step : 0;
  }
  __device__ __forceinline__ int row(int i) const { return (first + i * step) % row_tiles * ROWS; }
  __device__ __forceinline__ int column(int i) const { return (first + i * step) / row_tiles * TILES * COLUMNS + side * COLUMNS; }
};

// The current stage of a ring buffer, and the parity of the phase in which it is filled.
template <int stages>
struct Place {
  int stage = 0;
  unsigned phase = 0;
  __device__ __forceinline__ void advance() {
    if (++stage == stages) stage = 0, phase ^= 1;
  }
  __device__ __forceinline__ int last() const { return stage == 0 ? stages - 1 : stage - 1; }
};
// Addresses in shared memory, whose first tile begins at a multiple of 1024 bytes: the stages of A, those of
// B, the sums, and the mbarriers. A barrier `full` gets one arrival, that of the producer. weights_empty gets
// one of each consumer warp, and rows_empty one of each consumer warp of all blocks that copy to the stage.
// ready, read: all blocks of the tile have stored their sums, and have read those of the others.
struct Memory {
  unsigned rows, weights, sums, weights_full, weights_empty, rows_full, rows_empty, ready, read;
  __device__ __forceinline__ Memory(const void* memory) {
    rows = (shared_address(memory) + 1023) & ~1023u, weights = rows + ROW_STAGES * kRowsBytes;
    sums = weights + STAGES * kWeightsBytes, weights_full = sums + ROWS * kSumsPitch * 4;
    weights_empty = weights_full + 8 * STAGES, rows_full = weights_empty + 8 * STAGES;
    rows_empty = rows_full + 8 * ROW_STAGES, ready = rows_empty + 8 * ROW_STAGES, read = ready + 8;
  }
  // Initializes the barriers. One thread calls it.
  __device__ __forceinline__ void init() const {
    for (int i = 0; i < STAGES; ++i) barrier_init(weights_full + 8 * i, 1), barrier_init(weights_empty + 8 * i, kConsumerWarps);
    for (int i = 0; i < ROW_STAGES; ++i)
      barrier_init(rows_full + 8 * i, 1), barrier_init(rows_empty + 8 * i, TILES * kConsumerWarps);
    barrier_init(ready, SPLITS), barrier_init(read, SPLITS);
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    fence_stores();
  }
};

// Arrives at the mbarrier that is at the address `barrier` in block number `block` of the cluster. What this
// thread has seen is visible to a thread of that block after wait_for_cluster.
SM void arrive_for_cluster(unsigned block, unsigned barrier) {
  asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(address_in(block, barrier)) : "memory");
}
SM void wait_for_cluster(unsigned barrier, unsigned parity) {
  asm volatile(
      "{\n.reg .pred done;\nWAIT:\nmbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [%0], %1;\n@done bra DONE;\n"
      "bra WAIT;\nDONE:\n}" ::"r"(barrier), "r"(parity) : "memory");
}
SM float load_sum(int split, int side, unsigned from) {
  float sum;
  if (SPLITS == 1) asm volatile("ld.shared.f32 %0, [%1];" : "=f"(sum) : "r"(from) : "memory");
  else asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(sum) : "r"(address_in(block_of(split, side), from)) : "memory");
  return sum;
}
SM void store_sum(unsigned to, float sum) { asm volatile("st.shared.f32 [%0], %1;" ::"r"(to), "f"(sum) : "memory"); }

// The lane's two weights at a shared memory address, as one word of two 16-bit floats.
SM unsigned load_two(unsigned from) {
  unsigned short two;
  asm volatile("ld.shared.u16 %0, [%1];" : "=h"(two) : "r"(from) : "memory");
  return WIDEN_TWO(two);
}
// Loads the lane's weights of 64 terms: w[i] is its fragment of the 16 terms from 16 * i on, as wgmma takes
// it. at: the address of the lane's first weight, in row `row` of the stage's weights. TMA has permuted the
// pieces of 16 bytes in rows of 64 bytes.
SM void load_weights(unsigned (&w)[4][4], unsigned at, int row) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const unsigned from = at + ((i ^ (row >> 1 & 3)) << 4);
    w[i][0] = load_two(from), w[i][1] = load_two(from + 8 * kDepth);
    w[i][2] = load_two(from + 8), w[i][3] = load_two(from + 8 * kDepth + 8);
  }
}

// Copies a part of A to all blocks that multiply it: x, y as in copy_box.
SM void copy_to_all(unsigned to, const TensorMap& map, int x, int y, unsigned barrier, int split) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%2, %3}], "
      "[%4], %5;" ::"r"(to), "l"(&map), "r"(x), "r"(y), "r"(barrier), "h"((unsigned short)(((1 << TILES) - 1) << TILES * split)) : "memory");
}

// Fill the ring buffers with what all tiles of this block need, from stage `begin` of the terms on. One thread
// calls each function. Weights are copied while preceding launches run, because no launch writes weights.
SM void produce_weights(const TensorMap& map, const Tiles& tiles, const Memory& memory, int n, int begin, int steps) {
  Place<STAGES> place;
  for (int i = 0; i < tiles.count; ++i) {
    const int column = tiles.column(i);
    for (int at = begin; at < begin + steps; ++at, place.advance()) {
      const unsigned full = memory.weights_full + 8 * place.stage, to = memory.weights + place.stage * kWeightsBytes;
      barrier_wait(memory.weights_empty + 8 * place.stage, place.phase ^ 1);
      barrier_expect(full, kWeightsBytes);
#pragma unroll
      for (int part = 0; part < PARTS; ++part)
        copy_box(to + part * COLUMNS * kDepth, map, kDepth * at, part * n + column, full);
    }
  }
}
SM void produce_rows(const TensorMap& map, const Tiles& tiles, const Memory& memory, int split, int begin, int steps) {
  Place<ROW_STAGES> place;
  sm_wait_for_launches();
  for (int i = 0; i < tiles.count; ++i) {
    const int row = tiles.row(i) + tiles.side * (ROWS / TILES);
    for (int at = begin; at < begin + steps; ++at, place.advance()) {
      const unsigned full = memory.rows_full + 8 * place.stage;
      barrier_wait(memory.rows_empty + 8 * place.stage, place.phase ^ 1);
      barrier_expect(full, kRowsBytes);
      copy_to_all(memory.rows + place.stage * kRowsBytes + tiles.side * (kRowsBytes / TILES), map, kDepth * at, row, full,
                  split);
    }
  }
}

// The next stages that a consumer reads.
struct Places {
  Place<STAGES> weights;
  Place<ROW_STAGES> rows;
};
// Multiplies the next `steps` stages: sums = 64 weights x all rows of A. row, offset: as in load_weights. A warp
// waits until the tensor cores have read the weights in its registers. So the two warp groups, wg 0 and 1, take
// turns: while one multiplies, the other one loads and converts weights. Each waits at its own named barrier,
// at which the other one arrives after its products; before the first turn, warp group 1 has arrived at that of
// warp group 0.
constexpr int kTurn = 2;
SM void multiply_stages(float (&sums)[ROWS / 2], Places& at, const Memory& memory, int wg, int split, int steps, int row,
                        unsigned offset) {
  const int lane = threadIdx.x % 32;
  // Reports to all blocks that copy to a stage of A that this warp has read it.
  const auto release_rows = [&](int stage) {
    if (lane < TILES) arrive_in(block_of(split, lane), memory.rows_empty + 8 * stage);
  };
  unsigned w[2][4][4];
  const unsigned places = describe(memory.rows, 0);
  clear(sums);
#pragma unroll 1
  for (int step = 0; step < steps; step += 2) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      barrier_wait(memory.weights_full + 8 * at.weights.stage, at.weights.phase);
      load_weights(w[i], memory.weights + at.weights.stage * kWeightsBytes + offset, row);
      __syncwarp();
      if (lane == 0) barrier_arrive(memory.weights_empty + 8 * at.weights.stage);
      barrier_wait(memory.rows_full + 8 * at.rows.stage, at.rows.phase);
      named_sync<kConsumers>(kTurn + wg);
      multiply_begin();
#pragma unroll
      for (int t = 0; t < 4; ++t) multiply_tile(sums, w[i][t], places + (at.rows.stage * kRowsBytes + 32 * t >> 4));
      multiply_commit();
      named_arrive<kConsumers>(kTurn + (1 - wg));
      multiply_wait<1>();  // the products of the previous stage are complete
#pragma unroll
      for (int t = 0; t < 4; ++t) pin(w[1 - i][t]);
      if (step + i > 0) release_rows(at.rows.last());
      at.weights.advance(), at.rows.advance();
    }
  }
  multiply_wait<0>();
  pin(sums);
  release_rows(at.rows.last());
}

// The elements of a tile that a block ends, of each part; a thread has kAtOnce of them in flight.
constexpr int kShare = (ROWS + SPLITS - 1) / SPLITS, kElements = kShare * COLUMNS, kAtOnce = 4;
// An element of C, and the place of its sums in a block's shared memory, in bytes.
struct Element {
  int row, column;
  unsigned place;
  bool is_there;
};
SM Element element_of(const Tiles& tiles, int tile, int split, int number, int m, int n) {
  const int tile_row = split * kShare + number / COLUMNS, tile_column = number % COLUMNS;
  const int row = tiles.row(tile) + tile_row, column = tiles.column(tile) + tile_column;
  return {row, column, 4u * (tile_row * kSumsPitch + tile_column), number < kElements && tile_row < ROWS && row < m && column < n};
}
// Adds up the sums of all blocks of the tile for one element of each part.
SM void add_sums(float (&whole)[PARTS], int side, unsigned from) {
#pragma unroll
  for (int part = 0; part < PARTS; ++part) {
    whole[part] = 0.0f;
#pragma unroll
    for (int split = 0; split < SPLITS; ++split) whole[part] += load_sum(split, side, from + 4 * part * COLUMNS);
  }
}

// All threads of the block call this. load(row, column, loads) loads what the epilogue needs for an element
// of C, and put(row, column, sums, loads) gets the sums of the element, one per part.
template <class Load, class Put>
SM void byte_gemm(const TensorMap& a_map, const TensorMap& b_map, int m, int n, int k, Load load, Put put) {
  extern __shared__ __align__(1024) unsigned char bytes[];
  const Memory memory(bytes);
  const Tiles tiles(m, n);
  const int split = blockIdx.x % kCluster / TILES, side = blockIdx.x % TILES;
  // Every block has an even number of stages, also if some are beyond k: these are zeros.
  const int steps = ((k + kDepth - 1) / kDepth + 2 * SPLITS - 1) / (2 * SPLITS) * 2, begin = split * steps;
  if (threadIdx.x == 0) memory.init();
  sm_allow_next_launch();
  cluster_sync();
  if (threadIdx.x == 0) produce_weights(b_map, tiles, memory, n, begin, steps);
  if (threadIdx.x == 32) produce_rows(a_map, tiles, memory, split, begin, steps);
  if (threadIdx.x >= 128) {
    const int thread = (int)threadIdx.x - 128, lane = thread & 31, wg = uniform(thread / 128);
    const int row = thread / 32 % 4 * 16 + (lane >> 2), own = wg * 64 + row;  // the lane's weights: own, own + 8
    float sums[ROWS / 2];
    Places places;
    if (wg == 1) named_arrive<kConsumers>(kTurn);
    for (int i = 0; i < tiles.count; ++i) {
      multiply_stages(sums, places, memory, wg, split, steps, row, own * kDepth + 2 * (lane & 3));
      if (i > 0) wait_for_cluster(memory.read, i - 1 & 1);
      else sm_wait_for_launches();
      // sums[4 * g + 2 * upper + e] is for weight own + 8 * upper and row 8 * g + 2 * (lane & 3) + e of A.
#pragma unroll
      for (int s = 0; s < ROWS / 2; ++s)
        store_sum(memory.sums + 4 * ((8 * (s / 4) + 2 * (lane & 3) + s % 2) * kSumsPitch + own + s / 2 % 2 * 8), sums[s]);
      named_sync<kConsumers>(1);
      if (thread < SPLITS) arrive_for_cluster(block_of(thread, side), memory.ready);
      wait_for_cluster(memory.ready, i & 1);

      for (int at = thread; at < kElements; at += kConsumers * kAtOnce) {
        BodyLoads loads[kAtOnce];
        float whole[kAtOnce][PARTS];
        Element elements[kAtOnce];
#pragma unroll
        for (int item = 0; item < kAtOnce; ++item) {
          elements[item] = element_of(tiles, i, split, at + kConsumers * item, m, n);
          if (elements[item].is_there) load(elements[item].row, elements[item].column, loads[item]);
        }
#pragma unroll
        for (int item = 0; item < kAtOnce; ++item)
          if (elements[item].is_there) add_sums(whole[item], side, memory.sums + elements[item].place);
#pragma unroll
        for (int item = 0; item < kAtOnce; ++item)
          if (elements[item].is_there) put(elements[item].row, elements[item].column, whole[item], loads[item]);
      }
      named_sync<kConsumers>(1);
      if (thread < SPLITS) arrive_for_cluster(block_of(thread, side), memory.read);
    }
    if (wg == 0) named_sync<kConsumers>(kTurn);  // the last arrival of warp group 1
  }
  // The other blocks may still read this block's sums, and arrive at its barriers.
  __syncwarp();
  cluster_sync();
}
