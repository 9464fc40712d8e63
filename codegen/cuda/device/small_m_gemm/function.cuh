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
//   BYTES           1: weights are signed bytes, which WIDEN_BYTES converts
//   GROUP           not 0: weights are packed codes of WEIGHT_BITS bits (widen_codes.cuh). WIDEN_WORD converts
//                   a word of them, and LESS_TWO and SCALE_TWO apply zero and scale of a group of GROUP weights
//   ZEROS           1: groups have zeros
//   SCALE_LANES     adjacent lanes whose scales, and whose zeros, are in one word, which the first of them loads
// With neither, weights have the type of A, and WEIGHT_BITS is 16.
// Requires: instructions.cuh; widen_bytes.cuh if weights are bytes; widen_codes.cuh if they are packed.


// kPiece: number of weights in 16 bytes. kRound: elements along k in a round: in each of the eight warps,
// four lanes multiply 16 bytes each of a row of weights. kWords: words of A that a lane multiplies in a round.
constexpr int kPiece = 128 / WEIGHT_BITS, kRound = 32 * kPiece, kWords = kPiece / 2;
// kAtOnce: words of A that are multiplied by weights which are converted together.
constexpr int kAtOnce = GROUP ? kPiece / 8 : kWords;

// Returns the number, in the tile, of the thread's item-th element of C.
SM int own_item(int item) { return threadIdx.x + 256 * item; }

// Loads kPiece elements of a row of A, two per word; zeros if no elements of the row are left.
SM void load_row(unsigned (&to)[kWords], const Half* from, int left) {
#pragma unroll
  for (int i = 0; i < kPiece / 8; ++i)
    STAGED ? load_four_staged(to + 4 * i, from + 8 * i, left > 0) : load_four(to + 4 * i, from + 8 * i, left > 0);
}

