// The function small_m of a small-M GEMM. codegen/cuda/small_m/small_m_text.h describes its arguments and
// callbacks. It computes C = A B, where A is m x k and m is small. A column of B is contiguous along k, and
// is called a row of weights. The tensor cores take weights as their operand of 16 rows, and the rows of A as
// their operand of 8 columns. A lane multiplies 16 contiguous bytes of a row of weights. The order of the
// elements along k is not that of the instruction, but it is the same for both operands, so the product is
// correct. A lane loads the weights that it multiplies itself, into a ring buffer in shared memory. The sum
// over k is computed in rounds. In a round, each of the eight warps of a block multiplies 64 bytes of each
// row of weights; together, the warps multiply 512 adjacent bytes. Weights beyond k count as zeros. A block
// computes one tile of C after the other, and loads the first weights of the next tile before it ends the
// current one.
// These macros are defined before this text:
//   ROWS            rows of A in a tile (8 or 16)
//   WEIGHTS         rows of weights in a tile
//   PIECES          groups of 8 rows of weights in a tile; a lane loads 16 bytes of each group per round
//   PARTS           number of parts of C, which have n columns each
//   COLUMNS         columns of each part in a tile
//   ITEMS           elements per thread and tile; each has one sum per part
//   PITCH           floats from one row of partial sums to the next
//   DEPTH           rounds of weights that are loaded in advance
//   AHEAD           rounds of A in registers: the current one, and those that are loaded in advance
//   STAGED          1: A is in shared memory, where a prologue has stored it; 0: A is in global memory
//   BYTES           1: weights are signed bytes, which WIDEN_BYTES converts; 0: they have the type of A
// Requires: instructions.cuh, and widen_bytes.cuh if weights are bytes.


// kPiece: number of weights in 16 bytes. kRound: elements along k in a round: in each of the eight warps,
// four lanes multiply 16 bytes each of a row of weights. kWords: words of A that a lane multiplies in a round.
constexpr int kPiece = 16 / sizeof(Weight), kRound = 32 * kPiece, kWords = kPiece / 2;

// Returns the number, in the tile, of the thread's item-th element of C.
SM int own_item(int item) { return threadIdx.x + 256 * item; }

// Loads kPiece elements of a row of A, two per word; zeros if no elements of the row are left.
SM void load_row(unsigned (&to)[kWords], const Half* from, int left) {
#pragma unroll
  for (int i = 0; i < kPiece / 8; ++i)
    STAGED ? load_four_staged(to + 4 * i, from + 8 * i, left > 0) : load_four(to + 4 * i, from + 8 * i, left > 0);
}

// Converts 16 bytes of weights to kPiece elements of the type of A, two per word.
SM void take_piece(unsigned (&to)[kPiece / 2], const uint4& piece) {
#if BYTES
  const unsigned words[4] = {piece.x, piece.y, piece.z, piece.w};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    unsigned two[2];
    WIDEN_BYTES(two, words[i]);
    to[2 * i] = two[0], to[2 * i + 1] = two[1];
  }
#else
  to[0] = piece.x, to[1] = piece.y, to[2] = piece.z, to[3] = piece.w;
#endif
}

