// The CUDA text that kernels of small-M GEMMs share: one function, small_m, which a kernel calls with its own
// callbacks. It computes A times B, where A has few rows, and B is a matrix of weights (small_m.h).
//
//   small_m(ring, a, a_pitch, b, m, n, k, b_pitch, [groups,] before, begin, put)
//
//   uint4* ring             ring buffer: the first small_m_bytes bytes of dynamic shared memory
//   const Half* a           A, whose rows are a_pitch elements apart. If a prologue stores it, it is in
//   a_pitch                 shared memory
//   const Weight* b         weights of 16 bits, signed bytes, or packed codes (runtime/base/packed_format.h);
//                           bytes and codes are widened before they are multiplied
//   m, n, k                 A has m rows and k columns. The product has PARTS parts; part i has the columns
//                           i * n to (i + 1) * n - 1
//   b_pitch                 elements of B (of packed codes: bytes) from one column of the product to the next
//   groups                  of packed codes only: {scales, zeros, scales_pitch, zeros_pitch}
//   before()                called once, when the preceding launches have ended; the first loads of weights
//                           are then in flight
//   begin(first)            called before the tile whose first column is `first`
//   put(row, column, sums, item)    called with the sums of an element, one per part; the element is the
//                                   item-th element of this thread in the tile
#pragma once

#include <cstdint>
#include <string>

#include "ir/kernel/gemm_kernel.h"
#include "runtime/base/dtype.h"

namespace smelt {

constexpr int64_t kSmallMThreads = 256;
/// Number of blocks that must fit a multiprocessor concurrently; and if weights are packed, and rows few.
/// Codes take instructions to widen, so more warps are needed, and fewer bytes in flight.
constexpr int kSmallMResident = 2, kPackedResident = 3;
/// The storage of the weights.
struct SmallMWeights {
  bool bytes = false;                     // signed bytes
  const PackedOperand* packed = nullptr;  // not null: packed codes; else they have the type of A

  int bits() const;  // of a weight
};

/// Returns the number of blocks of a launch that run on a multiprocessor concurrently. If sums are chains, it
/// is one. A block of the next launch can begin next to it.
int small_m_resident(const SmallMTiles& tiles, const SmallMWeights& weights);
/// Returns whether there is a kernel for packed codes of this format, with zeros or without. Groups must be
/// multiples of the weights in 16 bytes.
bool widens(const PackedOperand& packed);
/// Returns the macros (SM, MMA_TYPE, ROWS, WEIGHTS, PARTS, ...), which come before the prelude (prelude.h).
/// `dtype`: the type of A. `staged`: a prologue stores A in shared memory.
std::string small_m_macros(DType dtype, const SmallMTiles& tiles, bool staged, const SmallMWeights& weights);
/// Returns types, instructions and the function small_m, which come after the prelude. Sums are chains if
/// SmallMTiles::warps is set.
std::string small_m_function(const SmallMTiles& tiles, const SmallMWeights& weights);
/// Returns the bytes of shared memory for loads in flight and partial sums. `staged`: as above; the rows of A
/// are not included.
int64_t small_m_bytes(const SmallMTiles& tiles, bool staged, const SmallMWeights& weights);
/// Returns the number of elements from one row of A to the next in shared memory, for rows of k elements. It
/// is larger than k, so that a warp's reads have few bank conflicts, and has room for zeros after a row.
int64_t staged_pitch(int64_t k);

}  // namespace smelt
