// Batched matmul C = alpha * A B of many small 16-bit matrices, with mma.sync. A is m x k, B is k x n and C
// is m x n. A block computes one tile of 64 x 64 elements of C. It copies A and B to shared memory in stages
// of 64 elements along k. A stage is a tile of A and a tile of B, of 8192 bytes each. With two buffers, the
// next stage is copied while the current one is multiplied. If k is at most 64, there is only one stage, and
// the launch gives shared memory for only one buffer. A row of a tile is 128 bytes. Its 16-byte piece c is
// stored as piece c ^ (row & 7), so that the pieces c of eight adjacent rows are in different banks.
// Each sum is a chain: one accumulator adds natural blocks of 16 elements along k, one after the other. So its
// bits depend neither on the tile nor on how the matrices are copied.
// Requires: instructions.cuh; the macros SM, KERNEL (the kernel's name), A_BY_K and B_BY_K (1: the matrix is
// contiguous along k; 0: along m or n), BY_PIECES (1: addresses, pitches and strides of A and B are multiples of
// 16 bytes, and pieces are copied asynchronously; 0: elements are copied, one by one), BATCH_PARAMETERS (kernel
// parameters: batch extents and strides, each followed by a comma) and MOVE_TO_PRODUCT (a statement that
// moves a, b and c to the matrices of number `product`); the types Piece (16 bytes), Half (16 bits) and Result (element of C);
// put_pair, which stores two adjacent elements of C (put_pair.cuh defines it for 16 bits).


// Elements from one row of A or B to the next. Those of pieces are below 2^24, so that places in a tile have
// 32 bits.
#if BY_PIECES
typedef int Pitch;
#else
typedef long long Pitch;
#endif

// Begins to copy 64 x 64 elements of a matrix of rows x columns elements, from (row, column) on, to the
// shared memory address `tile`. Elements outside of the matrix become zeros. pitch: elements from one row of
// the matrix to the next. All 128 threads of the block call it, and each copies four pieces.
SM void load_tile(unsigned tile, const Half* matrix, Pitch pitch, int row, int column, int rows, int columns) {
  const Half* from = matrix + (long long)row * pitch + column;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int piece = threadIdx.x + 128 * i, r = piece >> 3, c = piece & 7;
    const int there = columns - column - 8 * c, bytes = row + r < rows ? min(max(2 * there, 0), 16) : 0;
    const Half* place = bytes > 0 ? from + (r * pitch + 8 * c) : matrix;
    const unsigned to = tile + 128 * r + ((c ^ (r & 7)) << 4);
#if BY_PIECES
    copy_async(to, place, bytes);
#else
    copy_elements(to, place, bytes);
#endif
  }
}

// Returns the address of the 16-byte piece number `piece` of row `row` of the tile at the address `tile`.
SM unsigned place_in(unsigned tile, int row, int piece) { return tile + 128 * row + ((piece ^ (row & 7)) << 4); }