// Computes the tiles blockIdx.x, blockIdx.x + gridDim.x, ... of C. A tile has up to ROWS rows, and COLUMNS
// columns of each part. All 256 threads of the block call this. Requires: k is a multiple of kPiece.
template <class Before, class Begin, class Put>
SM void small_m(uint4* ring, const Half* a, int a_pitch, const Weight* b, int m, int n, int k, long long b_pitch,
                Before before, Begin begin, Put put) {
  // ring: [DEPTH][PIECES][256 threads] pieces of 16 bytes. partial, after the ring: the sums of each warp,
  // [8 warps][ROWS][PITCH] floats.
  float* const partial = (float*)(ring + DEPTH * PIECES * 256);
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, group = lane >> 2, quarter = lane & 3;
  // group: the lane's row in each group of 8 rows of weights, and in each 8 rows of A. quarter: the lane's
  // number among the four lanes of this row. own: the lane's first element along k in round 0.
  const int own = warp * (kRound / 8) + quarter * kPiece, rounds = (k + kRound - 1) / kRound;
  // Loads the lane's elements of A for a round.
  const auto load_rows = [&](unsigned (&to)[ROWS / 8][kWords], int round) {
    const int at = own + kRound * round;
#pragma unroll
    for (int i = 0; i < ROWS / 8; ++i) load_row(to[i], a + (8 * i + group) * a_pitch + at, 8 * i + group < m ? k - at : 0);
  };

  // The weights that are loaded next: the first column of their tile, and their round.
  int next_first = blockIdx.x * COLUMNS, next_round = 0;
  // Starts the lane's loads of weights for the next round, into this slot of the ring buffer. Rows of
  // weights that do not exist are replaced by the last one, and weights beyond k by zeros.
  const auto load_piece = [&](int slot) {
    const int at = own + kRound * next_round;
    if (next_first < n)
#pragma unroll
      for (int i = 0; i < PIECES; ++i) {
        const int column = min(next_first + 8 * (i % (PIECES / PARTS)) + group, n - 1) + i / (PIECES / PARTS) * n;
        load_weights(shared_address(&ring[(slot * PIECES + i) * 256 + threadIdx.x]), b + column * b_pitch + min(at, k - kPiece), at < k);
      }
    end_piece();
    if (++next_round == rounds) next_round = 0, next_first += gridDim.x * COLUMNS;
  };
  // The first weights are loaded while preceding launches run, because no launch writes weights.
  sm_allow_next_launch();
  for (int i = 0; i < DEPTH; ++i) load_piece(i);
  sm_wait_for_launches();
  before();

  unsigned as[AHEAD][ROWS / 8][kWords];  // the lane's elements of A: current and next rounds
  int slot = 0;  // the slot of the ring buffer that has the current round
  for (int first = blockIdx.x * COLUMNS; first < n; first += gridDim.x * COLUMNS) {
    // sums: accumulator fragments of 16 rows of weights x 8 rows of A. Element e of a lane is for row
    // `group` + 8 * (e / 2) of the weights, and for row 2 * quarter + e % 2 of A.
    float sums[(PIECES + 1) / 2][ROWS / 8][4] = {};
#pragma unroll
    for (int i = 0; i < AHEAD - 1; ++i) load_rows(as[i], i);
    begin(first);
    for (int round = 0; round < rounds; round += AHEAD) {
#pragma unroll
      for (int i = 0; i < AHEAD; ++i) {
        if (round + i >= rounds) break;
        load_rows(as[(i + AHEAD - 1) % AHEAD], round + i + AHEAD - 1);
        wait_for_pieces<DEPTH - 1>();  // the oldest of DEPTH rounds has arrived
        unsigned w[PIECES + PIECES % 2][kPiece / 2] = {};
#pragma unroll
        for (int p = 0; p < PIECES; ++p) take_piece(w[p], ring[(slot * PIECES + p) * 256 + threadIdx.x]);
#pragma unroll
        for (int half = 0; half < kPiece / 2; half += 2)
#pragma unroll
          for (int t = 0; t < (PIECES + 1) / 2; ++t)
#pragma unroll
            for (int u = 0; u < ROWS / 8; ++u)
              multiply(sums[t][u], w[2 * t][half], w[2 * t + 1][half], w[2 * t][half + 1], w[2 * t + 1][half + 1],
                       as[i][u][half], as[i][u][half + 1]);
        load_piece(slot);
        slot = slot + 1 == DEPTH ? 0 : slot + 1;
      }
    }

    // The eight warps store their sums. Then each thread adds up the eight sums of each of its elements of
    // C, in the order of the warps.
#pragma unroll
    for (int t = 0; t < (PIECES + 1) / 2; ++t)
#pragma unroll
      for (int u = 0; u < ROWS / 8; ++u)
#pragma unroll
        for (int e = 0; e < (PIECES == 1 ? 2 : 4); ++e)
          partial[(warp * ROWS + 8 * u + 2 * quarter + e % 2) * PITCH + 16 * t + group + e / 2 * 8] = sums[t][u][e];
    __syncthreads();
#pragma unroll
    for (int item = 0; item < ITEMS; ++item) {
      const int i = own_item(item), row = i / COLUMNS, column = first + i % COLUMNS;
      if (i >= COLUMNS * ROWS || row >= m || column >= n) continue;
      float whole[PARTS];
#pragma unroll
      for (int part = 0; part < PARTS; ++part) {
        whole[part] = 0.0f;
#pragma unroll
        for (int from = 0; from < 8; ++from)
          whole[part] += partial[(from * ROWS + row) * PITCH + part * COLUMNS + i % COLUMNS];
      }
      put(row, column, whole, item);
    }
    __syncthreads();  // before the next tile overwrites `partial`
  }
}
