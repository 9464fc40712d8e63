// The function small_m of a small-M GEMM whose sums are chains (GemmStep::in_order), in place of that of
// function.cuh. codegen/cuda/small_m/small_m_text.h describes its arguments and callbacks. It computes C = A B,
// where A is m x k and m is small. A column of B is contiguous along k, and is called a row of weights.
// A warp computes a tile of C alone: one accumulator per element adds natural blocks of 16 elements along k, one
// after the other. The bits of an element then depend neither on the tile nor on the other rows. The tensor cores
// take weights as their operand of 16 rows, and the rows of A as their operand of 8 columns. Of the 16 elements of
// a block, a lane multiplies 4 adjacent ones. This is not the order of the instruction, but it is the same for
// both operands, and the order within a block does not matter.
// The products of a chain wait for one another, so a warp does all else meanwhile, in advance and without branches.
// It copies weights into a ring buffer of its own in shared memory, 128 bytes of each row per slot, and takes them
// from there one round ahead. It loads elements of A AHEAD rounds ahead. Both go on with the next tile before the
// current one ends. Elements beyond k count as zeros, up to a multiple of AHEAD rounds. WARPS of the block's warps
// compute tiles, one after the other; the others only take part in the prologue.
// The macros ROWS, WEIGHTS, PIECES, PARTS, COLUMNS, PITCH, BYTES and WIDEN_BYTES are those of function.cuh. Others:
//   WARPS   warps that compute tiles
//   ITEMS   elements per lane and tile; each has one sum per part
//   DEPTH   slots of a warp's ring buffer (at least 2)
//   AHEAD   rounds of A in registers: the current one, and those that are loaded in advance (4 or 8)
// Requires: instructions.cuh, and widen_bytes.cuh if weights are bytes.


// kPiece: number of weights in 16 bytes. kRound: elements along k in a round, two blocks. kWords: words of A, and
// of a row of weights, that a lane multiplies in a round. kRounds: rounds in a slot of the ring buffer.
constexpr int kPiece = 16 / sizeof(Weight), kRound = 32, kWords = 4;
constexpr int kRowBytes = 128, kSlotBytes = WEIGHTS * kRowBytes, kRounds = kRowBytes / sizeof(Weight) / kRound;
constexpr int kCopies = WEIGHTS / 4;  // a lane's copies per slot; a warp copies 4 rows at a time

// Returns the lane's first element along k in round 0.
SM int own_element() { return 4 * (threadIdx.x & 3); }
// Returns the number, in the tile, of the lane's item-th element of C.
SM int own_item(int item) { return (threadIdx.x & 31) + 32 * item; }

// Load the lane's elements of two blocks of a row of A, of which `left` elements follow `from`; zeros beyond
// them. load_row reads global memory. load_staged reads shared memory, in which a prologue has stored A.
template <bool staged>
SM void load_words(unsigned (&to)[kWords], const Half* from, int left) {
#pragma unroll
  for (int i = 0; i < 2; ++i)
    staged ? load_two_staged(to + 2 * i, from + 16 * i, 16 * i < left) : load_two(to + 2 * i, from + 16 * i, 16 * i < left);
}
SM void load_row(unsigned (&to)[kWords], const Half* from, int left) { load_words<false>(to, from, left); }
SM void load_staged(unsigned (&to)[kWords], const Half* from, int left) { load_words<true>(to, from, left); }

// Returns the byte of a slot at which piece number `piece` (16 bytes) of row `row` is stored. Pieces are permuted
// so that lanes which load at the same time use different banks: they load one or two pieces of each row.
SM int place_in_slot(int row, int piece) { return kRowBytes * row + 16 * (piece ^ (BYTES ? row & 7 : 2 * (row & 3))); }

// Takes the lane's weights of a round from a slot, two per word: four elements of each of two blocks.
SM void take_weights(unsigned (&to)[PIECES + PIECES % 2][kWords], unsigned slot, int round) {
  const int group = (threadIdx.x & 31) >> 2, quarter = threadIdx.x & 3;
#pragma unroll
  for (int p = 0; p < PIECES; ++p)
#pragma unroll
    for (int i = 0; i < 2; ++i) {
#if BYTES
      unsigned two[2];
      WIDEN_BYTES(two, load_shared_word(slot + place_in_slot(8 * p + group, 2 * round + i) + 4 * quarter));
      to[p][2 * i] = two[0], to[p][2 * i + 1] = two[1];
#else
      load_shared_two(&to[p][2 * i], slot + place_in_slot(8 * p + group, 4 * round + 2 * i + quarter / 2) + 8 * (quarter % 2));
#endif
    }
}

// The copies of a warp's weights, tile after tile.
struct Copies {
  const Weight* b;
  int n, k, stride, slots;      // stride: from the first column of a tile to that of the next; slots: of a tile
  long long b_pitch;
  int first, left, at, end;     // the next copy's tile and remaining slots of it; its elements along k, and their end
  const Weight* from[kCopies];

  // Begins the tile whose first column is `column`. Rows of weights that do not exist are replaced by the last one.
  // After the last tile, all elements are zeros.
  __device__ __forceinline__ void begin(int column) {
    const int lane = threadIdx.x & 31;
    first = column, left = slots, at = kPiece * (lane & 7), end = column < n ? k : 0;
#pragma unroll
    for (int i = 0; i < kCopies; ++i) {
      const int row = 4 * i + lane / 8;
      from[i] = b + (min(column + row % COLUMNS, n - 1) + row / COLUMNS * n) * b_pitch + at;
    }
  }
  // Starts the lane's copies to the slot at a shared memory address.
  __device__ __forceinline__ void load(unsigned slot) {
    const int lane = threadIdx.x & 31;
#pragma unroll
    for (int i = 0; i < kCopies; ++i) {
      load_weights(slot + place_in_slot(4 * i + lane / 8, lane & 7), from[i], at < end);
      from[i] += kRounds * kRound;
    }
    end_piece();
    at += kRounds * kRound;
    if (--left == 0) begin(first + stride);
  }
};

