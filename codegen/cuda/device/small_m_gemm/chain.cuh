// The function small_m of a small-M GEMM whose sums are chains (GemmStep::in_order), in place of that of
// function.cuh. codegen/cuda/small_m/small_m_text.h describes its arguments and callbacks. It computes C = A B,
// where A is m x k and m is small. A column of B is contiguous along k, and is called a row of weights.
// A warp computes a tile of C alone: one accumulator per element adds natural blocks of 16 elements along k, one
// after the other. The bits of an element then depend neither on the tile nor on the other rows. The tensor cores
// take weights as their operand of 16 rows, and the rows of A as their operand of 8 columns. Of the 16 elements of
// a block, a lane multiplies 4 adjacent ones. This is not the order of the instruction, but it is the same for
// both operands, and the order within a block does not matter.
// The products of a chain wait for one another, so a warp that multiplies must do little else. WARPS of the block's
// eight warps multiply, each a tile of its own. The others copy: all but the last one weights, and the last one
// A, unless a prologue has left A in shared memory. They fill the slots of one ring buffer, each with SLOT elements
// along k of the weights of all tiles and of A. Copies write zeros for rows and elements that do not exist, so the
// warps that multiply have no conditions. Each slot has two barriers (mbarrier): `full`, at which copies arrive when
// they are complete, and `empty`, at which the warps that multiply arrive when they have read the slot.
// The macros ROWS, WEIGHTS, PIECES, PARTS, COLUMNS, PITCH, BYTES, STAGED and WIDEN_BYTES are those of function.cuh.
// Others:
//   WARPS   warps that multiply
//   ITEMS   elements per lane and tile; each has one sum per part
//   DEPTH   slots of the ring buffer (at least 2)
//   SLOT    elements along k in a slot: 64 or 128
// Requires: instructions.cuh, and widen_bytes.cuh if weights are bytes.


// kCopiers: warps that copy weights. kArrivals: threads whose copies fill a slot. kWeightPitch, kRowPitch: bytes from
// one row of weights, and of A, to the next in a slot; lanes that load at the same time then use different banks.
constexpr int kCopiers = 8 - WARPS - (STAGED ? 0 : 1), kArrivals = STAGED ? 32 : 64;
constexpr int kWeightPitch = (SLOT + 16) * sizeof(Weight), kRowPitch = (SLOT + 16) * sizeof(Half);
constexpr int kWeightBytes = WARPS * WEIGHTS * kWeightPitch, kSlotBytes = kWeightBytes + (STAGED ? 0 : ROWS * kRowPitch);
// kGroup: blocks of 16 elements, half of a slot, that a lane loads together, while it multiplies the half before.
constexpr int kGroup = SLOT / 32;

// Returns the number, in the tile, of the lane's item-th element of C.
SM int own_item(int item) { return (threadIdx.x & 31) + 32 * item; }

// Starts copies of SLOT elements of `rows` rows to a shared memory address. from(row) returns the row's first
// element, and left(row) the number of elements from there on that exist. All lanes of a warp call it.
template <class Element, int rows, int pitch, class From, class Left>
SM void copy_rows(unsigned to, From from, Left left) {
  constexpr int kPieces = SLOT * sizeof(Element) / 16;  // of a row, of 16 bytes
  const int lane = threadIdx.x & 31, piece = lane % kPieces, at = piece * 16 / sizeof(Element);
#pragma unroll
  for (int i = 0; i < rows * kPieces / 32; ++i) {
    const int row = i * (32 / kPieces) + lane / kPieces;
    load_weights(to + row * pitch + 16 * piece, from(row) + at, at < left(row));
  }
}

// The lane's elements of kGroup blocks, two per word.
struct Fragments {
  unsigned weights[kGroup][PIECES][2], rows[kGroup][ROWS / 8][2];
};

// Shared memory addresses of the lane's first weight of these blocks, and of its first element of each 8 rows of A.
struct Places {
  unsigned weights, rows[ROWS / 8];
};

// Loads the lane's elements of one of kGroup blocks.
SM void take_block(Fragments& to, int block, const Places& places) {
#pragma unroll
  for (int p = 0; p < PIECES; ++p) {
    const unsigned from = places.weights + 8 * p * kWeightPitch + block * 16 * sizeof(Weight);
#if BYTES
    WIDEN_BYTES(to.weights[block][p], load_shared_word(from));
#else
    load_shared_two(to.weights[block][p], from);
#endif
  }
#pragma unroll
  for (int u = 0; u < ROWS / 8; ++u) load_shared_two(to.rows[block][u], places.rows[u] + block * 16 * sizeof(Half));
}

