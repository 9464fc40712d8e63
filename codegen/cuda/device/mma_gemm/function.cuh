// The function `gemm` of the matmul kernel for sm_80 and later: C = epilogue(alpha A B), with cp.async, ldmatrix and
// mma.sync (codegen/cuda/gemm/mma_gemm_text.h). A is m x k, B is k x n and C is m x n. There may be several such
// products of one size. A block computes one tile (kOneTile), or every N-th tile of all products, where N is the number
// of blocks. Copies run kStages - 1 stages before the products, and continue with the block's next tile during the
// epilogue.
// Requires: products.cuh, lanes.cuh, ../gemm/tiles.cuh, and the body's functions (codegen/cuda/gemm/gemm_text.h).


// ---- the end of a tile
// A part of C as the epilogue sees it. Its rows are numbered from `first` on; rows >= `rows` and columns >= `columns`
// do not exist.
struct Part {
  BodyArguments body;
  int first, rows, columns;
};

// Runs the epilogue for the tile. All threads of the block call it, with the sums of multiply_stage. A warp has kSteps
// steps. Each step has a piece of 16 rows and a group of 32 columns, in which a lane has eight adjacent columns of two
// rows. If a block has several tiles, loads of the next step begin before the current step is computed. scratch: address
// in shared memory for column sums.
SM void finish_tile(const Sum (&sums)[kRowPieces][kWarpColumns / 2], const Part& part, const Tile& tile, unsigned scratch) {
  constexpr int kSteps = kRowPieces * kGroups;
  const unsigned thread = again(threadIdx.x);
  const int lane = thread & 31;
  const auto [row, column] = place_of_warp(thread >> 5);
  const int first = part.first + tile.row + row + (lane >> 2), begin = tile.column + column + 8 * (lane & 3);
  const auto load = [&](int step, BodyLoads (&loads)[kLaneRows]) {
#pragma unroll
    for (int i = 0; i < kLaneRows; ++i)
      body_load(part.body, first + 16 * (step % kRowPieces) + 8 * i, part.rows, begin + 32 * (step / kRowPieces), part.columns, loads[i]);
  };
  BodyColumns same;
  BodyLoads loads[2][kLaneRows];
  if (!kOneTile) load(0, loads[0]);
#pragma unroll
  for (int step = 0; step < kSteps; ++step) {
    const int piece = step % kRowPieces, group = step / kRowPieces;
    if (piece == 0) body_columns(part.body, begin + 32 * group, part.columns, same);
    if (kOneTile) load(step, loads[step % 2]);
    else if (step + 1 < kSteps) load(step + 1, loads[(step + 1) % 2]);
    BodySums columns;
#pragma unroll
    for (int i = 0; i < kLaneRows; ++i) {
      Sum handed[8];
      if constexpr (kRounded) take_eight(handed, sums[piece], group, i);
      else take_eight_unrounded(handed, sums[piece], group, i);
      body_run(part.body, first + 16 * piece + 8 * i, part.rows, begin + 32 * group, part.columns, same, loads[step % 2][i], columns,
               handed);
    }
    body_lanes(columns, column + 32 * group, row / 16 + piece, lane, scratch);
  }
}

// ---- the kernel
// The tiles of a product, one row of tiles below the other.
SM int row_tiles_of(int m) { return (m + kRows - 1) / kRows; }
SM int column_tiles_of(int n) { return (n + kColumns - 1) / kColumns; }

// A block's tile in the product with this number.
struct Item {
  int product;
  Tile tile;
};
// Returns tile number `item` of all products, whose results are m x n.
SM Item item_of(int item, int m, int n) {
  const int row_tiles = row_tiles_of(m), column_tiles = column_tiles_of(n), tiles = row_tiles * column_tiles;
  return {kBatched ? item / tiles : 0, tile_of(kBatched ? item % tiles : item, 0, row_tiles, column_tiles)};
}

// Computes `products` products, times alpha if they are floats; k is in units. move(i, operands) moves the operands from product 0 to product i. part_of(i) returns
// the Part of product i. All threads of all blocks call it.
template <class Move, class PartOf>
SM void gemm(const Operands& operands, int m, int n, int k, int products, float alpha, const Move& move, const PartOf& part_of) {
  extern __shared__ __align__(128) unsigned char memory[];
  const int items = row_tiles_of(m) * column_tiles_of(n) * products, steps = (k + kDepth - 1) / kDepth;
  // Shared memory contains the stages, and the column sums of the epilogue.
  const unsigned stages = shared_address(memory), scratch = stages + kStages * kStageBytes;

  // The tile whose stages are copied next: its number, the rows and columns from its first on, and its next stage.
  int next = blockIdx.x, rows = 0, columns = 0, next_at = 0;
  Operands from = operands;
  const auto begin_tile = [&] {
    if (!kOneTile && next >= items) return;
    const auto [product, tile] = item_of(next, m, n);
    rows = m - tile.row, columns = n - tile.column, next_at = 0;
    from = operands;
    move(product, from);
    move_to_tile(from, tile);
  };
  // Begins the copies of one more stage. at: its number along k if a block has only one tile.
  const auto copy_next = [&](int stage, int at) {
    if (!kOneTile) at = next_at;
    if (kOneTile ? at < steps : next < items) load_stage(stages + stage * kStageBytes, from, rows, columns, k - at * kDepth);
    commit_copies();
    move_to_next_stage(from);
    if (!kOneTile && ++next_at == steps) next += gridDim.x, begin_tile();
  };
  begin_tile();
#pragma unroll
  for (int i = 0; i < kStages - 1; ++i) copy_next(i, i);

  int stage = 0, item = blockIdx.x;
  do {
    Sum sums[kRowPieces][kWarpColumns / 2] = {};
    for (int at = 0; at < steps; ++at) {
      if (kOneTile) stage = at % kStages;
      wait_for_copies<kStages - 2>();
      __syncthreads();  // the stage is there for all threads, and no thread reads the previous one any more
      copy_next(stage == 0 ? kStages - 1 : stage - 1, at + kStages - 1);
      multiply_stage(sums, stages + stage * kStageBytes);
      if (!kOneTile && ++stage == kStages) stage = 0;
    }
    if constexpr (!kBytes)
#pragma unroll
      for (int t = 0; t < kRowPieces; ++t)
#pragma unroll
        for (int i = 0; i < kWarpColumns / 2; ++i) sums[t][i] *= alpha;
    const Item done = item_of(item, again(m), again(n));
    const Part part = part_of(done.product);
    finish_tile(sums, part, done.tile, scratch);
    if (kSums == 0) continue;
    // All warps have stored their column sums before body_sum reads them. The next tile's come after other barriers.
    __syncthreads();
    body_sum(part.body, done.tile.row / kRows, row_tiles_of(m), done.tile.column, n, threadIdx.x, scratch);
  } while (!kOneTile && (item += gridDim.x) < items);
}
