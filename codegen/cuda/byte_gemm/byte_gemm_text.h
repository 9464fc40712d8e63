// The CUDA text of matmuls of any number of rows by weights that are signed bytes, for sm_90a:
//
//   C[m,n] = sum_k A[m,k] B[k,n]        B is contiguous along k
//
// The bytes are copied to shared memory by TMA, and converted in registers just before wgmma multiplies them.
// So memory is read once, a byte per weight, and no converted weight is written.
// codegen/cuda/device/byte_gemm/ describes the function and its callbacks. A kernel of kByteGemmThreads
// threads has the parameters
//
//   maps   `const __grid_constant__ TensorMap` parameters, CUtensorMaps of rank 2. Of A: sizes (k, m), box
//          (64, ROWS / TILES), 128-byte swizzle. Of B: bytes, sizes (k, n), box (64, COLUMNS), 64-byte
//          swizzle
#pragma once

#include <cstdint>
#include <string>

#include "ir/kernel/gemm_kernel.h"
#include "runtime/base/dtype.h"

namespace smelt {

constexpr int64_t kByteGemmThreads = 384;

/// Returns the text before the functions of the epilogue: the macros (ROWS, COLUMNS, PARTS, TILES, SPLITS,
/// STAGES, ROW_STAGES, WIDEN_TWO), types and instructions. `dtype`: the type of A.
std::string byte_gemm_prelude(DType dtype, const SmallMTiles& tiles);
/// Returns the function byte_gemm, which comes after the functions of the epilogue.
std::string byte_gemm_function();
/// Returns the bytes of dynamic shared memory of a block.
int64_t byte_gemm_bytes(const SmallMTiles& tiles);
/// Returns the tiles for n columns, in `parts` adjacent parts, and k terms per element, of at most `rows`
/// rows, on a GPU with `multiprocessors`. `in_order`: sums are chains (GemmStep::in_order), so one block adds
/// up all terms of a tile.
SmallMTiles byte_gemm_tiles(int64_t rows, int64_t n, int64_t k, int parts, int multiprocessors,
                            bool in_order);

/// Returns the blocks that such a GPU runs concurrently.
int byte_gemm_blocks(const SmallMTiles& tiles, int multiprocessors);

}  // namespace smelt
