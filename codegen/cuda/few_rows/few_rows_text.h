// The text that kernels for few rows of A by weights share (few_rows.h): one function, few_rows, which a
// kernel calls with what is its own.
//
//   few_rows(ring, b, m, n, k, b_pitch, before, load_rows, begin, put)
//
//   const Weight* b         halves, or signed bytes that are widened on the way to the tensor cores
//   uint4* ring             the dynamic shared memory, of which it takes few_rows_bytes in front
//   n                       columns of a part: of PARTS parts of the product, which lie behind one another
//   before()                once, behind the launches in front, while the first weights are on their way
//   load_rows(to, round)    what the lane multiplies of A in that round: of each row that it has as many
//                           elements, from kRound * round on, as 16 bytes of weights are
//   begin(first)            in front of the tile whose first column that is
//   put(row, column, sums, item)    the element's sums, one a part; the item-th of this thread in the tile
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "ir/gemm_kernel.h"
#include "runtime/dtype.h"

namespace smelt {

constexpr int64_t kFewRowsThreads = 256;
/// Blocks of a multiprocessor, for which registers and shared memory have to suffice.
constexpr int64_t kFewRowsResident = 2;

/// Macros (SM, MMA_TYPE, ROWS, WEIGHTS, PARTS, ...), types, instructions and the function, behind the
/// prelude.
/// `dtype` is that of A and of the weights, but for weights that are bytes.
std::string few_rows_macros(DType dtype, const FewRowTiles& tiles, bool staged, bool bytes);
std::string few_rows_function();
/// Of shared memory: loads that are on their way while a block works, and partial sums.
int64_t few_rows_bytes(const FewRowTiles& tiles);
/// Elements from one row of A in shared memory to the next, so that a warp's reads meet no bank twice.
int64_t staged_pitch(int64_t k);

/// What the text has of the GPU's own instructions: tests on a host put others there.
extern const std::string_view kFewRowsInstructions, kWidenBytes;

}  // namespace smelt