// Accumulator fragments of 16 rows of weights x 8 rows of A. Element e of a lane is for row lane / 4 + 8 * (e / 2)
// of the weights, and for row 2 * (lane % 4) + e % 2 of A.
typedef float Sums[(PIECES + 1) / 2][ROWS / 8][4];

// Adds the products of a block. If a tile has only 8 rows of weights, the other 8 of the operand are anything, and
// their sums are not used.
SM void add_block(Sums& sums, const Fragments& of, int block) {
#pragma unroll
  for (int t = 0; t < (PIECES + 1) / 2; ++t)
#pragma unroll
    for (int u = 0; u < ROWS / 8; ++u) {
      const unsigned *const upper = of.weights[block][2 * t], *const rows = of.rows[block][u];
      const bool has_lower = 2 * t + 1 < PIECES;
      const unsigned* const lower = of.weights[block][has_lower ? 2 * t + 1 : 2 * t];
      multiply(sums[t][u], upper[0], lower[has_lower ? 0 : 1], upper[1], lower[1], rows[0], rows[1]);
    }
}

// Adds the products of kGroup blocks, and meanwhile loads the next ones.
SM void add_and_take(Sums& sums, const Fragments& current, Fragments& next, const Places& places) {
#pragma unroll
  for (int block = 0; block < kGroup; ++block) {
    take_block(next, block, places);
    add_block(sums, current, block);
  }
}