#if GROUP
// Scales and zeros of packed weights: GROUP adjacent weights of a row have one of each.
struct Groups {
  const Half* scales;
  const signed char* zeros;
  long long scales_pitch, zeros_pitch;
};
// The numbers of a group, in words of shared memory that hold neighbours, too.
struct Factors {
  unsigned scale;
  int zero;
};
SM Factors factors_of(const unsigned* words, const Half* scale, const signed char* zero) {
  const unsigned half = words[0] >> ((unsigned)(unsigned long long)scale & 2) * 8 & 0xFFFF;
  return {half | half << 16, ZEROS ? (int)(signed char)(words[256 * PIECES] >> ((unsigned)(unsigned long long)zero & 3) * 8) : 0};
}
// Converts one word of packed weights to elements of the type of A, two per word.
SM void take_word(unsigned (&to)[kAtOnce], unsigned word, const Factors& factors) {
  WIDEN_WORD(to, word);
#pragma unroll
  for (int i = 0; i < kAtOnce; ++i) to[i] = SCALE_TWO(ZEROS ? LESS_TWO(to[i], factors.zero) : to[i], factors.scale);
}
#else
// Converts 16 bytes of weights to kPiece elements of the type of A, two per word.
SM void take_piece(unsigned (&to)[kAtOnce], const uint4& piece) {
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
#endif

// Computes the tiles blockIdx.x, blockIdx.x + gridDim.x, ... of C. A tile has up to ROWS rows, and COLUMNS
// columns of each part. All 256 threads of the block call this. Requires: k is a multiple of kPiece.
template <class Before, class Begin, class Put>
SM void small_m(uint4* ring, const Half* a, int a_pitch, const Weight* b, int m, int n, int k, long long b_pitch,
#if GROUP
                const Groups& groups,
#endif
                Before before, Begin begin, Put put) {
  // ring: [DEPTH][PIECES][256 threads] pieces of 16 bytes. words, after the ring: a word with the scale of each
  // piece, and one with its zero, [DEPTH][1 + ZEROS][PIECES][256]. partial: the sums of each warp, [8 warps][ROWS][PITCH]
  // floats.
  unsigned* const words = (unsigned*)(ring + DEPTH * PIECES * 256);
  float* const partial = (float*)(words + (GROUP ? DEPTH * (1 + ZEROS) * PIECES * 256 : 0));
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

  // Returns the row of weights of the lane's i-th piece in the tile that begins at `first`. Rows that do not
  // exist are replaced by the last one.
  const auto column_of = [&](int first, int i) {
    return min(first + 8 * (i % (PIECES / PARTS)) + group, n - 1) + i / (PIECES / PARTS) * n;
  };
#if GROUP
  // Return where the scale and the zero of the group are that has the element `at` of a row of weights.
  const unsigned scales_pitch = (unsigned)groups.scales_pitch, zeros_pitch = (unsigned)groups.zeros_pitch;
  const auto group_of = [&](int at) { return (unsigned)min(at, k - kPiece) / GROUP; };
  const auto scale_of = [&](int column, int at) { return groups.scales + ((unsigned)column * scales_pitch + group_of(at)); };
  const auto zero_of = [&](int column, int at) { return groups.zeros + ((unsigned)column * zeros_pitch + group_of(at)); };
  const int loader = threadIdx.x & ~(SCALE_LANES - 1);  // the lane that loads this lane's words
#endif
  // The weights that are loaded next: the first column of their tile, and their round.
  int next_first = blockIdx.x * COLUMNS, next_round = 0;
  // Starts the lane's loads of weights for the next round, into this slot of the ring buffer. Weights beyond k are
  // replaced by zeros (packed ones by numbers that the scale 0 makes zeros).
  const auto load_piece = [&](int slot) {
    const int at = own + kRound * next_round;
    if (next_first < n)
#pragma unroll
      for (int i = 0; i < PIECES; ++i) {
        const int column = column_of(next_first, i);
        load_weights(shared_address(&ring[(slot * PIECES + i) * 256 + threadIdx.x]),
                     b + column * b_pitch + min(at, k - kPiece) * WEIGHT_BITS / (8 * (int)sizeof(Weight)), at < k);
#if GROUP
        if (loader == threadIdx.x) {
          unsigned* const to = &words[(slot * (1 + ZEROS) * PIECES + i) * 256 + threadIdx.x];
          load_word(shared_address(to), scale_of(column, at), at < k);
          if (ZEROS) load_word(shared_address(to + 256 * PIECES), zero_of(column, at), at < k);
        }
#endif
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
        unsigned w[PIECES + PIECES % 2][kAtOnce] = {};
#if GROUP
        __syncwarp(~0u);  // words that other lanes have loaded are there
        Factors factors[PIECES];
        const int at = own + kRound * (round + i);
#pragma unroll
        for (int p = 0; p < PIECES; ++p)
          factors[p] = factors_of(&words[(slot * (1 + ZEROS) * PIECES + p) * 256 + loader], scale_of(column_of(first, p), at),
                                  zero_of(column_of(first, p), at));
#endif
        uint4 pieces[PIECES];
#pragma unroll
        for (int p = 0; p < PIECES; ++p) pieces[p] = ring[(slot * PIECES + p) * 256 + threadIdx.x];
#pragma unroll
        for (int from = 0; from < kWords; from += kAtOnce) {
#pragma unroll
          for (int p = 0; p < PIECES; ++p) {
#if GROUP
            const unsigned words_of[4] = {pieces[p].x, pieces[p].y, pieces[p].z, pieces[p].w};
            take_word(w[p], words_of[from / kAtOnce], factors[p]);
#else
            take_piece(w[p], pieces[p]);
#endif
          }
#pragma unroll
          for (int half = 0; half < kAtOnce; half += 2)
#pragma unroll
            for (int t = 0; t < (PIECES + 1) / 2; ++t)
#pragma unroll
              for (int u = 0; u < ROWS / 8; ++u)
                multiply(sums[t][u], w[2 * t][half], w[2 * t + 1][half], w[2 * t][half + 1], w[2 * t + 1][half + 1],
                         as[i][u][from + half], as[i][u][from + half + 1]);
        }
        if (GROUP && SCALE_LANES > 1) __syncwarp(~0u);  // all lanes have read their words
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
