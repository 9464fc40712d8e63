// Matmuls of many small matrices on the tensor cores.
// Tiles of 64 x 64 x 64 in two buffers: the next tile is loaded while one is multiplied. Where k ends with the first tile, the
// launch asks for one buffer. Rows of a tile are 128 bytes. Their 16-byte pieces are permuted by the row, so that eight rows
// of one column are in different banks. Matmuls are small, and a block mostly waits. So eight blocks share a multiprocessor
// (six, with two buffers), which leaves 64 registers and hence no unrolled steps along k.
// Requires: the macros SM, KERNEL (its name), MMA_TYPE, A_BY_K, B_BY_K, BATCH_PARAMETERS and MOVE_TO_PRODUCT; the types Piece,
// Half and Result; put_pair, which put_pair.cuh defines for results of 16 bits.


SM unsigned shared_address(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

// Sixteen bytes, of which `bytes` come from memory and the others are zero.
SM void copy_async(unsigned to, const Half* from, int bytes) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes));
}

// 64 rows of 64 elements from row, column on; what lies outside of rows x columns is zero.
SM void load_tile(unsigned tile, const Half* matrix, int pitch, int row, int column, int rows, int columns) {
  const Half* from = matrix + (long long)row * pitch + column;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int piece = threadIdx.x + 128 * i, r = piece >> 3, c = piece & 7;
    const int there = columns - column - 8 * c, bytes = row + r < rows ? min(max(2 * there, 0), 16) : 0;
    const Half* place = bytes > 0 ? from + (r * pitch + 8 * c) : matrix;
    copy_async(tile + 128 * r + ((c ^ (r & 7)) << 4), place, bytes);
  }
}

SM unsigned place_in(unsigned tile, int row, int piece) { return tile + 128 * row + ((piece ^ (row & 7)) << 4); }

SM void load_fragments(unsigned (&to)[4], unsigned address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3]) : "r"(address));
}
SM void load_transposed(unsigned (&to)[4], unsigned address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3]) : "r"(address));
}

SM void multiply(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32." MMA_TYPE "." MMA_TYPE ".f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
               "{%8,%9}, {%0,%1,%2,%3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// A block: one tile of one matmul's result. Four warps, 32 x 32 of it each.
extern "C" __global__ void __launch_bounds__(128, 8)
    KERNEL(const Half* a, const Half* b, Result* c, long long m_, long long n_, long long k_, long long a_pitch,
           long long b_pitch, long long c_pitch, BATCH_PARAMETERS, float alpha) {
  extern __shared__ __align__(128) unsigned char memory[];
  const int m = (int)m_, n = (int)n_, k = (int)k_;
  const int column_tiles = (n + 63) / 64, tiles = (m + 63) / 64 * column_tiles;
  const int tile = blockIdx.x % tiles;
  const int row0 = tile / column_tiles * 64, column0 = tile % column_tiles * 64;
  int product = blockIdx.x / tiles;
  MOVE_TO_PRODUCT

  const unsigned base = shared_address(memory);
  const auto load_stage = [&](int at) {
    const unsigned stage = base + (at & 1) * 16384;
#if A_BY_K
    load_tile(stage, a, (int)a_pitch, row0, 64 * at, m, k);
#else
    load_tile(stage, a, (int)a_pitch, 64 * at, row0, k, m);
#endif
#if B_BY_K
    load_tile(stage + 8192, b, (int)b_pitch, column0, 64 * at, n, k);
#else
    load_tile(stage + 8192, b, (int)b_pitch, 64 * at, column0, k, n);
#endif
    asm volatile("cp.async.commit_group;");
  };

  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  const int warp_row = (warp & 1) * 32, warp_column = (warp >> 1) * 32;
  float sums[2][4][4] = {};
  const int stages = (k + 63) / 64;
  load_stage(0);
  for (int at = 0; at < stages; ++at) {
    if (at + 1 < stages) {
      load_stage(at + 1);
      asm volatile("cp.async.wait_group 1;");
    } else {
      asm volatile("cp.async.wait_group 0;");
    }
    __syncthreads();
    const unsigned as = base + (at & 1) * 16384, bs = as + 8192;
#pragma unroll 1
    for (int step = 0; step < 4; ++step) {  // sixteen along k
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
    __syncthreads();
  }

  // Through shared memory, so that whole rows go out. Pieces of sixteen bytes, permuted by the row.
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
  for (int piece = threadIdx.x; piece < 64 * kPieces; piece += 128) {
    const int r = piece / kPieces, at = piece % kPieces * kInPiece, row = row0 + r, column = column0 + at;
    if (row >= m || column >= n) continue;
    const Result* from = staged + in_stage(r, at);
    Result* to = c + row * c_pitch + column;
    if (column + kInPiece <= n) {
      *(Piece*)to = *(const Piece*)from;
    } else {
      for (int e = 0; column + e < n; ++e) to[e] = from[e];
    }
  }
}