// Calls put for the elements of the warp's tile, which begins at column `first`. Lanes exchange sums in `whole`,
// [ROWS][PITCH] floats of the warp, so that one lane has those of all parts of an element.
template <class Put>
SM void put_tile(float* whole, const Sums& sums, int first, int m, int n, Put put) {
  const int lane = threadIdx.x & 31, group = lane >> 2, quarter = lane & 3;
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

// Writes zeros after the staged rows of A, up to a multiple of SLOT elements. All threads of the block call it.
SM void pad_staged(Half* a, int a_pitch, int m, int k) {
  const int end = (k + SLOT - 1) / SLOT * SLOT;
  if (k == end) return;
  for (int row = 0; row < m; ++row)
    for (int i = k + threadIdx.x; i < end; i += 256) a[row * a_pitch + i] = 0;
  __syncthreads();
}

// Computes the tiles of the block's warps. Tile number t is computed by block t % gridDim.x. A tile has up to ROWS
// rows, and COLUMNS columns of each part. All 256 threads of the block call this. Requires: k is a multiple of the
// number of weights in 16 bytes.
template <class Before, class Begin, class Put>
SM void small_m(uint4* memory, const Half* a, int a_pitch, const Weight* b, int m, int n, int k, long long b_pitch,
                Before before, Begin begin, Put put) {
  // memory: DEPTH slots; the sums of each warp, [WARPS][ROWS][PITCH] floats; and the barriers `full` and `empty` of
  // all slots.
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  const unsigned ring = shared_address(memory),
                 full = ring + DEPTH * kSlotBytes + WARPS * ROWS * PITCH * (unsigned)sizeof(float), empty = full + 8 * DEPTH;
  // The block computes WARPS tiles at a time, whose columns are `apart` from one another. Each such set takes `slots`
  // slots, and all sets together take `count` slots.
  const int own = blockIdx.x * COLUMNS, apart = gridDim.x * COLUMNS, stride = apart * WARPS;
  const int slots = (k + SLOT - 1) / SLOT, count = own < n ? (n - own + stride - 1) / stride * slots : 0;

  if (threadIdx.x < DEPTH) {
    begin_barrier(full + 8 * threadIdx.x, kArrivals);
    begin_barrier(empty + 8 * threadIdx.x, WARPS);
  }
  sm_allow_next_launch();
  __syncthreads();

  // Waits until slot number `number`, counted from the block's first one, may be filled.
  const auto wait_until_empty = [&](int number) {
    if (number >= DEPTH) wait_at(empty + 8 * (number % DEPTH), (number / DEPTH - 1) & 1);
  };
  const auto copy_weights = [&](int number) {
    wait_until_empty(number);
    const int first = own + number / slots * stride, at = number % slots * SLOT;
    const auto column = [&](int row) { return first + row / WEIGHTS * apart + row % COLUMNS; };
    copy_rows<Weight, WARPS * WEIGHTS, kWeightPitch>(
        ring + number % DEPTH * kSlotBytes,
        [&](int row) { return b + (min(column(row), n - 1) + row % WEIGHTS / COLUMNS * n) * b_pitch + at; },
        [&](int row) { return column(row) < n ? k - at : 0; });
    arrive_when_copied(full + 8 * (number % DEPTH));
  };
  const auto copy_a = [&](int number) {
    wait_until_empty(number);
    const int at = number % slots * SLOT;
    copy_rows<Half, ROWS, kRowPitch>(
        ring + number % DEPTH * kSlotBytes + kWeightBytes, [&](int row) { return a + min(row, m - 1) * a_pitch + at; },
        [&](int row) { return row < m ? k - at : 0; });
    arrive_when_copied(full + 8 * (number % DEPTH));
  };

  // The first weights are copied while preceding launches run, because no launch writes weights.
  const bool copies_weights = warp >= WARPS && warp < WARPS + kCopiers;
  int number = warp - WARPS;
  if (copies_weights)
    for (; number < min(DEPTH, count); number += kCopiers) copy_weights(number);
  sm_wait_for_launches();
  before();
  if (STAGED) pad_staged((Half*)a, a_pitch, m, k);
  if (copies_weights) {
    for (; number < count; number += kCopiers) copy_weights(number);
  } else if (warp >= WARPS) {
    for (number = 0; number < count; ++number) copy_a(number);
  }
  if (warp >= WARPS || count == 0) {
    end_piece();
    wait_for_pieces<0>();  // the thread's copies end before it does
    return;
  }

  float* const whole = (float*)((unsigned char*)memory + DEPTH * kSlotBytes) + warp * ROWS * PITCH;
  const int group = lane >> 2, quarter = lane & 3;
  const unsigned own_weights = ring + (warp * WEIGHTS + group) * kWeightPitch + 4 * quarter * (unsigned)sizeof(Weight);
  // rows: addresses of the lane's first element of each 8 rows of A, in slot 0 or, if staged, in the whole row.
  unsigned rows[ROWS / 8];
#pragma unroll
  for (int u = 0; u < ROWS / 8; ++u)
    rows[u] = STAGED ? shared_address(a + min(8 * u + group, m - 1) * a_pitch + 4 * quarter)
                     : ring + kWeightBytes + (8 * u + group) * kRowPitch + 8 * quarter;
  // Returns the places of a half of the slot which is in this place of the ring buffer, and has this number in its tile.
  const auto half_at = [&](int half, int place, int number) {
    Places places = {own_weights + place * kSlotBytes + half * (SLOT / 2 * (unsigned)sizeof(Weight))};
#pragma unroll
    for (int u = 0; u < ROWS / 8; ++u)
      places.rows[u] = rows[u] + (STAGED ? number * (SLOT * (int)sizeof(Half)) : place * kSlotBytes) + half * SLOT;
    return places;
  };

  Fragments halves[2];  // of a slot
  int place = 0, next = 1, left = count;
  unsigned parity = 0;  // of the number of times that the ring buffer has been passed before slot `next`
  wait_at(full, 0);
#pragma unroll
  for (int block = 0; block < kGroup; ++block) take_block(halves[0], block, half_at(0, 0, 0));
  for (int first = own; first < n; first += stride) {
    Sums sums = {};
    begin(first + warp * apart);
#pragma unroll 1
    for (int number = 0; number < slots; ++number) {
      const bool is_full = is_past(full + 8 * next, parity);  // known long before it is needed
      add_and_take(sums, halves[0], halves[1], half_at(1, place, number));
      __syncwarp(~0u);  // all lanes have loaded all of the slot
      if (lane == 0) arrive_at(empty + 8 * place);
      if (--left > 0 && !is_full) wait_at(full + 8 * next, parity);
      add_and_take(sums, halves[1], halves[0], half_at(0, next, number + 1 < slots ? number + 1 : 0));
      place = next++;
      if (next == DEPTH) next = 0, parity ^= 1;
    }
    put_tile(whole, sums, first + warp * apart, m, n, put);
  }
}