// Computes the tiles of the block's warps. Tile number t is computed by block t % gridDim.x. A tile has up to ROWS
// rows, and COLUMNS columns of each part. All 256 threads of the block call this. Requires: k is a multiple of
// kPiece.
template <class Before, class LoadRows, class Begin, class Put>
SM void small_m(uint4* ring, const Weight* b, int m, int n, int k, long long b_pitch, Before before,
                 LoadRows load_rows, Begin begin, Put put) {
  // ring: [WARPS][DEPTH] slots. After it, the sums of each warp: [WARPS][ROWS][PITCH] floats.
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, group = lane >> 2, quarter = lane & 3;
  const unsigned slots = shared_address(ring) + warp * DEPTH * kSlotBytes;
  float* const whole = (float*)((unsigned char*)ring + WARPS * DEPTH * kSlotBytes) + warp * ROWS * PITCH;
  const int own = (blockIdx.x + gridDim.x * warp) * COLUMNS, stride = gridDim.x * WARPS * COLUMNS;
  const int rounds = (k + AHEAD * kRound - 1) / (AHEAD * kRound) * AHEAD;

  // The first weights are copied while preceding launches run, because no launch writes weights.
  Copies copies = {b, n, k, stride, rounds / kRounds, b_pitch};
  copies.begin(own);
  sm_allow_next_launch();
  if (warp < WARPS)
    for (int i = 0; i < DEPTH; ++i) copies.load(slots + i * kSlotBytes);
  sm_wait_for_launches();
  before();
  if (warp >= WARPS) return;

  unsigned as[AHEAD][ROWS / 8][kWords];             // the lane's elements of A: current and next rounds
  unsigned w[2][PIECES + PIECES % 2][kWords] = {};  // the lane's weights: current and next round
  int slot = 0;                                     // the slot that has the next round
  // Waits for the copies to the next two slots, of all lanes.
  const auto wait_for_slot = [&] {
    wait_for_pieces<DEPTH - 2>();
    __syncwarp(~0u);
  };
#pragma unroll
  for (int i = 0; i < AHEAD - 1; ++i) load_rows(as[i], i);
  wait_for_slot();
  take_weights(w[0], slots, 0);
  for (int first = own; first < n; first += stride) {
    // sums: accumulator fragments of 16 rows of weights x 8 rows of A. Element e of a lane is for row
    // `group` + 8 * (e / 2) of the weights, and for row 2 * quarter + e % 2 of A.
    float sums[(PIECES + 1) / 2][ROWS / 8][4] = {};
    begin(first);
#pragma unroll 1
    for (int round = 0; round < rounds; round += AHEAD) {
#pragma unroll
      for (int i = 0; i < AHEAD; ++i) {
        const int current = slot, next = (i + 1) % kRounds;  // next: the number of the next round in its slot
        if (next == 0) {
          slot = slot + 1 == DEPTH ? 0 : slot + 1;
          wait_for_slot();
        }
        take_weights(w[(i + 1) % 2], slots + slot * kSlotBytes, next);
        const int ahead = round + i + AHEAD - 1;
        load_rows(as[(i + AHEAD - 1) % AHEAD], ahead < rounds ? ahead : ahead - rounds);
#pragma unroll
        for (int block = 0; block < kWords; block += 2)
#pragma unroll
          for (int t = 0; t < (PIECES + 1) / 2; ++t)
#pragma unroll
            for (int u = 0; u < ROWS / 8; ++u)
              multiply(sums[t][u], w[i % 2][2 * t][block], w[i % 2][2 * t + 1][block], w[i % 2][2 * t][block + 1],
                       w[i % 2][2 * t + 1][block + 1], as[i][u][block], as[i][u][block + 1]);
        if (next == 0) copies.load(slots + current * kSlotBytes);  // all lanes have taken their weights from it
      }
    }

    // Lanes exchange sums, so that one lane has those of all parts of an element.
#pragma unroll
    for (int t = 0; t < (PIECES + 1) / 2; ++t)
#pragma unroll
      for (int u = 0; u < ROWS / 8; ++u)
#pragma unroll
        for (int e = 0; e < (PIECES == 1 ? 2 : 4); ++e)
          whole[(8 * u + 2 * quarter + e % 2) * PITCH + 16 * t + group + e / 2 * 8] = sums[t][u][e];
    __syncwarp(~0u);
#pragma unroll
    for (int item = 0; item < ITEMS; ++item) {
      const int i = own_item(item), row = i / COLUMNS, column = first + i % COLUMNS;
      if (i >= COLUMNS * ROWS || row >= m || column >= n) continue;
      float parts[PARTS];
#pragma unroll
      for (int part = 0; part < PARTS; ++part) parts[part] = whole[row * PITCH + part * COLUMNS + i % COLUMNS];
      put(row, column, parts, item);
    }
    __syncwarp(~0u);  // before the next tile overwrites `whole`
  }
  wait_for_pieces<0>();  // the zeros after the last tile, before other blocks get this memory
}
