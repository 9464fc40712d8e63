// A matmul for sm_90a whose kernel goes on with each element of its result: the text around a printed body.
//
// A block stays on its multiprocessor and takes tiles of the result, one after the other in a fixed order.
// One warp copies what they need into a ring of shared memory by TMA; the two warpgroups beside it multiply
// with wgmma, each a tile of its own while the other is busy with the body, or both one tile. Blocks may go
// in pairs (clusters), whose tiles lie below one another: each copies half of what they share, for both.
//
// An element of the result is first rounded to its type, as a library's result would be. A lane then has
// eight neighbouring columns of a row at a time, for which the body is called. The text ends with
//
//   gemm(a map, b map, long long m, long long n, long long k, const BodyArguments&)
//
// for a kernel of `threads` threads (__launch_bounds__(kThreads, 1), clusters of kCluster). A launch has
//
//   blocks    any multiple of kCluster; more than the tiles, rounded up to clusters, have nothing to do
//   maps      `const __grid_constant__ TensorMap` parameters: CUtensorMaps of rank 2 of 16-bit floats, sizes
//             (k, m) and (k, n), or (m, k) and (n, k) of transposed operands, whose neighbours along k do not
//             lie together; box (64, 64); 128-byte swizzle; zeros outside
//
// and of the body it calls
//
//   struct BodyLoads          what the body reads of kLaneRows rows of eight columns; Same<T> where all rows
//                             read the same
//   void body_load(const BodyArguments&, int first, int rows, Index c, int columns, BodyLoads&)
//   void body_run(const BodyArguments&, int first, int rows, Index c, int columns, const BodyLoads&,
//                 Take take, int group, int wg, int warp, int lane, unsigned scratch)
//       Row i of a lane is first + row_of(i); those from `rows` on, and columns from `columns` on, do not
//       exist. take(i, float (&)[8]) makes the result's elements; all lanes call it. Column sums of a group
//       of 32 columns go to shared memory by add_lanes, to where sums_of_warp says.
//   void body_sum(const BodyArguments&, int tile, int tiles, int column, int columns, int wg, int thread,
//                 unsigned scratch)
//       When a warpgroup has all columns of its tile: add_warps makes of what lies in shared memory the
//       tile's row of partial sums. Only where there are sums.
#pragma once

#include <string>

#include "ir/gemm_kernel.h"
#include "runtime/dtype.h"

namespace smelt {

struct WgmmaGemm {
  DType dtype = DType::bf16;
  GemmTiles tiles = {};
  bool a_transposed = false, b_transposed = false;
  int sums = 0;  // kSums: how many sums of a column the body makes
};

/// The text in front of the body, and behind it.
std::string gemm_prelude(const WgmmaGemm& gemm);
std::string gemm_kernel_text();

int gemm_threads();
int64_t gemm_shared_bytes(const GemmTiles& tiles, int sums);

}  // namespace smelt
