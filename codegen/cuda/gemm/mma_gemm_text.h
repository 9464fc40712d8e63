// Text of a matmul kernel for sm_80 and later, with a fused epilogue ("body"), which has the same functions
// as in the kernel for sm_90a (gemm_text.h).
//
// A block computes a tile of the result, or several (MmaTiles::one_tile). All its warps copy the operands
// into a ring buffer in shared memory (cp.async), several stages ahead, and multiply parts of the tile with
// mma.sync. Copies for the block's next tile run during the epilogue. There may be several products of one
// size, such as those of the heads of attention.
//
// The text ends with
//
//   gemm(operands, int m, int n, int k, int products, float alpha, move, part_of)
//
// for a kernel of kThreads threads. `operands` (Operands) has the addresses and pitches of A and B in product
// 0. move(i, operands) moves these addresses to product i, and part_of(i) returns the result of product i as
// the epilogue sees it (Part). A launch has a block for each tile, or any number of blocks.
//
// Operands are 16-bit floats, or bytes that are contiguous along k. Pairs of bytes take the place of 16-bit
// floats: k, pitches and a stage's length are then counted in pairs.
//
// If the product is rounded, the epilogue gets elements that are rounded to the type of A and B, otherwise in
// f32; of bytes it gets the sums in i32. An epilogue is called for two rows at a time: those of a lane in a
// piece of 16 rows.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "ir/kernel/gemm_kernel.h"
#include "runtime/base/dtype.h"

namespace smelt {

/// The properties of a matmul kernel that its text depends on.
struct MmaGemm {
  DType dtype = DType::bf16;  // of A and B: bf16, f16 or i8
  MmaTiles tiles = {};
  bool a_transposed = false, b_transposed = false;
  bool rounded = true;   // kRounded: the epilogue gets elements that are rounded to `dtype`
  bool batched = false;  // kBatched: there may be several products
  int sums = 0;          // kSums: number of sums that the epilogue computes per column
  bool has_bytes() const { return dtype == DType::i8; }
};

/// Return the text before the epilogue's functions, and the text after them.
std::string mma_gemm_prelude(const MmaGemm& gemm);
std::string mma_gemm_function();

/// An axis of a batch of products: its extent, and pointers with the elements from one product to the next.
/// All of them are expressions.
struct ProductAxis {
  std::string extent;
  std::vector<std::pair<std::string, std::string>> strides;
};
/// Returns statements that move the pointers from product 0 to the product with the number `product`, a
/// variable of type int. The last axis is the innermost.
std::string move_to_product(const std::vector<ProductAxis>& axes);

/// Returns the bytes of dynamic shared memory of a block.
int64_t mma_shared_bytes(const MmaTiles& tiles, int sums);

}  // namespace smelt
