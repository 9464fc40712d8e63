// Epilogue fusion of a matmul for sm_90a: the text of the kernel around a printed body.
//
// A block stays on its multiprocessor and takes tiles of the result, one after the other in a fixed order.
// One warp copies the operands into a ring buffer in shared memory by TMA. The two other warpgroups multiply
// with wgmma, each a tile of its own while the other runs the body, or both one tile. Blocks may form pairs
// (clusters), whose tiles are neighbours along m: each block copies half of their shared operand, for both.
//
// Each element of the product is first rounded to its type, as a library would store it. The body is then
// called for eight adjacent columns of a lane's rows at a time. The text ends with
//
//   gemm(a map, b map, long long m, long long n, long long k, const BodyArguments&)
//
// for a kernel of `threads` threads (__launch_bounds__(kThreads, 1), clusters of kCluster). A launch has
//
//   blocks    any multiple of kCluster; blocks beyond the tiles, rounded up to clusters, are idle
//   maps      `const __grid_constant__ TensorMap` parameters: CUtensorMaps of rank 2 of 16-bit floats, sizes
//             (k, m) and (k, n), or (m, k) and (n, k) of transposed operands, which are not contiguous
//             along k; box (64, 64); 128-byte swizzle; zeros outside
//
// The kernel calls these functions of the body:
//
//   struct BodyLoads          the values that the body reads for kLaneRows rows of eight columns; Same<T>
//                             where all rows read the same
//   void body_load(const BodyArguments&, int first, int rows, Index c, int columns, BodyLoads&)
//   void body_run(const BodyArguments&, int first, int rows, Index c, int columns, const BodyLoads&,
//                 Take take, int group, int wg, int warp, int lane, unsigned scratch)
//       Row i of a lane is first + row_of(i). Rows >= `rows` and columns >= `columns` do not exist.
//       take(i, float (&)[8]) writes the product's elements of row i to its argument; all lanes must call it.
//       add_lanes stores the column sums of a group of 32 columns in shared memory, at the address that
//       sums_of_warp returns.
//   void body_sum(const BodyArguments&, int tile, int tiles, int column, int columns, int wg, int thread,
//                 unsigned scratch)
//       Called after a warpgroup has processed all columns of its tile, and only if the body has column sums.
//       add_warps adds up the values in shared memory, and stores them in the tile's row of partial sums.
#pragma once

#include <string>

#include "ir/kernel/gemm_kernel.h"
#include "runtime/base/dtype.h"

namespace smelt {

struct WgmmaGemm {
  DType dtype = DType::bf16;
  GemmTiles tiles = {};
  bool a_transposed = false, b_transposed = false;
  int sums = 0;  // kSums: how many sums of a column the body makes
};

/// The text before the body, and the text after it.
std::string gemm_prelude(const WgmmaGemm& gemm);
std::string gemm_kernel_text();

int gemm_threads();
int64_t gemm_shared_bytes(const GemmTiles& tiles, int sums);

}  // namespace smelt