// Each of the four warps of a block computes 32 x 32 elements of the tile. a_pitch, b_pitch and c_pitch:
// elements from one row of a matrix in memory to the next; such a row is contiguous.
extern "C" __global__ void __launch_bounds__(128, BY_PIECES ? 8 : 4)
    KERNEL(const Half* a, const Half* b, Result* c, long long m_, long long n_, long long k_, long long a_pitch,
           long long b_pitch, long long c_pitch, BATCH_PARAMETERS float alpha) {
  extern __shared__ __align__(128) unsigned char memory[];
  const int m = (int)m_, n = (int)n_, k = (int)k_;
  const int column_tiles = (n + 63) / 64, tiles = (m + 63) / 64 * column_tiles;
  const int tile = blockIdx.x % tiles;
  const int row0 = tile / column_tiles * 64, column0 = tile % column_tiles * 64;
  int product = blockIdx.x / tiles;  // index in the batch
  MOVE_TO_PRODUCT

  const unsigned base = shared_address(memory);
  // Begins the copies of stage number `at` to buffer number at & 1.
  const auto load_stage = [&](int at) {
    const unsigned stage = base + (at & 1) * 16384;
#if A_BY_K
    load_tile(stage, a, (Pitch)a_pitch, row0, 64 * at, m, k);
#else
    load_tile(stage, a, (Pitch)a_pitch, 64 * at, row0, k, m);
#endif
#if B_BY_K
    load_tile(stage + 8192, b, (Pitch)b_pitch, column0, 64 * at, n, k);
#else
    load_tile(stage + 8192, b, (Pitch)b_pitch, 64 * at, column0, k, n);
#endif
    end_stage();
  };

  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  const int warp_row = (warp & 1) * 32, warp_column = (warp >> 1) * 32;
  float sums[2][4][4] = {};  // accumulator fragments: 2 pieces of 16 rows, 4 of 8 columns
  const int stages = (k + 63) / 64;
  load_stage(0);
  for (int at = 0; at < stages; ++at) {
    if (at + 1 < stages) {
      load_stage(at + 1);
      wait_for_stages<1>();
    } else {
      wait_for_stages<0>();
    }
    __syncthreads();
    const unsigned as = base + (at & 1) * 16384, bs = as + 8192;
#pragma unroll 1
    for (int step = 0; step < 4; ++step) {  // 16 elements along k
      unsigned af[2][4], bf[2][4];
#pragma unroll
      for (int t = 0; t < 2; ++t) {
        const int row = warp_row + 16 * t, column = warp_column + 16 * t;
#if A_BY_K
        load_fragments(af[t], place_in(as, row + (lane & 15), 2 * step + (lane >> 4)));
#else
        load_transposed(af[t], place_in(as, 16 * step + (lane & 7) + (lane >> 4 << 3), (row >> 3) + (lane >> 3 & 1)));
#endif
#if B_BY_K
        load_fragments(bf[t], place_in(bs, column + (lane & 7) + (lane >> 4 << 3), 2 * step + (lane >> 3 & 1)));
#else
        load_transposed(bf[t], place_in(bs, 16 * step + (lane & 7) + ((lane >> 3 & 1) << 3), (column >> 3) + (lane >> 4)));
#endif
      }
#pragma unroll
      for (int t = 0; t < 2; ++t)
#pragma unroll
        for (int u = 0; u < 4; ++u) multiply(sums[t][u], af[t], bf[u >> 1][2 * (u & 1)], bf[u >> 1][2 * (u & 1) + 1]);
    }
    __syncthreads();  // the next copy overwrites the buffer
  }

  // The result is stored through shared memory, so that a warp writes whole rows. There it is a tile of 64 x
  // 64 elements in 16-byte pieces, and piece c of row r is stored as piece c ^ (r & 7). in_stage returns the
  // index in this tile of element `at` of row r. kPieces: pieces per row. kInPiece: elements per piece.
  constexpr int kPieces = 64 * sizeof(Result) / 16, kInPiece = 16 / sizeof(Result);
  Result* staged = (Result*)memory;
  const auto in_stage = [&](int r, int at) { return r * 64 + ((at / kInPiece ^ (r & 7)) * kInPiece) + at % kInPiece; };
#pragma unroll
  for (int t = 0; t < 2; ++t)
#pragma unroll
    for (int u = 0; u < 4; ++u)
#pragma unroll
      for (int e = 0; e < 4; e += 2)
        put_pair(staged + in_stage(warp_row + 16 * t + (lane >> 2) + 4 * e, warp_column + 8 * u + 2 * (lane & 3)),
                 alpha * sums[t][u][e], alpha * sums[t][u][e + 1]);
  __syncthreads();
  const bool by_pieces = ((unsigned long long)c | c_pitch * sizeof(Result)) % 16 == 0;  // rows of C are aligned
  for (int piece = threadIdx.x; piece < 64 * kPieces; piece += 128) {
    const int r = piece / kPieces, at = piece % kPieces * kInPiece, row = row0 + r, column = column0 + at;
    if (row >= m || column >= n) continue;
    const Result* from = staged + in_stage(r, at);
    Result* to = c + row * c_pitch + column;
    if (column + kInPiece <= n && by_pieces) {
      *(Piece*)to = *(const Piece*)from;
    } else {
      for (int e = 0; e < kInPiece && column + e < n; ++e) to[e] = from[e];
    }
  }
}
