// Text of a matmul kernel for sm_90a with a fused epilogue ("body"). The functions of the epilogue are
// printed from the instructions of a Kernel (emit_gemm.h).
//
// The kernel is persistent: a block computes tiles of the result, one after the other in a fixed order. One
// warp copies the operands into a ring buffer in shared memory by TMA. Two warpgroups multiply half of the
// rows of a tile each with wgmma, and store the products in shared memory. Two more warpgroups run the
// epilogue for one half each, while the others multiply the next tile. Blocks may form clusters of two. Their
// tiles are neighbours along m and read the same part of B, so each block copies half of that part to the
// shared memory of both.
//
// Each element of the product is first rounded to its type, as a library would store it. The epilogue is then
// called for eight adjacent columns of a row at a time; adjacent lanes have adjacent columns. The text ends
// with
//
//   gemm(a map, b map, long long m, long long n, long long k, const BodyArguments&)
//
// for a kernel of kThreads threads (__launch_bounds__(kThreads, 1), clusters of kCluster). A launch has
//
//   blocks    any multiple of kCluster; a cluster for which no tile is left ends at once
//   maps      `const __grid_constant__ TensorMap` parameters: CUtensorMaps of rank 2 of 16-bit floats, sizes
//             (k, m) and (k, n), or (m, k) and (n, k) if an operand is not contiguous along k; box (64, 64);
//             128-byte swizzle; zeros outside
//
// The kernel uses these types and calls these functions of the epilogue. Index is the integer type of
// indices, `c` is the first of the eight columns, `at` is the row, and rows and columns are m and n. Rows >=
// `rows` and columns >= `columns` do not exist.
//
//   struct BodyArguments      the pointers and numbers that the epilogue reads
//   struct BodyColumns        values that are loaded early and are the same in all rows, such as a bias
//   struct BodyLoads          values that are loaded early, for a row
//   struct BodySums           a lane's column sums, which begin as zeros
//   void body_columns(const BodyArguments&, Index c, int columns, BodyColumns&)
//   void body_load(const BodyArguments&, int at, int rows, Index c, int columns, BodyLoads&)
//   void body_prefetch(const BodyArguments&, int at, int rows, Index c, int columns)
//       Fetches what body_load loads to the L2 cache. Only the template for sm_90a calls it.
//   void body_run(const BodyArguments&, int at, int rows, Index c, int columns, const BodyColumns&,
//                 const BodyLoads&, BodySums&, const float (&handed)[8])
//       `handed` are the elements of the product; of bytes they are of type int.
//   void body_lanes(const BodySums&, int column, int part, int lane, unsigned scratch)
//       Called when a warp has processed the columns of kRowLanes lanes for part number `part` of the tile's
//       rows, from column number `column` of the tile on. body_lanes calls the template's function add_lanes,
//       which stores the sums of the warp at the address that sums_of_part returns. `scratch` is an address
//       in shared memory.
//   void body_sum(const BodyArguments&, int tile, int tiles, int column, int columns, int thread, unsigned
//   scratch)
//       Called after all columns of a tile have been processed, and only if the epilogue has column sums.
//       `tile` is the index of the tile along m, `tiles` is the number of tiles along m, and `column` is the
//       tile's first column. body_sum calls the template's function add_warps, which adds up the sums of the
//       warps and stores them in row `tile` of the buffer of partial sums.
#pragma once

#include <string>

#include "ir/kernel/gemm_kernel.h"
#include "runtime/base/dtype.h"

namespace smelt {

/// The properties of a matmul kernel that its text depends on.
struct WgmmaGemm {
  DType dtype = DType::bf16;  // of A, B and the product
  GemmTiles tiles = {};
  bool a_transposed = false, b_transposed = false;
  int sums = 0;  // kSums: number of sums that the epilogue computes per column
};

/// Return the text before the epilogue's functions, and the text after them.
std::string gemm_prelude(const WgmmaGemm& gemm);
std::string gemm_kernel_text();

/// Returns kThreads, the threads of a block.
int gemm_threads();
/// Returns the bytes of dynamic shared memory of a block.
int64_t gemm_shared_bytes(const GemmTiles& tiles, int sums);

}  // namespace smelt
