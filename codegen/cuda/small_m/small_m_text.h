// The text that kernels of small-M GEMMs share (small_m.h): one function, small_m, which a kernel calls
// with its own callbacks.
//
//   small_m(ring, b, m, n, k, b_pitch, before, load_rows, begin, put)
//
//   const Weight* b         halves, or signed bytes that are widened on the way to the tensor cores
//   uint4* ring             the dynamic shared memory; small_m takes the first small_m_bytes bytes
//   n                       columns of a part: of PARTS parts of the product, which are stored in order
//   before()                once, after the preceding launches, while the first weights are loaded
//   load_rows(to, round)    loads the lane's elements of A in that round: from each row of the lane,
//                           from kRound * round on, as many elements as 16 bytes of weights are
//   begin(first)            before the tile whose first column is `first`
//   put(row, column, sums, item)    takes an element's sums, one per part; the item-th element of this
//                                   thread in the tile
#pragma once

#include <cstdint>
#include <string>

#include "ir/kernel/gemm_kernel.h"
#include "runtime/base/dtype.h"

namespace smelt {

constexpr int64_t kSmallMThreads = 256;
/// Blocks of a multiprocessor, for which registers and shared memory have to suffice.
constexpr int64_t kSmallMResident = 2;

/// Macros (SM, MMA_TYPE, ROWS, WEIGHTS, PARTS, ...), types, instructions and the function; they come after
/// the prelude. `dtype` is the type of A, and of weights that are not bytes.
std::string small_m_macros(DType dtype, const SmallMTiles& tiles, bool staged, bool bytes);
std::string small_m_function();
/// Returns the bytes of shared memory for loads in flight and partial sums.
int64_t small_m_bytes(const SmallMTiles& tiles);
/// Returns the elements from one row of A in shared memory to the next, so that a warp's reads have no bank
/// conflicts.
int64_t staged_pitch(int64_t k);

}  // namespace smelt
